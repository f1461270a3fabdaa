"""How much was tried: tests count their cases here, and the end of a run says how many there were.

`ROSENBLATT_TRY=20` tries twenty times as many, and Hypothesis others in every run. Counts of all
processes are added up.
"""

import os
from collections import Counter

TIMES = int(os.environ.get("ROSENBLATT_TRY", "1"))
counts = Counter()


def tried(what, many=1):
    """Count cases that were tried; a test that fails ends the run's claim, not the count."""
    counts[what] += many


def times(few):
    """How many cases to try where so few are enough for every day."""
    return few * TIMES


def told(counts):
    """The counts, a line each."""
    return [f"{many:>9,} {what}" for what, many in sorted(counts.items())]
