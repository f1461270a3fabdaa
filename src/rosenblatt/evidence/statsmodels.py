"""What a model or result of statsmodels asks; the package itself is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.design import Design
from rosenblatt.tables import as_table

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
LINKS = {
    **{("Binomial", link): "binomial" for link in RISING},
    **{(name, "Log"): "poisson" for name in ("Binomial", "Poisson", "NegativeBinomial")},
    **{(name, "Log"): "poisson" for name in ("Tweedie", "Gamma")},
}


def model_of(model: Any, family: str | None, sample_weight: Any) -> tuple[Design, Any, str, Any]:
    """The design, answers, family and weights of a model, or of the model of a result.

    Parameters
    ----------
    model : object
        With `exog`, `endog` and `exog_names`, or with such a `model`.
    family : str, optional
        Where given it is taken; else the model tells.
    sample_weight : sequence, optional
        Likewise; else a GLM's `freq_weights` times its `var_weights`.
    """
    model = getattr(model, "model", model)
    if not (hasattr(model, "exog") and hasattr(model, "endog")):
        raise TypeError(
            "give X and y, or one model or result of statsmodels: "
            f"{type(model).__name__} has no exog and endog."
        )
    X = as_table(np.asarray(model.exog, dtype=np.float64))
    names = [str(name) for name in list(getattr(model, "exog_names", []))[: X.shape[1]]]
    names += [f"x{j}" for j in range(len(names) + 1, X.shape[1] + 1)]
    if sample_weight is None:
        sample_weight = _weights(model)
    family = family or _family(model)
    return Design(X, tuple(names)), _answers(model, family), family, sample_weight


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


def _weights(model: Any) -> Any:
    given = [getattr(model, name, None) for name in ("freq_weights", "var_weights")]
    weights = [np.asarray(w, dtype=np.float64) > 0 for w in given if w is not None]
    return np.logical_and.reduce(weights).astype(np.float64) if weights else None


def _answers(model: Any, family: str) -> Any:
    answers = np.asarray(model.endog)
    spelled = getattr(model, "_ynames_map", None)
    if family != "multinomial" or not spelled:
        return answers
    # Labels in the order in which the model has them: its first is the reference.
    labels = [spelled[key] for key in sorted(spelled)]
    if sorted(labels) != labels or answers.ndim != 1:
        return answers
    return np.array(labels)[answers.astype(np.intp)]
