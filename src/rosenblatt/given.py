"""The Python function `learn`, the counterpart of the command `rosenblatt learn`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import rosenblatt.checks as checks
from rosenblatt.accuracy import TEST_SIZE, EvaluationOptions
from rosenblatt.algorithms import ORDERS
from rosenblatt.read import Layout
from rosenblatt.read.encoding import POLICIES, spell_label
from rosenblatt.read.inputs import explain_parameters, read_input
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.solve import Result, check_passes, solve
from rosenblatt.strategy import ALGORITHMS, TrainingOptions


def learn(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    positive: Any = None,
    missing: str = "error",
    ignore: str | Sequence[str] = (),
    number: str | Sequence[str] = (),
    category: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    algorithm: str = "auto",
    order: str = "cycle",
    scale: bool = True,
    time_limit: float | None = None,
    max_iter: int | None = None,
    test_size: float = 0.2,
    test: str | os.PathLike[str] | None = None,
    cv: int | None = None,
    random_state: int = 0,
) -> Result:
    """Decide whether rows are linearly separable, train a classifier, and test it.

    The command `rosenblatt learn` does the same, with the same options. Nothing is printed or
    written. With more than two labels there are weights for each label, and the label with the
    highest score is predicted.

    Parameters
    ----------
    X : array, CSR matrix, frame, or path
        Training rows. Text in a frame is converted to categories or words, as in a file. A path
        is a file in any format that the command line reads.
    y : sequence of labels, or str
        Label of each row, with two or more different labels; for a frame, also the name of the
        target column.
    target : str, optional
        Target column of a frame or a file. By default, the only column with two values, or else
        the only one with a few words.
    positive : optional
        Positive label; with three or more labels, it is learned against the rest.
    missing : {"error", "drop", "mean"}
        What to do about missing numbers in a frame or a file: raise an error, drop the row, or
        use the mean.
    ignore, number, category, text : str or sequence of str
        Columns to leave out, or to treat as numbers, as categories, or as text.
    algorithm : {"auto", "pla", "pocket", "fewest", "average"}
        "auto": PLA if the rows are separable; otherwise, with two labels, the pocket and then a
        search, and with more, the pocket or the average, whichever makes fewer mistakes. Never
        worse on the training rows than always predicting the most frequent label.
        "average": the mean of PLA's weights over all visits of 100 epochs.
    order : str
        Order in which PLA visits the rows.
    scale : bool
        Whether to scale the columns for training; the weights apply to the values as given.
    time_limit : float, optional
        Time budget in seconds, excluding reading; the best result so far is kept. Five seconds
        by default, and no limit for a file larger than memory, which is read in passes.
    max_iter : int, optional
        Maximum number of epochs: 1000 by default, and 100 for "average". The pocket also stops
        after 1000 updates.
    test_size : float
        Share of rows held out to measure accuracy; 0 for none.
    test : path, optional
        File of rows to measure accuracy on, instead of held-out rows.
    cv : int, optional
        Number of folds for cross-validation, instead of held-out rows.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    Result
        `verdict`, `model`, `mistakes`, `lower_bound`, `proof`, `accuracy`, `report(path)`,
        `save(path)`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> r = rb.learn(X, ["no", "yes", "yes", "no"])
    >>> print(r)
    read      X: 4 rows, 2 numeric columns; labels no or yes
    verdict   not separable: no line classifies rows 0, 1, 2 and 3 all correctly (proved in exact
              arithmetic)
    trained   the pocket algorithm found weights with 1 mistake after 1,000 updates
    trained   the search for fewer mistakes found a line with 1 mistake
    found     a line with 1 mistake on 4 rows; no line makes fewer (proof: 1 conflict)
    tested    skipped: 4 rows are too few for a held-out test (at least 10)
    >>> rb.learn(X, ["no", "no", "no", "yes"]).model.predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    >>> rb.learn(X, ["none", "one", "one", "two"])
    <Result: separable; weights that classify all 4 rows correctly>
    """
    checks.one_of("algorithm", algorithm, ALGORITHMS)
    checks.one_of("order", order, ORDERS)
    checks.one_of("missing", missing, POLICIES)
    checks.flag("scale", scale)
    checks.whole_number("random_state", random_state, 0)
    if time_limit is not None:
        checks.positive_number("time_limit", time_limit)
    if max_iter is not None:
        checks.whole_number("max_iter", max_iter, 1)
    if cv is not None:
        checks.whole_number("cv", cv, 2)
    if not 0 <= test_size < 1:
        raise ValueError(f"test_size is {test_size!r}; give a share from 0 to below 1.")

    def as_tuple(names: str | Sequence[str]) -> tuple[str, ...]:
        return (names,) if isinstance(names, str) else tuple(names)

    columns = ColumnOptions(
        target=target,
        positive=None if positive is None else spell_label(positive),
        ignore=as_tuple(ignore),
        numbers=as_tuple(number),
        categories=as_tuple(category),
        texts=as_tuple(text),
        missing=missing,
    )
    training = TrainingOptions(algorithm, order, scale, time_limit, random_state, max_iter)
    with explain_parameters(learn):
        share = None if test_size == TEST_SIZE else test_size
        testing = EvaluationOptions(share, None if test is None else os.fspath(test), cv)
        data = read_input(X, y, columns, lambda: check_passes(training, testing))
        return solve(data, (Layout(), columns), training, testing)
