"""Build the interactive page, and the scripts and styles of reports and notebooks."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import numpy as np

from rosenblatt.clock import Deadline
from rosenblatt.errors import DataError, Parameter, with_label
from rosenblatt.evidence.separability import separability_of
from rosenblatt.read.data import Data
from rosenblatt.show.scene import MOST_DRAWN
from rosenblatt.show.story import verdict_json
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
