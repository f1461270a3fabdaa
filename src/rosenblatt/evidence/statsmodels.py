"""What a model or result of statsmodels asks; the package itself is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.design import Design
from rosenblatt.tables import as_table

# Names of classes of statsmodels, or of its families -> ours.
MODELS = {
    "Logit": "binomial",
    "Probit": "binomial",
    "MNLogit": "multinomial",
    "Poisson": "poisson",
    "GeneralizedPoisson": "poisson",
    "NegativeBinomial": "poisson",
    "NegativeBinomialP": "poisson",
    "Binomial": "binomial",
}
LOG_LINKS = ("Log", "log")


def model_of(model: Any, family: str | None, sample_weight: Any) -> tuple[Design, Any, str, Any]:
    """The design, answers, family and weights of a model, or of the model of a result.

    Parameters
    ----------
    model : object
        With `exog`, `endog` and `exog_names`, or with such a `model`.
    family : str, optional
        Where given it is taken; else the model tells.
    sample_weight : sequence, optional
        Likewise; a GLM's `freq_weights` else.
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
        sample_weight = getattr(model, "freq_weights", None)
    family = family or _family(model)
    return Design(X, tuple(names)), _answers(model, family), family, sample_weight


def _family(model: Any) -> str:
    own = getattr(model, "family", None)
    name = type(model if own is None else own).__name__
    if name in MODELS:
        return MODELS[name]
    if own is not None and type(getattr(own, "link", None)).__name__ in LOG_LINKS:
        return "poisson"
    raise ValueError(
        f"whether estimates of {name} can be infinite is not known here; "
        "give family='binomial', 'poisson' or 'multinomial'."
    )


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
