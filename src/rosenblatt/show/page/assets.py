"""Build the page as one HTML file, and bundle the player for report and widget."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z0-9]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


STYLES = ("theme.css", "player.css", "windows.css", "page.css", "projector.css")
# Rules for notebooks, where the code and the picture with its buttons must fit on one screen.
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
    """Return the text of a file in the folder `static`."""
    return files(__package__).joinpath("static", name).read_text("utf-8")


@functools.cache
def page_parts() -> tuple[str, str, str, str]:
    """Return template, script, style and content security policy of the page."""
    script, style = player_script("page.js"), "".join(map(text_of, STYLES))
    policy = POLICY.format(script=_digest(script), style=_digest(style))
    return text_of("index.html"), script, style, policy


def page_html(own: dict[str, Any] | None = None) -> str:
    """Return the page as one self-contained HTML file, with the user's data if given."""
    page, script, style, policy = page_parts()
    content = {"own": own, "state": None}
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    icon = base64.b64encode(text_of("icon.svg").encode()).decode("ascii")
    parts = {"POLICY": policy, "ICON": icon, "STYLE": style, "OWN": data, "SCRIPT": script}
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], page)


@functools.cache
def colours() -> dict[str, str]:
    """Return the colors of the light theme, by their names in the style sheet."""
    light = text_of("theme.css").partition("}")[0]
    return dict(re.findall(r"--([a-z-]+):[^;#]*(#\w+)", light))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def player_style() -> str:
    """Return the style sheets of the player."""
    return text_of("theme.css") + text_of("player.css")


def player_script(entry: str = "player.js") -> str:
    """Bundle the player and its modules into one script without imports or exports.

    Pages that are opened from disk cannot import modules. To start the script, append a call of a
    function that the entry module exports.
    """
    return bundled(text_of(entry))


def bundled(entry: str) -> str:
    """Bundle a module and the modules that it imports into one script.

    Each imported module becomes a function that is called once and returns its exports.
    """
    done: dict[str, str] = {}

    def take(text: str) -> str:
        for _, other in _IMPORT.findall(text):
            if other not in done:
                done[other] = _wrapped(other, take(text_of(f"{other}.js")))
        return _IMPORT.sub(lambda found: f"const {_names(found[1])} = _{found[2]};\n", text)

    last = _EXPORT.sub("", take(entry))
    return "\n".join((*done.values(), last))


def _names(imported: str) -> str:
    return " ".join(imported.split()).replace(" as ", ": ")


def _wrapped(name: str, text: str) -> str:
    exports = ", ".join(_EXPORT.findall(text))
    return f"const _{name} = (() => {{\n{_EXPORT.sub('', text)}\nreturn {{ {exports} }};\n}})();"


def widget_style() -> str:
    """Return the style sheets of the widget, scoped to its element."""
    style = player_style().replace(":root", ".rb-player").replace("@media (max", "@container (max")
    return (
        ":host { display: block; container-type: inline-size; }\n"
        + style.replace("vw", "cqw")
        + LOW
    )
