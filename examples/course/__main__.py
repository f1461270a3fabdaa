"""Compare the published answers to the homework of two courses with our results.

Run it as `python examples/course [QUESTION …] [--runs N] [--data FOLDER]`. Questions 15 to 20
are from homework 1 of Machine Learning Foundations and need its three files (see README.md);
questions 7 to 10 are from homework 1 of Learning From Data and need no files.
"""

import argparse
import os
import sys
from pathlib import Path

import foundations
import lfd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

QUESTIONS = {**lfd.QUESTIONS, **foundations.QUESTIONS}


def main(arguments=None):
    chosen = parse(arguments)
    table = Table(box=SIMPLE_HEAD)
    for column in ("question", "what", "published", "obtained", "± s.e.", "agrees"):
        table.add_column(column, justify="left" if column == "what" else "right")
    agreed = True
    for question in chosen.questions:
        for line in QUESTIONS[question](chosen):
            table.add_row(str(question), *map(escape, line.cells()))
            agreed &= line.agrees
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return 0 if agreed else 1


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python examples/course", description=__doc__)
    parser.add_argument("questions", nargs="*", type=int, metavar="QUESTION")
    parser.add_argument("--runs", type=int, default=2000, help="of random experiments (2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="the folder of hw1_15_train.dat and the others")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.questions) - set(QUESTIONS))
    if unknown:
        parser.error(f"no question {unknown[0]}; there are {', '.join(map(str, QUESTIONS))}.")
    folder = chosen.data or os.environ.get("ROSENBLATT_DATA")
    chosen.data = Path(folder) if folder else None
    if not chosen.questions:
        chosen.questions = list(QUESTIONS if chosen.data else lfd.QUESTIONS)
    needed = set(chosen.questions) & set(foundations.QUESTIONS)
    if needed and not (chosen.data and (chosen.data / foundations.SEPARABLE).exists()):
        parser.error(
            f"question {min(needed)} needs {foundations.SEPARABLE} and the other files of the "
            "course; name their folder with --data or ROSENBLATT_DATA."
        )
    return chosen


if __name__ == "__main__":
    sys.exit(main())
