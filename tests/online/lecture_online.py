"""A slow oracle for streams, written from the slides: dicts of fractions, nothing clever.

"For each time step, use the current w to predict the label of x_i; observe the true y_i and
update w if needed." Examples are dicts with x0 under the name "x0"; y is -1 or +1.
"""

from fractions import Fraction


def dot(w, x):
    return sum(
        (w.get(name, Fraction(0)) * Fraction(value) for name, value in x.items()), Fraction(0)
    )


def is_mistake(w, x, y, zero="mistake"):
    s = dot(w, x)
    if s == 0 and zero != "mistake":
        s = {"negative": -1, "positive": 1}[zero]
    return y * s <= 0


def plus(w, x, y):
    return {name: w.get(name, Fraction(0)) + y * Fraction(x.get(name, 0)) for name in {*w, *x}}


def walk(stream, zero="mistake"):
    """w before each example, and after the last: w(1), …, w(N + 1); and where it was corrected."""
    w, weights, mistakes = {}, [], []
    for i, (x, y) in enumerate(stream):
        weights.append(w)
        if is_mistake(w, x, y, zero):
            mistakes.append(i)
            w = plus(w, x, y)
    return [*weights, w], mistakes


def average(stream, zero="mistake"):
    """The mean of the weights after each example."""
    weights = walk(stream, zero)[0][1:]
    names = {name for w in weights for name in w}
    return {name: sum(w.get(name, Fraction(0)) for w in weights) / len(weights) for name in names}


def pocket(stream, window, zero="mistake"):
    """After each window: its best of the pocket and the weights with the last one's longest run."""
    weights, mistakes = walk(stream, zero)
    held = rival = None
    for begin in range(0, len(stream) - window + 1, window):
        part = range(begin, begin + window)
        if held is None:
            held = longest_run(weights, mistakes, part)
        elif errors(rival, stream, part, zero) < errors(held, stream, part, zero):
            held = rival
        rival = longest_run(weights, mistakes, part)
    return held


def errors(w, stream, part, zero):
    return sum(is_mistake(w, *stream[i], zero) for i in part)


def longest_run(weights, mistakes, part):
    """The weights that were right most often in a row within this part; the first of equals."""
    best, most, right = None, -1, 0
    for i in part:
        if i in mistakes:
            if right > most:
                best, most = weights[i], right
            right = 0
        else:
            right += 1
    return weights[part[-1] + 1] if right > most else best
