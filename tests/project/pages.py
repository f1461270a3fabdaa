"""The pages of README and manual as blocks, and a runner that does what a reader would do.

A page is read from the top, in one folder and one Python session. A `python` block is run, a
`sh` block is typed, a block with a title is a file, and a `text` block right after one that
runs is what it prints, where `…` stands for anything. `<!-- needs: data -->` before a block
says that it needs the published data sets.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning, EfficiencyWarning

from rosenblatt.cli import run as rosenblatt

ROOT = Path(__file__).parents[2]
OTHERS = ("README.md", "CONTRIBUTING.md", "bench/README.md", "examples/course/README.md")
PAGES = [*(ROOT / name for name in OTHERS), *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?P<needs><!-- needs: (?P<need>\w+) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
RUNS = ("python", "sh")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    options: str
    text: str
    need: str = ""
    prints: str | None = None

    @property
    def title(self):
        found = re.search(r'title="([^"]+)"', self.options)
        return found[1] if found else None

    @property
    def runs(self):
        return self.language in RUNS

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page):
    """Return the code blocks of a page, each with its expected output."""
    text = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in FENCE.finditer(text):
        block = Block(
            page,
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            match["options"],
            textwrap.dedent(match["text"]),
            match["need"] or "",
        )
        between = text[end : match.start()].strip()
        if block.language == "text" and found and found[-1].runs and not between:
            found[-1] = Block(**{**vars(found[-1]), "prints": block.text})
        else:
            found.append(block)
        end = match.end()
    return found


def same(shown, printed):
    """Return whether the text of a page matches the output; … stands for anything."""
    shown, printed = _tidy(shown), _tidy(printed)
    pattern = ".*?".join(re.escape(part) for part in shown.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _tidy(text):
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


class Session:
    """A reader at a terminal in a folder: types commands, runs Python, keeps what is made."""

    def __init__(self, capfd):
        self.capfd = capfd
        self.names = {"__name__": "__main__"}

    def do(self, block):
        """Run a block, or write the file that it is; what it printed."""
        if block.title and not block.runs:
            Path(block.title).write_text(block.text, encoding="utf-8")
            return ""
        if not block.runs:
            return ""
        return self.python(block) if block.language == "python" else self.shell(block)

    def python(self, block):
        printed = io.StringIO()
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            for what_small_examples_get in (ConvergenceWarning, EfficiencyWarning):
                warnings.simplefilter("ignore", what_small_examples_get)
            exec(code, self.names)
        return printed.getvalue()

    def shell(self, block):
        lines = block.text.replace("\\\n", " ").splitlines()
        return "".join(self.command(line) for line in lines if line and line[0] != "#")

    def command(self, line):
        """Do one line of a shell block; only what a page may show is known."""
        line = line.split("  #")[0].strip()
        words = shlex.split(line)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
        elif words[:2] == ["pip", "install"]:
            _check_extras(words[2:])
        elif words[0] == "python":
            assert (ROOT / words[1]).exists(), f"{line}: there is no such script"
        elif words[:2] == ["rosenblatt", "watch"]:
            return self.typed(["watch", "--help"]) and ""
        elif set(words) & {"|", ">", ">>", "<"}:
            return self.in_shell(line)
        else:
            return "".join(self.typed(shlex.split(part)[1:]) for part in line.split(" && "))
        return ""

    def typed(self, words):
        self.capfd.readouterr()
        code = rosenblatt(words)
        printed, err = self.capfd.readouterr()
        assert code in ((0, 1) if words[0] in ("separable", "separation") else (0,)), err
        return printed

    @staticmethod
    def in_shell(line):
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _check_extras(words):
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for word in words:
        for extra in re.findall(r"\[([\w,]+)\]", word):
            for name in extra.split(","):
                assert re.search(rf"^{name} = \[", declared, re.MULTILINE), f"no extra {name!r}"
