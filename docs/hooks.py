"""MkDocs hooks: insert source code and help texts, and refuse resources from other sites.

`<!-- source: rosenblatt.kernels.pla -->` in a page is replaced by the source of that name, so
that the manual is always up to date; `<!-- script: examples/credit.py -->` by that file;
`<!-- help: learn -->` by the help of that command; and `<!-- page: data=xor&proof=1 -->` by a frame
with the interactive page in that state.
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

from rosenblatt.show.browser import page_html

ROOT = Path(__file__).parents[1]
HELP = re.compile(r"<!-- help: (\w+) -->")
SCRIPT = re.compile(r"<!-- script: ([\w./]+) -->")
PAGE = re.compile(r"<!-- page: (\S+) -->")
SOURCE = re.compile(r"<!-- source: ([\w.]+) -->")
# Scripts, styles, fonts and images from other sites; plain links are allowed.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?src=[\"']?(?:https?:)?//"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*?href=[\"']?(?:https?:)?//"
    r"|url\([\"']?(?:https?:)?//|@import [\"'](?:https?:)?//",
    re.IGNORECASE,
)
# In a table, Markdown escapes | as \\|, but inside code it keeps the backslash.
STRAY = re.compile(r"<td[^>]*>(?:(?!</td>).)*\\\|", re.DOTALL)


def source_of(name: str) -> str:
    """Return the source of a function or class as a code block titled with its file."""
    module, _, attribute = name.rpartition(".")
    source = inspect.getsource(getattr(importlib.import_module(module), attribute)).rstrip()
    return f'```python title="src/{module.replace(".", "/")}.py"\n{source}\n```'


def script(path: str) -> str:
    """Return a script as a code block."""
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    return f'```python title="{path}"\n{text}\n```'


def help_of(name: str) -> str:
    """Return the help of a command as a section."""
    command = getattr(importlib.import_module(f"rosenblatt.cli.{name}"), name)
    with click.Context(command, info_name=f"rosenblatt {name}", max_content_width=90) as context:
        return f"## {name}\n\n```text\n{command.get_help(context)}\n```"


def frame(state: str, depth: int) -> str:
    """Return a frame with the page in a given state."""
    src = f"{'../' * depth}page.html#{escape(state)}"
    return f'<iframe class="player" src="{src}" title="The page" loading="lazy"></iframe>'


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the placeholders for sources, scripts, help texts and the page."""
    depth = page.file.src_uri.count("/")
    markdown = PAGE.sub(lambda found: frame(found[1], depth), markdown)
    markdown = SCRIPT.sub(lambda found: script(found[1]), markdown)
    markdown = HELP.sub(lambda found: help_of(found[1]), markdown)
    return SOURCE.sub(lambda found: source_of(found[1]), markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Add the page to the site; refuse foreign resources and stray backslashes."""
    Path(config["site_dir"], "page.html").write_text(page_html(), encoding="utf-8")
    for path in sorted(Path(config["site_dir"]).rglob("*")):
        if path.suffix in (".html", ".css"):
            text = path.read_text(encoding="utf-8")
            if found := FETCHED.search(text):
                raise PluginError(f"{path} loads a resource from another site: {found[0]}")
            if found := STRAY.search(text):
                raise PluginError(
                    f"{path} shows a backslash in a table; write &#124; in <code>: {found[0]}"
                )
