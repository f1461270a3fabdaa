"""What --json prints follows the JSON schema that the program prints.

The fixture `outputs_follow_the_schema` checks the outputs of all other tests in this folder, too.
"""

import json

import pytest
from jsonschema import Draft202012Validator, ValidationError
from outputs import SCHEMA, check_output, validator

from rosenblatt.cli import COMMANDS, KINDS, separable, separation

SHARED = ("verdict", "accuracy", "evaluation", "unseen")
PLANE = "a,b,label\n0,0,no\n0,1,no\n2,1,yes\n1,2,yes\n3,3,yes\n-1,0,no\n"
FILES = {
    "plane.csv": PLANE,
    "xor.csv": "a,b,label\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n",
    "three.csv": "a,b,label\n"
    + "".join(f"0.{n},0.5{n},x\n0.{n},9.{n},y\n9.{n},0.{n},z\n" for n in range(8)),
    "trial.csv": "dose,died\n1,no\n2,no\n3,no\n3,yes\n4,yes\n",
}
RUNS = [
    ("learn", "plane.csv", "--target", "label", "-o", "m.json", "--report", "--proof", "p.json"),
    ("learn", "xor.csv", "--target", "label", "-o", "n.json", "--algorithm", "fewest"),
    ("learn", "three.csv", "-o", "k.json", "--cv", "3"),
    ("learn", "plane.csv", "--target", "label", "-o", "s.json", "--stream", "--no-convert"),
    ("learn", "three.csv", "-o", "t.json", "--test", "three.csv"),
    ("predict", "m.json", "plane.csv", "--explain"),
    ("predict", "k.json", "three.csv", "--scores", "-o", "out.csv"),
    ("separable", "plane.csv", "--target", "label", "--proof", "q.json"),
    ("separable", "xor.csv", "--target", "label"),
    ("separable", "three.csv"),
    ("separation", "trial.csv", "--target", "died", "--proof", "r.json"),
    ("separation", "xor.csv", "--target", "label"),
    ("verify", "q.json", "plane.csv"),
    ("verify", "q.json", "xor.csv"),
    ("verify", "r.json", "trial.csv"),
    ("stream", "plane.csv", "--target", "label", "-o", "rows.csv"),
    ("experiment", "-n", "10", "--runs", "3"),
    ("watch", "plane.csv", "--target", "label", "--save", "page.html"),
]
ERRORS = [
    (64, ("learn", "plane.csv", "--target", "no such column")),
    (65, ("separable", "empty.csv")),
    (66, ("separation", "no such file", "--target", "y")),
    (74, ("watch", "--save", "no such folder/page.html")),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each run prints, in one folder and one order."""
    from click.testing import CliRunner

    from rosenblatt.cli import rosenblatt

    folder = tmp_path_factory.mktemp("outputs")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for arguments in RUNS:
            done = CliRunner().invoke(rosenblatt, [*arguments, "--json"], standalone_mode=False)
            assert done.exception is None, (arguments, done.exception, done.stderr)
            found.append((arguments[0], json.loads(done.stdout)))
    return found


def objects(schema):
    """All schemas of objects with named keys, at any depth."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_the_program_prints_the_schema(run_command):
    code, out, _ = run_command("--json-schema")
    assert code == 0
    assert json.loads(out) == SCHEMA
    Draft202012Validator.check_schema(SCHEMA)


def test_every_command_is_in_the_schema_and_no_object_is_open():
    assert list(SCHEMA["$defs"]) == [*COMMANDS, "error", *SHARED]
    assert [part["$ref"] for part in SCHEMA["anyOf"]] == [
        f"#/$defs/{name}" for name in [*COMMANDS, "error"]
    ]
    for schema in objects(SCHEMA):
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])


def test_verdicts_and_error_kinds_are_those_with_an_exit_code():
    defined = SCHEMA["$defs"]
    assert set(defined["separable"]["properties"]["verdict"]["enum"]) == set(separable.EXIT)
    assert set(defined["separation"]["properties"]["kind"]["enum"]) == set(separation.EXIT)
    error = defined["error"]["properties"]["error"]
    assert set(error["properties"]["kind"]["enum"]) == set(KINDS.values())


@pytest.mark.slow_without_jit
def test_each_output_follows_the_schema(printed):
    assert {command for command, _ in printed} == set(COMMANDS)
    for command, value in printed:
        check_output(value, command)
        Draft202012Validator(SCHEMA).validate(value)


@pytest.mark.slow_without_jit
def test_new_keys_missing_keys_and_wrong_types_are_refused(printed):
    for command, value in printed:
        for key in SCHEMA["$defs"][command]["required"]:
            without = {k: v for k, v in value.items() if k != key}
            for wrong in (value | {"new": 1}, without, value | {key: [{}]}):
                with pytest.raises(ValidationError):
                    check_output(wrong, command)


@pytest.mark.slow_without_jit
def test_every_key_of_the_schema_is_printed_in_some_run(printed):
    """A key that no output has is no key: the schema follows what is removed, too."""
    for command in COMMANDS:
        keys = set().union(*(value for name, value in printed if name == command))
        assert keys == set(SCHEMA["$defs"][command]["properties"])


@pytest.mark.parametrize(("code", "arguments"), ERRORS)
def test_errors_follow_the_schema(run_command, tmp_path, code, arguments):
    (tmp_path / "plane.csv").write_text(PLANE)
    (tmp_path / "empty.csv").write_text("")
    got, out, _ = run_command(*arguments, "--json")
    assert got == code
    check_output(json.loads(out), "error")
    assert not validator("separable").is_valid(json.loads(out))
