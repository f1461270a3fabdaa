"""Messages name parameters, and each interface spells them."""

import ast
import functools
import inspect
import pickle
import re
from pathlib import Path

import click
import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt.cli import COMMANDS, OPTIONS, option, rosenblatt
from rosenblatt.cli.shared import with_options
from rosenblatt.errors import (
    DataError,
    FileRowError,
    Message,
    Parameter,
    UsageError,
    with_column,
    with_label,
)

SOURCE = Path(rb.__file__).parent
BELOW = [path for path in SOURCE.rglob("*.py") if "cli" not in path.relative_to(SOURCE).parts]
# What only the program takes: how to read a file, and the commands that Python has no function for.
ONLY_OPTIONS = {"encoding", "follow", "format", "formula", "output", "resume", "separator", "to"}
KEYWORDS = {
    name
    for function in (rb.learn, rb.separation)
    for name in inspect.signature(function).parameters
}


@functools.cache
def trees():
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in BELOW]


@functools.cache
def named():
    """The names of all parameters that messages below the interfaces name."""
    makers = {"Parameter": 0, "with_column": 0, "with_label": 0}
    finders = {"find_column": 2, "find_columns": 2}
    found = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {**makers, **finders}.get(node.func.id)
                if place is not None and isinstance(node.args[place], ast.Constant):
                    found.add(node.args[place].value)
    return found


def options():
    context = click.Context(rosenblatt)
    commands = [rosenblatt.get_command(context, name) for name in COMMANDS]
    return {
        name
        for command in commands
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def test_every_parameter_that_a_message_names_is_an_option_and_a_keyword():
    assert {"target", "ignore", "category", "missing", "test_size", "family"} <= named()
    assert {option(Parameter(name)) for name in named()} <= options()
    assert named() - KEYWORDS == ONLY_OPTIONS


def test_every_renamed_option_has_a_keyword():
    assert set(OPTIONS) <= KEYWORDS
    assert set(OPTIONS.values()) <= options()


def test_no_message_below_the_interfaces_names_an_option():
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.search(r"(?<![\w-])--[a-z]", node.value), (path, node.value)


@pytest.mark.parametrize(
    ("parameter", "in_shell", "in_python"),
    [
        (Parameter("test_size"), "--test-size", "test_size="),
        (Parameter("random_state"), "--seed", "random_state="),
        (Parameter("resume", True), "--resume", "resume=True"),
        (Parameter("test", example="FILE"), "--test FILE", "test=FILE"),
        (Parameter("missing", "drop"), "--missing drop", 'missing="drop"'),
        (Parameter("category", "years in job"), "--category 'years in job'", None),
        (
            Parameter("category", 'the "best"'),
            "--category 'the \"best\"'",
            r'category="the \"best\""',
        ),
        (with_label("positive", "Dr."), "--positive 'Dr.'", 'positive="Dr."'),
        (with_label("positive", "x" * 1000), "--positive LABEL", "positive=LABEL"),
        (with_column("ignore", "column 3"), "--ignore 3", 'ignore="3"'),
        (with_column("ignore", "x" * 1000), "--ignore COLUMN", "ignore=COLUMN"),
    ],
)
def test_the_shell_and_python_each_spell_a_parameter_their_way(parameter, in_shell, in_python):
    error = UsageError("give ", parameter, ".")
    assert error.render(option) == f"give {in_shell}."
    assert with_options(error.message) == f"give {in_shell}."
    if in_python is not None:
        assert str(error) == f"give {in_python}."


@pytest.mark.parametrize("thing", [Parameter("target"), Message("give ", Parameter("target"))])
def test_a_parameter_cannot_get_lost_in_a_formatted_text(thing):
    with refuses(TypeError, "Message"):
        f"{thing}"


def test_errors_keep_their_parameters_between_processes():
    rest = Message(": ", Parameter("missing", "drop"))
    for error in (UsageError("give ", Parameter("cv")), FileRowError("d.csv", 3, rest)):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert again.message == error.message
        assert str(again) == str(error)


BAD = {
    "a bad cell": ("a,b c,y\n1,2,0\n2,?,1\n3,5,0\n4,5,1\n" + "5,6,1\n" * 20, {"target": "y"}),
    "no such column": ("a,b,y\n1,2,0\n2,3,1\n", {"target": "z"}),
    "no such label": ("a,b,y\n1,2,0\n2,3,1\n", {"target": "y", "positive": "7"}),
    "no target": ("a,b,c\n" + "".join(f"{i % 2},{i % 2},{i % 2}\n" for i in range(9)), {}),
}


@pytest.mark.parametrize("name", BAD)
def test_the_same_error_reaches_python_and_the_shell(run_command, tmp_path, name):
    text, given = BAD[name]
    (tmp_path / "d.csv").write_text(text)
    code, _, err = run_command(
        "learn", "d.csv", *(f"--{key}={value}" for key, value in given.items())
    )
    with refuses(ValueError) as error:
        rb.learn("d.csv", **given)
    assert code == error.value.exit_code
    in_python = error.value.message
    assert in_python.parameters
    assert set(in_python.parameters) <= KEYWORDS
    assert err == f"rosenblatt: {with_options(in_python).replace(' of the file', '')}\n"
    assert not re.search(r"--[a-z]", str(error.value))


def test_a_note_is_spelled_for_its_interface(run_command, tmp_path):
    rows = "".join(f"ID-{i:03},{i},{i % 2}\n" for i in range(30))
    (tmp_path / "d.csv").write_text("name,a,y\n" + rows)
    assert "--category name" in run_command("learn", "d.csv", "--target", "y")[2]
    result = str(rb.learn("d.csv", target="y"))
    assert 'category="name"' in result
    assert "--category" not in result


def test_python_has_a_remedy_for_a_file_option_without_a_keyword(tmp_path):
    (tmp_path / "d.csv").write_bytes("c,y\nabc,0\nabd,1\né,0\n".encode("latin-1"))
    with refuses(DataError, row=3, advice=["encoding"]):
        rb.learn(tmp_path / "d.csv", target="y")
