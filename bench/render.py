"""Render the table of results as Markdown from results.json, and print lines on the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from bench.line import Line, Table

HEADINGS = ("id", "work", "target", "figure", "spread", "", "compared how")
TITLES = {
    "generic": "The same, compiled for any processor of this kind",
    "avx2": "The same, compiled for AVX2 without AVX-512",
}
VERDICTS = {"pass": "pass", "short": "**short**", "not measured": "**not measured**", "": "—"}


def markdown(results: dict[str, dict[str, Any]]) -> str:
    """Return RESULTS.md: results for the host's instructions, then for other sets."""
    blocks = [
        "# What was promised, and what was measured",
        "Written by `make bench` from `results.json`, where the seconds of every repeat are. "
        "Figures are medians of interleaved repeats; the spread is the smallest and the largest "
        "of the rounds. The results of both sides are compared before their times are.",
    ]
    for kind, parts in results.items():
        blocks += [f"# {TITLES[kind]}"] if kind in TITLES else []
        blocks += _of_one(parts)
    return "\n\n".join(blocks) + "\n"


def _of_one(parts: dict[str, Any]) -> list[str]:
    """Return the blocks of text on the results for one set of instructions."""
    lines = [Line.from_json(line) for part in parts.values() for line in part["lines"]]
    tables = [Table.from_json(table) for part in parts.values() for table in part["tables"]]
    return [
        *_circumstances(parts),
        _summary(lines),
        _grid(HEADINGS, (_cells(line) for line in lines)),
        *(block for table in tables for block in _table(table)),
        *_missing(parts),
        "## How long it took",
        _grid(("part", "seconds", "load before", "date"), _durations(parts)),
    ]


def _circumstances(results: dict[str, Any]) -> list[str]:
    """Return the machine and versions of the parts that ran, once if all are the same."""
    kinds: dict[str, list[str]] = {}
    measured = {name: part for name, part in results.items() if part["date"]} or results
    for name, part in measured.items():
        versions = ", ".join(
            f"{package} {version}" for package, version in part["versions"].items()
        )
        compiled = part.get("instructions", "a processor that was not recorded")
        text = f"{part['machine']}; kernels compiled for {compiled}. {versions}."
        kinds.setdefault(text, []).append(name)
    blocks = [
        text if len(kinds) == 1 else f"{', '.join(names)}: {text}" for text, names in kinds.items()
    ]
    quick = [name for name, part in results.items() if part["quick"]]
    if quick:
        blocks.append(f"**Smoke sizes, no figures to quote**: {', '.join(quick)}.")
    # Our own parts cause a load of about one per core.
    run = {name: part for name, part in results.items() if part["date"]}
    known = {name: part for name, part in run.items() if part["load"] is not None}
    busy = [name for name, part in known.items() if part["load"] > 2 * part["cores"]]
    if busy:
        blocks.append(f"**The machine was busy with other work**: {', '.join(busy)}.")
    if len(known) < len(run):
        names = ", ".join(name for name in run if name not in known)
        blocks.append(f"**The load of the machine was not recorded**: {names}.")
    return blocks


def _summary(lines: list[Line]) -> str:
    aimed = [line for line in lines if line.promise.target]
    count = {verdict: [x for x in aimed if x.verdict == verdict] for verdict in VERDICTS}
    text = f"Of {len(aimed)} lines with a target, {len(count['pass'])} pass"
    for verdict in ("short", "not measured"):
        if count[verdict]:
            ids = ", ".join(f"`{line.id}`" for line in count[verdict])
            text += f"; {len(count[verdict])} {verdict} ({ids})"
    return text + "."


def _cells(line: Line) -> tuple[str, ...]:
    return (
        f"`{line.id}`",
        line.promise.work,
        f"{line.promise.target} {line.promise.unit}" if line.promise.target else "—",
        f"{number(line.figure)} {line.promise.unit}" if line.figure is not None else "—",
        f"{number(line.low)} to {number(line.high)}" if line.low is not None else "",
        VERDICTS[line.verdict],
        line.note,
    )


def _table(table: Table) -> list[str]:
    grid = _grid(table.columns, ([_word(cell) for cell in row] for row in table.rows))
    return [f"## {table.title}", *[table.note] * bool(table.note), grid]


def _missing(results: dict[str, Any]) -> list[str]:
    gaps = [gap for part in results.values() for gap in part["missing"]]
    listed = [f"- {', '.join(f'`{id}`' for id in gap['ids'])}: {gap['why']}" for gap in gaps]
    return ["## What was not measured, and why", "\n".join(listed)] if listed else []


def _durations(results: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    for name, part in results.items():
        yield name, f"{part['seconds']:.0f}", number(part["load"]), part["date"]
    yield "all", f"{sum(part['seconds'] for part in results.values()):.0f}", "", ""


def _grid(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headings = tuple(headings)
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in lines)


def _word(cell: str | float | None) -> str:
    return cell if isinstance(cell, str) else "—" if cell is None else number(cell)


def number(value: float | None) -> str:
    """Return a figure as text with three digits, or an integer with all digits.

    >>> [number(x) for x in (0.42712, 13.26, 512.7, 148.0, 1234567.0)]
    ['0.427', '13.3', '513', '148', '1,234,567']
    """
    if value is None or math.isnan(value):
        return "—"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def show(part: dict[str, Any]) -> None:
    """Print the lines of a part on the terminal."""
    colours = {"pass": "[green]pass[/]", "short": "[red]short[/]"}
    grid = Grid(box=None)
    for column in ("", "target", "figure", "spread", ""):
        grid.add_column(column, no_wrap=not column, overflow="fold")
    for line in map(Line.from_json, part["lines"]):
        _, _, target, figure, spread, _, note = map(escape, _cells(line))
        verdict = note if line.figure is None else colours.get(line.verdict, "")
        grid.add_row(line.id, target, figure, spread, verdict)
    for table in part["tables"]:
        grid.add_row(escape(table["id"]), "", f"{len(table['rows'])} rows")
    console = Console()
    console.print(grid)
    console.print(f"{part['seconds']:.0f} s")
