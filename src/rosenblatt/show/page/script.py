"""Script: the Python lines that do what the page did, number by number."""

from __future__ import annotations

from rosenblatt.examples import Examples
from rosenblatt.show.page.ask import Ask

CYCLES = 10**9  # never what ends a run here; with order="first" every correction is a cycle


def python_lines(ask: Ask) -> str:
    """A program that makes the same run and asks for the same verdict.

    Parameters
    ----------
    ask : Ask
        What the page asked for.
    """
    learnt = _online(ask) if ask.algorithm == "online" else _fitted(ask)
    return "\n".join(
        [
            '"""What the page showed, done again."""',
            "",
            *_imports(ask),
            "",
            *_data(ask.examples),
            "",
            *learnt,
            "for t in range(len(trace) + 1):",
            "    print(t, trace.weights(t))",
            "",
            "verdict = rb.separability(X, y)",
            "print(verdict.explain())",
            "",
        ]
    )


def _imports(ask: Ask) -> list[str]:
    if ask.algorithm == "online" and ask.start.any():
        return [
            "import numpy as np",
            "",
            "import rosenblatt as rb",
            "from rosenblatt import algorithms",
            "from rosenblatt.examples import Examples",
        ]
    return ["import rosenblatt as rb"]


def _data(examples: Examples) -> list[str]:
    rows = [f"    {row!r}," for row in examples.X.tolist()]
    answers = ", ".join(str(y) for y in examples.y.tolist())
    labels = [str(label) for label in examples.labels.tolist()]
    said = [] if labels == ["-1", "1"] else [f"# 1 is {labels[1]!r}, -1 is {labels[0]!r}"]
    return ["X = [", *rows, "]", *said, f"y = [{answers}]"]


def _fitted(ask: Ask) -> list[str]:
    """PLA or the pocket; parameters that are as usual are left out."""
    parameters = [f"order={ask.order!r}"]
    if ask.algorithm == "pla":
        kind = "Perceptron"
        parameters.append(f"max_iter={CYCLES:_}")
    else:
        kind = "PocketPerceptron"
        if ask.algorithm == "ratchet":
            parameters.append("ratchet=True")
    parameters += [f"max_updates={ask.corrections}", *_usual(ask)]
    if ask.order not in ("cycle", "first"):
        parameters.append(f"random_state={ask.seed}")
    w = ask.start.tolist()
    start = f", coef_init={w[1:]!r}, intercept_init={w[0]!r}" if any(w) else ""
    return [
        f"clf = rb.{kind}({', '.join(parameters)})",
        f"clf.fit(X, y{start})",
        "trace = clf.trace_",
    ]


def _online(ask: Ask) -> list[str]:
    """One pass over the examples as they come."""
    if not ask.start.any():
        return [
            f"clf = rb.Perceptron({', '.join(_usual(ask))})",
            "clf.partial_fit(X, y, classes=[-1, 1])",
            "trace = clf.trace_",
        ]
    zero = {"mistake": 0, "negative": -1, "positive": 1}[ask.zero]
    return [
        f"rule = algorithms.Rule(zero={zero}, eta={ask.eta!r})",
        f"start = np.array({ask.start.tolist()!r})",
        "trace = algorithms.online(Examples.from_arrays(X, y), rule, start).trace",
    ]


def _usual(ask: Ask) -> list[str]:
    found = []
    if ask.eta != 1.0:
        found.append(f"eta0={ask.eta!r}")
    if ask.zero != "mistake":
        found.append(f"zero={ask.zero!r}")
    return found
