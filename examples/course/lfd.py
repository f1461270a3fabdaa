"""Learning From Data, homework 1, questions 7 to 10: PLA on random targets in the plane.

The questions are multiple choice; the published answer is the choice nearest to the mean. The table
also has the median and P[f ≠ g] that others have measured.
"""

import functools

from line import Line

import rosenblatt as rb


@functools.cache
def runs(n_examples, count, seed):
    return rb.experiment(n_examples, count, random_state=seed)


def updates(chosen, n_examples, choices, answer, median):
    updates = runs(n_examples, chosen.runs, chosen.seed).updates
    what = f"N = {n_examples}: updates"
    yield Line.choice(f"{what}, mean", answer, choices, updates.mean())
    yield Line.median(f"{what}, median", median, updates)


def disagreement(chosen, n_examples, choices, answer, measured):
    values = runs(n_examples, chosen.runs, chosen.seed).disagreement
    what = f"N = {n_examples}: P[f ≠ g]"
    yield Line.choice(f"{what}, choice", answer, choices, values.mean())
    # Published with three digits and without a standard error; 1 % of the value is assumed.
    yield Line.mean(f"{what}, mean", measured, measured / 100, values)


QUESTIONS = {
    7: lambda chosen: updates(chosen, 10, (1, 15, 300, 5000, 10000), 15, 5),
    8: lambda chosen: disagreement(chosen, 10, (0.001, 0.01, 0.1, 0.5, 0.8), 0.1, 0.109),
    9: lambda chosen: updates(chosen, 100, (50, 100, 500, 1000, 5000), 100, 60),
    10: lambda chosen: disagreement(chosen, 100, (0.001, 0.01, 0.1, 0.5, 0.8), 0.01, 0.0134),
}
