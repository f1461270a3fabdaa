"""The online perceptron: predict each example as it comes, then learn its answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.pla import Budget, Interrupted, Rule, Run, Walk
from rosenblatt.examples import Examples


def online(examples: Examples, rule: Rule, start: NDArray[np.float64] | None = None) -> Run:
    """Pass over the examples once, in file order, correcting each mistake as it is met.

    Parameters
    ----------
    examples : Examples
        The rows and their answers, in the order they came.
    rule : Rule
        The meaning of sign(0) and eta.
    start : array, optional
        w before the first example, with its w0 slot; zeros if not given.

    Returns
    -------
    Run
        Its `mistakes` are those made as it went, each before its correction.

    Examples
    --------
    >>> run = online(Examples.from_arrays([[2.0], [-1.0], [3.0]], [1, 0, 1]), Rule())
    >>> run.mistakes, run.trace.examples.tolist()
    (1, [0])
    """
    walk = Walk(examples, rule, Budget(cycles=1), start)
    try:
        walk.cycle()
    except KeyboardInterrupt:
        raise Interrupted(walk.run("interrupted")) from None
    run = walk.run("end of stream", look=False)
    return replace(run, mistakes=run.corrections)
