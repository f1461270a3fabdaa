"""Assets: the static files of the page, and the player in one piece for files of their own."""

from __future__ import annotations

import functools
import re
from importlib.resources import files

# What a file is served as; anything else in the folder is not served.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)


@functools.cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Every file that is served, by name, with its content type."""
    found = {}
    for file in files(__package__).joinpath("static").iterdir():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            found[file.name] = (file.read_bytes(), kind)
    return found


def text_of(name: str) -> str:
    """A static file as text."""
    return static_files()[name][0].decode("utf-8")


def player_style() -> str:
    """The style sheets of the player, one after the other."""
    return text_of("theme.css") + text_of("player.css")


def player_script(entry: str = "player.js") -> str:
    """The player and the modules it needs as one piece of text without imports or exports.

    The modules are put one after the other, each after those it imports; top-level names are
    different in all of them, which a test holds them to. For pages that come without a server,
    where a module can import nothing: put a call of what the entry exports behind it.
    """
    done: dict[str, str] = {}

    def take(name: str) -> None:
        if name in done:
            return
        text = text_of(name)
        done[name] = ""  # a circle of imports ends here
        for other in _IMPORT.findall(text):
            take(other)
        del done[name]
        done[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    take(entry)
    return "\n".join(done.values())


def widget_style() -> str:
    """The style sheets of the player, kept to it: a notebook has colours of its own."""
    return player_style().replace(":root", ".rb-player")
