"""`rosenblatt stream`: predict each line of a stream, then learn from its label."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import click

import rosenblatt.interrupts as interrupts
from rosenblatt.cli.console import Console, StreamStatus, as_argument, print_note
from rosenblatt.cli.options import (
    NumberRange,
    command,
    ignore_option,
    json_option,
    kind_options,
    layout_options,
    target_option,
)
from rosenblatt.cli.outlet import Fingerprint, Outlet
from rosenblatt.cli.streaming import Reached, Streamer, stop_on_signals
from rosenblatt.errors import DataError, UsageError
from rosenblatt.files import CheckpointFolder, keep_apart
from rosenblatt.online import OnlinePerceptron
from rosenblatt.online.inputs import NOT_A_LABEL
from rosenblatt.read import Layout
from rosenblatt.read.feed import Place, parse_label
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.stream import detect_feed, feed_from_json, open_stream
from rosenblatt.text import join_words, plural, quote_column, shorten

EVERY = 100_000
ABOVE_0 = NumberRange(min=0, min_open=True)


@command(
    "rosenblatt stream clicks.jsonl --target clicked -o predicted.txt",
    "rosenblatt stream clicks.csv -o clicks.txt --checkpoint state --resume",
)
@click.argument("data", default="-", type=click.Path(allow_dash=True))
@click.option("--follow", is_flag=True, help="Wait for more lines at the end of DATA.")
@target_option
@ignore_option
@click.option(
    "--labels",
    metavar="A,B,…",
    help="All labels, separated by commas; required for three or more labels.",
)
@click.option(
    "--predict-with",
    type=click.Choice(["last", "average", "pocket"]),
    default="last",
    show_default=True,
    help="Weights used to predict: the last, their average, or the pocket's.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Number of recent rows for the recent mistake rate.",
)
@click.option("--eta", type=ABOVE_0, default=1.0, show_default=True, help="Learning rate.")
@click.option("--intercept/--no-intercept", default=True, help="Whether to fit an intercept.")
@click.option(
    "--margin",
    type=ABOVE_0,
    help="Print the mistake bound for data that are separable with this margin.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="File for the predictions (default: standard output).",
)
@click.option("--rejects", type=click.Path(), metavar="FILE", help="File for bad lines.")
@click.option("--strict", is_flag=True, help="Stop at the first bad line.")
@click.option(
    "--checkpoint", type=click.Path(), metavar="DIR", help="Folder in which to save the state."
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="N",
    help="Save the state every N lines (default: 100000).",
)
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if there is one.")
@click.option(
    "--save",
    type=click.Path(),
    metavar="FILE",
    help="Write the model to this file every N lines and at the end.",
)
@click.option("--quiet", is_flag=True, help="Print no status line.")
@kind_options
@layout_options
@json_option
def stream(data: str, layout: Layout, as_json: bool, **given: Any) -> int:
    """Predict the label of each line of DATA, then learn from its true label.

    DATA is a JSON lines, CSV, LIBSVM or Parquet file, compressed or not, or - for standard input.
    Predictions are printed in the order of the lines, one per line. A prediction is empty until
    the first label is known; a bad line has none. A line without a label is predicted but not
    learned from. If none of the first lines has the target column (about 4 MB of a file, at least
    1000 lines of a pipe), the command stops with an error.

    Two labels are learned as they appear. For three or more, list all of them with --labels; a
    line with any other label is a bad line. A label in double quotes is text, even if it looks
    like a number.

    The first value of a column decides its type: a number; a category, whose values become
    features named column=value; or, with at least four words, text, whose words become features
    named column=word. --number, --category and --text override this.

    --checkpoint saves state and position together. After a crash, --resume with the same options
    continues from there: the file of predictions is first truncated to the saved position, so
    that every line is learned from and predicted exactly once. The file has to be given with -o
    or appended to with >>. If predictions go to a pipe, those since the last checkpoint are
    printed again. An incomplete last line is left for the next run.
    """
    given["as_json"] = as_json
    folder = None if given["checkpoint"] is None else CheckpointFolder(given["checkpoint"])
    _check(data, given, folder)
    with folder or nullcontext():
        kept = None if folder is None else _check_complete(folder.read(given["resume"]))
        if given["resume"] and kept is None:
            print_note("no checkpoint found; starting from the beginning.")
        streamer = _streamer(data, layout, given, folder, kept)
        with stop_on_signals(streamer):
            streamer.run()
        model, status, tally = streamer.model, streamer.status, streamer.tally
        status.end(tally.predicted, tally.bad)
        if given["labels"] is None and streamer.complaints.include(NOT_A_LABEL):
            print_note("for three or more labels, list all of them with --labels.")
        if streamer.stopped_by is None:
            _check_progress(streamer)
        streamer.save()
        Console(as_json).result(_result(model, tally, status))
    return 0 if streamer.stopped_by is None else 128 + streamer.stopped_by


def _check(data: str, given: dict[str, Any], folder: CheckpointFolder | None) -> None:
    if folder is None and given["resume"]:
        raise UsageError("--resume needs a checkpoint; give --checkpoint DIR.")
    if folder is None and given["every"] and given["save"] is None:
        raise UsageError("--every needs a file to write; give --checkpoint DIR or --save FILE.")
    if given["follow"] and data == "-":
        raise UsageError(
            "--follow needs a file; leave it out, since standard input is always followed."
        )
    if given["labels"] is not None and len(set(parse_labels(given["labels"]))) < 2:
        raise UsageError(
            f"--labels {shorten(given['labels'])} lists fewer than two labels; give all labels, "
            "as in --labels art,law,sport."
        )
    reads: dict[str, str | None] = {"the data": data}
    if folder is not None:
        reads["the checkpoint's own file"] = str(folder.file)
        reads["the checkpoint's lock"] = str(folder.lock)
    keep_apart(reads, {f"--{name}": given[name] for name in ("output", "rejects", "save")})


def _streamer(
    data: str, layout: Layout, given: dict[str, Any], folder: CheckpointFolder | None, kept: Any
) -> Streamer:
    model, options = _model(given, kept), _options(given, layout)
    if kept is not None:
        _check_same(options, kept["options"])
    source = open_stream(data, layout, given["follow"], folder is not None)
    if kept is None:
        keys = ("ignore", "number", "category", "text")
        ignore, numbers, categories, texts = (tuple(sorted(given[key])) for key in keys)
        columns = ColumnOptions(given["target"], None, ignore, numbers, categories, texts)
        feed, kinds, begin, notes = detect_feed(source, layout, columns)
        tally = Reached(begin)
        for note in notes:
            print_note(note)
    else:
        counts = map(kept["tally"].get, ("predicted", "bad"))
        tally = Reached(Place(**kept["tally"]["place"]), *counts)
        source.go_to(tally.place, kept["input"])
        feed, kinds = feed_from_json(kept["feed"]), kept["kinds"]
    status = StreamStatus(
        model, tally.predicted, given["margin"], given["quiet"] or given["as_json"]
    )
    outlets = _outlets(given, folder, kept)
    every = (given["every"] or EVERY) if folder is not None or given["save"] else None
    how = (options, outlets, folder, every, given["strict"], given["save"])
    return Streamer(model, source, feed, kinds, tally, status, *how)


def _options(given: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """Return the options that a checkpoint records and --resume must repeat."""
    keys = ("target", "labels", "predict_with", "window", "eta", "intercept")
    options = {f"--{key.replace('_', '-')}": given[key] for key in keys}
    options["--header"] = layout.header
    for name in ("ignore", "number", "category", "text"):
        options[f"--{name}"] = " ".join(sorted(given[name])) or None
    for name in ("format", "separator", "decimal", "encoding"):
        options[f"--{name}"] = getattr(layout, name)
    return options


def _check_same(options: dict[str, Any], kept: dict[str, Any]) -> None:
    """Raise UsageError if options differ from those of the checkpoint."""
    for name, value in options.items():
        if kept.get(name, value) != value:
            before, now = _spell(name, kept[name]), _spell(name, value)
            raise UsageError(
                f"the checkpoint was made {before}, but this run is {now}; "
                "give the same options to resume."
            )


def _spell(name: str, value: Any) -> str:
    """Spell an option as in a shell, beginning with "with" or "without"."""
    if isinstance(value, bool):
        return f"with {name if value else name.replace('--', '--no-')}"
    return f"without {name}" if value is None else f"with {name} {as_argument(str(value))}"


def _outlets(
    given: dict[str, Any], folder: CheckpointFolder | None, kept: Any
) -> dict[str, Outlet | None]:
    """Open and check the output files, then create or truncate them."""
    path = None if given["output"] == "-" else given["output"]
    outlets = {
        "output": None if path is None and given["as_json"] else Outlet("--output", path),
        "rejects": None if given["rejects"] is None else Outlet("--rejects", given["rejects"]),
    }
    there = {name: outlet for name, outlet in outlets.items() if outlet is not None}
    for name in outlets if kept is not None else ():
        if (name in there) != (kept[name] is not None):
            how = "with" if kept[name] else "without"
            raise UsageError(
                f"the checkpoint was made {how} --{name}; give the same options to resume."
            )
    known = {}
    for name, outlet in there.items():
        if kept is not None:
            known[name] = outlet.check(kept[name], kept["ended"])
        elif given["resume"]:
            outlet.require_empty()
    interrupts.ignore()  # from here on `stop_on_signals` handles Ctrl-C
    for outlet in there.values():
        outlet.create()
    for name, outlet in there.items():
        if folder is not None and kept is not None:
            outlet.truncate(known[name], kept["ended"], folder.path)
        else:
            outlet.begin(hashed=folder is not None)
    return outlets


def _model(given: dict[str, Any], kept: Any) -> OnlinePerceptron:
    try:
        if kept is not None:
            return OnlinePerceptron.from_state(kept["model"], "the checkpoint")
        return OnlinePerceptron(
            eta0=given["eta"],
            fit_intercept=given["intercept"],
            window=given["window"],
            predict_with=given["predict_with"],
            labels=None if given["labels"] is None else parse_labels(given["labels"]),
        )
    except ValueError as trouble:
        raise (UsageError if kept is None else DataError)(str(trouble)) from None


def parse_labels(text: str) -> list[Any]:
    """Parse a comma-separated list of labels; a label in double quotes is always text.

    Examples
    --------
    >>> parse_labels('art, law ,sport'), parse_labels('1,2,10'), parse_labels('"1","a, b"')
    (['art', 'law', 'sport'], [1, 2, 10], ['1', 'a, b'])
    """
    parts = re.findall(r'\s*("(?:[^"]|"")*"|[^,]*?)\s*(?:,|$)', text)
    if any(p[:1] == '"' and (len(p) < 2 or p[-1] != '"') for p in parts):
        raise UsageError(f"--labels {shorten(text)}: a double quote is not closed.")
    return [p[1:-1].replace('""', '"') if p[0] == '"' else parse_label(p) for p in parts if p]


def _check_progress(streamer: Streamer) -> None:
    """Raise DataError if all lines were bad or, without a checkpoint, if nothing was learned."""
    name, tally, feed = streamer.stream.name, streamer.tally, streamer.feed
    if tally.predicted == 0 and tally.bad:
        lines = plural(tally.bad, "line")
        raise DataError(f"{name}: no row could be read; all {lines} are bad.")
    if tally.predicted == 0 and streamer.folder is None:
        raise DataError(f"{name} has no rows.")
    if streamer.model.n_seen == 0 and streamer.folder is None:
        rows, where = plural(tally.predicted, "row"), ""
        if target := getattr(feed, "target", ""):
            there = (
                f"; its columns are {join_words(list(streamer.kinds), most=8)}"
                if streamer.kinds
                else ""
            )
            where = f" in {quote_column(target)}{there}"
        raise DataError(f"{name}: nothing to learn from: none of its {rows} has a label{where}.")


def _check_complete(kept: Any) -> Any:
    """Return the content of a checkpoint; raise DataError if a part is missing."""
    if kept is None:
        return None
    try:
        if "tally" in kept and "options" not in kept:
            raise ValueError("it was made by an earlier version of rosenblatt")
        tally, place = kept["tally"], Place(**kept["tally"]["place"])
        numbers = [place.bytes, place.lines, tally["predicted"], tally["bad"]]
        for name in ("output", "rejects"):
            if kept[name] is not None:
                known = Fingerprint(**kept[name])
                numbers += [known.begun, 0 if known.length is None else known.length]
        if any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError("a position in a file is not an integer >= 0")
        parts = {str: ["input"], dict: ["model", "kinds", "options"], bool: ["ended"]}
        if not all(isinstance(kept[name], kind) for kind, names in parts.items() for name in names):
            raise TypeError("its stream or its model is missing")
        feed_from_json(kept["feed"])
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        why = shorten(str(wrong))
        raise DataError(
            f"the checkpoint is incomplete or damaged: {why}; start again in another folder."
        ) from None
    return kept


def _result(model: OnlinePerceptron, tally: Reached, status: StreamStatus) -> dict[str, Any]:
    return {
        "predicted": tally.predicted,
        "trained on": model.n_seen,
        "mistakes": model.n_mistakes,
        "rate": model.n_mistakes / model.n_seen if model.n_seen else None,
        "rate in the last window": model.mistake_rate if model.n_seen else None,
        "radius": model.radius,
        "bound": None if status.margin is None else model.bound(status.margin),
        "bad lines": tally.bad,
        "labels": list(model.labels),
        "lines": tally.place.lines,
        "rows per second": status.rate(tally.predicted),
    }
