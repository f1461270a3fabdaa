"""`rosenblatt stream`: predict each line as it comes, then learn it, and lose nothing."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import click

import rosenblatt.interrupts as interrupts
from rosenblatt.cli.console import Status, Voice, tell
from rosenblatt.cli.options import (
    NumberRange,
    ignore_option,
    json_option,
    kind_options,
    layout_options,
    target_option,
    verb,
)
from rosenblatt.cli.outlet import Outlet, Seal
from rosenblatt.cli.spelling import as_argument
from rosenblatt.cli.streaming import Reached, Streamer, stopping_gently
from rosenblatt.errors import DataError, UsageError
from rosenblatt.files import CheckpointFolder, keep_apart
from rosenblatt.online import OnlinePerceptron
from rosenblatt.read import Layout
from rosenblatt.read.chunks import Place, open_stream
from rosenblatt.read.feed import feed_from_json, feed_of, label_of
from rosenblatt.read.plan import Wishes
from rosenblatt.rows import NOT_A_LABEL
from rosenblatt.words import column_called, counted, listed, shortened

EVERY = 100_000
ABOVE_0 = NumberRange(min=0, min_open=True)


@verb(
    "rosenblatt stream clicks.jsonl --target clicked -o predicted.txt",
    "rosenblatt stream clicks.csv -o answers.txt --checkpoint state --resume",
)
@click.argument("data", default="-", type=click.Path(allow_dash=True))
@click.option("--follow", is_flag=True, help="Wait for more at the end of DATA.")
@target_option
@ignore_option
@click.option(
    "--labels",
    metavar="A,B,…",
    help="All labels, where they are known; more than two have to be.",
)
@click.option(
    "--predict-with",
    type=click.Choice(["last", "average", "pocket"]),
    default="last",
    show_default=True,
    help="Which weights predict.",
)
@click.option("--window", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--eta", type=ABOVE_0, default=1.0, help="The length of a correction.")
@click.option("--intercept/--no-intercept", default=True, help="Whether there is a w0.")
@click.option("--margin", type=ABOVE_0, help="Say how many mistakes the theorem allows for it.")
@click.option("-o", "--output", type=click.Path(), help="Predictions; else standard output.")
@click.option("--rejects", type=click.Path(), metavar="FILE", help="Bad lines go here.")
@click.option("--strict", is_flag=True, help="Stop at a bad line.")
@click.option("--checkpoint", type=click.Path(), metavar="DIR", help="Keep the state here.")
@click.option("--every", type=click.IntRange(min=1), metavar="N", help="… every N lines (100000).")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@click.option("--save", type=click.Path(), metavar="FILE", help="Write the model at the end.")
@click.option("--quiet", is_flag=True, help="No status line.")
@kind_options
@layout_options
@json_option
def stream(data: str, layout: Layout, as_json: bool, **given: Any) -> int:
    """Predict each line of DATA as it comes, then learn its answer.

    DATA is JSON lines, CSV or LIBSVM, compressed or not, or Parquet; - is standard input. A line
    without an answer is only predicted. If no line of the first chunk has the target, its name is
    taken as misspelt, which is an error; a chunk is about 4 MB of a file, and at least 1000 lines
    of a pipe. Predictions go to standard output in order, one a line, empty before any label is
    known; a bad line has none. Two labels are learnt as they come; more are learnt together, with
    weights for each, if --labels names them: a third one that it does not name makes a bad line. A
    label in "" is text, also where it looks like a number.

    The first value of a column says what it is: a number, a category, whose values become
    features column=value, or, from four words on, text, whose words become column=word.
    --number, --category and --text choose otherwise.

    With --checkpoint, state and position are written together, and a last line without its end
    waits for the next run. After a crash, --resume with the same options goes on from there: a
    file of predictions is first taken back to the same place, so that no line is learnt twice or
    lost and no prediction is missing or doubled. Give the file with -o, or append to it with >>.
    Into a pipe, predictions since the last checkpoint come again.
    """
    given["as_json"] = as_json
    folder = None if given["checkpoint"] is None else CheckpointFolder(given["checkpoint"])
    _check(data, given, folder)
    with folder or nullcontext():
        kept = None if folder is None else _whole(folder.read(given["resume"]))
        if given["resume"] and kept is None:
            tell("there is no checkpoint yet; starting from the beginning.")
        streamer = _streamer(data, layout, given, folder, kept)
        with stopping_gently(streamer):
            streamer.run()
        model, status, tally = streamer.model, streamer.status, streamer.tally
        status.end(tally.predicted, tally.bad)
        if given["labels"] is None and streamer.complaints.met(NOT_A_LABEL):
            tell("more than two labels are learnt if --labels names all of them.")
        if streamer.stopped_by is None:
            _refuse_nothing(streamer)
        if given["save"] is not None:
            model.save(given["save"])
        Voice(as_json).result(_result(model, tally, status))
    return 0 if streamer.stopped_by is None else 128 + streamer.stopped_by


def _check(data: str, given: dict[str, Any], folder: CheckpointFolder | None) -> None:
    if folder is None and (given["resume"] or given["every"]):
        raise UsageError("--resume and --every need --checkpoint DIR.")
    if given["follow"] and data == "-":
        raise UsageError("--follow is for a file; standard input is followed anyway.")
    if given["labels"] is not None and len(set(labels_given(given["labels"]))) < 2:
        raise UsageError("--labels: give two or more, as in --labels art,law,sport.")
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
        wishes = Wishes(given["target"], None, ignore, numbers, categories, texts)
        feed, kinds, begin, notes = feed_of(source, layout, wishes)
        tally = Reached(begin)
        for note in notes:
            tell(note)
    else:
        counts = map(kept["tally"].get, ("predicted", "bad"))
        tally = Reached(Place(**kept["tally"]["place"]), *counts)
        source.go_to(tally.place, kept["input"])
        feed, kinds = feed_from_json(kept["feed"]), kept["kinds"]
    status = Status(model, tally.predicted, given["margin"], given["quiet"] or given["as_json"])
    outlets = _outlets(given, folder, kept)
    every = (given["every"] or EVERY) if folder is not None else None
    how = (options, outlets, folder, every, given["strict"])
    return Streamer(model, source, feed, kinds, tally, status, *how)


def _options(given: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """What a person said of a stream, which a checkpoint keeps."""
    keys = ("target", "labels", "predict_with", "window", "eta", "intercept")
    said = {f"--{key.replace('_', '-')}": given[key] for key in keys}
    said["--header"] = layout.header
    for name in ("ignore", "number", "category", "text"):
        said[f"--{name}"] = " ".join(sorted(given[name])) or None
    for name in ("format", "separator", "decimal", "encoding"):
        said[f"--{name}"] = getattr(layout, name)
    return said


def _check_same(options: dict[str, Any], kept: dict[str, Any]) -> None:
    """Refuse options that a checkpoint was made without, or with others."""
    for name, value in options.items():
        if kept.get(name, value) != value:
            before, now = _given(name, kept[name]), _given(name, value)
            raise UsageError(
                f"the checkpoint was made {before}, and this is {now}; "
                "give the same options to go on."
            )


def _given(name: str, value: Any) -> str:
    """An option as a person gave it."""
    if isinstance(value, bool):
        return f"with {name if value else name.replace('--', '--no-')}"
    return f"without {name}" if value is None else f"with {name} {as_argument(str(value))}"


def _outlets(
    given: dict[str, Any], folder: CheckpointFolder | None, kept: Any
) -> dict[str, Outlet | None]:
    """Where predictions and bad lines go; nothing is made or cut before all is known to fit."""
    path = None if given["output"] == "-" else given["output"]
    outlets = {
        "output": None if path is None and given["as_json"] else Outlet("--output", path),
        "rejects": None if given["rejects"] is None else Outlet("--rejects", given["rejects"]),
    }
    there = {name: outlet for name, outlet in outlets.items() if outlet is not None}
    for name in outlets if kept is not None else ():
        if (name in there) != (kept[name] is not None):
            how = "with" if kept[name] else "without"
            raise UsageError(f"the checkpoint was made {how} {name}; give the same options.")
    seals = {}
    for name, outlet in there.items():
        if kept is not None:
            seals[name] = outlet.check(kept[name], kept["ended"])
        elif given["resume"]:
            outlet.refuse_unless_empty()
    interrupts.finish()  # from here on Ctrl-C stops the stream in order, see `stopping_gently`
    for outlet in there.values():
        outlet.create()
    for name, outlet in there.items():
        if folder is not None and kept is not None:
            outlet.take_back(seals[name], kept["ended"], folder.path)
        else:
            outlet.begin(sealed=folder is not None)
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
            labels=None if given["labels"] is None else labels_given(given["labels"]),
        )
    except ValueError as trouble:
        raise (UsageError if kept is None else DataError)(str(trouble)) from None


def labels_given(text: str) -> list[Any]:
    """The labels that a person lists: numbers where they look so, and text in quotes.

    Examples
    --------
    >>> labels_given('art, law ,sport'), labels_given('1,2,10'), labels_given('"1","a, b"')
    (['art', 'law', 'sport'], [1, 2, 10], ['1', 'a, b'])
    """
    parts = re.findall(r'\s*("(?:[^"]|"")*"|[^,]*?)\s*(?:,|$)', text)
    if any(p[:1] == '"' and (len(p) < 2 or p[-1] != '"') for p in parts):
        raise UsageError(f"--labels {shortened(text)}: a quote is opened and not closed.")
    return [p[1:-1].replace('""', '"') if p[0] == '"' else label_of(p) for p in parts if p]


def _refuse_nothing(streamer: Streamer) -> None:
    """Refuse a stream of which nothing could be read or learnt, unless lines are yet to come."""
    name, tally, feed = streamer.stream.name, streamer.tally, streamer.feed
    if tally.predicted == 0 and tally.bad:
        lines = counted(tally.bad, "line")
        raise DataError(f"{name}: nothing could be read, all of its {lines} left out.")
    if tally.predicted == 0 and streamer.folder is None:
        raise DataError(f"{name} has no rows.")
    if streamer.model.n_seen == 0 and streamer.folder is None:
        rows, where = counted(tally.predicted, "row"), ""
        if target := getattr(feed, "target", ""):
            there = f"; there are {listed(list(streamer.kinds), most=8)}" if streamer.kinds else ""
            where = f" in {column_called(target)}{there}"
        raise DataError(f"{name}: nothing was learnt, for none of its {rows} has a label{where}.")


def _whole(kept: Any) -> Any:
    """What a checkpoint holds, refused where a part of it is not there."""
    if kept is None:
        return None
    try:
        if "tally" in kept and "options" not in kept:
            raise ValueError("it was made by an earlier version of rosenblatt")
        tally, place = kept["tally"], Place(**kept["tally"]["place"])
        numbers = [place.bytes, place.lines, tally["predicted"], tally["bad"]]
        for name in ("output", "rejects"):
            if kept[name] is not None:
                seal = Seal(**kept[name])
                numbers += [seal.begun, 0 if seal.length is None else seal.length]
        if any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError("a place in a file is not a whole number")
        known = {str: ["input"], dict: ["model", "kinds", "options"], bool: ["ended"]}
        if not all(isinstance(kept[name], kind) for kind, names in known.items() for name in names):
            raise TypeError("its stream or its model is not told")
        feed_from_json(kept["feed"])
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        why = shortened(str(wrong))
        raise DataError(f"the checkpoint does not hold all it should: {why}.") from None
    return kept


def _result(model: OnlinePerceptron, tally: Reached, status: Status) -> dict[str, Any]:
    return {
        "seen": tally.predicted,
        "learnt": model.n_seen,
        "mistakes": model.n_mistakes,
        "rate": model.n_mistakes / model.n_seen if model.n_seen else None,
        "rate in the last window": model.mistake_rate if model.n_seen else None,
        "radius": model.radius,
        "bound": None if status.margin is None else model.bound(status.margin),
        "bad lines": tally.bad,
        "labels": list(model.labels),
        "lines": tally.place.lines,
        "rows a second": status.rate(tally.predicted),
    }
