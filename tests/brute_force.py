"""The fewest mistakes of any w in any dimension, by brute force."""

import functools
import itertools
from fractions import Fraction


def reduced(rows):
    """Rows less what is in others, each by the column where it has a 1 and the others 0."""
    found = {}
    for row in rows:
        z = [Fraction(v) for v in row]
        for j, other in found.items():
            z = [v - z[j] * q for v, q in zip(z, other, strict=True)]
        lead = next((j for j, v in enumerate(z) if v), None)
        if lead is not None:
            z = [v / z[lead] for v in z]
            for j, other in found.items():
                found[j] = [v - other[lead] * q for v, q in zip(other, z, strict=True)]
            found[lead] = z
    return found


def across(rows, columns):
    """The direction on some columns that is orthogonal to rows, if only one is."""
    found = reduced([[z[j] for j in columns] for z in rows])
    free = [j for j in range(len(columns)) if j not in found]
    if len(free) != 1:
        return None
    return [-found[j][free[0]] if j in found else 1 for j in range(len(columns))]


def fewest_by_rays(rows, costs):
    """Try every ray that is orthogonal to as many rows as it takes, both ways.

    Every cell has such a ray at its edge. Near it the rows that vanish on it are a problem of
    their own, and the others have the signs that they have on the ray.
    """

    @functools.cache
    def least(some):
        columns = sorted(reduced([rows[n] for n in some]))
        if not columns:
            return sum(costs[n] for n in some)
        best = sum(costs)
        for chosen in itertools.combinations(sorted(some), len(columns) - 1):
            w = across([rows[n] for n in chosen], columns)
            if w is None:
                continue
            scores = {n: sum(a * rows[n][j] for a, j in zip(w, columns, strict=True)) for n in some}
            on = least(frozenset(n for n in some if scores[n] == 0))
            for side in (1, -1):
                wrong = sum(costs[n] for n in some if side * scores[n] < 0)
                best = min(best, on + wrong)
        return best

    return least(frozenset(range(len(rows))))
