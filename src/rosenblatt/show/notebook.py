"""Animate training in a notebook: Jupyter, marimo or VS Code (extra `widget`)."""

from __future__ import annotations

import base64
import functools
import secrets
from html import escape
from typing import Any

import numpy as np

import rosenblatt.algorithms as algorithms
from rosenblatt.errors import RowNames
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.show.fitted import story_of
from rosenblatt.show.page.assets import light_colors, widget_script, widget_style
from rosenblatt.show.scene import Polygon, Scene, scene_of
from rosenblatt.show.story import Story, excerpt
from rosenblatt.text import plural

FOREVER = 2**62
POCKET_UPDATES = 1000
MOST_UPDATES = 100_000  # of PLA, which needs very many if the margin is small
# Marks of up to five labels, × ○ △ □ ◆, as SVG paths that begin at the center of the mark.
SIGNS = {
    "no": "m-4-4l8 8m-8 0l8-8",
    "yes": "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
    "third": "m0-6l5.5 9.5h-11z",
    "fourth": "m-4.5-4.5h9v9h-9z",
    "fifth": "m0-5l5 5l-5 5l-5-5z",
}


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
    story = _train(X, y) if clf is None else story_of(clf, X, y)
    json, cuts = excerpt(story, names=RowNames.of(X))
    scene = scene_of(story.examples, story.run.hypothesis)
    return widget_class(story=json, cuts=tuple(cuts), still=svg_of(scene), summary=scene.summary())


def _train(X: Any, y: Any) -> Story:
    """Train with PLA if the data are separable, else with the pocket algorithm."""
    examples = Examples.from_arrays(X, y)
    verdict = separability_of(examples)
    if verdict:
        budget = algorithms.Budget(FOREVER, MOST_UPDATES)
        run: algorithms.Run = algorithms.pla(examples, budget=budget)
        return Story(examples, run, verdict, "pla", "cycle")
    rule = algorithms.Rule("random", rng=np.random.default_rng(0))
    run = algorithms.pocket(examples, rule, algorithms.Budget(FOREVER, POCKET_UPDATES))
    return Story(examples, run, verdict, "pocket", "random")


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
