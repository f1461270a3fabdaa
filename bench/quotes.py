"""Update the figures that README and manual quote from results.json: `python -m bench.quotes`.

`<!-- bench:ID -->…<!-- /bench -->` holds one figure, `<!-- bench-table: ID … -->` to
`<!-- /bench-table -->` a table of lines (`pla.*` is all lines of a part), and
`<!-- bench-quality: ID -->` to `<!-- /bench-quality -->` one of the tables of results. If a line
was measured with several sets of instructions, the weakest figure is quoted. Text between the marks
is always written by this module; `--check` only compares.
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
    """Return the pages that quote figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read(folder: Path = kept.HERE) -> Results:
    """Return the results by part, with the weakest figure of each line, without quick runs."""
    host, *others = [
        {name: part for name, part in parts.items() if not part["quick"]}
        for parts in (kept.read(folder) or {"host": {}}).values()
    ]
    return {
        name: {**part, "lines": _weakest(part, [other[name] for other in others if name in other])}
        for name, part in host.items()
    }


def _weakest(part: Results, others: list[Results]) -> list[Results]:
    """Return, for each line, the weakest figure over all sets of instructions."""
    rivals: dict[str, list[Results]] = {}
    for line in (line for other in others for line in other["lines"]):
        if line["figure"] is not None:
            rivals.setdefault(line["id"], []).append(line)
    return [
        line if line["figure"] is None else _weaker([line, *rivals.get(line["id"], [])])
        for line in part["lines"]
    ]


def _weaker(lines: list[Results]) -> Results:
    more_is_better = lines[0]["unit"] == "× faster"
    if lines[0]["target"]:
        more_is_better = Target(**lines[0]["target"]).way == "≥"
    return (min if more_is_better else max)(lines, key=lambda line: line["figure"])


def filled(text: str, results: Results) -> str:
    """Return a page with every quoted figure replaced by that of the results."""
    lines = {line["id"]: line for part in results.values() for line in part["lines"]}
    tables = {table["id"]: table for part in results.values() for table in part["tables"]}
    text = _between(ONE, lambda name: figure(lines.get(name)), text)
    text = _between(LINES, lambda names: f"\n\n{lines_table(names.split(), lines)}\n\n", text)
    return _between(TABLE, lambda name: f"\n\n{quality(tables.get(name))}\n\n", text)


def _between(mark: re.Pattern[str], say: Callable[[str], str], text: str) -> str:
    return mark.sub(lambda found: found[1] + say(found[2]) + found[3], text)


def figure(line: Results | None) -> str:
    """Return a figure as text, rounded to its significant digits, with its unit."""
    if line is None or line["figure"] is None:
        return MISSING
    return f"{number(line['figure'])} {line['unit']}"


def lines_table(names: list[str], lines: Results) -> str:
    """Return a table of lines: work, figure, spread, target and whether it is met."""
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
    """Return a table of results, formatted as in RESULTS.md."""
    if table is None:
        return MISSING
    rows = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return "\n".join("| " + " | ".join(map(_word, row)) + " |" for row in rows)


def _word(cell: str | float | None) -> str:
    return cell if isinstance(cell, str) else "—" if cell is None else number(cell)


def main(arguments: list[str]) -> int:
    """Update all pages, or with `--check` print those that are not up to date."""
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
