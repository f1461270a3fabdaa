"""Regressions read from files, and formulas such as `y ~ x1 * x2 + C(g) | f + h`.

The package formulaic (the extra `formula`) parses the terms of a formula and encodes their factors.
After the bar come the fixed effects: columns, joined by + and crossed by ^, which become sparse
dummies. A formula may come from a proof file of unknown origin, so only arithmetic, comparisons,
NumPy's elementwise functions and formulaic's own transforms are evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import (
    BadCellError,
    DataError,
    Message,
    Parameter,
    RowError,
    RowNames,
    UsageError,
    error_line,
    with_column,
)
from rosenblatt.read.columns import (
    Category,
    Column,
    Entries,
    Number,
    Words,
    as_text,
    cell_as_text,
    decode_text,
    flatten,
    is_text,
    null_where,
    split_entries,
)
from rosenblatt.read.data import NO_ROW_LEFT, fit_format, locate_errors, read_whole
from rosenblatt.read.encoding import check_columns_present
from rosenblatt.read.lines import ENTRIES, LABEL
from rosenblatt.read.plan import (
    ColumnOptions,
    collect_statistics,
    decide_columns,
    find_column,
    list_columns,
)
from rosenblatt.read.source import Layout, Source
from rosenblatt.tables import to_floats
from rosenblatt.text import join_words, plural, quote_column, sanitize, shorten

NO_COLUMNS: tuple[str, ...] = ()
WIDEST = 4096  # maximum number of columns to which a LIBSVM file is expanded
INTERCEPT = "Intercept"  # as formulaic calls it
PART = re.compile(r"""(?:`[^`]*`|'[^']*'|"[^"]*"|[^`'"|])+""")  # part of a formula between bars
IN_QUOTES = re.compile(r"""`[^`]*`|'[^']*'|["][^"]*["]""")
QUOTED = re.compile(r"`([^`]*)`")
PAIR = re.compile(r"(?:cbind|Surv)\(([^,()]+),([^,()]+)\)")  # two columns as R writes them
COLUMN = re.compile(r"\s*(?:`([^`]+)`|([^\W\d][\w.]*))\s*")
# Error messages of formulaic, and what they mean.
PROBLEMS = (
    (r".*context (?:marker|was closed).*", "a parenthesis or a quotation mark is not closed"),
    (r"Operator `(.*)` has insuff.*", r"a term is missing before or after \1"),
    (r"Unknown operator '([<>=!]+)'", r"\1 is not an operator of formulas; write it as I(x \1 0)"),
    (r"Numeric literals .*", "a number is not a term; write 1, 0 or a column"),
    (r"Unable to evaluate factor `(.*)`\. \[\w+: (.*?)\.?\]", r"\1 cannot be computed: \2"),
)
SAFE = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp),
    *(ast.unaryop, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.keyword, ast.List),
    *(ast.Tuple, ast.Dict, ast.Call),
)


@dataclass(frozen=True)
class RegressionPlan:
    """Columns of a file that a regression uses, with the role of each."""

    target: tuple[str, ...]  # one column or two; empty if a formula names it
    columns: tuple[Column, ...]  # the regressors, or all columns of a formula
    weights: str | None = None  # column of weights
    rows: int = 0  # number of rows that are used
    groups: str | None = None  # column of matched sets or strata
    formula: str | None = None

    def __str__(self) -> str:
        categories = sum(isinstance(column, Category) for column in self.columns)
        numbers = len(self.columns) - categories
        parts = [plural(self.rows, "row")]
        parts += [plural(numbers, "numeric column")] if numbers else []
        parts += [plural(categories, "categorical column")] if categories else []
        about = [f"formula {sanitize(self.formula)}"] if self.formula else []
        if not about:
            one, *others = [quote_column(name) for name in self.target]
            both = [one, *(name.removeprefix("column ") for name in others)]
            about = [f"target {join_words(both)}".replace("column", "columns", bool(others))]
        about += [f"weights {quote_column(self.weights)}"] if self.weights is not None else []
        about += [f"groups {quote_column(self.groups)}"] if self.groups is not None else []
        return f"{', '.join(parts)}; {', '.join(about)}"


