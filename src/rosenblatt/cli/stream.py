"""`rosenblatt stream`: predict each line of a stream, then learn from its label."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from itertools import chain
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import rosenblatt.clock as clock
from rosenblatt.cli import as_argument
from rosenblatt.cli.shared import (
    Console,
    NumberRange,
    command,
    ignore_option,
    kind_options,
    layout_options,
    pop_layout,
    print_note,
    target_option,
)
from rosenblatt.cli.streamoutput import (
    BadLines,
    Fingerprint,
    Outlet,
    StreamStatus,
    format_predictions,
)
from rosenblatt.errors import DataError, UsageError
from rosenblatt.files import CheckpointFolder, keep_apart
from rosenblatt.online import OnlinePerceptron
from rosenblatt.online.raw import columns_of_feed, reject_invalid
from rosenblatt.online.rows import NOT_A_LABEL, Block
from rosenblatt.read import Layout
from rosenblatt.read.feed import Batch, JsonFeed, Kinds, Place, describe_kinds, parse_label
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import map_in_threads
from rosenblatt.read.streams import (
    FIRST_LINES,
    detect_feed,
    feed_from_json,
    feed_to_json,
    open_stream,
)
from rosenblatt.text import join_words, plural, quote_column, shorten

EVERY = 100_000
ABOVE_0 = NumberRange(min=0, min_open=True)
READERS = min(4, os.cpu_count() or 1)  # threads that parse chunks
IDLE_SECONDS = 0.2  # interval of status updates while no chunk arrives


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
    help="Weights used to predict: the last, the average so far, or those with the fewest mistakes "
    "on recent rows (pocket).",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=1000,
    metavar="N",
    help="Number of recent rows that the recent mistake rate and the pocket use.",
)
@click.option("--eta", type=ABOVE_0, default=1.0, help="Learning rate.")
@click.option(
    "--intercept/--no-intercept",
    default=True,
    show_default=False,
    help="Whether to fit an intercept.",
)
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
def stream(data: str, as_json: bool, **given: Any) -> int:
    """Predict the label of each line of DATA, then learn from its true label.

    DATA is a JSON lines, CSV, LIBSVM or Parquet file, compressed or not, or - for standard input.
    Predictions are printed in the order of the lines, one per line. A prediction is empty until
    the first label is known; a bad line, which cannot be used, has none. A line without a label is
    predicted but not learned from. If none of the first lines has the target column (about 4 MB of
    a file, at least 1000 lines of a pipe), the command stops with an error.

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
    layout, given["as_json"] = pop_layout(given), as_json
    folder = None if given["checkpoint"] is None else CheckpointFolder(given["checkpoint"])
    _check_options(data, given, folder)
    with folder or nullcontext():
        kept = None if folder is None else _check_checkpoint(folder.read(given["resume"]))
        if given["resume"] and kept is None:
            print_note("no checkpoint found; starting from the beginning.")
        streamer = Streamer(data, layout, given, folder, kept)
        with stop_on_signals(streamer):
            streamer.run()
        model, status, predicted = streamer.model, streamer.status, streamer.predicted
        status.show(predicted, streamer.bad, final=True)
        if given["labels"] is None and any(NOT_A_LABEL in why for why in streamer.bad_lines.first):
            print_note("for three or more labels, list all of them with --labels.")
        if streamer.stopped_by is None:
            streamer.check_progress()
        streamer.save()
        result = {
            "predicted": predicted,
            "trained on": model.n_seen,
            "mistakes": model.n_mistakes,
            "rate": model.n_mistakes / model.n_seen if model.n_seen else None,
            "rate in the last window": model.mistake_rate if model.n_seen else None,
            "radius": model.radius,
            "bound": None if status.margin is None else model.bound(status.margin),
            "bad lines": streamer.bad,
            "labels": list(model.labels),
            "lines": streamer.place.lines,
            "rows per second": status.rate(predicted),
        }
        Console(as_json).result(result)
    return 0 if streamer.stopped_by is None else 128 + streamer.stopped_by


