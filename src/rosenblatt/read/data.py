"""Files and tables as training data, in memory or read again in every pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks, InOrder
from rosenblatt.clock import Reporter
from rosenblatt.errors import (
    FINITE,
    FROM_ONE,
    UTF8,
    BadCellError,
    DataError,
    FileRowError,
    Message,
    Parameter,
    RowNames,
    WriteError,
    with_column,
)
from rosenblatt.examples import Examples
from rosenblatt.read import columnar, csv, lines
from rosenblatt.read.columns import normalize_types
from rosenblatt.read.encoding import Encoding, Plan, TargetColumn
from rosenblatt.read.plan import (
    ColumnOptions,
    collect_statistics,
    decide_columns,
    make_plan,
    options_from_plan,
    resolve_columns,
)
from rosenblatt.read.source import (
    Layout,
    Source,
    check_names,
    format_of,
    free_memory,
    map_in_threads,
)
from rosenblatt.tables import PROMISED
from rosenblatt.text import join_words, plural, quote_column, shorten

KEEP_ROWS = Message(
    "Give ",
    Parameter("missing", "mean"),
    ", or ",
    Parameter("ignore"),
    " with the columns that are mostly missing.",
)
NO_ROW_LEFT = "no row is left after dropping rows with missing values"
TEXT = ("CSV", "JSON lines", "LIBSVM")  # formats that are slow to parse in every pass
COPIES = 3  # of the numbers in memory: as read, as rows, and scaled
RowNumbers = NDArray[np.intp]
T = TypeVar("T")
AdjustPlan = Callable[[Plan], Plan]  # replaces the plan that was found


class Reader(NamedTuple):
    """Functions that read files of one format.

    They get the file and, except `size`, its layout. Batches have the column types that the layout
    gives.
    """

    batches: Callable[[Source, Layout], Iterator[Any]]
    # For text, whose types are known only at the end:
    whole: Callable[[Source, Layout], Any] | None = None  # reads all rows, checks column names
    schema: Callable[[Source, Layout], Any] | None = None
    # For other formats, the number of bytes in memory (default: as large as the file):
    size: Callable[[Source], int] | None = None


READERS = {
    "CSV": Reader(csv.read_batches, csv.read_whole, csv.read_schema),
    "JSON lines": Reader(lines.read_json_batches, lines.read_json, lines.read_json_schema),
    "LIBSVM": Reader(lines.read_libsvm_batches, lines.read_libsvm, lines.read_libsvm_schema),
    "Parquet": Reader(columnar.parquet_batches, size=columnar.parquet_size),
    "Arrow": Reader(columnar.arrow_batches),
    "NumPy": Reader(columnar.npy_batches, size=columnar.npy_size),
}


def read_whole(source: Source, layout: Layout = Layout()) -> Any:
    """Read a whole file as an Arrow table."""
    whole = READERS[format_of(source, layout)].whole
    if whole is not None:
        table = whole(source, layout)
    else:
        table = pa.Table.from_batches(read_batches(source, layout))
    if table.num_rows == 0:
        raise DataError(f"{source.name} has no rows, only the names of columns.")
    return table.combine_chunks()


def read_batches(source: Source, layout: Layout = Layout()) -> Iterator[Any]:
    """Yield the rows of a file in batches, using little memory.

    Raises DataError on duplicate column names or too many columns.
    """
    for batch in READERS[format_of(source, layout)].batches(source, layout):
        try:
            names = batch.schema.names
        except UnicodeError:
            raise DataError(
                f"{source.name}: a column name is not UTF-8 text; rename the column."
            ) from None
        check_names(source.name, names)
        yield batch


def read_schema(source: Source, layout: Layout = Layout()) -> Any:
    """Return the column names and types of a file, using little memory."""
    schema = READERS[format_of(source, layout)].schema
    return next(read_batches(source, layout)).schema if schema is None else schema(source, layout)


def read_uniform_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield the rows of a file in batches that have the same column types."""
    if format_of(source, layout) in ("JSON lines", "LIBSVM"):
        return FileTable.of(source, layout).batches()  # reads the file twice
    return read_batches(source, layout)