@dataclass(frozen=True, eq=False)
class Regression:
    """Data of a regression, read from a file: regressors, target, weights and groups."""

    plan: RegressionPlan
    frame: Any  # regressors as an Arrow table: doubles, and text for categories
    y: NDArray[Any] | None  # the target, one column or two; None if a formula names it
    weights: NDArray[Any] | None
    groups: NDArray[Any] | None
    rows: NDArray[np.intp]  # row of the file, from 0, that each row was read from
    others: tuple[str, ...]  # columns that are not used
    gaps: int  # number of rows that are left out because a value is missing
    notes: tuple[str | Message, ...] = ()

    @property
    def row_names(self) -> RowNames:
        """Names of the rows: their positions in the file, counted from 1."""
        return RowNames(1, positions=self.rows)

    @property
    def given(self) -> tuple[Any, Any]:
        """First two arguments of `separation`: X and y, or a formula and its table."""
        formula = self.plan.formula
        return (self.frame, self.y) if formula is None else (formula, self.frame)


def read_regression(
    source: Source,
    layout: Layout,
    options: ColumnOptions,
    weights: str | None = None,
    groups: str | None = None,
    formula: str | None = None,
) -> Regression:
    """Read a file as a regression, choosing the type of each column as `learn` does.

    The target may be two columns with a comma between them. If there is a formula, only its columns
    are read, and it drops rows with missing values later.
    """
    name, drop = source.name, options.missing == "drop"
    advice = Message("Give ", Parameter("missing", "drop"), ".")
    request = replace(options, target=None)
    with locate_errors(source, layout, advice=advice):
        table = read_whole(source, fit_format(source, layout, request)[0])
        if options.target is None and table.column_names == [LABEL, ENTRIES]:
            options = replace(options, target=LABEL)
        table = _expand_entries(table, name)
        names = table.column_names
        others = [
            None if one is None else find_column(names, one, parameter)
            for one, parameter in ((weights, "sample_weight"), (groups, "groups"))
        ]
        if formula is None:
            if options.target is None:
                raise UsageError("give ", Parameter("target"), ", the column of labels.")
            target, features, terms = find_targets(names, options.target), names, NO_COLUMNS
            request = replace(request, target=target[0])
        else:
            if options.target is not None:
                raise UsageError("give ", Parameter("target"), " or a formula, not both.")
            target, terms = NO_COLUMNS, Formula.parse(formula, names).columns
            features = [*terms, *(n for n in others[:1] if n is not None and n not in terms)]
            request = replace(
                request,
                ignore=tuple(n for n in names if n not in features),
                numbers=tuple(n for n in request.numbers if n in features),
                categories=tuple(n for n in request.categories if n in features),
            )
        columns, notes = _decide_columns(table, request, target, name)
        if formula is not None:  # text in a formula is a category, not words
            decided = {c.name for c in columns if not isinstance(c, Words)}
            if text := tuple(n for n in features if n not in decided):
                request = replace(request, categories=(*request.categories, *text))
                columns, notes = _decide_columns(table, request, target, name)
        weight_name, group_name = others
        used = tuple(
            c for c in columns if (c.name not in others if formula is None else c.name in terms)
        )
        for column in used:
            if isinstance(column, Words):
                raise DataError(
                    f"{name}, {quote_column(column.name)} is neither numbers nor categories. ",
                    *("Give ", with_column("ignore", column.name), ", or "),
                    *(with_column("category", column.name), "."),
                )
        number = next((c for c in columns if isinstance(c, Number) and c.name == weight_name), None)
        if weight_name is not None and number is None:
            raise DataError(
                *(f"{name}: ", with_column("sample_weight", weight_name)),
                " is not a column of numbers.",
            )
        plan = RegressionPlan(target, used, weight_name, 0, group_name, formula)
        return replace(_encode_rows(table, plan, number, drop, name), notes=notes)


def read_regression_as(source: Source, layout: Layout, plan: RegressionPlan) -> Regression:
    """Read a file as a regression with the columns that a proof file records.

    Rows with missing values are left out.
    """
    text = tuple(column.name for column in plan.columns if isinstance(column, Category))
    with locate_errors(source, layout, advice=""):
        typed, _ = fit_format(source, layout, ColumnOptions(categories=text))
        table = read_whole(source, typed)
        weight_column = None if plan.weights is None else Number(plan.weights)
        return _encode_rows(
            _expand_entries(table, source.name), plan, weight_column, True, source.name
        )


