"""`python -m bench.quotes`: put the figures of results.json where README and manual quote them.

`<!-- bench:ID -->…<!-- /bench -->` holds one figure, `<!-- bench-table: ID … -->` to
`<!-- /bench-table -->` a table of lines (`pla.*` is all lines of a part), and
`<!-- bench-quality: ID -->` to `<!-- /bench-quality -->` one of the tables of results. A line that
was measured with other instructions too is quoted where it is weakest. What stands between the
marks is written here and nowhere else; `--check` only compares.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import kept
from bench.line import Line, Target
from bench.promises import PROMISES
from bench.render import number

ROOT = Path(__file__).parents[1]
MISSING = "not measured yet"
ONE = re.compile(r"(<!-- bench:([\w.-]+) -->).*?(<!-- /bench -->)", re.DOTALL)
LINES = re.compile(r"(<!-- bench-table: ([\w.* -]+) -->).*?(<!-- /bench-table -->)", re.DOTALL)
TABLE = re.compile(r"(<!-- bench-quality: ([\w.-]+) -->).*?(<!-- /bench-quality -->)", re.DOTALL)

Results = dict[str, Any]


def pages() -> list[Path]:
    """Where figures are quoted."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read(folder: Path = kept.HERE) -> Results:
    """The results by part, the weakest figure of each line; smoke sizes are no figures to quote."""
    host, *others = [
        {part: told for part, told in parts.items() if not told["quick"]}
        for parts in (kept.read(folder) or {"host": {}}).values()
    ]
    return {
        part: {**told, "lines": _weakest(told, [other[part] for other in others if part in other])}
        for part, told in host.items()
    }


def _weakest(told: Results, others: list[Results]) -> list[Results]:
    """Of each line the one that is farthest from its target, whatever it was compiled for."""
    rivals: dict[str, list[Results]] = {}
    for line in (line for other in others for line in other["lines"]):
        if line["figure"] is not None:
            rivals.setdefault(line["id"], []).append(line)
    return [
        line if line["figure"] is None else _weaker([line, *rivals.get(line["id"], [])])
        for line in told["lines"]
    ]


def _weaker(lines: list[Results]) -> Results:
    more_is_better = lines[0]["unit"] == "× faster"
    if lines[0]["target"]:
        more_is_better = Target(**lines[0]["target"]).way == "≥"
    return (min if more_is_better else max)(lines, key=lambda line: line["figure"])


def filled(text: str, results: Results) -> str:
    """A page with every quoted figure as the results have it."""
    lines = {line["id"]: line for told in results.values() for line in told["lines"]}
    tables = {table["id"]: table for told in results.values() for table in told["tables"]}
    text = _between(ONE, lambda name: figure(lines.get(name)), text)
    text = _between(LINES, lambda names: f"\n\n{lines_table(names.split(), lines)}\n\n", text)
    return _between(TABLE, lambda name: f"\n\n{quality(tables.get(name))}\n\n", text)


def _between(mark: re.Pattern[str], say: Callable[[str], str], text: str) -> str:
    return mark.sub(lambda found: found[1] + say(found[2]) + found[3], text)


def figure(line: Results | None) -> str:
    """A figure with its unit, to as many digits as can be meant."""
    if line is None or line["figure"] is None:
        return MISSING
    return f"{number(line['figure'])} {line['unit']}"


def lines_table(names: list[str], lines: Results) -> str:
    """Work, figure, spread, target and whether it is met."""
    rows = [("Work", "Measured", "Spread", "Target", "")]
    rows.append(("---",) * 5)
    for name in names:
        of_part = name.endswith(".*")
        ids = [i for i in PROMISES if i.startswith(name[:-1])] if of_part else [name]
        rows += [_cells(i, lines.get(i)) for i in ids]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cells(name: str, line: Results | None) -> tuple[str, ...]:
    if line is None:
        line = {**Line(PROMISES[name], None).to_json(), "verdict": ""}
    spread = "" if line["low"] is None else f"{number(line['low'])} to {number(line['high'])}"
    target = line["target"]
    aim = "" if target is None else f"{target['way']} {target['number']:g}"
    said = {"pass": "met", "short": "**short**"}.get(line["verdict"], "")
    return line["work"].replace("|", "\\|"), figure(line), spread, aim, said


def quality(table: Results | None) -> str:
    """A table of results as it stands in RESULTS.md."""
    if table is None:
        return MISSING
    rows = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return "\n".join("| " + " | ".join(map(_word, row)) + " |" for row in rows)


def _word(cell: str | float | None) -> str:
    return cell if isinstance(cell, str) else "—" if cell is None else number(cell)


def main(arguments: list[str]) -> int:
    """Fill all pages, or say which are not filled."""
    results, stale = read(), []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = filled(text, results)
        if new != text:
            stale.append(page)
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    for page in stale:
        print(f"quotes: {page.relative_to(ROOT)}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
