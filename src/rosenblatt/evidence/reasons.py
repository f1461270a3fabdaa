"""Why an estimate is what it is, in words."""

from __future__ import annotations

import math

FINITE, UP, DOWN = "finite", "grows without bound", "falls without bound"
EITHER, UNKNOWN = "infinite, of either sign", "not identified by any row"
UNSIGNED = "infinite, its sign not known"  # where the run ended before it was
INFINITE = (UP, DOWN, EITHER, UNSIGNED)
ESTIMATES = {
    FINITE: 0.0,
    UP: math.inf,
    DOWN: -math.inf,
    EITHER: math.nan,
    UNKNOWN: math.nan,
    UNSIGNED: math.nan,
}
SHORT = {
    FINITE: "finite",
    UP: "+inf",
    DOWN: "-inf",
    EITHER: "±inf",
    UNKNOWN: "—",
    UNSIGNED: "infinite",
}