def find_targets(names: Sequence[str], given: str) -> tuple[str, ...]:
    """Return the target column, or both columns of a target such as "time,event"."""
    if given in names or "," not in given:
        return (find_column(names, given, "target"),)
    found = tuple(find_column(names, one.strip(), "target") for one in given.split(","))
    if len(set(found)) != 2:
        raise UsageError(
            Parameter("target", given),
            ": give one column, or two different ones: successes and failures, or time and event.",
        )
    return found


def _decide_columns(
    table: Any, options: ColumnOptions, target: tuple[str, ...], name: str
) -> tuple[tuple[Column, ...], tuple[str | Message, ...]]:
    seen = collect_statistics(table, options, name)
    features = {n: stats for n, stats in seen.items() if n not in target}
    return decide_columns(table, features, options, name)


def _expand_entries(table: Any, name: str) -> Any:
    """Expand LIBSVM entries to one column per feature; return other tables unchanged."""
    if table.column_names != [LABEL, ENTRIES]:
        return table
    cells = flatten(table.column(ENTRIES))
    index = split_entries(cells, ENTRIES)[0]
    first, last = int(min(1, index.min(initial=1))), int(index.max(initial=1))
    entries = Entries(ENTRIES, first, last + 1 - first)
    if entries.size > WIDEST:
        raise DataError(
            f"{name} has {entries.size:,} features, too many for a dense table; "
            "pass them as a CSR matrix to rosenblatt.separation in Python."
        )
    numbers = entries.encode(cells).toarray()
    columns = dict(zip(entries.features, numbers.T, strict=True))
    return pa.table({LABEL: table.column(LABEL), **columns})


def _encode_rows(
    table: Any, plan: RegressionPlan, weight_column: Column | None, drop: bool, name: str
) -> Regression:
    """Encode the columns that a regression uses as numbers and categories.

    Rows with missing values are dropped if `drop`; otherwise the first one raises an error.
    """
    columns = [*plan.columns, *([] if weight_column is None else [weight_column])]
    plain_columns = [*plan.target, *([] if plan.groups is None else [plan.groups])]
    used = [*(column.name for column in columns), *plain_columns]
    check_columns_present(table.column_names, used, name)
    cells, gaps = {}, np.zeros(table.num_rows, dtype=bool)
    for column in columns:
        texts = decode_text(table.column(column.name), column.name)
        if isinstance(column, Number):
            found = pa.array(column.encode(texts)[:, 0], from_pandas=True)
            if column is weight_column or plan.formula is None:
                gaps |= _find_gaps(found, drop, column.name, texts)
        else:
            found = null_where(as_text(texts))
            if plan.formula is None:
                gaps |= _find_gaps(found, drop, column.name, None, "a category")
        cells[column.name] = found
    others = {}
    for one in plain_columns:
        found = flatten(decode_text(table.column(one), one))
        others[one] = null_where(as_text(found)) if is_text(found.type) else found
        gaps |= _find_gaps(others[one], drop, one, None, "a label")
    kept = np.flatnonzero(~gaps)
    if len(kept) == 0:
        raise DataError(f"{name}: {NO_ROW_LEFT}.")
    rows = pa.array(kept)
    weights = None if plan.weights is None else cells[plan.weights].take(rows)
    features = {n: found for n, found in cells.items() if n in {c.name for c in plan.columns}}
    arrays = {n: found.take(rows).to_numpy(zero_copy_only=False) for n, found in others.items()}
    targets = [arrays[n] for n in plan.target]
    return Regression(
        replace(plan, rows=len(kept)),
        pa.table(features).take(kept),
        targets[0] if len(targets) == 1 else np.column_stack(targets) if targets else None,
        None if weights is None else weights.to_numpy(zero_copy_only=False),
        None if plan.groups is None else arrays[plan.groups],
        kept,
        tuple(n for n in table.column_names if n not in used),
        int(gaps.sum()),
    )


