"""What learn and predict report with an accuracy, and about unseen values."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

COLOURS = ["blue", "red"]


@pytest.fixture
def loans(tmp_path, monkeypatch):
    """Training rows, four of five with the same label, and test rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)

    def write(name, n, colours):
        lines = ["salary,colour,approved"]
        for _ in range(n):
            salary = rng.normal()
            answer = "yes" if salary + rng.normal() > -1.2 else "no"
            lines.append(f"{salary:.3f},{rng.choice(colours)},{answer}")
        Path(name).write_text("\n".join(lines) + "\n")

    write("loans.csv", 60, COLOURS)
    write("test.csv", 40, COLOURS)
    Path("new.csv").write_text(
        "salary,colour,approved\n1,teal,yes\n2,red,no\n0,mauve,\n-9,teal,no\n-9,,perhaps\n"
    )


LEARN = ("learn", "loans.csv", "--target", "approved", "--time-limit", "0.2")
TABLE = re.compile(r"predicted no +predicted yes\n +no +(\d+) +(\d+)\n +yes +(\d+) +(\d+)\n")


def table_in(text):
    """The table of right and wrong, from what a person reads."""
    no_no, no_yes, yes_no, yes_yes = map(int, TABLE.search(text).groups())
    return [[no_no, no_yes], [yes_no, yes_yes]]


def test_learn_reports_its_accuracy_with_interval_and_baseline(loans, run_command):
    for more in ((), ("--cv", "3"), ("--test", "test.csv"), ("--stream", "--test", "test.csv")):
        code, out, err = run_command(*LEARN, *more)
        assert code == 0, err
        model = json.loads(Path("model.json").read_text())["training"]["accuracy"]
        table = np.array(model["confusion"])
        assert table_in(out) == table.tolist()
        assert model["rows"] == table.sum()
        assert model["right"] == np.trace(table)
        assert model["baseline"] == table.sum(axis=1).max() / table.sum()
        assert model["balanced"] == pytest.approx((np.diag(table) / table.sum(axis=1)).mean())
        worth = f"baseline {100 * model['baseline']:.1f} % (always predicting yes)"
        assert f"{worth}; balanced accuracy {100 * model['balanced']:.1f} %" in out
        shown = [f"{100 * model[key]:.1f} %" for key in ("precision", "recall", "f1")]
        measures = "precision {}, recall {}, F1 {}".format(*shown)
        if "--stream" not in more:  # ROC AUC needs the scores of all rows
            measures += f", ROC AUC {model['roc_auc']:.3f}"
        assert f"{measures} (positive label: yes)" in out


def test_folds_together_test_every_row_once(loans, run_json):
    found = run_json(*LEARN, "--cv", "4")["accuracy"]
    assert np.sum(found["confusion"]) == 60
    assert len(found["folds"]) == 4


def test_predict_on_labeled_rows_reports_the_accuracy_of_learn(loans, run_command, run_json):
    learnt = run_json(*LEARN, "--test", "test.csv")["accuracy"]
    found = run_json("predict", "model.json", "test.csv", "-o", "out.csv")["accuracy"]
    assert found == {key: learnt[key] for key in found}
    assert {*learnt} - {*found} == {"measured on", "training_rows", "unseen", "roc_auc"}
    lines = [line.split(",") for line in Path("out.csv").read_text().splitlines()[1:]]
    true, predicted = [line[2] for line in lines], [line[3] for line in lines]
    assert found["confusion"] == confusion_matrix(true, predicted, labels=["no", "yes"]).tolist()
    assert found["balanced"] == pytest.approx(balanced_accuracy_score(true, predicted))
    theirs = precision_recall_fscore_support(true, predicted, average="binary", pos_label="yes")
    assert [found[key] for key in ("precision", "recall", "f1")] == pytest.approx(theirs[:3])
    scores = [float(line[4]) for line in lines]
    assert learnt["roc_auc"] == pytest.approx(roc_auc_score(true, scores))
    # Beside rows that are printed it goes to stderr, and to stdout otherwise.
    code, out, err = run_command("predict", "model.json", "test.csv")
    assert (code, out) == (0, Path("out.csv").read_text())
    assert table_in(err) == found["confusion"]
    assert table_in(
        run_command("predict", "model.json", "test.csv", "-o", "out.csv")[1]
    ) == table_in(err)


