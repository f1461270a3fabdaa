"""Assets: the page as one file, and the player in one piece for other files."""

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


STYLES = ("theme.css", "player.css", "windows.css", "page.css", "room.css")
# Nothing is fetched, and nothing runs but the one script that has this digest.
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


@functools.cache
def text_of(name: str) -> str:
    """A file of the folder `static` as text."""
    return files(__package__).joinpath("static", name).read_text("utf-8")


@functools.cache
def page_parts() -> tuple[str, str, str, str]:
    """The page around its script and style; these, and the policy that lets in no others."""
    script, style = player_script("page.js"), "".join(map(text_of, STYLES))
    policy = POLICY.format(script=_digest(script), style=_digest(style))
    return text_of("index.html"), script, style, policy


def page_html(own: dict[str, Any] | None = None) -> str:
    """The page as one HTML file that needs no other, with a person's own data in it."""
    page, script, style, policy = page_parts()
    content = {"own": own, "state": None}
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    icon = base64.b64encode(text_of("icon.svg").encode()).decode("ascii")
    parts = {"POLICY": policy, "ICON": icon, "STYLE": style, "OWN": data, "SCRIPT": script}
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], page)


@functools.cache
def colours() -> dict[str, str]:
    """The colours of the pictures by their names in the style sheet, the light ones."""
    light = text_of("theme.css").partition("}")[0]
    return dict(re.findall(r"--([a-z-]+):[^;#]*(#\w+)", light))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def player_style() -> str:
    """The style sheets of the player, one after the other."""
    return text_of("theme.css") + text_of("player.css")


def player_script(entry: str = "player.js") -> str:
    """The player and the modules it needs as one piece of text without imports or exports.

    For pages that are opened from disk, where a module can import nothing: put a call of what
    the entry exports behind it.
    """
    return bundled(text_of(entry))


def bundled(entry: str) -> str:
    """The text of a module, after the modules that it imports, without imports or exports.

    Each of those becomes a function that is called once and gives what it exports.
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
    """The style sheets of the player in a notebook: colours and width are its own."""
    style = player_style().replace(":root", ".rb-player").replace("@media (max", "@container (max")
    return ":host { display: block; container-type: inline-size; }\n" + style.replace("vw", "cqw")
