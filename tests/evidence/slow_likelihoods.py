"""Log-likelihoods written from their definitions, row by row and subset by subset."""

from itertools import combinations

import numpy as np


def log_likelihood(family, X, y, groups, b):
    """Return the log-likelihood of coefficients b in the order of `Separation.names`."""
    return {"ordinal": ordinal, "cox": cox, "conditional": conditional, "multinomial": multinomial}[
        family
    ](X, y, groups, b)


def multinomial(X, y, groups, b):
    labels = np.unique(y)
    B = np.vstack((np.zeros(X.shape[1] + 1), b.reshape(len(labels) - 1, -1)))
    total = 0.0
    for x, label in zip(X, y, strict=True):
        scores = B[:, 0] + B[:, 1:] @ x
        scores -= scores.max()
        total += scores[labels == label][0] - np.log(np.exp(scores).sum())
    return total


def ordinal(X, y, groups, b):
    labels = np.unique(y)
    thresholds = np.concatenate(([-np.inf], b[: len(labels) - 1], [np.inf]))
    if (np.diff(thresholds) <= 0).any():
        return -1e10
    total = 0.0
    for x, label in zip(X, y, strict=True):
        k = int(np.searchsorted(labels, label))
        u, low = thresholds[[k + 1, k]] - x @ b[len(labels) - 1 :]
        low, u = (-u, -low) if low > 0 else (low, u)  # the tail in which nothing cancels
        p = 1 / (1 + np.exp(-np.clip([low, u], -700, 700)))
        total += np.log(max(p[1] - p[0], 1e-300))
    return total


def cox(X, y, groups, b):
    eta, total = X @ b, 0.0
    for t in np.unique(y[y[:, 1] == 1, 0]):
        tied = np.flatnonzero((y[:, 0] == t) & (y[:, 1] == 1))
        risk = y[:, 0] >= t
        top = eta[risk].max()
        for k, n in enumerate(tied):  # as Efron
            rest = k / len(tied) * np.exp(eta[tied] - top).sum()
            total += eta[n] - top - np.log(np.exp(eta[risk] - top).sum() - rest)
    return total


def conditional(X, y, groups, b):
    eta, total = X @ b, 0.0
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        cases = int(y[rows].sum())
        sums = np.array([eta[list(some)].sum() for some in combinations(rows, cases)])
        total += (
            eta[rows[y[rows] == 1]].sum() - sums.max() - np.log(np.exp(sums - sums.max()).sum())
        )
    return total
