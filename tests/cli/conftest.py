import json
import os
import re
import subprocess

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from installed import PROGRAM
from outputs import check_output

from rosenblatt.cli import run
from rosenblatt.cli.shared import Console
from rosenblatt.experiments import credit


@pytest.fixture(autouse=True)
def outputs_follow_the_schema(monkeypatch):
    """Check every object that --json prints in this process against the schema."""
    result = Console.result

    def check(console, value):
        if console.as_json:
            check_output(value, click.get_current_context().info_name)
        result(console, value)

    monkeypatch.setattr(Console, "result", check)


@pytest.fixture(scope="session")
def credit_files(tmp_path_factory):
    """The credit examples in every format that can be read."""
    folder = tmp_path_factory.mktemp("credit")
    table = credit(n=300)
    pa.csv.write_csv(table, folder / "credit.csv")
    options = pa.csv.WriteOptions(delimiter="\t")
    pa.csv.write_csv(table, folder / "credit.tsv", options)
    pa.parquet.write_table(table, folder / "credit.parquet")
    pa.feather.write_feather(table, folder / "credit.feather")
    with pa.ipc.new_stream(str(folder / "credit.arrow"), table.schema) as stream:
        stream.write_table(table)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    (folder / "credit.jsonl").write_text(lines)
    for name in ("credit.csv", "credit.jsonl", "credit.parquet"):
        for suffix, compression in ((".gz", "gzip"), (".zst", "zstd")):
            with pa.output_stream(str(folder / (name + suffix)), compression=compression) as out:
                out.write((folder / name).read_bytes())
    return folder


@pytest.fixture
def program(tmp_path):
    """Run the installed program in a temporary folder and return the completed process."""

    def call(*arguments, stdin=None, **environment):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture
def run_command(capfd, tmp_path, monkeypatch):
    """Run a command in this process and return its exit code, stdout and stderr.

    Notes about compilation are left out: they depend on what ran before.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments, with_notes=False):
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        if out.startswith('{"error"'):
            check_output(json.loads(out), "error")
        if not with_notes:
            err = re.sub(r"^rosenblatt: compiling .*\n", "", err, flags=re.MULTILINE)
        return code, out, err

    return call


@pytest.fixture
def run_json(run_command):
    """Run a command in this process with --json and return the object that it prints."""

    def call(*arguments, code=0):
        got, out, err = run_command(*arguments, "--json")
        assert got == code, err
        lines = out.splitlines()
        assert len(lines) == 1
        return json.loads(lines[0])

    return call
