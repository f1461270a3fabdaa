"""Reading of a regression from arrays, a frame, a file, a formula, or another package's model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.checks import one_of
from rosenblatt.errors import (
    FROM_ZERO,
    Message,
    Parameter,
    RowError,
    RowNames,
    UsageError,
    with_index_labels,
)
from rosenblatt.evidence.families import (
    FAMILIES,
    INTERCEPT,
    MANY_DUMMIES,
    NO_INTERCEPT,
    NO_ROWS,
    Ints,
    SignedRegression,
    add_intercept,
    encode_dummies,
    join_columns,
    sign_regression,
)
from rosenblatt.examples import as_table
from rosenblatt.read.inputs import Target, column_of, find_input, is_frame, names_of, select
from rosenblatt.tables import as_column, column_names
from rosenblatt.text import join_words, plural, quote_column

if TYPE_CHECKING:
    from rosenblatt.read.regression import Formula

# Classes of statsmodels whose name determines the family.
MODELS = {
    "Logit": "binomial",
    "Probit": "binomial",
    "MNLogit": "multinomial",
    "OrderedModel": "ordinal",
    "PHReg": "cox",
    "ConditionalLogit": "conditional",
    "Poisson": "poisson",
    "GeneralizedPoisson": "poisson",
    "NegativeBinomial": "poisson",
    "NegativeBinomialP": "poisson",
}
# Families of a GLM and their links, with the family of `separation` that each pair has. With a log
# link, only rows with y = 0 can make estimates infinite. The Gaussian and inverse Gaussian families
# are missing: there, even y > 0 does not keep the fitted mean away from 0.
RISING = ("logit", "probit", "cloglog", "loglog", "cauchy", "cdflink")
COUNTS = ("Binomial", "Poisson", "NegativeBinomial", "Tweedie", "Gamma")
LINKS = dict.fromkeys(product(["Binomial"], RISING), "binomial")
LINKS |= dict.fromkeys(product(COUNTS, ["log"]), "poisson")
LINKS["Binomial", "log"] = "log-binomial"
# Links of a GLM whose estimates are fitted here.
FITTED = {"Binomial": ("logit", "probit", "cloglog", "loglog", "log"), "Poisson": ("log",)}

UNFITTED = "the estimates of {} cannot be fitted here; fit your model without the rows in s.rows."


class Given(NamedTuple):
    """Data of a regression, as the user or a model of another package gives them."""

    X: Any  # regressors, a model's design, or the table of a formula
    y: Any
    weights: Any  # 0.0 for a row that does not count; None if all are 1
    groups: Any
    row_names: RowNames = FROM_ZERO
    rows: Ints | None = None  # row of the original data, from 0, of each row, if some are missing
    formula: Formula | None = None
    names: tuple[str, ...] | None = None  # columns of a model's design, including the intercept
    family: str = ""
    likelihood: Mapping[str, Any] = MappingProxyType({})  # fields of `Observations` set by a model
    notes: tuple[Message, ...] = ()


def find_regression(
    X: Any,
    y: Any,
    family: str | None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    groups: Any = None,
    target: Target = None,
) -> SignedRegression:
    """Read a regression in any form that `separation` takes, and create its signed rows.

    The forms are X and y, a frame or a file and the column of its target, a formula and its data,
    and a model.
    """
    if y is None and target is None and not isinstance(X, str | os.PathLike) and not is_frame(X):
        given = _read_model(X, family, sample_weight, groups)
        family = given.family
    else:
        family = one_of("family", family or "binomial", FAMILIES)
        given = _find_columns(X, y, target, sample_weight, groups)
    y, rows, weights, groups = given.y, given.rows, given.weights, given.groups
    notes, left_out = list(given.notes), NO_ROWS
    with_intercept = family not in NO_INTERCEPT
    with with_index_labels(given.row_names):
        if given.names is not None:
            design, names, fit_intercept = given.X, given.names, False
        elif given.formula is None:
            design, names = design_of(given.X, fit_intercept or not with_intercept)
            if not with_intercept:
                design, names = design[:, 1:], names[1:]
            elif fit_intercept:
                remedy = Message("give ", Parameter("fit_intercept", False))
                notes += _note_constant_columns(design, names, remedy)
        else:
            has_intercept = given.formula.has_intercept and with_intercept
            if has_intercept and not fit_intercept:
                raise UsageError(
                    'the formula decides about the intercept: write "0 +" in it instead of ',
                    Parameter("fit_intercept", False),
                    ".",
                )
            design, names, y, kept = given.formula.build(
                given.X, INTERCEPT if with_intercept else None
            )
            design = design.toarray() if len(names) <= MANY_DUMMIES else design
            fit_intercept = has_intercept
            if has_intercept:
                remedy = Message("write 0 + in the formula")
                notes += _note_constant_columns(design, names, remedy)
            everything = np.arange(given.X.num_rows) if rows is None else rows
            rows = everything[kept]
            left_out = np.setdiff1d(everything, rows)
            weights, groups = (
                None if column is None else as_column(column)[kept] for column in (weights, groups)
            )
        regression = sign_regression(design, names, y, family, fit_intercept, weights, groups, rows)
    data, own = regression.data, dict(given.likelihood)
    if (offset := own.get("offset")) is not None:  # one number per row of the model
        at = data.rows if given.rows is None else np.searchsorted(given.rows, data.rows)
        own["offset"] = offset[at]
    return replace(
        regression,
        data=data._replace(**own),
        notes=(*notes, *regression.notes),
        left_out=left_out,
        row_names=given.row_names,
    )


def _find_columns(X: Any, y: Any, target: Target, weights: Any, groups: Any) -> Given:
    """Find the target, weights and groups of a regression, which may be named columns."""
    from rosenblatt.read.columns import to_arrow
    from rosenblatt.read.plan import ColumnOptions, find_column
    from rosenblatt.read.regression import Formula, find_targets, read_regression
    from rosenblatt.read.source import Layout, Source

    text = None
    if isinstance(X, str) and "~" in X and not (y is None and os.path.exists(X)):
        text, X, y = X, y, None
        if X is None or not (is_frame(X) or isinstance(X, str | os.PathLike)):
            raise UsageError("the formula has no data; give a frame or a file as the data.")
        if target is not None:
            raise UsageError("give ", Parameter("target"), " or a formula, not both.")
        columns: tuple[str, ...] = ()
        source: Any = Source.find(os.fspath(X)) if isinstance(X, str | os.PathLike) else None
    else:
        if isinstance(X, str) and is_frame(y):
            raise UsageError(
                Parameter("formula", X), ": it has no ~; write it as target ~ term + term."
            )
        X, y, columns = find_input(X, y, target)
        source = X if isinstance(X, Source) else None
    if source is not None:
        for name, value in (("sample_weight", weights), ("groups", groups)):
            if value is not None and not isinstance(value, str):
                raise UsageError(
                    "the data are read from a file: give the name of a column as ",
                    Parameter(name),
                    ".",
                )
        options = ColumnOptions(target=",".join(columns) or None)
        read = read_regression(source, Layout(), options, weights, groups, text)
        formula = None if text is None else Formula.parse(text, read.frame.column_names)
        return Given(
            *(read.frame, read.y, read.weights, read.groups, FROM_ZERO, read.rows, formula)
        )
    names, row_names = names_of(X) if is_frame(X) else [], RowNames.of(X)
    if len(columns) == 1:
        columns = find_targets(names, columns[0])
    targets = columns = tuple(find_column(names, one, "target") for one in columns)
    if isinstance(weights, str):
        columns += (find_column(names, weights, "sample_weight"),)
        weights = column_of(X, columns[-1])
    if isinstance(groups, str):
        columns += (find_column(names, groups, "groups"),)
        groups = column_of(X, columns[-1])
    if text is not None:
        formula = Formula.parse(text, names)
        table = to_arrow(select(X, formula.columns))
        return Given(table, None, weights, groups, row_names, None, formula)
    if y is None:
        if not columns:
            raise UsageError("give ", Parameter("target"), ", the column of the target.")
        y = (
            column_of(X, targets[0])
            if len(targets) == 1
            else np.column_stack([as_column(column_of(X, one)) for one in targets])
        )
    left = X if not columns else select(X, [n for n in names if n not in columns])
    return Given(left, y, weights, groups, row_names)


def _note_constant_columns(X: Any, names: tuple[str, ...], remedy: Message) -> list[Message]:
    """Return a note that names the constant columns besides the intercept, or no note."""
    X, n = X[:, 1:], X.shape[0]
    if isinstance(X, np.ndarray):
        constant = np.flatnonzero((X[:1] == X).all(axis=0) & (X[0] != 0))
    else:
        full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == n)
        parts = X[:, full].toarray()
        constant = full[(parts[:1] == parts).all(axis=0)] if n > 1 else full
    if len(constant) == 0 or n == 1:
        return []
    columns = join_words([quote_column(names[1 + j]) for j in constant.tolist()])
    verb = "is" if len(constant) == 1 else "are"
    return [Message(f"{columns} {verb} constant, as the intercept is: ", remedy)]


def design_of(X: Any, fit_intercept: bool = True) -> tuple[Any, tuple[str, ...]]:
    """Convert an array, a CSR matrix or a frame to a design matrix with column names.

    A column of text or categories becomes a dummy column for each level but the first, the
    reference; without an intercept, the first such column keeps all its levels. Columns without
    names are called x1, x2, …

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31.0, 45.0, 52.0], "town": ["Bonn", "Kiel", "Bonn"]})
    >>> design_of(frame)[1]
    ('(intercept)', 'age', 'town[Kiel]')
    """
    if column_names(X) is None or hasattr(X, "tocsr"):
        tables = [as_table(X)]
        names = [f"x{j}" for j in range(1, tables[0].shape[1] + 1)]
    else:
        import pyarrow as pa

        from rosenblatt.read.columns import is_text, to_arrow

        try:
            frame = to_arrow(X)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as trouble:
            raise ValueError(
                f"X: {trouble.args[-1]}; make every cell of the column a number, or every cell "
                "text."
            ) from None
        tables, names, first = list[Any](), list[str](), int(fit_intercept)
        for i, name in enumerate(frame.column_names):
            column, kind = frame.column(i), frame.schema.types[i]
            if pa.types.is_dictionary(kind) or is_text(kind) or pa.types.is_string_view(kind):
                codes, levels = _encode_levels(name, column)
                tables.append(encode_dummies(codes, len(levels), first))
                names += [f"{name}[{level}]" for level in levels[first:]]
                first = 1
            else:
                tables.append(as_table(pa.table({name: column})))
                names.append(name)
    table = join_columns(tables)
    return add_intercept(table, tuple(names)) if fit_intercept else (table, tuple(names))


def _encode_levels(name: str, column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return the level of each row of a categorical column as an index, and the level names.

    The levels are sorted, unless the type of the column declares an order.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = int(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))[0])
        problem = f", {quote_column(name)}: the value is missing; drop the row or fill it in."
        raise RowError("X, ", row, problem)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    declared = pa.types.is_dictionary(column.type)
    coded = column if declared else column.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    levels = [str(level) for level in coded.dictionary.to_pylist()]
    order = np.unique(codes).tolist()
    if not declared:
        order.sort(key=levels.__getitem__)
    places = np.zeros(len(levels), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places[codes], [levels[k] for k in order]


def _read_model(model: Any, family: str | None, weights: Any, groups: Any) -> Given:
    """Read data and settings from a model of statsmodels or pyfixest.

    Family, weights and groups are used instead of those of the model if they are given.
    """
    if type(model).__module__.startswith("pyfixest."):
        return _read_pyfixest(model, family, weights, groups)
    model = getattr(model, "model", model)
    if not (hasattr(model, "exog") and hasattr(model, "endog")):
        raise TypeError(
            f"y is missing, and X has the type {type(model).__name__}, which is not a model or "
            "result of statsmodels or pyfixest. Give X and y, a formula and a frame, or such a "
            "model."
        )
    X = as_table(np.asarray(model.exog, dtype=np.float64))
    names = [str(name) for name in list(getattr(model, "exog_names", []))[: X.shape[1]]]
    names += [f"x{j}" for j in range(len(names) + 1, X.shape[1] + 1)]
    given = [getattr(model, name, None) for name in ("freq_weights", "var_weights")]
    counts = [np.asarray(w, dtype=np.float64) for w in given if w is not None]
    if type(getattr(model, "family", None)).__name__ == "Binomial":
        trials = np.asarray(getattr(model, "n_trials", 1), dtype=np.float64)
        counts.append(np.broadcast_to(trials, len(X)))
    if weights is None and counts:
        weights = np.multiply.reduce(counts)
    family, link, unfitted = _find_family(model, family)
    y, labels = np.asarray(model.endog), getattr(model, "_ynames_map", None)
    if family == "multinomial" and labels and y.ndim == 1:
        # Labels in the order of the model, whose first label is the reference.
        labels = [labels[key] for key in sorted(labels)]
        if sorted(labels) == labels:
            y = np.array(labels)[y.astype(np.intp)]
    elif family == "ordinal":
        y = y.argmax(axis=1) if y.ndim == 2 else y  # a formula makes dummy columns of the target
        names_of_levels = list(getattr(model, "labels", []))
        if len(names_of_levels) > y.max() and hasattr(model, "k_levels"):
            import pandas as pd  # installed, because statsmodels needs pandas too

            y = pd.Categorical.from_codes(y.astype(np.intp), names_of_levels, ordered=True)
    elif family == "cox" and hasattr(model, "status"):
        if model.entry is not None:
            raise ValueError("delayed entry is not supported; fit the model without entry=.")
        event = np.ones(len(y)) if model.status is None else model.status
        y = np.column_stack((y, event))
        groups = model.strata if groups is None else groups
    elif family == "conditional" and groups is None:
        groups = np.asarray(model.groups)
    likelihood = {"offset": _offset(model, len(X)), "unfitted": unfitted}
    likelihood |= {"efron": getattr(model, "ties", "") == "efron"}
    labels = getattr(getattr(model, "data", None), "row_labels", None)  # of the rows it kept
    return Given(
        *(X, y, weights, groups, RowNames.of_index(labels)),
        names=tuple(names),
        family=family,
        likelihood=likelihood | ({"link": link} if link else {}),
    )


def _read_pyfixest(fit: Any, family: str | None, weights: Any, groups: Any) -> Given:
    """Read the formula and the data of a fit of pyfixest's fepois or feglm."""
    name = type(fit).__name__
    known = {"Fepois": "poisson", "Felogit": "binomial", "Feprobit": "binomial"}.get(name)
    if family is None and known is None:
        raise ValueError(
            f"a fit of class {name} is not supported (estimates of least squares are always "
            "finite); give a fit of fepois, or of feglm with the family logit or probit."
        )
    data = getattr(fit, "_data", None)
    if data is None or not hasattr(data, "columns"):
        raise ValueError(
            "the fit has no data: it was made with lean=True or store_data=False; give the formula "
            "and the frame."
        )
    left_out = int(getattr(fit, "n_separation_na", None) or 0)
    note = (
        f"pyfixest had left out {plural(left_out, 'row')} as separated before it fitted: give the "
        "formula and the frame to know which estimates these make infinite"
    )
    own_weights, offset = (
        data[column].to_numpy(np.float64) if (column := getattr(fit, attribute, None)) else None
        for attribute in ("_weights_name", "_offset_name")
    )
    weights = own_weights if weights is None else weights
    given = _find_columns(fit._fml, data.reset_index(drop=True), None, weights, groups)
    link = {"link": "probit"} if name == "Feprobit" else {}
    return given._replace(
        rows=data.index.to_numpy(),  # pyfixest sets the index to the original row numbers
        family=family or known or "",
        likelihood={"offset": offset, "efron": False, **link},
        notes=(Message(note),) if left_out else (),
    )