def read_column_names(source: Source, layout: Layout) -> list[str]:
    """Return the names of the columns of a file."""
    if format_of(source, layout) == "JSON lines":  # a field may first occur in a late line
        schema = read_schema(source, layout)
    else:
        schema = next(read_batches(source, layout)).schema
    return list(schema.names)


def memory_needed(source: Source, layout: Layout) -> int:
    """Estimate how many bytes reading a file into memory and training on it takes."""
    size = READERS[format_of(source, layout)].size
    packed = source.compression is not None
    return COPIES * (source.size if packed or size is None else size(source))


def describe_excess(source: Source, layout: Layout) -> str:
    """Explain why a file is too large for memory; return "" if it is not."""
    needed, free = memory_needed(source, layout), free_memory()
    if free is None or 2 * needed <= free:
        return ""
    a, b = (f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{n / 1e6:.1f} MB" for n in (needed, free))
    return f"about {a} in memory, more than half of the {b} that is free"


@dataclass(frozen=True, eq=False)
class FileTable:
    """Table that is read from a file in batches that have the same column types."""

    source: Source  # the file that messages name
    layout: Layout  # with the requested types
    schema: Any  # of all rows
    stored: Source | None = None  # a Parquet file with the same rows, read instead

    @classmethod
    def of(cls, source: Source, layout: Layout) -> FileTable:
        """Create the table of a file; find column types that fit all rows."""
        with locate_errors(source, layout):
            return cls(source, layout, read_schema(source, layout))

    def batches(self) -> Iterator[Any]:
        """Yield the rows as Arrow batches."""
        if self.stored is not None:
            return read_batches(self.stored, Layout(".parquet"))
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        return read_batches(self.source, replace(self.layout, types=types))

    def each(self, work: Callable[[Any], T]) -> Iterator[T]:
        """Apply a function to each batch in other threads; yield the results in order.

        An error about a cell names its row of the file.
        """
        source, layout = self.source, self.layout

        def number_rows() -> Iterator[tuple[int, Any]]:
            start = 0
            for batch in filter(len, self.batches()):
                yield start, batch
                start += len(batch)

        def locate(numbered: tuple[int, Any]) -> T:
            with locate_errors(source, layout, numbered[0]):
                return work(numbered[1])

        with locate_errors(source, layout):  # reading counts rows from the beginning
            yield from map_in_threads(locate, number_rows())

    def examples(self, plan: Plan) -> Iterator[Examples]:
        """Yield the examples of each batch, encoded by a plan."""
        found = False
        for examples, _ in self.each(lambda batch: encode_rows(plan, batch, self.source.name)):
            if examples.n:
                found = True
                yield examples
        if not found:
            raise DataError(f"{self.source.name}: {NO_ROW_LEFT}. ", KEEP_ROWS)


@dataclass(frozen=True, eq=False)
class Places:
    """Row numbers and cells of some examples; `len` is the number of all examples."""

    found: dict[int, tuple[int, dict[str, Any]]]
    count: int

    def __getitem__(self, numbers: Any) -> Any:
        """Return the row numbers, from 0, of one or several examples."""
        if np.ndim(numbers) == 0:
            return self.found[int(numbers)][0]
        return np.array([self.found[int(n)][0] for n in numbers], dtype=np.intp)

    def __len__(self) -> int:
        return self.count

    def cells(self, number: int) -> dict[str, Any]:
        """Return the cells of an example as a dict."""
        return self.found[number][1]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a table or file as blocks of encoded examples."""

    name: str  # in messages
    blocks: Blocks  # Examples if all rows are in memory, else read in every pass
    rows: Any  # row of the table, from 0, of each example; None in passes
    plan: Plan
    table: Any  # Arrow table in memory (None: given as arrays), or FileTable
    origin: tuple[Source, Layout] | None = None  # the file in memory
    numbering: RowNames = FROM_ONE  # how rows are named

    @classmethod
    def in_passes(cls, table: FileTable, plan: Plan) -> Data:
        """Create data whose rows are read from a file in every pass."""
        blocks = InOrder(lambda: table.examples(plan), plan.target.many)
        return cls(table.source.name, blocks, None, plan, table)

    @property
    def examples(self) -> Examples:
        """All rows as examples, if they are in memory."""
        assert self.blocks.loaded is not None, "the rows are read in passes"
        return self.blocks.loaded

    @property
    def names(self) -> list[str]:
        """Names of all columns of the table."""
        return [] if self.table is None else list(self.table.schema.names)

    def __str__(self) -> str:
        """Describe the columns and the labels."""
        plan, kinds = self.plan, dict[str, int]()
        for column in plan.encoding.columns:
            count = 1 if column.kind == "category" else len(column.features)
            kinds[column.noun] = kinds.get(column.noun, 0) + count
        parts = ", ".join(plural(n, kind) for kind, n in kinds.items())
        target = plan.target
        pair = join_words([shorten(one) for one in target.spellings], joint="or")
        if target.column:
            pair = f"{quote_column(target.column)} ({pair})"
        guessed = f", the only column with {plan.guessed}" if plan.guessed else ""
        held = self.blocks.in_memory
        how = f": {plural(len(self.rows), 'row')}," if held else ", in passes:"
        what = "target" if target.column else "labels"
        return f"{self.name}{how} {parts}; {what} {pair}{guessed}"

    @property
    def notes(self) -> list[str | Message]:
        """Remarks on rows and columns that were left out."""
        held = self.rows is not None and self.table is not None
        left_out = self.table.num_rows - len(self.rows) if held else 0
        text = f"{plural(left_out, 'row')} left out because of missing values"
        return [*([text] if left_out else []), *self.plan.notes]

    def row_batches(self) -> Iterator[tuple[Any, RowNumbers]]:
        """Yield each batch of the table and, for each of its examples, the row in the batch."""
        if not isinstance(self.table, FileTable):
            yield self.table, self.rows
        else:
            yield from self.table.each(
                lambda batch: (batch, encode_rows(self.plan, batch, self.name)[1])
            )

    def places(self, numbers: Iterable[int]) -> Places:
        """Look up the row number and the cells of some examples in the table.

        `numbers` are the indices of the examples, from 0, which do not count dropped rows.
        """
        wanted = np.unique(np.fromiter(numbers, np.intp))
        found, first, start = {}, 0, 0
        for batch, rows in self.row_batches():
            for n in wanted[(wanted >= first) & (wanted < first + len(rows))].tolist():
                row = int(rows[n - first])
                found[n] = (start + row, batch.slice(row, 1).to_pylist()[0])
            first, start = first + len(rows), start + batch.num_rows
        return Places(found, first)

    def row_names(self, numbers: Iterable[int] = ()) -> RowNames:
        """Return how messages name the rows.

        If the rows are read in passes, only the examples with indices in `numbers` have names.
        """
        positions = self.places(numbers) if self.rows is None else self.rows
        return replace(self.numbering, positions=positions)

    def line_number(self, n: int) -> int | None:
        """Return the line of the file that holds example n, from 1, or None if unknown."""
        header = self._header_lines
        return None if header is None else int(self.rows[n]) + header + 1

    @functools.cached_property
    def _header_lines(self) -> int | None:
        """Number of lines before the first row; None if rows and lines differ in number."""
        if self.origin is None or format_of(*self.origin) not in TEXT:
            return None
        source, layout = self.origin
        is_csv = format_of(source, layout) == "CSV"
        header = int(is_csv and csv.find_dialect(source, layout).header)
        return header if source.count_lines() == self.table.num_rows + header else None


def read_data(
    source: Source, layout: Layout, options: ColumnOptions, adjust: AdjustPlan | None = None
) -> Data:
    """Read a whole file into memory, and decide how columns are encoded."""
    with locate_errors(source, layout):
        layout, options = fit_format(source, layout, options)
        table = read_whole(source, layout)
        plan = make_plan(table, options, source.name)
        return _read_by_plan(
            plan, lambda plan: _read_in_memory(source, layout, table, plan), adjust
        )


def read_in_passes(
    source: Source, layout: Layout, options: ColumnOptions, adjust: AdjustPlan | None = None
) -> Data:
    """Open a file as data whose rows are read again in every pass."""
    layout, options = fit_format(source, layout, options)
    return plan_file(FileTable.of(source, layout), options, adjust)


def open_data(
    source: Source,
    layout: Layout,
    options: ColumnOptions,
    reporter: Reporter = Reporter(),
    *,
    convert: bool = True,
) -> Data:
    """Open a file for reading in passes; if `convert`, convert text to Parquet first."""
    layout, options = fit_format(source, layout, options)
    text = convert and format_of(source, layout) in TEXT and source.kept is None
    name = columnar.converted_path(source)
    with reporter.progress(f"reading {source.name}"):
        stored = columnar.find_converted(source, layout) if text else None
        if stored is None:
            table = FileTable.of(source, layout)
        else:
            schema = read_schema(stored, Layout(".parquet"))
            table = FileTable(source, layout, schema, stored)
    if stored is not None:
        reporter.note(f"{source.name} is unchanged since its conversion; reading {name} instead.")
    elif text:
        try:
            with reporter.progress(f"converting {source.name}"):
                table = columnar.convert_file(table)
            reporter.note(f"{source.name} was converted to {name}; every pass reads that file.")
        except WriteError as error:
            reporter.note(f"{str(error).rstrip('.')}; the text is parsed again in every pass.")
    with reporter.progress(f"reading {source.name}"):
        return plan_file(table, options)


def plan_file(table: FileTable, options: ColumnOptions, adjust: AdjustPlan | None = None) -> Data:
    """Decide how the columns of a file are encoded; return data that is read in passes."""
    with locate_errors(table.source, table.layout):
        plan = make_plan(table, options, table.source.name)
    return _read_by_plan(plan, lambda plan: Data.in_passes(table, plan), adjust)


def read_with_plan(source: Source, layout: Layout, plan: Plan, held: bool = True) -> Data:
    """Read a file, and encode its columns by an existing plan."""
    typed = replace(layout, types=plan.encoding.types(strict=layout.decimal == ","))
    if not held:
        return Data.in_passes(FileTable.of(source, typed), plan)
    with locate_errors(source, layout):
        return _read_in_memory(source, layout, read_whole(source, typed), plan)


def data_from_table(table: Any, options: ColumnOptions, name: str) -> Data:
    """Create training data from an Arrow table."""
    table = normalize_types(table)
    plan = make_plan(table, options, name)
    return _read_by_plan(
        plan, lambda plan: Data(name, *encode_rows(plan, table, name), plan, table)
    )


def _read_by_plan(
    plan: Plan, read: Callable[[Plan], Data], adjust: AdjustPlan | None = None
) -> Data:
    """Read data by a plan, without the labels that occur only in dropped rows."""
    if plan.encoding.missing == "drop":
        data = read(plan)
        if (left := _drop_unused_labels(data)) is plan and adjust is None:
            return data
        plan = left
    return read(plan if adjust is None else adjust(plan))


def _drop_unused_labels(data: Data) -> Plan:
    """Return the plan of `data` with only those labels that occur in rows that are kept."""
    target, met = data.plan.target, set[int]()
    for places in data.blocks.each(lambda block, _: np.unique(block.places)):
        met.update(places.tolist())
        if len(met) == len(target.names):
            return data.plan
    if len(met) < 2:
        text = join_words([shorten(target.spellings[place]) for place in met]) or "none"
        raise DataError(
            f"{data.name}, {quote_column(target.column)}: {plural(len(met), 'different label')}"
            f" ({text}) after dropping rows with missing values; there must be two or more. ",
            KEEP_ROWS,
        )
    names = tuple(name for place, name in enumerate(target.names) if place in met)
    gone = [shorten(name) for place, name in enumerate(target.spellings) if place not in met]
    note = (
        f"no row of {join_words(gone)} is left: not used as {'labels' if gone[1:] else 'a label'}"
    )
    target = TargetColumn(target.column, names)
    return replace(data.plan, target=target, notes=(*data.plan.notes, note))


def split(
    data: Data, options: ColumnOptions, train: RowNumbers, test: RowNumbers
) -> tuple[Examples, Examples]:
    """Split data into training and test examples.

    Words, categories and means are those of the training rows, so that nothing leaks from the test
    rows.
    """
    table = data.table.take(data.rows[train])
    options = options_from_plan(options, data.plan)
    all_stats = collect_statistics(table, options, data.name)
    del all_stats[data.plan.target.column]
    columns, _ = decide_columns(table, all_stats, options, data.name)
    plan = replace(data.plan, encoding=Encoding(columns, options.missing))
    others = data.table.take(data.rows[test])
    return encode_rows(plan, table, data.name)[0], encode_rows(plan, others, data.name)[0]


def encode_rows(plan: Plan, table: Any, name: str) -> tuple[Examples, RowNumbers]:
    """Encode the rows of a table, except dropped ones; return examples and row numbers.

    An error is about the first bad row, whatever the size of the batches.
    """
    target, bad = plan.target, list[BadCellError]()
    if target.column not in table.schema.names:
        raise DataError(f"{name} has no target {quote_column(target.column)}.")
    X: Any = None
    rows, cells = np.arange(table.num_rows), table.column(target.column)
    try:
        X, rows = plan.encoding.encode(table, name)  # labels of dropped rows are not read
    except BadCellError as error:
        bad.append(error)
    cells = cells if len(rows) == len(cells) else cells.take(pa.array(rows))
    try:
        y = target.encode(cells, required=plan.encoding.missing != "drop")
    except BadCellError as error:
        error.row = int(rows[error.row])
        bad.append(error)
    if bad:
        raise min(bad, key=lambda cell: cell.row)
    if (y == target.none).any():
        kept = np.flatnonzero(y != target.none)
        X, rows, y = X[kept], rows[kept], y[kept]
    return Examples(X, y, target.labels, plan.encoding.features), rows


def _read_in_memory(source: Source, layout: Layout, table: Any, plan: Plan) -> Data:
    examples, rows = encode_rows(plan, table, source.name)
    if len(rows) == 0:
        raise DataError(f"{source.name}: {NO_ROW_LEFT}. ", KEEP_ROWS)
    return Data(source.name, examples, rows, plan, table, (source, layout))


def fit_format(
    source: Source, layout: Layout, options: ColumnOptions
) -> tuple[Layout, ColumnOptions]:
    """Adapt layout and options to the format of a file, before all of its rows are read.

    In CSV, columns requested as categories or text are read as text; UsageError is raised on a
    column that does not exist. The default target of a NumPy file is its last column.
    """
    kind = format_of(source, layout)
    if kind == "CSV":
        requested = resolve_columns(csv.find_dialect(source, layout).names, options)[2]
        texts = [name for name, kind in requested.items() if kind != "number"]
        layout = replace(layout, types=dict.fromkeys(texts, pa.string()))
    if kind == "NumPy" and options.target is None:
        options = replace(options, target="-1")
    return layout, options


@contextmanager
def locate_errors(
    source: Source, layout: Layout, start: int = 0, advice: str | Message | None = None
) -> Iterator[None]:
    """Add file, row and remedy to errors about cells that the `with` block raises."""
    try:
        yield
    except BadCellError as bad:
        row, is_csv = start + bad.row, format_of(source, layout) == "CSV"
        # Quote a cell as written in the file, not as converted.
        if is_csv and (bad.text is None or bad.promised in (FINITE, PROMISED)):
            bad.text = csv.cell_text(source, layout, row, bad.column)
        if bad.promised == UTF8 and is_csv:
            advice = Message("Give ", Parameter("encoding", "latin-1"), ", for example.")
        elif advice is not None and bad.promised == PROMISED:
            advice = ""
        elif advice is None or bad.promised in (FINITE, UTF8):
            advice = _advice(bad)
        what = f", {quote_column(bad.column)}: {bad.what}."
        rest = Message(what, " ", advice) if advice else what
        raise FileRowError(source.name, row + 1, rest) from None


def _advice(bad: BadCellError) -> str | Message:
    ignore, category = (with_column(name, bad.column) for name in ("ignore", "category"))
    drop, mean = (Parameter("missing", policy) for policy in ("drop", "mean"))
    if bad.promised == PROMISED:
        subtract = ", or subtract the minimum of the column from all of its values first."
        return Message("Give ", ignore, ", or ", category, subtract)
    if bad.promised == FINITE:  # the value is present: no policy for missing values helps
        return Message("Fix the value, or give ", ignore, ".")
    if bad.promised == UTF8:
        return Message("Give ", ignore, ".")
    if bad.promised == "a label":
        return Message("Give ", drop, ".")
    if bad.promised.startswith("a number"):
        return Message("Give ", drop, ", ", mean, ", or ", category, ".")
    return ""
