"""Published data sets, read and trained on with the options that a user would give."""

import pytest

pytestmark = [pytest.mark.slow_without_jit, pytest.mark.usefixtures("ticking")]


def test_spam_messages_are_separated(run_json, data, run_command):
    got = run_json("learn", data / "SMSSpamCollection")
    assert (got["negative"], got["positive"]) == ("ham", "spam")
    assert got["rows"] == 5574
    assert got["target_guessed"]
    assert got["verdict"]["verdict"] == "separable"
    assert got["mistakes"] == 0
    assert got["accuracy"]["rows"] in range(1112, 1118)
    assert got["accuracy"]["accuracy"] >= 0.97
    top = [one["feature"] for one in got["weights"][:20]]
    spam = {"txt", "claim", "free", "uk", "mobile", "call", "text", "www", "150p", "service"}
    assert len(spam.intersection(top)) >= 6, top
    for one in got["weights"][:20]:
        if one["feature"] in spam:
            assert one["weight"] > 0


def test_german_credit_has_categories(run_json, data):
    got = run_json("learn", data / "german.csv", "--target", 21, "--time-limit", 12, "--cv", 3)
    assert got["features"] == 61
    assert got["verdict"]["verdict"] == "inseparable"
    assert got["accuracy"]["accuracy"] > 0.68
    assert {"column 1=A11", "column 2"} <= {one["feature"] for one in got["weights"]}


def test_german_credit_is_proved_inseparable(run_json, data):
    got = run_json("separable", data / "german.csv", "--target", 21, "--proof", "p.json", code=1)
    assert got["conflict"]
    assert all(one["line"] == one["row"] for one in got["conflict"])
    assert run_json("verify", "p.json", data / "german.csv")["holds"]


def test_votes_have_missing_values_as_a_category(run_json, data):
    got = run_json("learn", data / "house-votes-84.data")
    assert got["target"] == "column 1"
    assert got["positive"] == "republican"
    assert got["features"] == 48
    assert "column 2=?" in {one["feature"] for one in got["weights"]}
    assert got["accuracy"]["accuracy"] > 0.85


def test_breast_cancer_needs_an_option_for_question_marks(run_command, run_json, data):
    file = data / "breast-cancer-wisconsin.data"
    code, _, err = run_command("learn", file)
    assert code == 65
    assert err.endswith(
        'row 24, column 7: "?" is not a number. '
        "Give --missing drop, --missing mean, or --category 7.\n"
    )
    got = run_json("learn", file, "--missing", "drop", "--ignore", 1, "--time-limit", 2)
    assert got["rows"] == 683
    assert got["mistakes"] <= 14
    assert got["accuracy"]["accuracy"] > 0.9


def test_pima_has_fewer_than_170_mistakes(run_json, data):
    got = run_json("learn", data / "pima-indians-diabetes.csv", "--time-limit", 3)
    assert got["target"] == "column 9"
    assert got["mistakes"] < 170


def test_heart_is_read_as_libsvm(run_json, run_command, data):
    got = run_json("learn", data / "heart_scale", "--time-limit", 2)
    assert (got["rows"], got["features"]) == (270, 13)
    assert got["mistakes"] < 40
    code, out, _ = run_command("predict", "model.json", data / "heart_scale")
    assert code == 0
    right = [line.split(",")[0] == line.split(",")[2] for line in out.splitlines()[1:]]
    assert right.count(False) == got["mistakes"]


def test_the_homeworks_test_file_is_predicted(run_json, data):
    got = run_json(
        "learn", data / "hw1_18_train.dat", "--test", data / "hw1_18_test.dat", "--time-limit", 2
    )
    assert got["accuracy"]["measured on"] == "file"
    assert got["accuracy"]["accuracy"] > 0.85