def _offset(model: Any, n: int) -> Any:
    """Return the offset plus log exposure of a model, or None if the sum is 0 in all rows."""
    if hasattr(model, "_offset_exposure"):  # a GLM
        parts = [model._offset_exposure]
    else:  # a count model keeps the logarithm of the exposure
        parts = [getattr(model, name, None) for name in ("offset", "exposure")]
    known = [np.asarray(part, dtype=np.float64) for part in parts if part is not None]
    total = np.broadcast_to(np.add.reduce(known), n) if known else np.zeros(n)
    return total if total.any() else None


def _find_family(model: Any, family: str | None) -> tuple[str, str, str]:
    """Return family and link of a statsmodels model, and why it cannot be fitted here, if so.

    The link is empty if the family is not binomial; the reason is empty if the model can be fitted.
    """
    name, own = type(model).__name__, getattr(model, "family", None)
    link, found = "probit" if name == "Probit" else "", MODELS.get(name)
    if own is not None:
        kind, called = type(own).__name__, type(getattr(own, "link", None)).__name__
        name = f"{kind} with the link {called}"
        called = called.casefold()  # older releases of statsmodels also have lowercase names
        found, fitted = LINKS.get((kind, called)), called in FITTED.get(kind, ())
        link = called if fitted and kind == "Binomial" else ""
    elif name == "OrderedModel":
        fitted = (
            getattr(model.distr, "name", "") == "logistic"
            and _offset(model, len(model.exog)) is None
        )
    elif name in ("PHReg", "ConditionalLogit"):
        fitted = all(getattr(model, what, None) is None for what in ("entry", "offset"))
    else:
        fitted = name in ("Logit", "Probit", "MNLogit", "Poisson")
    family = family or found
    if family is None:
        raise ValueError(
            f"rosenblatt does not know whether estimates of {name} can be infinite; "
            f"give family=, one of {join_words(list(FAMILIES), 'or', 7)}."
        )
    return family, link, "" if fitted else UNFITTED.format(name)
