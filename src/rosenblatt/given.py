"""What a person gives in Python, a file, a frame or arrays, and `learn`, which takes it.

It does the same as `rosenblatt learn`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa

import rosenblatt.checks as checks
from rosenblatt.accuracy import SHARE, Testing
from rosenblatt.algorithms import ORDERS
from rosenblatt.errors import BadCellError, DataError, FileRowError, UsageError, UserError, quoted
from rosenblatt.examples import Examples, JointExamples, check_lengths
from rosenblatt.messages import Message, Parameter, Part
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import Number, arrow_table
from rosenblatt.read.convert import opened
from rosenblatt.read.data import Data, Footprint, of_table, read_data
from rosenblatt.read.encoding import POLICIES, Answers, Encoding, spelled
from rosenblatt.read.plan import Plan, Wishes, check_labels
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.solve import Result, refuse_passes, solve
from rosenblatt.strategy import ALGORITHMS, How
from rosenblatt.words import column_called, listed, shortened


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
    """Learn to answer rows: whether a line answers every one, that line, and what it is worth.

    What `rosenblatt learn` does, with the same options. Nothing is printed or written. More than
    two labels are learnt together, with weights for each: the highest score is the answer.

    Parameters
    ----------
    X : array, CSR matrix, frame, or path
        The rows. A frame may hold text: it becomes categories or words, as in a file. A path is
        a file of any format that the command line reads.
    y : sequence of answers, or str
        An answer for each row, one of two labels or more; of a frame, also the name of the column
        that has them.
    target : str, optional
        The column of answers of a frame or a file; found where only one has two values, or else
        where only one has a few words.
    positive : optional
        The answer that counts as yes; of three or more, it is learnt against the rest.
    missing : {"error", "drop", "mean"}
        Where a number is missing in a frame or a file: refuse, drop the row, take the mean.
    ignore, number, category, text : str or sequences of str
        Columns to leave out, to take as numbers, as categories, as words.
    algorithm : {"auto", "pla", "pocket", "fewest", "average"}
        "auto": PLA if a line is right everywhere; else, for two labels, the pocket and then a
        search, and for more, the pocket or the average, whichever makes fewer mistakes. Never
        worse on the training rows than always predicting the most frequent label.
        "average": the mean of PLA's weights over all visits of 100 epochs.
    order : str
        In which PLA visits the examples.
    scale : bool
        Whether to bring columns to one scale to learn; weights are for the values as given.
    time_limit : float, optional
        Seconds for all that comes after reading; the best so far is kept. Five if not given, and
        no limit for a file larger than memory, which is read in passes.
    max_iter : int, optional
        The most epochs of learning: 1000 if not given, and 100 for "average". The pocket makes at
        most 1000 corrections, whichever ends first.
    test_size : float
        The share of rows held out to measure accuracy; 0 for none.
    test : path, optional
        A file to measure it on instead.
    cv : int, optional
        Measure it in so many folds instead.
    random_state : int
        Makes it repeatable.

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
    read      X: 4 rows, 2 numbers; answers no or yes
    verdict   inseparable: no line answers every row, proved in exact arithmetic; rows 0, 1, 2 and
              3 cannot all be right
    learnt    the pocket kept 1 mistake after 1,000 corrections
    learnt    the search found 1 mistake
    found     a line with 1 mistake on 4 rows; no line makes fewer (proved: 1 blocking set)
    tested    not: of fewer than 10 rows none are held out
    >>> rb.learn(X, ["no", "no", "no", "yes"]).model.predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    >>> rb.learn(X, ["none", "one", "one", "two"])
    <Result: separable; weights that answer all 4 rows>
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
    wishes = Wishes(
        target=y if isinstance(y, str) else target,
        positive=None if positive is None else spelled(positive),
        ignore=_several(ignore),
        numbers=_several(number),
        categories=_several(category),
        texts=_several(text),
        missing=missing,
    )
    how = How(algorithm, order, scale, time_limit, random_state, max_iter)
    try:
        share = None if test_size == SHARE else test_size
        testing = Testing(share, None if test is None else os.fspath(test), cv)
        data = _given(X, y, wishes, (how, testing))
        return solve(data, (Layout(), wishes), how, testing)
    except FileRowError as error:
        raise DataError(error.of_file, *_file_advice(error.message)) from None
    except UserError as error:
        advice = _file_advice(error.message)
        if not advice:
            raise
        raise type(error)(error.message, *advice) from None


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _file_advice(message: Message) -> list[Part]:
    """Say what to do instead where a message names an option on files that `learn` lacks."""
    missing = [name for name in message.parameters if name not in signature(learn).parameters]
    if not missing:
        return []
    instead = ": read the file as a data frame and give that."
    return [" rosenblatt.learn does not take ", Parameter(missing[0]), instead]


