"""How a stream is read: its format, its answers, and what each of its columns is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rosenblatt.cli.console import tell
from rosenblatt.errors import UsageError, as_option, column_called
from rosenblatt.read.csv import find_dialect
from rosenblatt.read.encoding import refused
from rosenblatt.read.feed import (
    USUAL_TARGETS,
    ArrowFeed,
    CsvFeed,
    JsonFeed,
    Kinds,
    LibsvmFeed,
    first_keys,
    kind_of,
    kind_of_cell,
    target_among,
)
from rosenblatt.read.lines import LineStream, Place, RowStream
from rosenblatt.read.plan import Wishes, forced_kinds
from rosenblatt.read.source import Layout, format_of
from rosenblatt.words import counted, listed

FIRST = 1000  # lines in which a first value of each column is looked for
SAID = {"category": "a category", "text": "words", "flag": "true or false"}
FEEDS: dict[str, Any] = {feed.__name__: feed for feed in (ArrowFeed, CsvFeed, JsonFeed, LibsvmFeed)}


@dataclass(frozen=True)
class Asked:
    """What a person said of a stream; a checkpoint keeps it, and another run must say the same."""

    target: str | None
    ignore: tuple[str, ...]
    number: tuple[str, ...]
    category: tuple[str, ...]
    text: tuple[str, ...]
    layout: Layout

    @classmethod
    def of(cls, given: dict[str, Any], layout: Layout) -> Asked:
        """The options, names in an order of their own."""
        several = {n: tuple(sorted(given[n])) for n in ("ignore", "number", "category", "text")}
        return cls(given["target"], layout=layout, **several)

    def options(self) -> dict[str, Any]:
        """By their names, as plain values."""
        said = {"--target": self.target, "--header": self.layout.header}
        for name in ("ignore", "number", "category", "text"):
            said[f"--{name}"] = " ".join(getattr(self, name)) or None
        for name in ("format", "separator", "decimal", "encoding"):
            said[f"--{name}"] = getattr(self.layout, name)
        return said

    def check(self, kept: dict[str, Any]) -> None:
        """Refuse options that a checkpoint was made without, or with others."""
        for name, value in self.options().items():
            if kept.get(name) != value:
                before, now = (
                    f"without {name}" if v is None else f"with {name} {v}"
                    for v in (kept.get(name), value)
                )
                raise UsageError(
                    f"the checkpoint was made {before}, and this is {now}; "
                    "give the same options to go on."
                )

    def forced(self, names: Sequence[str] | None = None) -> dict[str, str]:
        """The kinds that were asked for, by the names of the columns."""
        if names is None:
            names = (*self.number, *self.category, *self.text)
        wishes = Wishes(numbers=self.number, categories=self.category, texts=self.text)
        return forced_kinds(names, wishes)


def open_stream(data: str, layout: Layout, follow: bool, growing: bool) -> LineStream | RowStream:
    """The stream as lines, or as rows of a Parquet file."""
    source = LineStream(data, follow, growing)
    if follow and source.packed is not None:
        raise UsageError(f"--follow is for a file that grows, and {data} is compressed.")
    if format_of(source, layout) != "Parquet":
        return source
    if source.packed is not None:
        raise UsageError(f"{data} holds compressed Parquet, which a stream cannot read; unpack it.")
    if not source.regular or data == "-":
        raise UsageError("Parquet cannot be read from a pipe; give the file.")
    return RowStream(data)


def feed_of(source: LineStream | RowStream, asked: Asked) -> tuple[Any, Kinds, Place]:
    """How to read a stream, the kinds that are known of its keys, and where its rows begin."""
    if isinstance(source, RowStream):
        return _arrow(source, asked), {}, Place()
    kind = format_of(source, asked.layout)
    if kind == "LIBSVM":
        if asked.forced():
            raise UsageError("--number, --category and --text are for columns with names.")
        return LibsvmFeed(), {}, Place()
    if kind == "JSON lines":
        target = asked.target or target_among(first_keys(source.head()), None, source.name)
        return JsonFeed(target, asked.ignore), asked.forced(), Place()
    if kind != "CSV":
        raise UsageError(f"a stream of {kind} cannot be read; give JSON lines, CSV or LIBSVM.")
    return _csv(source, asked)


def known_feed(source: LineStream | RowStream, kept: Any) -> tuple[Any, Kinds, Place]:
    """The same from a checkpoint; refuses a stream that is not the one it was made on."""
    place = Place(**kept["tally"]["place"])
    source.go_to(place, kept["input"])
    return feed_again(kept["feed"]), kept["kinds"], place


def feed_again(kept: dict[str, Any]) -> Any:
    """How to read a stream, as a checkpoint tells it."""
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}
    for value in fields.values():
        words = value.values() if isinstance(value, dict) else value
        words = (value,) if isinstance(value, str) or value is None else words
        if not all(word is None or isinstance(word, str) for word in words):
            raise TypeError("how the stream is read is not told")
    return FEEDS[str(fields.pop("kind"))](**fields)


def tell_kinds(kinds: Kinds) -> None:
    """Say which columns are taken as what, besides numbers."""
    parts = []
    for kind, said in SAID.items():
        names = [column_called(name) for name, k in kinds.items() if k == kind]
        if names:
            parts.append(f"{listed(names)} as {said}")
    if parts:
        told = "; ".join(parts)
        tell(f"taken by the first value: {told}; --number, --category and --text choose otherwise.")


def _csv(source: LineStream, asked: Asked) -> tuple[CsvFeed, Kinds, Place]:
    dialect = find_dialect(source, asked.layout)
    if dialect.encoding != "utf-8":
        raise UsageError("a stream must be UTF-8 text; convert it with iconv.")
    names, target = list(dialect.names), asked.target
    if target is None and not set(USUAL_TARGETS) & set(names):
        target = names[-1]
        tell(f'the answers are taken from the last column, "{target}"; --target chooses another.')
    target = target_among(names, target, source.name)
    columns = _features(names, target, asked.ignore)
    layout = (dialect.separator, dialect.quote, dialect.decimal)
    feed = CsvFeed(dialect.names, target, columns, *layout)
    features = set(columns)
    forced = {n: kind for n, kind in asked.forced(names).items() if n in features}
    kinds, looked_at = _first_kinds(source, feed, int(dialect.header), forced)
    tell_kinds({name: kind for name, kind in kinds.items() if name not in forced})
    if looked_at >= FIRST or (looked_at and not source.growing):
        columns = _not_empty(columns, kinds, looked_at)
    others = {name: kinds[name] for name in columns if kinds.get(name, "number") != "number"}
    feed = replace(feed, features=columns, kinds=others)
    return feed, {}, source.skip_line() if dialect.header else Place()


def _first_kinds(
    source: LineStream, feed: CsvFeed, header: int, forced: Kinds
) -> tuple[Kinds, int]:
    """What the columns are by their first values, and how many lines were looked at.

    Waits for a value in each column, but not for many lines.
    """
    ended = False
    while True:
        found, head = dict(forced), source.head()
        whole = source.first if ended and not source.growing else head
        lines = [line for line in whole.split(b"\n") if line.strip()][header : header + FIRST]
        for cells in feed.cells(lines):
            for name in feed.features:
                if name not in found and (kind := kind_of_cell(cells[name], feed.decimal)):
                    found[name] = kind
            if len(found) == len(feed.features):
                return found, len(lines)
        if ended or len(lines) == FIRST:
            return found, len(lines)
        ended = not source.more()


def _not_empty(columns: tuple[str, ...], kinds: Kinds, lines: int) -> tuple[str, ...]:
    """The columns with a value in the first lines, which is said of the others."""
    empty = [name for name in columns if name not in kinds]
    if not empty or len(empty) == len(columns):
        return columns
    names = listed([column_called(name) for name in empty])
    tell(f"{names} left out: nothing in the first {counted(lines, 'line')}.")
    return tuple(name for name in columns if name in kinds)


def _arrow(source: RowStream, asked: Asked) -> ArrowFeed:
    schema = source.file.schema_arrow
    names, forced = schema.names, asked.forced(schema.names)
    target = target_among(names, asked.target, source.name)
    columns = _features(names, target, asked.ignore)
    for name in (target, *columns):
        if why := refused(schema.field(name).type):
            raise UsageError(
                f"{source.name}, {column_called(name)} holds {why}; "
                f"give --ignore {as_option(name)}."
            )
    texts = [name for name in columns if source.is_text(name) and name not in forced]
    guessed = {name: _first_kind(source.first_values(name, FIRST)) for name in texts}
    tell_kinds(guessed)
    others = {name: k for name, k in {**guessed, **forced}.items() if k != "number"}
    return ArrowFeed(target, columns, {name: others[name] for name in columns if name in others})


def _first_kind(values: list[Any]) -> str:
    return next((kind for value in values if (kind := kind_of(value))), "category")


def _features(names: list[str], target: str, ignore: tuple[str, ...]) -> tuple[str, ...]:
    there, left_out = set(names), set(ignore)
    unknown = [name for name in ignore if name not in there]
    if unknown:
        raise UsageError(f"--ignore: there is no column {unknown[0]!r}.")
    features = tuple(name for name in names if name != target and name not in left_out)
    if not features:
        raise UsageError("no column is left to learn from.")
    return features
