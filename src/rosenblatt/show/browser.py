"""Build what runs in a browser: the interactive page, the notebook widget, scripts and styles."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
import secrets
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import numpy as np

import rosenblatt.algorithms as algorithms
from rosenblatt.algorithms.pocket import FOREVER
from rosenblatt.clock import Deadline
from rosenblatt.errors import DataError, Parameter, RowNames, with_label
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.read.data import Data
from rosenblatt.show.scene import MOST_DRAWN, Polygon, Scene, scene_of
from rosenblatt.show.story import Story, excerpt, story_of, verdict_json
from rosenblatt.tables import to_dense
from rosenblatt.text import plural

MOST_ROWS = 5_000  # maximum number of rows that are drawn
MOST_NUMBERS = 2**17  # maximum size of the table, so that the file is small enough to mail
PATIENCE = 10.0  # seconds for the verdict about all features
LARGEST = 1e100  # largest absolute number that can be drawn
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z0-9]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
STYLES = ("theme.css", "player.css", "windows.css", "page.css", "projector.css")
# A low picture for notebooks, where code, picture and buttons must fit on one screen.
LOW = """
@container (min-width: 44.01rem) {
  .rb-plane { height: clamp(15rem, min(56vh, 60cqw), 40rem); }
}
"""
# Content security policy: nothing is fetched, and only the script with this digest runs.
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
POCKET_UPDATES = 1000  # of the pocket in a widget
MOST_UPDATES = 100_000  # of PLA in a widget, which needs very many if the margin is small
# Marks of up to five labels, × ○ △ □ ◆, as SVG paths that begin at the center of the mark.
SIGNS = {
    "no": "m-4-4l8 8m-8 0l8-8",
    "yes": "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
    "third": "m0-6l5.5 9.5h-11z",
    "fourth": "m-4.5-4.5h9v9h-9z",
    "fifth": "m0-5l5 5l-5 5l-5-5z",
}


@functools.cache
def text_of(name: str) -> str:
    """Read a text file from the `static` folder of the page."""
    return files(__package__).joinpath("static", name).read_text("utf-8")


def page_html(own: dict[str, Any] | None = None) -> str:
    """Return the interactive page as one HTML file, with the user's data if given."""
    script, style = bundle(text_of("page.js")), "".join(map(text_of, STYLES))
    hashes = (hashlib.sha256(text.encode()).digest() for text in (script, style))
    digests = [f"sha256-{base64.b64encode(digest).decode('ascii')}" for digest in hashes]
    policy = POLICY.format(script=digests[0], style=digests[1])
    content = {"own": own, "state": None}
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    icon = base64.b64encode(text_of("icon.svg").encode()).decode("ascii")
    parts = {"POLICY": policy, "ICON": icon, "STYLE": style, "OWN": data, "SCRIPT": script}
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], text_of("index.html"))


def own_data(data: Data, most: int = MOST_NUMBERS) -> dict[str, Any]:
    """Return the rows of a data file, and whether they are separable, as JSON for the page.

    If there are too many rows, a random sample is taken. The verdict is about all features; it is
    None for more than two labels.
    """
    examples, rows, labels = data.examples, data.examples.n, len(data.examples.labels)
    names = data.row_names()
    if labels > MOST_DRAWN or (labels > 2 and examples.d < 2):
        if labels > MOST_DRAWN:
            reason = f"more than the {MOST_DRAWN} that the page can draw"
        else:
            reason = f"but {plural(examples.d, 'feature')}, and the page needs two to draw them"
        raise DataError(
            f"{data.name} has {plural(labels, 'label')}, {reason}; give ",
            with_label("positive", data.plan.target.spellings[-1]),
            ", for example, to show it against all others.",
        )
    limit = min(MOST_ROWS, most // max(1, examples.d))
    if limit < min(rows, 10):
        raise DataError(
            f"{data.name} has {plural(examples.d, 'feature')}, more than the page can "
            "show; leave out columns with ",
            Parameter("ignore"),
            ".",
        )
    if rows > limit:
        kept = np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))
        examples, names = examples.some(kept), replace(names, positions=data.rows[kept])
    X = np.ascontiguousarray(to_dense(examples.X), dtype=np.float64)
    if not (np.abs(X) <= LARGEST).all():
        raise DataError(
            f"{data.name} has numbers beyond 1e100, which cannot be drawn; scale the columns."
        )
    examples, verdict = replace(examples, X=X), None
    if not examples.multiclass:
        found = separability_of(examples, deadline=Deadline.after(PATIENCE))
        verdict = verdict_json(replace(found, row_names=names), examples)
    return {
        "name": PurePath(data.name).name,
        "columns": list(examples.feature_names),
        "labels": examples.label_names,
        "rows": rows,
        "X": X.tolist(),
        "targets": examples.y.tolist(),
        "verdict": verdict,
    }


