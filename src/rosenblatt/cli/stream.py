"""`rosenblatt stream`: predict each line as it comes, then learn it, and lose nothing."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

import click

from rosenblatt.checkpoint import CheckpointFolder
from rosenblatt.cli import VERBS
from rosenblatt.cli.options import examples, json_option, layout_options
from rosenblatt.cli.outlet import Outlet
from rosenblatt.cli.say import Voice, tell
from rosenblatt.cli.streaming import Job, Status, Streamer, Tally, stopping_gently
from rosenblatt.errors import DataError, UsageError, shortened
from rosenblatt.files import keep_apart
from rosenblatt.online import OnlinePerceptron
from rosenblatt.read import CSV, JSON_LINES, LIBSVM, PARQUET, Layout, reader_of
from rosenblatt.read.dialect import find_dialect
from rosenblatt.read.feed import (
    USUAL_TARGETS,
    ArrowFeed,
    CsvFeed,
    JsonFeed,
    LibsvmFeed,
    first_keys,
    target_among,
)
from rosenblatt.read.lines import LineStream, Place, RowStream

EVERY = 100_000
FEEDS: dict[str, Any] = {feed.__name__: feed for feed in (ArrowFeed, CsvFeed, JsonFeed, LibsvmFeed)}


@click.command(
    short_help=VERBS["stream"],
    epilog=examples(
        "rosenblatt stream clicks.jsonl --target clicked -o predicted.txt",
        "rosenblatt stream clicks.csv -o predicted.txt --checkpoint state --resume",
    ),
)
@click.argument("data", default="-", type=click.Path(allow_dash=True))
@click.option("--follow", is_flag=True, help="Wait for more at the end of DATA.")
@click.option("--target", metavar="COLUMN", help="The answers; a name, or a number from 1.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out.")
@click.option(
    "--predict-with",
    type=click.Choice(["last", "average", "pocket"]),
    default="last",
    show_default=True,
    help="Which weights predict.",
)
@click.option("--window", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--eta", type=float, default=1.0, help="The length of a correction.")
@click.option("--intercept/--no-intercept", default=True, help="Whether there is a w0.")
@click.option("--margin", type=float, help="Say how many mistakes the theorem allows for it.")
@click.option("-o", "--output", type=click.Path(), help="Predictions; else standard output.")
@click.option("--rejects", type=click.Path(), metavar="FILE", help="Bad lines go here.")
@click.option("--strict", is_flag=True, help="Stop at a bad line.")
@click.option("--checkpoint", type=click.Path(), metavar="DIR", help="Keep the state here.")
@click.option("--every", type=click.IntRange(min=1), metavar="N", help="… every N lines (100000).")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@click.option("--save", type=click.Path(), metavar="FILE", help="Write the model at the end.")
@click.option("--quiet", is_flag=True, help="No status line.")
@layout_options
@json_option
def stream(data: str, layout: Layout, as_json: bool, **given: Any) -> int:
    """Predict each line of DATA as it comes, then learn its answer.

    DATA is JSON lines, CSV, LIBSVM or Parquet; - is standard input. A line without an answer is
    only predicted. Predictions go to standard output in order, one a line, empty before any
    label is known; a bad line has none. Labels are learnt as they come.

    With --checkpoint, state and position are written together. After a crash, --resume goes on
    from there: a file of predictions is first taken back to the same place, so that no line is
    learnt twice or lost and no prediction is missing or doubled. Give the file with -o, or
    append to it with >>. Into a pipe, predictions since the last checkpoint come again.
    """
    _check(data, given)
    with ExitStack() as stack:
        folder = None
        if given["checkpoint"] is not None:
            folder = stack.enter_context(CheckpointFolder(given["checkpoint"]))
        kept = None if folder is None else _whole(folder.read(given["resume"]))
        if given["resume"] and kept is None:
            tell("there is no checkpoint yet; starting from the beginning.")
        job, tally = _job(data, layout, given, as_json, folder, kept)
        status = Status(job, tally, given["margin"], given["quiet"] or as_json)
        streamer = Streamer(job, tally, status)
        with stopping_gently(streamer):
            tally = streamer.run()
        status.end(tally)
        if given["save"] is not None:
            job.model.save(given["save"])
        Voice(as_json).result(_result(job.model, tally, status))
    return 0 if streamer.stopped_by is None else 128 + streamer.stopped_by


def _check(data: str, given: dict[str, Any]) -> None:
    if given["checkpoint"] is None and (given["resume"] or given["every"]):
        raise UsageError("--resume and --every need --checkpoint DIR.")
    if given["follow"] and data == "-":
        raise UsageError("--follow is for a file; standard input is followed anyway.")
    if given["margin"] is not None and not 0 < given["margin"] < math.inf:
        raise UsageError("--margin: give a number above 0.")
    folder = None if given["checkpoint"] is None else CheckpointFolder(given["checkpoint"])
    reads = {
        "the data": data,
        "the checkpoint's own file": None if folder is None else str(folder.file),
        "the checkpoint's lock": None if folder is None else str(folder.lock),
    }
    writes = {f"--{name}": given[name] for name in ("output", "rejects", "save")}
    keep_apart(reads, writes)


def _job(
    data: str,
    layout: Layout,
    given: dict[str, Any],
    as_json: bool,
    folder: CheckpointFolder | None,
    kept: Any,
) -> tuple[Job, Tally]:
    model = _model(given, kept)
    source = _open(data, layout, given["follow"])
    feed, begin = _feed(source, layout, given) if kept is None else _known_feed(source, kept)
    to_stdout = given["output"] in (None, "-")
    output = None if to_stdout and as_json else Outlet(None if to_stdout else given["output"])
    rejects = None if given["rejects"] is None else Outlet(given["rejects"])
    for outlet, name in ((output, "output"), (rejects, "rejects")):
        if outlet is not None:
            outlet.begin() if kept is None else outlet.take_back(kept[name])
    every = (given["every"] or EVERY) if folder is not None else None
    job = Job(model, source, feed, output, rejects, folder, every, given["strict"])
    if kept is None:
        return job, Tally(begin)
    return job, Tally(begin, kept["tally"]["predicted"], kept["tally"]["bad"])


def _model(given: dict[str, Any], kept: Any) -> OnlinePerceptron:
    try:
        model = OnlinePerceptron(
            eta0=given["eta"],
            fit_intercept=given["intercept"],
            window=given["window"],
            predict_with=given["predict_with"],
        )
    except ValueError as trouble:
        raise UsageError(str(trouble)) from None
    if kept is None:
        return model
    try:
        old = OnlinePerceptron.from_state(kept["model"], "the checkpoint")
    except ValueError as trouble:
        raise DataError(str(trouble)) from None
    wanted = model.state()["parameters"]
    for name, value in old.state()["parameters"].items():
        if wanted[name] != value:
            raise UsageError(
                f"the checkpoint was made with {name} {value!r}, not {wanted[name]!r}; "
                "give the same options to go on."
            )
    return old


def _open(data: str, layout: Layout, follow: bool) -> LineStream | RowStream:
    source = LineStream(data, follow)
    if reader_of(source, layout) is not PARQUET:  # type: ignore[arg-type]
        return source
    if not source.regular or data == "-":
        raise UsageError("Parquet cannot be read from a pipe; give the file.")
    return RowStream(data)


def _feed(
    source: LineStream | RowStream, layout: Layout, given: dict[str, Any]
) -> tuple[Any, Place]:
    """How to read the stream, and where its first row begins."""
    target, ignore = given["target"], given["ignore"]
    if isinstance(source, RowStream):
        names = source.file.schema_arrow.names
        target = target_among(names, target, source.name)
        return ArrowFeed(target, _features(names, target, ignore)), Place()
    reader = reader_of(source, layout)  # type: ignore[arg-type]
    if reader is LIBSVM:
        return LibsvmFeed(), Place()
    if reader is JSON_LINES:
        keys = first_keys(source.head())
        return JsonFeed(target or target_among(keys, None, source.name), tuple(ignore)), Place()
    if reader is not CSV:
        raise UsageError(
            f"a stream of {reader.name} cannot be read; give JSON lines, CSV or LIBSVM."
        )
    dialect = find_dialect(source, layout)  # type: ignore[arg-type]
    if dialect.encoding != "utf-8":
        raise UsageError("a stream must be UTF-8 text; convert it with iconv.")
    names = list(dialect.names)
    if target is None and not set(USUAL_TARGETS) & set(names):
        target = names[-1]
        tell(f'the answers are taken from the last column, "{target}"; --target chooses another.')
    target = target_among(names, target, source.name)
    feed = CsvFeed(
        dialect.names,
        target,
        _features(names, target, ignore),
        dialect.separator,
        dialect.quote,
        dialect.decimal,
    )
    return feed, source.skip_line() if dialect.header else Place()


def _known_feed(source: LineStream | RowStream, kept: Any) -> tuple[Any, Place]:
    place, feed = Place(**kept["tally"]["place"]), _feed_of(kept["feed"])
    source.go_to(place, kept["input"])
    return feed, place


def _feed_of(kept: dict[str, Any]) -> Any:
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}
    for value in fields.values():
        words = value if isinstance(value, tuple) else (value,)
        if not all(word is None or isinstance(word, str) for word in words):
            raise TypeError("how the stream is read is not told")
    return FEEDS[str(fields.pop("kind"))](**fields)


def _whole(kept: Any) -> Any:
    """What a checkpoint holds, refused where a part of it is not there."""
    if kept is None:
        return None
    try:
        tally, place = kept["tally"], Place(**kept["tally"]["place"])
        numbers = [place.bytes, place.lines, tally["predicted"], tally["bad"]]
        numbers += [kept[name] for name in ("output", "rejects") if kept[name] is not None]
        if any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError("a place in a file is not a whole number")
        if not isinstance(kept["input"], str) or not isinstance(kept["model"], dict):
            raise TypeError("its stream or its model is not told")
        _feed_of(kept["feed"])
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        why = shortened(str(wrong))
        raise DataError(f"the checkpoint does not hold all it should: {why}.") from None
    return kept


def _features(names: list[str], target: str, ignore: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in ignore if name not in names]
    if unknown:
        raise UsageError(f"--ignore: there is no column {unknown[0]!r}.")
    features = tuple(name for name in names if name != target and name not in ignore)
    if not features:
        raise UsageError("no column is left to learn from.")
    return features


def _result(model: OnlinePerceptron, tally: Tally, status: Status) -> dict[str, Any]:
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
        "rows a second": status.rate(tally),
    }
