"""`verify` says what a proof is about, and verifies nothing that is not true of the data."""

import csv
import json
import random
from dataclasses import replace

import numpy as np
import pytest
from case_counts import count_cases, n_cases
from facts import refuses

import rosenblatt as rb
from rosenblatt.cli import run
from rosenblatt.evidence.certificate import Conflict
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.tree import Tree, Weighting
from rosenblatt.examples import Examples
from rosenblatt.files import compute_checksum
from rosenblatt.model import proof_to_json
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import Category, Entries, Flag, Number, Words
from rosenblatt.read.data import encode_rows, read_data
from rosenblatt.read.encoding import Encoding, TargetColumn
from rosenblatt.read.plan import ColumnOptions

SEEDS = range(n_cases(6))


def table_of(seed):
    """A few rows in which the town tells the label and the numbers alone do not."""
    rng = random.Random(seed)
    rows = []
    for i in range(14):
        label = rng.choice(["no", "yes"]) if i > 1 else ["no", "yes"][i]
        town = rng.choice(["Oslo", "Rome"] if label == "no" else ["Bonn", "Bern"])
        a = str(rng.randrange(4))
        b = rng.choice(["", "0.5", "1.5", "2.5", "7"])
        text = " ".join(rng.choices(["red", "blue", "old", "new"], k=2))
        rows.append([str(i), a, b, town, rng.choice(["true", "false"]), text, label])
    return [["id", "a", "b", "town", "member", "text", "y"], *rows]


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def forged_proof(plan, table):
    """A proof for whatever a plan makes of a table, as somebody with the solver would make it."""
    examples, _ = encode_rows(plan, table, "data")
    return rb.separability(examples.X, examples.y).proof


def forgeries(plan, rng):
    """Plans that say something else of the same file, each with what was done."""
    columns = {column.name: column for column in plan.encoding.columns}
    town = columns["town"]

    def but(*others, **changed):
        kept = [changed.pop(c.name, c) for c in plan.encoding.columns]
        kept = [c for c in kept if c is not None]
        return replace(plan, encoding=replace(plan.encoding, columns=(*kept, *others)))

    yield "the answers as a category", but(Category("y", ("no", "yes")))
    yield "the answers as words", but(Words("y", ("no", "yes")))
    yield "the answers as numbers", but(Number("y"))
    yield (
        "only the answers",
        replace(plan, encoding=Encoding((Category("y", ("yes",)),), plan.encoding.missing)),
    )
    yield "values that never occur", but(town=Category("town", ("Nowhere",)))
    yield "one value more", but(town=Category("town", (*town.values, "Nowhere")))
    yield "one value less", but(town=Category("town", town.values[1:]))
    yield "values in another order", but(town=Category("town", town.values[::-1]))
    yield "another case", but(town=Category("town", tuple(v.upper() for v in town.values)))
    yield "the town left out", but(town=None)
    yield "the number left out", but(a=None)
    yield "the town as numbers", but(town=Number("town"))
    yield "the town as words", but(town=Words("town", ("bonn", "oslo", "rome", "bern")))
    yield "the number as a category", but(a=Category("a", ("0", "1", "2", "3")))
    yield "the number as one value", but(a=Category("a", ("0",)))
    yield "the number as a flag", but(a=Flag("a"))
    yield "the flag as numbers", but(member=Number("member"))
    yield "words that never occur", but(text=Words("text", ("green",)))
    yield "fewer words", but(text=Words("text", columns["text"].values[:1]))
    yield "the text as entries", but(text=Entries("text", 1, 4))
    yield "another mean", but(b=replace(columns["b"], mean=columns["b"].mean + 100))
    yield "the flipped answers", replace(plan, target=TargetColumn("y", ("yes", "no")))
    yield "other answers", replace(plan, target=TargetColumn("y", ("no", "maybe")))
    yield (
        "the flag as the answers",
        replace(but(member=None), target=TargetColumn("member", (False, True))),
    )
    yield "one against the rest", replace(plan, target=TargetColumn("y", ("not yes", "yes"), True))
    for missing in ("drop", "mean", "error"):
        encoding = replace(plan.encoding, missing=missing)
        yield f"missing {missing}", replace(plan, encoding=encoding)
    shuffled = rng.sample(plan.encoding.columns, len(plan.encoding.columns))
    yield "another order", replace(plan, encoding=replace(plan.encoding, columns=tuple(shuffled)))
    yield "an id as well", but(Number("id"))
    yield "a column that is not there", but(Number("wealth"))