def test_without_labels_predict_reports_no_accuracy(loans, run_command, run_json):
    run_json(*LEARN)
    Path("bare.csv").write_text("salary,colour\n1,red\n")
    assert run_command("predict", "model.json", "bare.csv")[2] == ""
    assert run_json("predict", "model.json", "bare.csv")["accuracy"] is None


def test_unseen_categories_and_unknown_labels_are_counted_and_reported(
    loans, run_command, run_json
):
    run_json(*LEARN)
    _, _, err = run_command("predict", "model.json", "new.csv")
    assert (
        'rosenblatt: 4 rows have a value of column "colour" that no training row has: '
        '"teal" (2), "mauve" (1) and (missing) (1).\n'
    ) in err
    assert (
        '1 row with neither "no" nor "yes" in column "approved"; left out of the accuracy.\n' in err
    )
    found = run_json("predict", "model.json", "new.csv")
    assert found["unseen"] == {
        "colour": {"rows": 4, "values": {"teal": 2, "mauve": 1, "": 1}},
    }
    assert found["accuracy"]["rows"] == 3


def test_unseen_categories_of_a_test_file_are_reported(loans, run_command, run_json):
    Path("one.csv").write_text("salary,colour,approved\n1,teal,yes\n-9,red,no\n")
    for more in ((), ("--stream",)):
        _, _, err = run_command(*LEARN, "--test", "one.csv", *more)
        assert '1 row has a value of column "colour" that no training row has: "teal" (1)' in err
        found = run_json(*LEARN, "--test", "one.csv", *more)["accuracy"]["unseen"]
        assert found == {"colour": {"rows": 1, "values": {"teal": 1}}}


def test_the_report_has_the_accuracy_table(loans, run_command):
    assert run_command(*LEARN, "--report")[0] == 0
    table = json.loads(Path("model.json").read_text())["training"]["accuracy"]["confusion"]
    page = Path("report.html").read_text()
    for name, counts in zip(("no", "yes"), table, strict=True):
        cells = "".join(f'<td class="n">{count}</td>' for count in counts)
        assert f'<tr><th scope="row">{name}</th>{cells}</tr>' in page
    assert "balanced accuracy" in page


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--test", "nofile.csv"), "cannot open nofile.csv"),
        (("--test", "bare.csv"), 'bare.csv has no target column "approved"'),
        (("--stream", "--test", "bare.csv"), 'bare.csv has no column "approved"'),
        (("--stream", "--test", "nofile.csv"), "cannot open nofile.csv"),
        (("--cv", "50"), "50 folds need 50 rows of the rarer label, which has"),
        (("--cv", "3", "--test", "test.csv"), "give only one of --test-size, --test and --cv"),
        (("--cv", "3", "--test-size", "0.2"), "give only one of --test-size, --test and --cv"),
        (("--cv", "3", "--test-size", "0.5"), "give only one of --test-size, --test and --cv"),
        (("--test", "test.csv", "--test-size", "0.5"), "give only one of --test-size"),
        (("--stream", "--test-size", "0.2"), "without --test-size, --cv or a report"),
        (("--stream", "--test-size", "0.3"), "without --test-size, --cv or a report"),
        (("--time-limit", "nan"), "--time-limit"),
        (("--time-limit", "inf"), "--time-limit': inf is not a finite number"),
    ],
)
def test_an_impossible_test_is_refused_before_training(loans, run_command, more, why):
    Path("bare.csv").write_text("salary,colour\n1,red\n")
    code, out, err = run_command(*LEARN[:4], *more)
    assert code > 0
    assert why in err
    assert "verdict" not in out
    assert not Path("model.json").exists()


def test_test_size_zero_can_be_combined_with_another_test(loans, run_command):
    for more in (("--cv", "3"), ("--test", "test.csv")):
        assert run_command(*LEARN, "--test-size", "0", *more)[0] == 0


def test_in_passes_the_missing_test_is_reported(loans, run_command, run_json):
    line = "tested    skipped: rows read in passes cannot be held out; give --test FILE"
    assert line in run_command(*LEARN, "--stream")[1]
    assert line not in run_command(*LEARN, "--stream", "--test-size", "0")[1]
    found = run_json(*LEARN, "--stream")
    assert found["accuracy"] is None
    assert "give --test FILE" in found["not_tested"]
    assert "not_tested" not in run_json(*LEARN)
