"""Formulas such as `y ~ x1 * x2 + C(g) | f + h`, and the regression designs they describe.

The package formulaic (the extra `formula`) parses the terms and encodes their factors. After the
bar come the fixed effects: columns, joined by + and crossed by ^, which become sparse dummies. A
formula may come from a proof file of unknown origin, so only arithmetic, comparisons, NumPy's
elementwise functions and formulaic's own transforms are evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import Message, Parameter, RowError, UsageError, error_line
from rosenblatt.read.plan import list_columns
from rosenblatt.tables import to_floats
from rosenblatt.text import join_words, quote_column, shorten

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


class Design(NamedTuple):
    """Design matrix and target that a formula builds from the complete rows of a table."""

    X: Any  # a CSR matrix, or an array where columns are few
    names: tuple[str, ...]
    y: Any  # a column, or two
    rows: NDArray[np.intp]  # row of the table, from 0, of each row of the design


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
        effects = dict.fromkeys(_effect(text, part) for bar in bars for part in bar.split("+"))
        targets = _targets([factor.expr for term in left for factor in term.factors])
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

    def build(self, table: Any, intercept: str | None) -> Design:
        """Build the design matrix and the target from an Arrow table.

        `intercept` is the name of the intercept, or None to leave it out. Rows are left out, as in
        R and statsmodels, if a column of the formula or a computed value is missing. The first
        level of each fixed effect after the first one is the reference.
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
        return Design(X, tuple(names), y.iloc[:, 0] if y.shape[1] == 1 else y, rows[kept])


def _targets(expressions: list[str]) -> tuple[str, ...]:
    """Return the names of the target columns, or () if the target is computed, as in log(y)."""
    if len(expressions) == 1 and (pair := PAIR.fullmatch(expressions[0])):
        expressions = [pair[1], pair[2]]
    found = [COLUMN.fullmatch(one) for one in expressions]
    return tuple(one[1] or one[2] for one in found if one) if all(found) else ()


def _explain(problem: str) -> str:
    """Translate an error message of formulaic to plainer words if possible."""
    problem = problem.rstrip(". ")
    for pattern, plain in PROBLEMS:
        if found := re.fullmatch(pattern, problem):
            return found.expand(plain)
    return problem


def _effect(text: str, part: str) -> tuple[str, ...]:
    if not part.strip():
        raise _refusal(text, 'a fixed effect is missing after "|" or "+"')
    found = [COLUMN.fullmatch(one) for one in part.split("^")]
    if not all(found):
        raise _refusal(
            text,
            f"{shorten(part.strip())} is not a fixed effect; after the bar |, join columns by + or "
            "cross them by ^. Write a slope for each level of f as the term C(f):x before the bar",
        )
    return tuple(one[1] or one[2] for one in found if one)


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

    both = (
        data if slope is None else {"levels": data, "slope": slope}
    )  # rows with a gap in either are left out
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