def numbers_of(rows, output):
    """The rows as numbers, by nothing but what `verify` printed."""
    names = rows[0]
    cells = [dict(zip(names, row, strict=True)) for row in rows[1:]]
    out = set(output["first_rows_left_out"])
    assert len(out) == output["rows_left_out"]
    blocks = []
    for column in output["columns"]:
        name, values = column["name"], [row[column["name"]] for row in cells]
        if column["kind"] == "category":
            assert set(column["values"]) == set(values)
            block = [[float(v == value) for value in column["values"]] for v in values]
        elif column["kind"] == "words":
            block = [[v.lower().split().count(word) for word in column["values"]] for v in values]
        elif column["kind"] == "flag":
            block = [[float(v == "true")] for v in values]
        else:
            there = [float(v) for v in values if _is_number(v)]
            mean = sum(there) / len(there) if output["missing"] == "mean" else np.nan
            imputed = {one["name"]: one for one in output["filled"]}
            if output["missing"] == "mean" and len(there) < len(values):
                assert imputed[name]["cells"] == len(values) - len(there)
                assert imputed[name]["mean"] == pytest.approx(mean)
            block = [[float(v) if _is_number(v) else mean] for v in values]
        assert len(block[0]) == column["features"]
        blocks.append(block)
    X = np.hstack([np.array(block, dtype=float) for block in blocks])
    y = [row[output["target"]["column"]] for row in cells]
    kept = [i for i in range(len(cells)) if i + 1 not in out]
    assert len(kept) == output["rows"]
    return X[kept], [y[i] for i in kept]


def _is_number(text):
    return text.replace(".", "", 1).isdigit()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_forged_column_plan_verifies_only_true_claims(seed, tmp_path, capfd):
    rng, rows = random.Random(seed), table_of(seed)
    path, proof = tmp_path / "d.csv", tmp_path / "p.json"
    write(path, rows)
    wishes = ColumnOptions(
        target="y", ignore=("id",), texts=("text",), missing=rng.choice(["drop", "mean"])
    )
    found = read_data(Source.find(str(path)), Layout(), wishes)
    verified = count = 0
    for what, plan in forgeries(found.plan, rng):
        try:
            made = forged_proof(plan, found.table)
        except Exception:  # nothing that a proof could be made of: another one is put in
            made = rb.separability(found.examples.X, found.examples.y).proof
        text = proof_to_json(plan, made)
        proof.write_text(text)
        count += 1
        code = run(["verify", str(proof), str(path), "--json"])
        out, err = capfd.readouterr()
        if code == 0:
            output = json.loads(out)
            X, y = numbers_of(rows, output)
            assert output["target"]["column"] not in [c["name"] for c in output["columns"]], what
            assert rb.separability(X, y).verdict == output["claim"], what
            named = {c["name"] for c in output["columns"]} | set(output["columns_left_out"])
            assert named | {output["target"]["column"]} == set(rows[0]), what
            verified += 1
        else:
            assert code in (1, 65), (what, err)
            if what.startswith(("the answers", "only the answers")):
                assert "is both the target and a feature" in err, what
    assert 5 <= verified < count
    count_cases("forged plans of columns", count)


def test_a_change_without_a_new_checksum_is_refused(tmp_path, capfd):
    rows = table_of(0)
    path, proof = tmp_path / "d.csv", tmp_path / "p.json"
    write(path, rows)
    options = ["--target", "y", "--ignore", "id", "--missing", "drop"]
    assert run(["separable", str(path), *options, "--proof", str(proof)]) in (0, 1)
    assert run(["verify", str(proof), str(path)]) == 0
    whole = json.loads(proof.read_text())
    changes = [
        lambda v: v.update(missing="mean"),
        lambda v: v["target"]["labels"].reverse(),
        lambda v: v["target"].update(column="town"),
        lambda v: v["columns"].pop(),
        lambda v: v["columns"].reverse(),
        lambda v: v["columns"][0].update(name="id"),
        lambda v: v["columns"][0].update(mean=1e9),
        lambda v: v["columns"][2]["values"].append("Nowhere"),
        lambda v: v["columns"][2].update(kind="words"),
        lambda v: v["proof"].update(claim="inseparable"),
        lambda v: v.update({"made by": "somebody else"}),
        lambda v: v.update(more="words"),
        lambda v: v.pop("checksum"),
        lambda v: v.update(checksum=v["proof"]["checksum"]),
    ]
    capfd.readouterr()
    for change in changes:
        value = json.loads(json.dumps(whole))
        change(value)
        proof.write_text(json.dumps(value))
        assert run(["verify", str(proof), str(path)]) == 65
        assert "checksum" in capfd.readouterr().err
    proof.write_text(json.dumps(whole, indent=7))  # the same, written otherwise
    assert run(["verify", str(proof), str(path)]) == 0


