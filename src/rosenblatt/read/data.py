"""A file as examples: read, planned and encoded, held in memory or read anew in every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks, InOrder
from rosenblatt.errors import FINITE, UTF8, BadCellError, DataError, FileRowError
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.messages import Message, Parameter, with_column
from rosenblatt.read import columnar, csv, jsonlines, libsvm
from rosenblatt.read.ahead import ahead, side_by_side
from rosenblatt.read.columns import usual
from rosenblatt.read.encoding import Answers
from rosenblatt.read.plan import (
    Plan,
    Wishes,
    as_planned,
    check_named,
    encoding_of,
    find_columns,
    plan_of,
    plan_table,
)
from rosenblatt.read.source import (
    MOST_COLUMNS,
    Layout,
    Source,
    format_of,
    free_memory,
    too_wide,
    twice,
)
from rosenblatt.read.survey import Rows
from rosenblatt.rownames import FROM_ONE, RowNames
from rosenblatt.tables import PROMISED
from rosenblatt.words import column_called, counted, listed, shortened

# What a kind of column is called where that is not its own name, one and many.
KINDS = {
    "category": ("category", "categories"),
    "words": ("word", "words"),
    "entries": ("entry", "entries"),
}
KEEP_ROWS = Message(
    "Give ",
    Parameter("missing", "mean"),
    ", or ",
    Parameter("ignore"),
    " with the columns that are mostly missing.",
)
NO_ROW_LEFT = "no row is left once rows with missing values are out"
COPIES = 3  # of the numbers: as they are read, as rows, and scaled
Numbers = NDArray[np.intp]
Settle = Callable[[Plan], Plan]  # takes the plan that was found and gives the one to go by


class Reader(NamedTuple):
    """How a format is read: batch after batch; what else it needs that does not tell its types."""

    batches: Callable[[Source, Layout], Iterator[Any]]
    unify: Callable[[Source, Iterable[Any]], Any] | None = None  # the schema of all batches
    conform: Callable[[Source, Any, Any], Any] | None = None  # a batch in that schema
    schema: Callable[[Source, Layout], Any] | None = None  # found in another way
    whole: Callable[[Source, Layout], Any] | None = None  # all rows at once, by several threads


READERS = {
    "CSV": Reader(csv.read_batches, schema=csv.read_schema, whole=csv.read_whole),
    "Parquet": Reader(columnar.parquet_batches),
    "Arrow": Reader(columnar.arrow_batches),
    "JSON lines": Reader(jsonlines.read_batches, jsonlines.unify, jsonlines.conform),
    "LIBSVM": Reader(libsvm.read_batches, libsvm.unify, libsvm.conform),
    "NumPy": Reader(columnar.npy_batches),
}


def read_whole(source: Source, layout: Layout = Layout()) -> Any:
    """All rows of a file as an Arrow table; what is not known of it is detected."""
    reader = READERS[format_of(source, layout)]
    if reader.whole is not None:
        table = reader.whole(source, layout)
        _check_names(source, table.schema)
    else:
        batches = list(read_batches(source, layout))
        if reader.unify is not None and reader.conform is not None:
            schema = reader.unify(source, batches)
            batches = [reader.conform(source, batch, schema) for batch in batches]
        table = pa.Table.from_batches(batches)
    if table.num_rows == 0:
        raise DataError(f"{source.name} has no rows, only the names of columns.")
    return table.combine_chunks()


def read_batches(source: Source, layout: Layout = Layout()) -> Iterator[Any]:
    """The rows of a file as Arrow record batches, in order and in little memory."""
    batch, reader = None, READERS[format_of(source, layout)]
    for batch in reader.batches(source, layout):
        _check_names(source, batch.schema)
        yield batch
    if batch is None and reader.unify is not None:  # of rows without a line of names
        raise DataError(f"{source.name} is empty.")


def read_schema(source: Source, layout: Layout = Layout()) -> Any:
    """The schema of the table that `read_whole` gives, found in little memory."""
    reader = READERS[format_of(source, layout)]
    if reader.schema is not None:
        return reader.schema(source, layout)
    if reader.unify is not None:
        return reader.unify(source, ahead(read_batches(source, layout)))
    return next(read_batches(source, layout)).schema


def read_alike(source: Source, layout: Layout) -> Iterator[Any]:
    """The rows in Arrow batches of one schema; a format that tells none is read for it before."""
    if READERS[format_of(source, layout)].unify is None:
        return read_batches(source, layout)
    return FileTable.of(source, layout).batches()


def names_in(source: Source, layout: Layout) -> list[str]:
    """The columns of a file."""
    if format_of(source, layout) == "JSON lines":  # a field may come late
        schema = read_schema(source, layout)
    else:
        schema = next(read_batches(source, layout)).schema
    return list(schema.names)


def _check_names(source: Source, schema: Any) -> None:
    """Refuse columns that cannot be told apart, and too many of them."""
    try:
        names = schema.names
    except UnicodeError:
        raise DataError(f"{source.name}: a column name is not UTF-8 text.") from None
    if len(names) > MOST_COLUMNS:
        raise too_wide(source.name, len(names))
    again = twice(names)
    if again is not None:
        raise DataError(f'{source.name}: the column name "{again}" comes twice.')


@dataclass(frozen=True)
class Footprint:
    """The bytes that data need in memory and those that are free (None where that is not known).

    Examples
    --------
    >>> Footprint(3_000_000_000, 4_000_000_000).too_large, Footprint(1000, None).too_large
    (True, False)
    """

    needed: int
    free: int | None

    @classmethod
    def of(cls, source: Source, layout: Layout) -> Footprint:
        """About what a file needs once it is read."""
        kind, packed = format_of(source, layout), source.compression is not None
        if packed or kind not in columnar.SIZES:
            return cls(COPIES * source.size, free_memory())
        return cls(COPIES * columnar.SIZES[kind](source), free_memory())

    @property
    def too_large(self) -> bool:
        """Whether the data do not fit in half of the free memory."""
        return self.free is not None and 2 * self.needed > self.free

    def __str__(self) -> str:
        free = "unknown" if self.free is None else in_words(self.free)
        return f"about {in_words(self.needed)} in memory, more than half of the {free} that is free"


def in_words(size: int) -> str:
    """Bytes as a person says them.

    Examples
    --------
    >>> in_words(3_840_000_000), in_words(12_345_678), in_words(0)
    ('3.8 GB', '12.3 MB', '0.0 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


@dataclass(frozen=True, eq=False)
class FileTable:
    """The table that a file is, batch after batch: the one that reading all of it gives."""

    source: Source  # the file that a person gave; messages are about it
    layout: Layout  # with the types that were said
    schema: Any  # fits all rows
    stored: Source | None = None  # the same rows in a Parquet file that is read instead

    @classmethod
    def of(cls, source: Source, layout: Layout) -> FileTable:
        """Find out of which types the columns of a file are, from all of its rows."""
        with told_where(source, layout):
            return cls(source, layout, read_schema(source, layout))

    def batches(self) -> Iterator[Any]:
        """The rows as they are stored, in Arrow batches."""
        if self.stored is not None:
            yield from read_batches(self.stored, Layout(".parquet"))
            return
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        conform = READERS[format_of(self.source, self.layout)].conform
        for batch in read_batches(self.source, replace(self.layout, types=types)):
            yield batch if conform is None else conform(self.source, batch, self.schema)

    def taken(self, made: Plan) -> Iterator[Examples]:
        """The examples of each batch, read ahead by threads."""
        found = False
        with told_where(self.source, self.layout):  # reading counts rows from the first
            for one in self._taken(made):
                found = True
                yield one
        if not found:
            raise _no_row_left(self.source)

    def _taken(self, made: Plan) -> Iterator[Examples]:
        """Row groups of a Parquet file side by side, if it has such; else one batch ahead."""
        stored = self.stored or self.source
        parts = []
        if self.stored is not None or format_of(stored, self.layout) == "Parquet":
            parts = columnar.parquet_parts(stored)
        if not parts:
            yield from self._encoded(made, ahead(self.batches()), 0)
            return
        _check_names(self.source, parts[0].metadata.schema.to_arrow_schema())

        def read(part: columnar.RowGroup) -> list[Examples]:
            return list(self._encoded(made, columnar.parquet_part(stored, part), part.start))

        for found in side_by_side(read, parts):
            yield from found

    def _encoded(self, made: Plan, batches: Iterable[Any], start: int) -> Iterator[Examples]:
        for batch in filter(len, batches):
            with told_where(self.source, self.layout, start):
                examples, _ = taken(made, batch, self.source.name)
            if examples.n:
                yield examples
            start += len(batch)


@dataclass(frozen=True, eq=False)
class Places:
    """Where some examples are in their table, from 0, with their cells; how many there are."""

    found: dict[int, tuple[int, dict[str, Any]]]
    count: int

    def __getitem__(self, numbers: Any) -> Any:
        """The rows of examples, as an array has them."""
        if np.ndim(numbers) == 0:
            return self.found[int(numbers)][0]
        return np.array([self.found[int(n)][0] for n in numbers], dtype=np.intp)

    def __len__(self) -> int:
        return self.count

    def cells(self, number: int) -> dict[str, Any]:
        """What is in the row of an example, by the names of the columns."""
        return self.found[number][1]


@dataclass(frozen=True, eq=False)
class Data:
    """A table taken by a plan: its rows as blocks of examples, and where they came from."""

    name: str  # what messages call it
    blocks: Blocks  # Examples where all rows are held, else those of a file, read in every pass
    rows: Any  # where they are held: the row of the table, from 0, that each example was
    plan: Plan
    table: Any  # as Arrow has it where it is held (None: there were arrays), else a FileTable
    header: bool | None = None  # is there a line of names; None where rows are no lines
    numbering: RowNames = FROM_ONE  # what the rows of the table are called

    @classmethod
    def in_passes(cls, table: FileTable, made: Plan) -> Data:
        """A file whose columns are known."""
        blocks = InOrder(lambda: table.taken(made), made.answers.many)
        return cls(table.source.name, blocks, None, made, table)

    @property
    def examples(self) -> Examples:
        """All rows as numbers with their answers, where they are held."""
        assert isinstance(self.blocks, Examples), "the rows are read in passes"
        return self.blocks

    @property
    def names(self) -> list[str]:
        """All columns of the table."""
        return [] if self.table is None else list(self.table.schema.names)

    def __str__(self) -> str:
        """What was read, in words: the columns and the answers."""
        plan, kinds = self.plan, dict[str, int]()
        for column in plan.encoding.columns:
            count = 1 if column.kind == "category" else len(column.features)
            kinds[column.kind] = kinds.get(column.kind, 0) + count
        parts = ", ".join(counted(n, *KINDS.get(kind, (kind,))) for kind, n in kinds.items())
        answers = plan.answers
        pair = listed([shortened(one) for one in answers.spellings], joint="or")
        if answers.column:
            pair = f"in {column_called(answers.column)} ({pair})"
        guessed = f", the only one with {plan.guessed}" if plan.guessed else ""
        held = isinstance(self.blocks, Examples)
        how = f": {counted(len(self.rows), 'row')}," if held else ", in passes:"
        return f"{self.name}{how} {parts}; answers {pair}{guessed}"

    @property
    def notes(self) -> list[str | Message]:
        """Return what else a person should know about the rows and columns."""
        held = self.rows is not None and self.table is not None
        left_out = self.table.num_rows - len(self.rows) if held else 0
        told = f"{counted(left_out, 'row')} left out: something is missing there"
        return [*([told] if left_out else []), *self.plan.notes]

    def taken(self) -> Iterator[tuple[Any, Numbers]]:
        """The rows as Arrow has them, one batch or many, and which of each are examples."""
        if not isinstance(self.table, FileTable):
            yield self.table, self.rows
            return
        source, layout, start = self.table.source, self.table.layout, 0
        with told_where(source, layout):
            for batch in filter(len, self.table.batches()):
                with told_where(source, layout, start):
                    yield batch, taken(self.plan, batch, self.name)[1]
                start += len(batch)

    def places(self, numbers: Iterable[int]) -> Places:
        """For some examples, where in the table they are and what is written there."""
        asked = np.unique(np.fromiter(numbers, np.intp))
        found, first, start = {}, 0, 0
        for batch, rows in self.taken():
            for n in asked[(asked >= first) & (asked < first + len(rows))].tolist():
                row = int(rows[n - first])
                found[n] = (start + row, batch.slice(row, 1).to_pylist()[0])
            first, start = first + len(rows), start + batch.num_rows
        return Places(found, first)

    def row_names(self, numbers: Iterable[int] = ()) -> RowNames:
        """Name examples by their rows in the table; where it is read in passes, these alone."""
        positions = self.places(numbers) if self.rows is None else self.rows
        return replace(self.numbering, positions=positions)

    def line(self, n: int) -> int | None:
        """The line of the file, counted from 1, of example n."""
        return None if self.header is None else int(self.rows[n]) + 1 + self.header


def read_data(source: Source, layout: Layout, wishes: Wishes, settle: Settle | None = None) -> Data:
    """Read all of a file and decide what its columns are."""
    with told_where(source, layout):
        wishes = _wishes_for(source, layout, wishes)
        table = read_whole(source, with_types(source, layout, wishes))
        made = plan_table(table, wishes, source.name)
        return _settled(made, lambda made: _held(source, layout, table, made), settle)


def read_in_passes(
    source: Source, layout: Layout, wishes: Wishes, settle: Settle | None = None
) -> Data:
    """The same of a file that is gone through again and again in little memory."""
    with told_where(source, layout):
        layout = with_types(source, layout, wishes)
    return planned(FileTable.of(source, layout), wishes, settle)


def planned(table: FileTable, wishes: Wishes, settle: Settle | None = None) -> Data:
    """The same of a table whose types are known."""
    source, layout = table.source, table.layout
    rows = Rows(table.schema, lambda: ahead(table.batches()))
    with told_where(source, layout):
        made = plan_of(rows, _wishes_for(source, layout, wishes), source.name)
    return _settled(made, lambda made: Data.in_passes(table, made), settle)


def read_as(source: Source, layout: Layout, made: Plan, held: bool = True) -> Data:
    """Read a file whose columns are known already, from a plan made on another file."""
    typed = replace(layout, types=made.encoding.types(strict=layout.decimal == ","))
    if not held:
        return Data.in_passes(FileTable.of(source, typed), made)
    with told_where(source, layout):
        return _held(source, layout, read_whole(source, typed), made)


def of_table(table: Any, wishes: Wishes, name: str) -> Data:
    """Take a table that was not read from a file."""
    table = usual(table)
    made = plan_table(table, wishes, name)
    return _settled(made, lambda made: Data(name, *taken(made, table, name), made, table))


def _settled(made: Plan, read: Callable[[Plan], Data], settle: Settle | None = None) -> Data:
    """Data by the plan to go by: without labels of which no row is left where some are dropped."""
    if made.encoding.missing == "drop":
        data = read(made)
        if (left := _labels_left(data)) is made and settle is None:
            return data
        made = left
    return read(made if settle is None else settle(made))


def _labels_left(data: Data) -> Plan:
    """The plan, with those labels that some row has; all are mostly met soon."""
    answers, met = data.plan.answers, set[int]()
    for places in data.blocks.each(lambda block, _: np.unique(block.places)):
        met.update(places.tolist())
        if len(met) == len(answers.names):
            return data.plan
    if len(met) < 2:
        told = listed([shortened(answers.spellings[place]) for place in met]) or "none"
        raise DataError(
            f"{data.name}, {column_called(answers.column)}: {counted(len(met), 'different label')}"
            f" ({told}) once rows with missing values are out; there must be two or more. ",
            KEEP_ROWS,
        )
    names = tuple(name for place, name in enumerate(answers.names) if place in met)
    gone = [shortened(name) for place, name in enumerate(answers.spellings) if place not in met]
    note = f"no row of {listed(gone)} is left: not learnt as {'labels' if gone[1:] else 'a label'}"
    answers = Answers(answers.column, names)
    return replace(data.plan, answers=answers, notes=(*data.plan.notes, note))


def split(
    data: Data, wishes: Wishes, learnt: Numbers, tested: Numbers
) -> tuple[Examples, Examples]:
    """Examples to learn from and to test on, encoded by what the first alone show.

    Words, categories and means are those of the rows learnt from, so that nothing of the
    rows tested on leaks into learning.
    """
    answers = data.plan.answers
    table = data.table.take(data.rows[learnt])
    encoding = encoding_of(table, as_planned(wishes, data.plan), data.name)
    parts = []
    for part in (table, data.table.take(data.rows[tested])):
        found = encoding.encode(part, data.name)
        y = answers.encode(part.column(answers.column))[found.rows]
        parts.append(_examples(found.X, y, answers, encoding.features))
    return parts[0], parts[1]


def _examples(X: Any, y: NDArray[Any], answers: Answers, names: tuple[str, ...]) -> Examples:
    kind = JointExamples if answers.many else Examples
    return kind(X, y, answers.labels, names)


def taken(made: Plan, table: Any, name: str) -> tuple[Examples, Numbers]:
    """The rows of a table or batch that can be learnt from, as examples, and which they are.

    Of several bad cells the one in the first row is told, so that it does not matter how many
    rows are looked at together.
    """
    answers, bad = made.answers, []
    if answers.column not in table.schema.names:
        raise DataError(f"{name} has no {column_called(answers.column)} with the answers.")
    try:
        found = made.encoding.encode(table, name)
    except BadCellError as trouble:
        bad.append(trouble)
    cells = table.column(answers.column)
    rows = np.arange(table.num_rows) if bad else found.rows  # of a row that is dropped none is read
    try:
        y = _answered(made, cells if len(rows) == len(cells) else cells.take(pa.array(rows)))
    except BadCellError as trouble:
        trouble.row = int(rows[trouble.row])
        bad.append(trouble)
    if bad:
        raise min(bad, key=lambda cell: cell.row)
    X = found.X
    if (y == answers.none).any():
        kept = np.flatnonzero(y != answers.none)
        X, rows, y = X[kept], rows[kept], y[kept]
    return _examples(X, y, answers, made.encoding.features), rows


def _answered(made: Plan, cells: Any) -> NDArray[Any]:
    answers = made.answers
    try:
        y = answers.encode(cells)
    except BadCellError as bad:
        _answered(made, cells.slice(0, bad.row))  # where an answer may be missing before
        raise
    gaps = y == answers.none
    if made.encoding.missing != "drop" and gaps.any():
        raise BadCellError(int(gaps.argmax()), answers.column, "", "an answer")
    return y


def _held(source: Source, layout: Layout, table: Any, made: Plan) -> Data:
    examples, rows = taken(made, table, source.name)
    if len(rows) == 0:
        raise _no_row_left(source)
    header, kind = None, format_of(source, layout)
    if kind in ("CSV", "LIBSVM", "JSON lines"):
        first = kind == "CSV" and csv.find_dialect(source, layout).header
        if source.count_lines() == table.num_rows + first:  # every other line is a row
            header = first
    return Data(source.name, examples, rows, made, table, header)


def _no_row_left(source: Source) -> DataError:
    return DataError(f"{source.name}: {NO_ROW_LEFT}. ", KEEP_ROWS)


def _wishes_for(source: Source, layout: Layout, wishes: Wishes) -> Wishes:
    """What was said of the columns; a NumPy table has the answers in its last one."""
    if wishes.target is None and format_of(source, layout) == "NumPy":
        return replace(wishes, target="-1")
    return wishes


def with_types(source: Source, layout: Layout, wishes: Wishes) -> Layout:
    """Columns that were said to be categories or text are read as they are written.

    A column that is not there is refused at once, before all rows are read.
    """
    if format_of(source, layout) != "CSV":
        return layout
    names = csv.find_dialect(source, layout).names
    check_named(names, wishes)
    wished = find_columns(names, wishes.categories, "category")
    wished += find_columns(names, wishes.texts, "text")
    return replace(layout, types=dict.fromkeys(wished, pa.string()))


@contextmanager
def told_where(
    source: Source, layout: Layout, start: int = 0, advice: str | Message | None = None
) -> Iterator[None]:
    """Turn a bad cell into a sentence with the file, the row and what is written there."""
    try:
        yield
    except BadCellError as bad:
        row, is_csv = start + bad.row, format_of(source, layout) == "CSV"
        # A cell that became a number is quoted as it is written, not as it was understood.
        if is_csv and (bad.text is None or bad.promised in (FINITE, PROMISED)):
            bad.text = csv.cell_text(source, layout, row, bad.column)
        if bad.promised == UTF8 and is_csv:
            advice = Message("Give ", Parameter("encoding", "latin-1"), ", for example.")
        elif advice is not None and bad.promised == PROMISED:
            advice = ""
        elif advice is None or bad.promised in (FINITE, UTF8):
            advice = _advice(bad)
        what = f", {column_called(bad.column)}: {bad.what}."
        rest = Message(what, " ", advice) if advice else what
        raise FileRowError(source.name, row + 1, rest) from None


def _advice(bad: BadCellError) -> str | Message:
    ignore, category = (with_column(name, bad.column) for name in ("ignore", "category"))
    drop, mean = (Parameter("missing", policy) for policy in ("drop", "mean"))
    if bad.promised == PROMISED:
        subtract = ", or subtract the minimum of the column from all of its values first."
        return Message("Give ", ignore, ", or ", category, subtract)
    if bad.promised == FINITE:  # a value that is there, so that no policy for missing ones helps
        return Message("Fix the value, or give ", ignore, ".")
    if bad.promised == UTF8:
        return Message("Give ", ignore, ".")
    if bad.promised == "an answer":
        return Message("Give ", drop, ".")
    if bad.promised.startswith("a number"):
        return Message("Give ", drop, ", ", mean, ", or ", category, ".")
    return ""
