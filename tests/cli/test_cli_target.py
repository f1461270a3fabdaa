"""One label against the rest, and messages about targets without two labels."""

import json

import pytest

from rosenblatt.model import load

SPECIES = "width,species\n" + "".join(
    f"{i / 4},{'setosa' if i < 8 else 'virginica' if i < 14 else 'versicolor'}\n" for i in range(20)
)
GRADES = "width,grade\n" + "".join(f"{i / 4},{1 + i // 7}\n" for i in range(20))


def put(folder, name, text):
    (folder / name).write_text(text)
    return name


def answers_of(out):
    return json.loads(out)["predictions"]


@pytest.mark.parametrize("way", [[], ["--stream", "--no-convert"]])
def test_one_of_three_labels_is_trained_against_the_rest(run_command, tmp_path, way):
    data = put(tmp_path, "d.csv", SPECIES)
    code, _, err = run_command("learn", data, "--target", "species", "--positive", "setosa", *way)
    assert code == 0, err
    kept = json.loads((tmp_path / "model.json").read_text())["target"]
    assert kept == {"column": "species", "labels": ["not setosa", "setosa"], "others": True}
    assert load(tmp_path / "model.json").classes_.tolist() == ["not setosa", "setosa"]
    code, out, err = run_command("predict", "model.json", data, "--json")
    assert code == 0, err
    assert answers_of(out) == {"not setosa": 12, "setosa": 8}


def test_a_numeric_label_is_trained_against_the_rest_and_the_proof_holds(run_command, tmp_path):
    data = put(tmp_path, "d.csv", GRADES)
    target = ["--target", "grade", "--positive", "3"]
    assert run_command("separable", data, *target, "--proof", "p.json")[0] == 0
    assert run_command("verify", "p.json", data)[0] == 0
    code, _, err = run_command("learn", data, *target, "--cv", 3)
    assert code == 0, err
    _, out, _ = run_command("predict", "model.json", data, "--json")
    assert answers_of(out) == {"not 3": 14, "3": 6}


def test_the_middle_grade_is_proved_not_separable_from_the_rest(run_command, tmp_path):
    data = put(tmp_path, "d.csv", GRADES)
    assert (
        run_command("separable", data, "--target", "grade", "--positive", "2", "--proof", "p.json")[
            0
        ]
        == 1
    )
    assert run_command("verify", "p.json", data)[0] == 0


def test_a_model_whose_others_is_not_a_boolean_is_refused(run_command, tmp_path):
    data = put(tmp_path, "d.csv", SPECIES)
    run_command("learn", data, "--target", "species", "--positive", "setosa")
    model = (tmp_path / "model.json").read_text()
    (tmp_path / "model.json").write_text(model.replace('"others": true', '"others": 1'))
    code, _, err = run_command("predict", "model.json", data)
    assert code == 65
    assert "target.others" in err


def refusal(run_command, folder, text, *options):
    code, _, err = run_command("learn", put(folder, "d.csv", text), *options)
    assert code >= 64
    return err.strip().splitlines()[-1]


def test_an_absent_label_is_refused_and_the_labels_are_listed(run_command, tmp_path):
    message = refusal(run_command, tmp_path, SPECIES, "--target", "species", "--positive", "rose")
    assert "--positive rose is not a label" in message
    assert "setosa, versicolor and virginica" in message


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (("yes", "Yes", "no"), '"Yes" and "yes"'),
        (("no", "NO", "yes", "Yes"), '"NO" and "no"'),
        (("new  york", "New York", "Rome"), '"New York" and "new  york"'),
    ],
)
def test_labels_that_differ_only_in_case_or_blanks_are_named(run_command, tmp_path, labels, pair):
    text = "x,y\n" + "".join(f"{i},{labels[i % len(labels)]}\n" for i in range(12))
    message = refusal(run_command, tmp_path, text, "--target", "y")
    assert (
        f"{pair} differ only in case or blanks: write them alike, or give --category y" in message
    )
    assert run_command("learn", "d.csv", "--target", "y", "--category", "y")[0] == 0


def test_a_count_of_one_is_singular(run_command, tmp_path):
    assert "1 different label (7);" in refusal(
        run_command, tmp_path, "x,y\n1,7\n2,7\n", "--target", "y"
    )
    assert "there is 1 column, counted" in refusal(
        run_command, tmp_path, "y\n1\n2\n", "--target", "5"
    )


HOLES = "x,y\n" + "".join(f"{i if i != 3 else '?'},{'no' if i < 6 else 'yes'}\n" for i in range(12))


def test_for_a_question_mark_the_message_suggests_drop_and_mean(run_command, tmp_path):
    message = refusal(run_command, tmp_path, HOLES)
    assert message.endswith(
        'row 4, column "x": "?" is not a number. '
        "Give --missing drop, --missing mean, or --category x."
    )
    for policy in ("drop", "mean"):
        assert run_command("learn", "d.csv", "--missing", policy)[0] == 0


@pytest.mark.parametrize("policy", ["error", "drop", "mean"])
@pytest.mark.parametrize("way", [[], ["--stream", "--no-convert"]])
def test_missing_is_not_suggested_if_it_does_not_help(run_command, tmp_path, policy, way):
    message = refusal(run_command, tmp_path, HOLES.replace("?", "1e999"), "--missing", policy, *way)
    assert 'row 4, column "x": "1e999" is not a finite number' in message
    assert "--missing" not in message


def test_mean_is_suggested_if_dropping_leaves_no_rows(run_command, tmp_path):
    text = "x,z,y\n" + "".join(
        f"{i if i % 2 else ''},{'' if i % 2 else i},{'no' if i < 6 else 'yes'}\n" for i in range(12)
    )
    message = refusal(run_command, tmp_path, text, "--missing", "drop")
    assert "no row is left" in message
    assert "Give --missing mean" in message


@pytest.mark.parametrize("way", [[], ["--stream", "--no-convert"]])
def test_text_without_countable_words_is_left_out_of_models_and_proofs(run_command, tmp_path, way):
    data = put(tmp_path, "d.csv", "note,b,y\n1 2,1,no\na b,2,yes\nto be,3,no\n1 3,4,yes\n")
    code, _, err = run_command("learn", data, "--text", "note", "--proof", "p.json", *way)
    assert code == 0
    assert 'column "note" left out: no words to count.' in err
    assert run_command("verify", "p.json", data)[0] == 0
    assert run_command("predict", "model.json", data)[0] == 0