def test_verify_describes_the_data_of_the_proof(tmp_path, capfd):
    path, proof = tmp_path / "d.csv", tmp_path / "p.json"
    write(path, table_of(0))
    options = ["--target", "y", "--ignore", "id", "--missing", "drop", "--text", "text"]
    assert run(["separable", str(path), *options, "--proof", str(proof)]) in (0, 1)
    capfd.readouterr()
    assert run(["verify", str(proof), str(path)]) == 0
    out = capfd.readouterr().out
    empty = [str(n) for n, row in enumerate(table_of(0)[1:], 1) if row[2] == ""]
    assert 'numbers: "a" and "b"' in out
    assert 'category of 3 values: "town"' in out
    assert 'true or false: "member"' in out
    assert 'counts of 4 words: "text"' in out
    assert 'left out  "id"' in out
    assert 'labels    column "y": yes against no' in out
    assert f"{14 - len(empty)} of 14 rows; left out because a number or the label" in out
    assert all(number in out for number in empty)
    assert f"holds for {14 - len(empty)} of 14 rows of {path} with" in out
    assert out.endswith(" every row correctly, in exact arithmetic\n")


def test_verify_in_passes_reports_and_refuses_the_same(tmp_path, capfd, free_memory):
    path, proof = tmp_path / "d.csv", tmp_path / "p.json"
    write(path, table_of(5))
    wishes = ColumnOptions(target="y", ignore=("id",), texts=("text",), missing="drop")
    found = read_data(Source.find(str(path)), Layout(), wishes)
    for what, plan in forgeries(found.plan, random.Random(5)):
        try:
            made = forged_proof(plan, found.table)
        except Exception:
            continue
        proof.write_text(proof_to_json(plan, made))
        answers = []
        for passes in (False, True):
            free_memory(1000 if passes else 10**12)
            code = run(["verify", str(proof), str(path), "--json"])
            answers.append((code, capfd.readouterr().out))
        assert answers[0] == answers[1], what


def test_verify_describes_the_file_of_a_proof_from_arrays(tmp_path, capfd):
    proof, path = tmp_path / "p.json", tmp_path / "d.csv"
    proof.write_text(rb.separability([[0.0], [1.0], [2.0]], [0, 1, 0]).proof.to_json())
    path.write_text("id,x,y\n7,0,0\n8,1,1\n9,2,0\n")
    assert run(["verify", str(proof), str(path), "--target", "y", "--ignore", "id"]) == 0
    out = capfd.readouterr().out
    assert 'columns   numbers: "x"' in out
    assert 'left out  "id"' in out
    assert "rows      all 3 rows" in out