def _find_gaps(
    cells: Any, drop: bool, name: str, texts: Any, expected: str = "a number"
) -> NDArray[np.bool_]:
    """Return a mask of missing values; raise BadCellError if there is one and `drop` is false.

    `texts` are the cells as written, which the error quotes.
    """
    missing: NDArray[np.bool_] = pc.is_null(cells).to_numpy(zero_copy_only=False)
    if missing.any() and not drop:
        row = int(missing.argmax())
        raise BadCellError(row, name, "" if texts is None else cell_as_text(texts, row), expected)
    return missing


@dataclass(frozen=True)
class Formula:
    """A parsed formula: the target, the terms, and the fixed effects."""

    text: str
    targets: tuple[str, ...]  # names of columns; empty where `left` is computed
    left: Any  # formulaic's terms
    right: Any
    effects: tuple[tuple[str, ...], ...]  # one column each, or several that are crossed
    columns: tuple[str, ...]  # all columns that the formula uses

    @classmethod
    def parse(cls, text: str, columns: Sequence[str]) -> Formula:
        """Parse a formula for a table with the given column names."""
        try:
            import formulaic
        except ImportError:
            raise UsageError(
                "formulas need the package formulaic: pip install 'rosenblatt[formula]'."
            ) from None
        model, *bars = PART.findall(text)
        written = IN_QUOTES.sub("", text)
        if any(mark in written for mark in "`'\""):
            raise _refusal(text, "a quotation mark is not closed")
        target, _, terms = model.partition("~")
        if "~" not in model or not target.strip():
            raise _refusal(text, "there is no target; write it before ~, as in y ~ x")
        if len(bars) > 1 or len(bars) != written.count("|"):
            raise _refusal(text, 'write a single "|", with the fixed effects after it')
        if not terms.strip():
            raise _refusal(text, "there are no terms after ~; write 1 for an intercept alone")
        context = {"__formulaic_variables_available__": list(columns)}
        try:
            parsed = formulaic.Formula(model, _context=context)
            left, right = parsed.lhs, parsed.rhs
            factors = {factor for term in (*left, *right) for factor in term.factors}
        except (formulaic.errors.FormulaicError, AttributeError, SyntaxError) as trouble:
            known = isinstance(trouble, formulaic.errors.FormulaicError)
            why = str(trouble).split("\n")[0] if known else "its terms cannot be read"
            raise _refusal(text, _explain(why)) from None
        effects: dict[tuple[str, ...], None] = {}
        for part in (part for bar in bars for part in bar.split("+")):
            effect = _plain_columns(part.split("^"))
            if not part.strip():
                raise _refusal(text, 'a fixed effect is missing after "|" or "+"')
            if not effect:
                raise _refusal(
                    text,
                    f"{shorten(part.strip())} is not a fixed effect; after the bar |, join columns "
                    "by + or cross them by ^. Write a slope for each level of f as the term C(f):x "
                    "before the bar",
                )
            effects[effect] = None
        expressions = [factor.expr for term in left for factor in term.factors]
        if len(expressions) == 1 and (pair := PAIR.fullmatch(expressions[0])):
            expressions = [pair[1], pair[2]]
        targets = _plain_columns(expressions)
        used = [*targets, *(name for effect in effects for name in effect)]
        for factor in sorted(factors, key=lambda factor: factor.expr):
            method = factor.eval_method.value
            if method == "lookup":
                used.append(factor.expr)
            elif method == "python" and not (targets and PAIR.fullmatch(factor.expr)):
                used += _columns_in(text, factor.expr)
        for name in used:
            if name not in columns:
                raise _refusal(text, f"there is no {quote_column(name)}; ", columns, name)
        return cls(text, targets, left, right, tuple(effects), tuple(dict.fromkeys(used)))

    @property
    def has_intercept(self) -> bool:
        """Whether the design has an intercept; with fixed effects it has none."""
        return not self.effects and any(not term.factors or term == "1" for term in self.right)

    def build(
        self, table: Any, intercept: str | None
    ) -> tuple[Any, tuple[str, ...], Any, NDArray[np.intp]]:
        """Build a sparse design matrix, its column names and the target from an Arrow table.

        Also returns the row of the table, from 0, of each row of the design. `intercept` is the
        name of the intercept, or None to leave it out. Rows are left out, as in R and statsmodels,
        if a column of the formula or a computed value is missing. The first level of each fixed
        effect after the first one is the reference.
        """
        from formulaic.errors import FormulaicError
        from formulaic.materializers import PandasMaterializer
        from scipy import sparse

        frame = table.select(list(self.columns)).to_pandas()
        numeric = [name for name in self.columns if frame[name].dtype.kind in "iu"]
        if numeric:
            to_floats(frame[numeric])  # refuses integers that a double does not hold
        rows = np.flatnonzero(~frame.isna().any(axis=1).to_numpy())
        frame = frame.iloc[rows].reset_index(drop=True)
        if len(frame) == 0:
            raise _refusal(self.text, "every row has a missing value")
        for name in self.columns:
            if hasattr(frame[name], "cat"):
                frame[name] = frame[name].cat.remove_unused_categories()
        maker, dropped = PandasMaterializer(frame, context={"i": encode_levels}), set[int]()
        try:
            with np.errstate(all="ignore"):  # values that are not finite are refused later
                if self.targets:
                    y: Any = frame[list(self.targets)]
                else:
                    y = maker.get_model_matrix(self.left, na_action="ignore", output="pandas")
                    dropped.update(np.flatnonzero(y.isna().any(axis=1).to_numpy()).tolist())
                made = maker.get_model_matrix(self.right, drop_rows=dropped, output="sparse")
        except (FormulaicError, ValueError, TypeError) as trouble:
            raise _refusal(self.text, _explain(error_line(trouble))) from None
        complete = np.ones(len(frame), dtype=bool)
        complete[list(dropped)] = False
        kept = np.flatnonzero(complete)
        if len(kept) == 0:
            raise _refusal(self.text, "every row has a missing value")
        names = list(made.model_spec.column_names)
        X = sparse.csc_array(made, shape=(len(kept), len(names)), dtype=np.float64)
        if INTERCEPT in names:
            at = names.index(INTERCEPT)
            names[at] = intercept or ""
            if intercept is None or self.effects:
                others = [j for j in range(len(names)) if j != at]
                X, names = X[:, others], [names[j] for j in others]
        tables = [X]
        for i, effect in enumerate(self.effects):
            dummies, levels = _dummies([frame[name].iloc[kept] for name in effect])
            first = min(i, 1)
            tables.append(dummies[:, first:])
            called = "^".join(effect)
            names += [f"{called}[{level}]" for level in levels[first:]]
        if not names:
            raise _refusal(self.text, "the terms give no column; add a term")
        X = sparse.hstack(tables, format="csr")
        bad = np.flatnonzero(~np.isfinite(X.data))
        if len(bad):
            row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
            problem = f": {names[X.indices[bad[0]]]} is {X.data[bad[0]]}; give finite numbers."
            raise RowError("the formula, ", int(rows[kept[row]]), problem)
        y = y.iloc[kept]
        return X, tuple(names), y.iloc[:, 0] if y.shape[1] == 1 else y, rows[kept]


