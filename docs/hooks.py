"""What MkDocs does for the manual: show source as it is, and refuse anything fetched.

`<!-- source: rosenblatt.kernels.pla -->` in a page becomes the source of that name, so that
what the manual shows cannot go stale; `<!-- script: examples/credit.py -->` becomes that file, and
`<!-- help: learn -->` what that verb says with --help. `<!-- page: data=xor&proof=1 -->` becomes
the page itself, at that moment: one file lies beside the manual, and every frame opens it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from html import escape
from pathlib import Path
from typing import Any

import click
from mkdocs.exceptions import PluginError

from rosenblatt.show.page.assets import page_html

ROOT = Path(__file__).parents[1]
HELP = re.compile(r"<!-- help: (\w+) -->")
SCRIPT = re.compile(r"<!-- script: ([\w./]+) -->")
PAGE = re.compile(r"<!-- page: (\S+) -->")
SOURCE = re.compile(r"<!-- source: ([\w.]+) -->")
# Scripts, styles, fonts and pictures from elsewhere; plain links are the reader's choice.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?src=[\"']?(?:https?:)?//"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*?href=[\"']?(?:https?:)?//"
    r"|url\([\"']?(?:https?:)?//|@import [\"'](?:https?:)?//",
    re.IGNORECASE,
)


def source_of(name: str) -> str:
    """The source of a function or class, as a block with the file's name for a title."""
    module, _, attribute = name.rpartition(".")
    source = inspect.getsource(getattr(importlib.import_module(module), attribute)).rstrip()
    return f'```python title="src/{module.replace(".", "/")}.py"\n{source}\n```'


def script(path: str) -> str:
    """A script of ours, whole."""
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    return f'```python title="{path}"\n{text}\n```'


def help_of(verb: str) -> str:
    """What a verb says of itself."""
    command = getattr(importlib.import_module(f"rosenblatt.cli.{verb}"), verb)
    with click.Context(command, info_name=f"rosenblatt {verb}", max_content_width=90) as context:
        return f"## {verb}\n\n```text\n{command.get_help(context)}\n```"


def frame(state: str, depth: int) -> str:
    """The page at a moment, in a frame."""
    src = f"{'../' * depth}page.html#{escape(state)}"
    return f'<iframe class="player" src="{src}" title="The page" loading="lazy"></iframe>'


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put sources, scripts, the help of verbs and the page in their places."""
    depth = page.file.src_uri.count("/")
    markdown = PAGE.sub(lambda found: frame(found[1], depth), markdown)
    markdown = SCRIPT.sub(lambda found: script(found[1]), markdown)
    markdown = HELP.sub(lambda found: help_of(found[1]), markdown)
    return SOURCE.sub(lambda found: source_of(found[1]), markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Add the page; refuse a site that would fetch anything: it must open without a network."""
    Path(config["site_dir"], "page.html").write_text(page_html(), encoding="utf-8")
    for path in sorted(Path(config["site_dir"]).rglob("*")):
        if path.suffix in (".html", ".css"):
            found = FETCHED.search(path.read_text(encoding="utf-8"))
            if found:
                raise PluginError(f"{path} would fetch something from elsewhere: {found[0]}")