@functools.cache
def light_colors() -> dict[str, str]:
    """Return the colors of the light theme, by their names in the style sheet."""
    light = text_of("theme.css").partition("}")[0]
    return dict(re.findall(r"--([a-z-]+):[^;#]*(#\w+)", light))


def player_style() -> str:
    """Return the style sheets of the animation player."""
    return text_of("theme.css") + text_of("player.css")


def widget_style() -> str:
    """Return the style sheets of the notebook widget, which style nothing outside it."""
    style = player_style().replace(":root", ".rb-player").replace("@media (max", "@container (max")
    return (
        ":host { display: block; container-type: inline-size; }\n"
        + style.replace("vw", "cqw")
        + LOW
    )


def widget_script() -> str:
    """Return the notebook widget as one JavaScript module."""
    return bundle(text_of("embedded.js")) + "\nexport default { render };\n"


def bundle(entry: str) -> str:
    """Join a JavaScript module and all modules that it imports into one script.

    Pages that are opened from disk cannot import modules. Each imported module becomes a function
    that is called once and returns its exports. To start the script, append a call of a function
    that `entry` exports.
    """
    done: dict[str, str] = {}

    def inline_imports(text: str) -> str:
        for imported, other in _IMPORT.findall(text):
            if other not in done:
                module = inline_imports(text_of(f"{other}.js"))
                body, exports = _EXPORT.sub("", module), ", ".join(_EXPORT.findall(module))
                done[other] = f"const _{other} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"
            names = " ".join(imported.split()).replace(" as ", ": ")
            text = _IMPORT.sub(f"const {names} = _{other};\n", text, count=1)
        return text

    last = _EXPORT.sub("", inline_imports(entry))
    return "\n".join((*done.values(), last))


def widget(X: Any, y: Any, *, clf: Any = None) -> Any:
    """Animate training in a notebook, update by update.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, d)
        Training data.
    y : sequence of n labels
        Two to five different labels. Of two, the larger in sort order is drawn as ○.
    clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one, optional
        Estimator fitted on X and y, whose training is shown. By default, PLA runs until it halts,
        or for 100,000 updates, if the data are separable; otherwise the pocket makes 1,000 updates.

    Returns
    -------
    anywidget.AnyWidget
        A widget with the traits `t`, the update that is shown, which can be set and observed, and
        `story`, everything that is drawn. If there are very many examples or updates, it holds
        some of them, and `cuts` says which.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> player = rb.widget([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> player.t, player.story["updates"]
    (0, 18)
    """
    widget_class = _widget_class()
    if clf is not None:
        story = story_of(clf, X, y)
    else:
        examples = Examples.from_arrays(X, y)
        verdict = separability_of(examples)
        if verdict:
            budget = algorithms.Budget(FOREVER, MOST_UPDATES)
            run: algorithms.Run = algorithms.pla(examples, budget=budget)
        else:
            rule = algorithms.Rule("random", rng=np.random.default_rng(0))
            run = algorithms.pocket(examples, rule, algorithms.Budget(FOREVER, POCKET_UPDATES))
        played = ("pla", "cycle") if verdict else ("pocket", "random")
        story = Story(examples, run, verdict, *played)
    json, cuts = excerpt(story, names=RowNames.of(X))
    scene = scene_of(story.examples, story.run.hypothesis)
    return widget_class(story=json, cuts=tuple(cuts), still=svg_of(scene), summary=scene.summary())


