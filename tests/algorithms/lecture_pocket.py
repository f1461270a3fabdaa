"""The pocket algorithm of the slides and Gallant's ratchet, slow and obvious.

X is tall (x0 first), y is in {-1, +1}, s are sample weights. On whole numbers sums are exact.
"""

import numpy as np
from lecture import mistakes


def cost(w, X, y, zero="mistake", s=None):
    """Return the total weight of the mistakes of w; rows of weight 0 are left out."""
    s = np.ones(len(X)) if s is None else s
    return sum(s[n] for n in mistakes(w, X, y, zero))


def pocket(X, y, weights, zero="mistake", s=None):
    """Run the pocket algorithm on w(0), w(1), …, keeping each that makes fewer mistakes."""
    best, history = weights[0], [(0, cost(weights[0], X, y, zero, s))]
    for t, w in enumerate(weights[1:], start=1):
        if cost(w, X, y, zero, s) < history[-1][1]:
            best = w
            history.append((t, cost(w, X, y, zero, s)))
    return best, history


def gallant(X, y, visits, zero="mistake", eta=1.0):
    """Run the pocket algorithm with ratchet on examples in the given order."""
    w = best = np.zeros(X.shape[1])
    history, run, longest, t = [(0, cost(w, X, y, zero))], 0, 0, 0
    for n in visits:
        if n in mistakes(w, X, y, zero):
            w = w + eta * y[n] * X[n]
            t += 1
            run = 0
        else:
            run += 1
            if run > longest and cost(w, X, y, zero) < history[-1][1]:
                best, longest = w, run
                history.append((t, cost(w, X, y, zero)))
    return best, history
