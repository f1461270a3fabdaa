"""Adapters: what the models of other libraries tell about their regression."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.examples import as_table

# Classes of statsmodels that say all by their name -> our families.
MODELS = {
    "Logit": "binomial",
    "Probit": "binomial",
    "MNLogit": "multinomial",
    "Poisson": "poisson",
    "GeneralizedPoisson": "poisson",
    "NegativeBinomial": "poisson",
    "NegativeBinomialP": "poisson",
}
# Families of a GLM and their links. With a log link a share of 0 is all that runs away. Gaussian
# and inverse Gaussian answers above 0 do not hold a mean back, so they are not here.
RISING = ("Logit", "Probit", "CLogLog", "LogLog", "Cauchy", "CDFLink")
COUNTS = ("Binomial", "Poisson", "NegativeBinomial", "Tweedie", "Gamma")
LINKS = dict.fromkeys(product(["Binomial"], RISING), "binomial")
LINKS |= dict.fromkeys(product(COUNTS, ["Log"]), "poisson")


class Model(NamedTuple):
    """The regression of a model: its table, labels or numbers, and which rows count."""

    X: Any
    names: tuple[str, ...]  # of the columns, the intercept being one of them
    y: Any
    family: str
    weights: Any  # 0.0 for a row that does not count, 1.0 for others; None if all count


def read_statsmodels(model: Any, family: str | None = None) -> Model:
    """Read the regression from a model or result of statsmodels, in the family given or its own."""
    model = getattr(model, "model", model)
    if not (hasattr(model, "exog") and hasattr(model, "endog")):
        raise TypeError(
            "give X and y, or one model or result of statsmodels: "
            f"{type(model).__name__} has no exog and endog."
        )
    X = as_table(np.asarray(model.exog, dtype=np.float64))
    names = [str(name) for name in list(getattr(model, "exog_names", []))[: X.shape[1]]]
    names += [f"x{j}" for j in range(len(names) + 1, X.shape[1] + 1)]
    given = [getattr(model, name, None) for name in ("freq_weights", "var_weights")]
    counts = [np.asarray(w, dtype=np.float64) > 0 for w in given if w is not None]
    weights = np.logical_and.reduce(counts).astype(np.float64) if counts else None
    family = family or _family(model)
    y, labels = np.asarray(model.endog), getattr(model, "_ynames_map", None)
    if family == "multinomial" and labels and y.ndim == 1:
        # Labels in the order in which the model has them: its first is the reference.
        labels = [labels[key] for key in sorted(labels)]
        if sorted(labels) == labels:
            y = np.array(labels)[y.astype(np.intp)]
    return Model(X, tuple(names), y, family, weights)


def _family(model: Any) -> str:
    own = getattr(model, "family", None)
    if own is None:
        name = type(model).__name__
        found = MODELS.get(name)
    else:
        name, link = type(own).__name__, type(getattr(own, "link", None)).__name__
        # Older releases have these links in small letters too.
        known = {link.casefold(): link for _, link in LINKS}
        found = LINKS.get((name, known.get(link.casefold(), link)))
        name = f"{name} with the link {link}"
    if found is None:
        raise ValueError(
            f"whether estimates of {name} can be infinite is not known here; "
            "give family='binomial', 'poisson' or 'multinomial'."
        )
    return found
