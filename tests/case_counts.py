"""Count the cases of randomized tests; the summary of a run prints the counts.

`ROSENBLATT_TRY=20` runs twenty times as many cases, and Hypothesis draws other ones in every run.
The counts of all processes are added up.
"""

import os
from collections import Counter

TIMES = int(os.environ.get("ROSENBLATT_TRY", "1"))
counts = Counter()


def count_cases(what, many=1):
    """Count cases that ran; a failing test does not change the count."""
    counts[what] += many


def n_cases(few):
    """Return the number of cases to run, where `few` are enough for every day."""
    return few * TIMES


def count_lines(counts):
    """Return one line per kind of case."""
    return [f"{many:>9,} {what}" for what, many in sorted(counts.items())]
