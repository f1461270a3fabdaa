"""`python -m bench [part …]`: run the parts and show one table with every promise."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
NOT_PARTS = {"__init__", "__main__", "measure"}


def parts() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_PARTS)


def show(name: str, rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title=name, title_justify="left")
    for column in ("work", "target", "figure", "spread", ""):
        table.add_column(column, justify="right" if column == "figure" else "left")
    for row in rows:
        verdict = "[green]pass[/]" if row["pass"] else "[red]short[/]"
        table.add_row(
            row["work"], row["target"], str(row["figure"]), row.get("spread", ""), verdict
        )
    console.print(table)


def main(arguments: list[str]) -> int:
    quick = "--quick" in arguments
    wanted = [name for name in arguments if not name.startswith("-")] or parts()
    unknown = sorted(set(wanted) - set(parts()))
    if unknown:
        print(f"bench: no part {unknown[0]!r}; there are {', '.join(parts())}.", file=sys.stderr)
        return 64
    console = Console()
    console.print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    )
    results = {}
    for name in wanted:
        results[name] = importlib.import_module(f"bench.{name}").run(quick)
        show(name, results[name], console)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