def _check_options(data: str, given: dict[str, Any], folder: CheckpointFolder | None) -> None:
    if folder is None and given["resume"]:
        raise UsageError("--resume needs a checkpoint; give --checkpoint DIR.")
    if folder is None and given["every"] and given["save"] is None:
        raise UsageError("--every needs a file to write; give --checkpoint DIR or --save FILE.")
    if given["follow"] and data == "-":
        raise UsageError(
            "--follow works only with a file; leave out --follow, because standard input is always "
            "followed."
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


def _options_to_repeat(given: dict[str, Any], layout: Layout, kept: Any) -> dict[str, Any]:
    """Return the options that a resumed run has to repeat.

    Raises UsageError if one of them differs from the options in the checkpoint `kept`.
    """
    keys = ("target", "labels", "predict_with", "window", "eta", "intercept")
    options = {f"--{key.replace('_', '-')}": given[key] for key in keys}
    options["--header"] = layout.header
    for name in ("ignore", "number", "category", "text"):
        options[f"--{name}"] = " ".join(sorted(given[name])) or None
    for name in ("format", "separator", "decimal", "encoding"):
        options[f"--{name}"] = getattr(layout, name)

    def spell(name: str, value: Any) -> str:
        if isinstance(value, bool):
            return f"with {name if value else name.replace('--', '--no-')}"
        return f"without {name}" if value is None else f"with {name} {as_argument(str(value))}"

    for name, value in options.items() if kept is not None else ():
        if kept["options"].get(name, value) != value:
            before, now = spell(name, kept["options"][name]), spell(name, value)
            raise UsageError(
                f"the checkpoint was made {before}, but this run is {now}; "
                "give the same options to resume."
            )
    return options


def _open_outlets(
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
    for name, outlet in there.items():
        if kept is not None:
            outlet.check(kept[name], kept["ended"])
        elif given["resume"]:
            outlet.require_empty()
    clock.ignore_interrupts()  # from here on `stop_on_signals` handles Ctrl-C
    for outlet in there.values():
        outlet.create()
    for outlet in there.values():
        outlet.start(None if folder is None else folder.path)
    return outlets


def parse_labels(text: str) -> list[Any]:
    """Parse a comma-separated list of labels, where quotes mark text.

    Examples
    --------
    >>> parse_labels('art, law ,sport'), parse_labels('1,2,10'), parse_labels('"1","a, b"')
    (['art', 'law', 'sport'], [1, 2, 10], ['1', 'a, b'])
    """
    parts = re.findall(r'\s*("(?:[^"]|"")*"|[^,]*?)\s*(?:,|$)', text)
    if any(p[:1] == '"' and (len(p) < 2 or p[-1] != '"') for p in parts):
        raise UsageError(f"--labels {shorten(text)}: a double quote is not closed.")
    return [p[1:-1].replace('""', '"') if p[0] == '"' else parse_label(p) for p in parts if p]


def predict_and_learn(model: OnlinePerceptron, batch: Batch) -> NDArray[Any]:
    """Predict each row of a batch, then learn from its label, if any; return the predictions."""
    if batch.X is not None and len(batch.X):
        return model.predict_then_learn(Block(batch.X, batch.names), batch.y)
    predictions = []
    for _, x, y in batch.rows:
        predictions.append(model.predict_one(x))
        if y is not None:
            model.learn_one(x, y)
    return np.array(predictions, dtype=object)


def _check_checkpoint(kept: Any) -> Any:
    """Return the content of a checkpoint, or raise DataError if it is incomplete."""
    if kept is None:
        return None
    try:
        if "tally" in kept and "options" not in kept:
            raise ValueError(
                "an earlier version of rosenblatt wrote it and did not store its options"
            )
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
            raise TypeError("a part, such as the model, is missing or has a wrong type")
        feed_from_json(kept["feed"])
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        why = shorten(str(wrong))
        raise DataError(
            f"the checkpoint is incomplete or damaged: {why}; start again in another folder."
        ) from None
    return kept


class Streamer:
    """Loop that predicts each line and learns from it, until the stream ends or is stopped."""

    def __init__(
        self, data: str, layout: Layout, given: dict[str, Any], folder: Any, kept: Any
    ) -> None:
        self.folder: CheckpointFolder | None = folder
        self.strict, self.save_to = given["strict"], given["save"]
        self.stopped_by: int | None = None
        try:
            if kept is not None:
                self.model = OnlinePerceptron.from_state(kept["model"], "the checkpoint")
            else:
                self.model = OnlinePerceptron(
                    eta0=given["eta"],
                    fit_intercept=given["intercept"],
                    window=given["window"],
                    predict_with=given["predict_with"],
                    labels=None if given["labels"] is None else parse_labels(given["labels"]),
                )
        except ValueError as trouble:
            raise (UsageError if kept is None else DataError)(str(trouble)) from None
        self.options = _options_to_repeat(given, layout, kept)
        self.stream = open_stream(data, layout, given["follow"], folder is not None)
        self.feed: Any  # a Feed
        self.kinds: Kinds
        if kept is None:
            keys = ("ignore", "number", "category", "text")
            ignore, numbers, categories, texts = (tuple(sorted(given[key])) for key in keys)
            columns = ColumnOptions(given["target"], None, ignore, numbers, categories, texts)
            self.feed, self.kinds, self.place, notes = detect_feed(self.stream, layout, columns)
            self.predicted = self.bad = 0  # numbers of rows and of bad lines
            for note in notes:
                print_note(note)
        else:
            tally = kept["tally"]
            self.place, self.predicted = Place(**tally["place"]), tally["predicted"]
            self.bad = tally["bad"]
            self.stream.go_to(self.place, kept["input"])
            self.feed, self.kinds = feed_from_json(kept["feed"]), kept["kinds"]
        quiet = given["quiet"] or given["as_json"]
        self.status = StreamStatus(self.model, self.predicted, given["margin"], quiet)
        self.bad_lines = BadLines(self.stream.name)
        self.outlets = _open_outlets(given, folder, kept)
        saves = folder is not None or self.save_to is not None
        self.every = (given["every"] or EVERY) if saves else None

    def run(self) -> None:
        """Predict each remaining line of the stream, learn from it, and write checkpoints."""
        self.checkpoint()
        chunks = self.stream.chunks(self.place, self.every)
        found = map_in_threads(self.feed.read, chunks, READERS, IDLE_SECONDS)
        for batch in chain.from_iterable(batches or (None,) for batches in found):
            if batch is not None:
                self._process(batch)
                if not self.model.n_seen and self.place.lines >= FIRST_LINES:
                    self._check_target(batch)
                if self.every and self.place.lines % self.every == 0:
                    self.checkpoint()
            self.status.show(self.predicted, self.bad)
            if self.stopped_by is not None:
                break
        self.checkpoint(ended=True)
        self.bad_lines.end()
        if self.stream.unfinished == self.place:
            line = self.place.lines + 1
            print_note(
                f"{self.stream.name}, line {line} is incomplete; it is left for the next run."
            )

    def stop(self, signum: int, frame: Any) -> None:
        """Handle a signal: request a stop after the current batch of lines."""
        self.stopped_by = signum

    def checkpoint(self, ended: bool = False) -> None:
        """Write a checkpoint with the model and the position in the stream.

        Also writes the model file of --save, unless the stream has ended.
        """
        if self.model.n_seen and not ended:
            self.save()
        if self.folder is None:
            return
        outlets = {name: out and out.sync() for name, out in self.outlets.items()}
        place = asdict(self.place)
        content = {
            "model": self.model.state(),
            "tally": {"place": place, "predicted": self.predicted, "bad": self.bad},
            "feed": feed_to_json(self.feed),
            "kinds": dict(self.kinds),
            "options": self.options,
            "input": self.stream.checksum(),
            "ended": ended,
        }
        self.folder.write(content | outlets)

    def save(self) -> None:
        """Write the model file, if one was requested."""
        if self.save_to is not None:
            self.model.to_model(columns_of_feed(self.feed, self.kinds)).save(self.save_to)

    def check_progress(self) -> None:
        """Raise DataError if nothing was learned from the stream."""
        name, predicted = self.stream.name, self.predicted
        if predicted == 0 and self.bad:
            lines = plural(self.bad, "line")
            raise DataError(f"{name}: no row could be read; all {lines} are bad.")
        if self.folder is not None:
            return
        if predicted == 0:
            raise DataError(f"{name} has no rows.")
        if self.model.n_seen == 0:
            where, there = "", ""
            if target := getattr(self.feed, "target", ""):
                if self.kinds:
                    there = f"; its columns are {join_words(list(self.kinds), most=8)}"
                where = f" in {quote_column(target)}{there}"
            rows = plural(predicted, "row")
            raise DataError(
                f"{name}: nothing to learn from: none of its {rows} has a label{where}."
            )

    def _process(self, batch: Batch) -> None:
        """Predict the rows of a batch, learn from them, and write the outputs."""
        model = self.model
        batch, kinds = reject_invalid(self.feed, batch, model.labels, self.kinds)
        if self.strict and batch.bad:
            self._stop_at(batch)
        predictions = predict_and_learn(model, batch)
        new = {name: kind for name, kind in kinds.items() if name not in self.kinds}
        for sentence in describe_kinds(new):
            print_note(sentence)
        self.kinds = kinds
        self.bad_lines.add(batch.bad)
        bad = b"".join(line.text for line in batch.bad)
        for name, data in (
            ("rejects", bad),
            ("output", format_predictions(predictions, model.labels)),
        ):
            outlet = self.outlets[name]
            if outlet is not None and data:
                outlet.write(data)
        self.stream.update_checksum(batch.chunk)  # type: ignore[arg-type]
        self.place = batch.chunk.end
        self.predicted += len(predictions)
        self.bad += len(batch.bad)

    def _check_target(self, batch: Batch) -> None:
        """Raise UsageError if the first lines of a pipe lack the target column."""
        if isinstance(self.feed, JsonFeed) and batch.chunk.begin.lines < FIRST_LINES:
            try:
                self.feed.check_target(batch.chunk.lines)  # type: ignore[union-attr]
            except UsageError:
                if self.folder is not None:  # its checkpoint has nothing to resume
                    self.folder.file.unlink(missing_ok=True)
                raise

    def _stop_at(self, batch: Batch) -> None:
        """Learn from the lines before a bad line, write a checkpoint, and raise DataError."""
        first = min(batch.bad, key=lambda line: line.number)
        before = first.number - 1 - batch.chunk.begin.lines
        if before > 0:
            for part in self.feed.read(batch.chunk.split(before)[0]):
                self._process(part)
        self.checkpoint(ended=True)
        raise DataError(f"{self.stream.name}, line {first.number}: {first.why}.")


@contextmanager
def stop_on_signals(streamer: Streamer) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C stop the stream after the current batch of lines."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in handlers:
        signal.signal(number, streamer.stop)
    if clock.interrupt_requested():
        streamer.stopped_by = signal.SIGINT
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
