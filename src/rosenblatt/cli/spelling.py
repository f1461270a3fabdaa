"""How the command line spells the parameters that messages name."""

from __future__ import annotations

import shlex

from rosenblatt.messages import Message, Parameter, Part

# Parameters whose option has another name; the others have theirs, with - for _.
OPTIONS = {"max_iter": "--cycles", "random_state": "--seed", "sample_weight": "--weights"}
ENDS = (".", ",", ":")  # of a part of a sentence


def option(parameter: Parameter) -> str:
    """Return a parameter as an option with its value, quoted for the shell.

    Examples
    --------
    >>> print(option(Parameter("test_size")), option(Parameter("category", "years in job")))
    --test-size --category 'years in job'
    >>> print(option(Parameter("test", example="FILE")), option(Parameter("resume", True)))
    --test FILE --resume
    """
    name = OPTIONS.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
    if isinstance(parameter.value, str):
        return f"{name} {as_argument(parameter.value)}"
    return f"{name} {parameter.example}".rstrip()


def with_options(*parts: Part) -> str:
    """Return a message with its parameters as options."""
    return Message(*parts).spelled(option)


def as_argument(text: str) -> str:
    """Quote a file name, a label or any other text for the shell.

    Text that ends like a part of a sentence is quoted, too.

    Examples
    --------
    >>> print(as_argument("a.csv"), as_argument("a b.csv"), as_argument("Dr."))
    a.csv 'a b.csv' 'Dr.'
    """
    return f"'{text}'" if text.endswith(ENDS) and shlex.quote(text) == text else shlex.quote(text)