def _plain_columns(expressions: list[str]) -> tuple[str, ...]:
    """Return the columns that expressions name, or () if one of them is computed, as in log(y)."""
    found = [COLUMN.fullmatch(one) for one in expressions]
    return tuple(one[1] or one[2] for one in found if one) if all(found) else ()


def _explain(problem: str) -> str:
    """Translate an error message of formulaic to plainer words if possible."""
    problem = problem.rstrip(". ")
    for pattern, plain in PROBLEMS:
        if found := re.fullmatch(pattern, problem):
            return found.expand(plain)
    return problem


def _columns_in(text: str, expression: str) -> list[str]:
    """Return the columns that a Python expression uses.

    Raises UsageError if the expression has a part that is not known to be safe to evaluate.
    """
    from formulaic.transforms import TRANSFORMS

    quoted: list[str] = []

    def place(match: re.Match[str]) -> str:
        quoted.append(match[1])
        return f"_quoted_{len(quoted) - 1}"

    tree = ast.parse(QUOTED.sub(place, expression), mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions: set[ast.AST] = set()
    for call in calls:
        function = ast.unparse(call.func)
        module, _, name = function.rpartition(".")
        known = (module == "np" and isinstance(getattr(np, name, None), np.ufunc)) or (
            module == "contr" and name.isidentifier() and not name.startswith("_")
        )
        allowed = {*TRANSFORMS, "i"} - {"np", "contr"}
        if not known and (module or function not in allowed):
            there = join_words(sorted(allowed), most=40)
            raise _refusal(
                text,
                f"{shorten(function)} is not known; use {there}, or an elementwise function of "
                "NumPy such as np.log, or compute the column first",
            )
        functions.update(ast.walk(call.func))
    names = []
    for node in ast.walk(tree):
        if node in functions:
            continue
        if not isinstance(node, SAFE):
            raise _refusal(
                text, f"{shorten(ast.unparse(node))} cannot be evaluated; compute the column first"
            )
        if isinstance(node, ast.Name):
            place_of = re.fullmatch(r"_quoted_(\d+)", node.id)
            names.append(quoted[int(place_of[1])] if place_of else node.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Q":
            names += [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
    contrasts = ("Treatment", "Sum", "Helmert", "Diff", "Poly", "True", "False", "None")
    return [name for name in names if name not in contrasts]


def encode_levels(data: Any, slope: Any = None, *, ref: Any = None) -> Any:
    """Encode the terms `i(g)`, `i(g, x)` and `i(g, ref=2)` of a formula, as pyfixest does."""
    from formulaic.materializers.types import FactorValues
    from scipy import sparse

    if slope is not None and slope.dtype.kind not in "biuf":
        raise ValueError(f"i({data.name}, {slope.name}) needs numbers as its second argument")

    def encode(values: Any, reduced_rank: bool, drop_rows: Any, **_: Any) -> Any:
        rows = np.delete(np.arange(len(data)), list(drop_rows))
        table, levels = _dummies([data.iloc[rows]])
        if ref is not None and _level(ref) not in levels:
            raise ValueError(f"{ref!r} is not a level of {data.name}")
        first = levels[0] if slope is None and reduced_rank else None
        left_out = first if ref is None else _level(ref)
        name = f"{data.name}::{{}}" + ("" if slope is None else f":{slope.name}")
        by = None if slope is None else sparse.diags_array(slope.to_numpy(np.float64)[rows])
        table = (table if by is None else by @ table).tocsc()
        columns = {
            name.format(level): sparse.csc_matrix(table[:, [j]])
            for j, level in enumerate(levels)
            if level != left_out
        }
        return FactorValues(
            columns,
            kind="categorical" if slope is None else "numerical",
            spans_intercept=slope is None and left_out is None,
            column_names=tuple(columns),
            format="{field}",
        )

    # Rows with a gap in either column are left out.
    both = data if slope is None else {"levels": data, "slope": slope}
    whole = slope is None and ref is None
    return FactorValues(both, kind="categorical", spans_intercept=whole, encoder=encode)


def _dummies(columns: list[Any]) -> tuple[Any, list[str]]:
    """Encode columns as sparse dummies, one for each level or combination of levels.

    Returns the dummies and the names of the levels.
    """
    from scipy import sparse

    codes, levels = columns[0].factorize(sort=True)
    named = [_level(level) for level in levels]
    for column in columns[1:]:
        more, levels = column.factorize(sort=True)
        others = [_level(level) for level in levels]
        both, codes = np.unique(codes * len(others) + more, return_inverse=True)
        pairs = zip(*(part.tolist() for part in np.divmod(both, len(others))), strict=True)
        named = [f"{named[a]},{others[b]}" for a, b in pairs]
    n = len(codes)
    entries = np.ones(n), codes.astype(np.int32), np.arange(n + 1, dtype=np.int32)
    return sparse.csr_array(entries, shape=(n, len(named))), named


def _level(level: Any) -> str:
    whole = isinstance(level, float) and level.is_integer()
    return str(int(level)) if whole else str(level)


def _refusal(
    text: str, why: str, columns: Iterable[str] = (), name: str | None = None
) -> UsageError:
    there = "" if name is None else list_columns(list(columns), name)
    return UsageError(Parameter("formula", shorten(text)), Message(": ", why, there, "."))