def _given(X: Any, y: Any, wishes: Wishes, asked: tuple[How, Testing]) -> Data:
    if isinstance(X, str | os.PathLike):
        if y is not None and not isinstance(y, str):
            raise UsageError("X is a file: name the column of its answers with target=.")
        source = Source.find(os.fspath(X))
        if not Footprint.of(source, Layout()).too_large:
            return replace(read_data(source, Layout(), wishes), numbering=FROM_ZERO)
        refuse_passes(*asked)
        return replace(opened(source, Layout(), wishes, convert=False), numbering=FROM_ZERO)
    if not hasattr(X, "column_names") and not hasattr(X, "columns"):
        return _of_arrays(X, y, wishes)
    table = arrow_table(X)
    if y is not None and not isinstance(y, str):
        name = str(getattr(y, "name", None) or "answer")
        while name in table.column_names:
            name += "_"
        answers = pa.array(y if isinstance(y, list | tuple) else np.asarray(y))
        check_lengths(table.num_rows, len(answers))
        table, wishes = table.append_column(name, answers), replace(wishes, target=name)
    try:
        return replace(of_table(table, wishes, "X"), numbering=RowNames.of(X))
    except BadCellError as bad:
        where = f"X, {RowNames.of(X).listed([bad.row])}, {column_called(bad.column)}"
        advice = 'Give missing="drop", missing="mean", or ignore or category with that column.'
        raise DataError(f"{where}: {bad.what}. {advice}") from None


def _of_arrays(X: Any, y: Any, wishes: Wishes) -> Data:
    """Arrays of numbers, taken as they are."""
    examples = JointExamples.from_arrays(X, y)
    columns = tuple(map(Number, examples.feature_names))
    if isinstance(examples, JointExamples) and wishes.positive is not None:
        examples = _against_the_rest(examples, wishes.positive)
    if isinstance(examples, JointExamples):
        labels = examples.labels.tolist()
        check_labels(labels, examples.n, "y", "the answers as text")
        made = Plan(Encoding(columns), Answers("", tuple(labels)))
        return Data("X", examples, np.arange(examples.n), made, None, numbering=RowNames.of(X))
    negative, positive = examples.labels.tolist()
    if wishes.positive == spelled(negative):
        examples = replace(examples, y=-examples.y, labels=examples.labels[::-1])
        negative, positive = positive, negative
    elif wishes.positive not in (None, spelled(positive)):
        raise UsageError(
            f"positive is {shortened(wishes.positive)}; the answers are {quoted(negative)}, "
            f"{quoted(positive)}."
        )
    made = Plan(Encoding(columns), Answers("", (negative, positive)))
    return Data("X", examples, np.arange(examples.n), made, None, numbering=RowNames.of(X))


def _against_the_rest(examples: JointExamples, positive: str) -> Examples:
    """One of more than two labels as yes, all others as no."""
    names = [spelled(label) for label in examples.labels.tolist()]
    if positive not in names:
        there = listed([shortened(one) for one in names])
        raise UsageError(f"positive is {shortened(positive)}; the answers are {there}.")
    y = np.where(examples.y == names.index(positive), 1, -1).astype(np.int8)
    return Examples(examples.X, y, np.array([f"not {positive}", positive]), examples.names)