def svg_of(scene: Scene, width: int = 480, height: int = 360) -> str:
    """Draw a scene as static SVG, for viewers that cannot show widgets."""
    box, regions = scene.box, scene.regions
    (left, bottom), _, (right, top), _ = box

    def at(x: float, y: float) -> str:
        across, up = (x - left) / (right - left), (y - bottom) / (top - bottom)
        return f"{width * across:.1f} {height * (1 - up):.1f}"

    def path_of(corners: Polygon) -> str:
        return f"M{'L'.join(at(*corner) for corner in corners)}"

    color = light_colors()
    areas = [
        (path_of(part), color[f"{name}-area"], "none")
        for part, name in zip(regions.parts(box), SIGNS, strict=False)
        if part
    ]
    paths = [*areas, ("".join(map(path_of, regions.edges(box))), "none", color["ink"])]
    for place, (name, sign) in enumerate(SIGNS.items()):
        drawn = "".join(f"M{at(x, y)} {sign}" for x, y in scene.points[scene.places == place])
        paths.append((drawn, color[name] if name == "fifth" else "none", color[name]))
    drawn = "".join(
        f'<path d="{path}" fill="{fill}" stroke="{stroke}" stroke-width="2"/>'
        for path, fill, stroke in paths
        if path
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"><rect width="100%" height="100%" fill="{color["paper"]}"/>'
        f"{drawn}</svg>"
    )


@functools.cache
def _widget_class() -> Any:
    """Create the widget class from the optional package anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(
            "rosenblatt.widget needs anywidget; install it with: pip install 'rosenblatt[widget]'"
        ) from error

    class PlayerWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """Widget that plays a training run update by update."""

        _esm = widget_script()
        _style = traitlets.Unicode(widget_style()).tag(sync=True)
        story = traitlets.Dict().tag(sync=True)
        t = traitlets.Int(0).tag(sync=True)
        cuts: Any = traitlets.Tuple(())
        mark = traitlets.Unicode().tag(sync=True)
        still = traitlets.Unicode()
        summary = traitlets.Unicode()

        @traitlets.default("mark")
        def _default_mark(self) -> str:
            return f"rosenblatt-{secrets.token_hex(8)}"

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """Return the widget, with a text for viewers that cannot show widgets."""
            bundle: Any = super()._repr_mimebundle_(**kwargs)
            data, more = bundle
            return {**data, "text/plain": self.summary}, more

        def _ipython_display_(self) -> None:
            """Display a static picture, then the widget, which hides the picture.

            Saved notebooks that are not trusted show the picture instead of the widget. The style
            hides JupyterLab's message about a missing widget.
            """
            from IPython.display import display

            show: Any = display
            source = base64.b64encode(self.still.encode()).decode("ascii")
            gone = f".jp-OutputArea-child:has(.{self.mark}) + .jp-OutputArea-child"
            still = (
                f'<div class="{self.mark}"><style>{gone} {{ display: none; }}</style><img '
                f'alt="{escape(self.summary)}" src="data:image/svg+xml;base64,{source}"></div>'
            )
            show({"text/html": still, "image/svg+xml": self.still}, raw=True)
            data, more = self._repr_mimebundle_()
            show(data, metadata=more, raw=True)

        @traitlets.validate("t")
        def _validate_t(self, proposal: Any) -> int:
            last = self.story.get("updates", 0)
            if not 0 <= proposal["value"] <= last:
                raise ValueError(
                    f"t is {proposal['value']}, but this run has {plural(last, 'update')}; "
                    f"give t from 0 to {last}."
                )
            return int(proposal["value"])

    return PlayerWidget
