"""Why an estimate is what it is, in words."""

from __future__ import annotations

import math

FINITE, UP, DOWN = "finite", "grows without bound", "falls without bound"
EITHER, UNKNOWN = "infinite, of either sign", "not identified by any row"
ESTIMATES = {FINITE: 0.0, UP: math.inf, DOWN: -math.inf, EITHER: math.nan, UNKNOWN: math.nan}