ALONG_A_LINE = ([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1, 0])
PARTS = (
    Conflict((0, 1, 2), (1, 2, 1)),
    Conflict((0, 1, 4), (3, 4, 1)),
    Conflict((2, 3, 4), (1, 2, 1)),
)
ASKED = Tree((2, -1, -2), (Weighting(1, (1,), (1,)), Weighting(1, (0, 2), (1, 1))))
BOUNDS = {
    "3 conflicts, 1 branch": (2, PARTS, {"tree": ASKED}),
    "1 conflict": (1, PARTS[:1], {}),
    "enumeration of all cells": (2, (), {"enumeration": "cells"}),
}


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("size", BOUNDS)
def test_a_bound_on_mistakes_is_verified_and_its_size_is_reported(
    tmp_path, capfd, free_memory, size, passes
):
    free_memory(1000 if passes else 10**12)
    file, path = tmp_path / "p.json", tmp_path / "d.csv"
    path.write_text("x,y\n" + "".join(f"{n},{n % 2}\n" for n in range(5)))
    cost, parts, more = BOUNDS[size]
    proof = Proof.of_mistakes(Examples.from_arrays(*ALONG_A_LINE), cost, parts, **more)
    command = [
        "verify",
        str(file),
        str(path),
        "--target",
        "y",
        *["--again"] * bool(proof.enumeration),
    ]
    file.write_text(proof.to_json())
    assert run(command) == 0
    out = capfd.readouterr().out
    assert f"proof     {size}\n" in out
    assert f"every line makes {proof.claim}, in exact arithmetic" in out
    assert run([*command, "--json"]) == 0
    output = json.loads(capfd.readouterr().out)
    assert (output["size"], output["holds"], output["claim"]) == (size, True, proof.claim)
    file.write_text(replace(proof, claim="at least 3 mistakes").to_json())
    assert run(command) == 1
    assert "does not hold: " in capfd.readouterr().out


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("columns", "rows"), [(2, 100), (6, 40)])
def test_proofs_of_fewest_mistakes_from_learn_are_verified(tmp_path, capfd, columns, rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, columns)).round(2), rng.integers(0, 2, rows)
    names = [f"x{i}" for i in range(columns)]
    path, file = tmp_path / "d.csv", tmp_path / "p.json"
    write(path, [[*names, "y"], *([*map(str, x), n] for x, n in zip(X, y, strict=True))])
    model = ["-o", str(tmp_path / "m.json")]
    command = ["learn", str(path), "--algorithm", "fewest", "--test-size", "0", *model]
    assert run([*command, "--target", "y", "--proof", str(file), "--json"]) == 0
    output = json.loads(capfd.readouterr().out)
    walked = output["proved_by"] == "enumeration of all cells"
    assert (output["optimal"] or columns > 2, walked) == (True, columns == 2)
    assert run(["verify", str(file), str(path), *["--again"] * walked]) == 0
    out = capfd.readouterr().out
    assert f"proof     {output['proved_by']}\n" in out
    assert f"“at least {output['lower_bound']} mistakes” holds for all {rows} rows" in out


def test_built_in_examples_need_data_for_a_proof(tmp_path, capfd):
    assert run(["learn", "--proof", str(tmp_path / "p.json")]) == 64
    assert "give DATA" in capfd.readouterr().err


def test_a_proof_that_cannot_be_compared_with_the_file_is_not_refuted(tmp_path, capfd):
    file, path = tmp_path / "p.json", tmp_path / "d.csv"
    path.write_text("x,y\n" + "".join(f"{n},{n % 2}\n" for n in range(5)))
    examples = Examples.from_arrays(*ALONG_A_LINE)
    file.write_text(Proof.of_mistakes(examples, 2, enumeration="cells").to_json())
    assert run(["verify", str(file), str(path)]) == 64
    assert "Give --again." in capfd.readouterr().err
    weighted = examples.weighted([1.0, 2.0, 1.0, 1.0, 1.0])
    file.write_text(Proof.of_mistakes(weighted, 1, PARTS[:1]).to_json())
    assert run(["verify", str(file), str(path)]) == 64
    assert "is about sample weights" in capfd.readouterr().err


def test_an_older_format_and_another_target_are_refused_with_a_remedy(tmp_path, capfd):
    proof, path = tmp_path / "p.json", tmp_path / "d.csv"
    write(path, table_of(1))
    options = ["--target", "y", "--ignore", "id", "--missing", "drop"]
    assert run(["separable", str(path), *options, "--proof", str(proof)]) in (0, 1)
    assert run(["verify", str(proof), str(path), "--target", "y"]) == 0
    capfd.readouterr()
    assert run(["verify", str(proof), str(path), "--target", "member"]) == 64
    assert 'the labels in column "y"' in capfd.readouterr().err
    value = json.loads(proof.read_text())
    value["format"] = 1
    value["checksum"] = compute_checksum(value)
    proof.write_text(json.dumps(value))
    assert run(["verify", str(proof), str(path)]) == 65
    assert "rosenblatt separable" in capfd.readouterr().err


def test_a_model_never_has_the_target_as_a_feature(tmp_path):
    path = tmp_path / "m.json"
    model = rb.Model(
        Encoding((Number("a"),)),
        rb.Perceptron().fit([[0.0], [1.0]], [0, 1])._hypothesis(),
        TargetColumn("y", (0, 1)),
    )
    model.save(path)
    value = json.loads(path.read_text())
    value["target"]["column"] = "a"
    path.write_text(json.dumps(value))
    with refuses(ValueError, '"a"'):
        rb.load(path)
