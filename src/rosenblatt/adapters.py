"""Adapters: read a regression from the models of other libraries."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.errors import FROM_ZERO, RowNames
from rosenblatt.examples import as_table
from rosenblatt.text import plural

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


class ForeignModel(NamedTuple):
    """Data and settings of a regression, read from a model of another library.

    The data are a table X and a target y or, with a formula, the data frame of the formula.
    """

    X: Any  # a table of numbers, or the data of a formula
    names: tuple[str, ...]  # of the columns, including the intercept
    y: Any
    family: str
    weights: Any = None  # 0.0 for a row that does not count; None if all are 1
    groups: Any = None
    formula: str | None = None
    rows: Any = None  # number of each row in the original data, from 0, if rows were left out
    offset: Any = None  # added to the linear predictor; None if it is 0
    efron: bool = False  # whether Cox regression treats ties by Efron's method, not Breslow's
    link: str = ""  # link of a binomial regression; empty for the default of its family
    unfitted: str = ""  # reason if the estimates cannot be fitted here
    note: str = ""
    row_names: RowNames = FROM_ZERO


def read_foreign_model(model: Any, family: str | None = None) -> ForeignModel:
    """Read data and settings from a fitted or unfitted model; `family` overrides the model's."""
    if type(model).__module__.startswith("pyfixest."):
        return _read_pyfixest(model, family)
    model = getattr(model, "model", model)
    if not (hasattr(model, "exog") and hasattr(model, "endog")):
        raise TypeError(
            "give X and y, a formula and a frame, or a model or result of statsmodels or "
            f"pyfixest: a {type(model).__name__} has no exog and endog."
        )
    X = as_table(np.asarray(model.exog, dtype=np.float64))
    names = [str(name) for name in list(getattr(model, "exog_names", []))[: X.shape[1]]]
    names += [f"x{j}" for j in range(len(names) + 1, X.shape[1] + 1)]
    given = [getattr(model, name, None) for name in ("freq_weights", "var_weights")]
    counts = [np.asarray(w, dtype=np.float64) for w in given if w is not None]
    if type(getattr(model, "family", None)).__name__ == "Binomial":
        trials = np.asarray(getattr(model, "n_trials", 1), dtype=np.float64)
        counts.append(np.broadcast_to(trials, len(X)))
    weights = np.multiply.reduce(counts) if counts else None
    family, link, unfitted = _find_family(model, family)
    y, labels = np.asarray(model.endog), getattr(model, "_ynames_map", None)
    groups = None
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
        y, groups = np.column_stack((y, event)), model.strata
    elif family == "conditional":
        groups = np.asarray(model.groups)
    efron = getattr(model, "ties", "") == "efron"
    labels = getattr(getattr(model, "data", None), "row_labels", None)  # of the rows it kept
    return ForeignModel(
        *(X, tuple(names), y, family, weights, groups),
        offset=_offset(model, len(X)),
        efron=efron,
        link=link,
        unfitted=unfitted,
        row_names=RowNames.of_index(labels),
    )


def _read_pyfixest(fit: Any, family: str | None) -> ForeignModel:
    """Read the formula and the fitted rows from a result of pyfixest's fepois or feglm."""
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
    weights, offset = (
        data[column].to_numpy(np.float64) if (column := getattr(fit, attribute, None)) else None
        for attribute in ("_weights_name", "_offset_name")
    )
    return ForeignModel(
        *(data.reset_index(drop=True), (), None, family or known or "", weights),
        formula=fit._fml,
        rows=data.index.to_numpy(),  # pyfixest sets the index to the original row numbers
        offset=offset,
        link="probit" if name == "Feprobit" else "",
        note=note if left_out else "",
    )


def _offset(model: Any, n: int) -> Any:
    """Return a model's offset plus log exposure, or None if the sum is 0 in all rows."""
    if hasattr(model, "_offset_exposure"):  # a GLM
        parts = [model._offset_exposure]
    else:  # a count model keeps the logarithm of the exposure
        parts = [getattr(model, name, None) for name in ("offset", "exposure")]
    known = [np.asarray(part, dtype=np.float64) for part in parts if part is not None]
    total = np.broadcast_to(np.add.reduce(known), n) if known else np.zeros(n)
    return total if total.any() else None


def _find_family(model: Any, family: str | None) -> tuple[str, str, str]:
    """Return family and binomial link of a model, and why it cannot be fitted ("" if it can)."""
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
            "give family=, one of the families of rosenblatt.separation."
        )
    return family, link, "" if fitted else UNFITTED.format(name)
