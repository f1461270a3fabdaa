"""Checks what --json prints against the schema that the package ships."""

import functools
import json
from pathlib import Path

from jsonschema import Draft202012Validator

import rosenblatt.cli
from rosenblatt.text import dump_json_line

SCHEMA = json.loads((Path(rosenblatt.cli.__file__).parent / "schema.json").read_text("utf-8"))


@functools.cache
def validator(command):
    """Return the validator of a command's output."""
    return Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{command}"})


def check_output(value, command):
    """Raise jsonschema's ValidationError unless a value is the output of a command."""
    validator(command).validate(json.loads(dump_json_line(value)))
