"""`rosenblatt separation`: what it says, how it ends, and proofs that verify checks."""

import json

import pytest

TRIAL = "dose,ward,died\n1,a,no\n2,a,no\n3,b,no\n3,b,yes\n4,b,yes\n2,,yes\n"


@pytest.fixture
def trial(tmp_path):
    path = tmp_path / "trial.csv"
    path.write_text(TRIAL)
    return path


def test_it_says_which_estimates_are_infinite_and_which_rows_are_to_blame(told, trial):
    code, out, err = told("separation", trial, "--target", "died", "--ignore", "ward")
    assert code == 0, err  # 2,yes overlaps
    code, out, err = told("separation", trial, "--target", "died", "--missing", "drop")
    assert code == 1
    assert "5 rows, 1 numeric column, 1 categorical column" in out
    assert "quasi-complete separation" in out
    assert "ward[b]" in out
    assert "counted from 1: 1, 2 and 5" in out


def test_as_json(answer, trial):
    value = answer("separation", trial, "--target", "died", "--missing", "drop", code=1)
    assert value["kind"] == "quasi-complete"
    assert value["separated"] == [1, 2, 5]
    assert {c["name"] for c in value["coefficients"]} == {"(intercept)", "dose", "ward[b]"}
    assert value["overlapping"] == 2
    dose = next(c for c in value["coefficients"] if c["name"] == "dose")
    assert dose["estimate"] == "inf"
    assert dose["standard_error"] is None
    assert isinstance(dose["bound"], float)


def test_finite_estimates_are_numbers_in_json(answer, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,no\n2,yes\n2,no\n3,yes\n1,yes\n4,no\n")
    value = answer("separation", "t.csv", "--target", "y")
    for coefficient in value["coefficients"]:
        assert isinstance(coefficient["estimate"], float)
        assert coefficient["standard_error"] > 0
        assert coefficient["bound"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give --target"),
        (["--target", "died"], 'row 6, column "ward"'),
        (["--target", "died", "--missing", "mean"], "'mean' is not one of 'error', 'drop'"),
        (["--target", "died", "--text", "ward"], "--text"),
        (
            ["--target", "dose", "--missing", "drop"],
            "for counts of events give --family poisson",
        ),
        (["--target", "died", "--family", "poisson", "--missing", "drop"], "not numbers"),
        (["--target", "died", "--weights", "ward", "--missing", "drop"], "not a column of numbers"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(told, trial, arguments, says):
    code, _, err = told("separation", trial, *arguments)
    assert code in (64, 65)
    assert says in err
    assert err.count("\n") == 1


def test_help_offers_only_what_a_regression_takes(told):
    code, out, _ = told("separation", "--help")
    assert code == 0
    assert "--category" in out
    assert not [o for o in ("--text", "--stop-words", "--min-count", "--positive") if o in out]
    assert "mean" not in out


def test_categories_and_weights(answer, tmp_path):
    (tmp_path / "flow.csv").write_text(
        "flow,country,w\n0,1,1\n0,1,2\n3,2,1\n1,2,1\n0,3,1\n2,3,0\n0,2,1\n"
    )
    asked = ["separation", "flow.csv", "--target", "flow", "--family", "poisson"]
    value = answer(*asked, "--category", "country", "--ignore", "w", code=1)
    assert value["separated"] == [1, 2]
    value = answer(*asked, "--category", "country", "--weights", "w", code=1)
    assert value["separated"] == [1, 2, 5]
    assert value["rows"] == 6


def test_weights_are_told_of_and_are_no_regressor(told, tmp_path):
    (tmp_path / "flow.csv").write_text("x,w,y\n1,1,no\n2,1,no\n3,2,yes\n0,0,yes\n")
    asked = ["flow.csv", "--target", "y", "--weights", "w", "--proof", "p.json"]
    code, out, _ = told("separation", *asked)
    assert code == 1
    assert '4 rows, 1 numeric column; target column "y", weights column "w"' in out
    code, out, _ = told("verify", "p.json", "flow.csv")
    assert code == 0
    assert 'weights column "w"' in out


def test_the_lines_of_libsvm_are_columns_of_numbers(told, answer, tmp_path):
    (tmp_path / "l.libsvm").write_text("0 1:1 3:2\n0 1:2\n1 1:3\n")
    value = answer("separation", "l.libsvm", "--proof", "p.json", code=1)
    assert [c["name"] for c in value["coefficients"]] == ["(intercept)", "1", "2", "3"]
    assert told("verify", "p.json", "l.libsvm")[0] == 0


def proof_of(told, trial):
    asked = ["--target", "died", "--missing", "drop", "--proof", "p.json"]
    assert told("separation", trial, *asked)[0] == 1
    return trial.parent / "p.json"


def test_a_proof_is_verified_and_says_what_it_is_about(told, answer, trial):
    path = proof_of(told, trial)
    code, out, _ = told("verify", path, trial)
    assert code == 0
    assert "1 numeric column, 1 categorical column" in out
    assert "1 row with missing values left out" in out
    assert "quasi-complete separation, family binomial" in out
    assert answer("verify", path, trial)["holds"] is True


def test_a_proof_does_not_hold_for_other_data(told, trial):
    path = proof_of(told, trial)
    trial.write_text(TRIAL.replace("4,b,yes", "2.5,b,yes"))
    code, out, _ = told("verify", path, trial)
    assert code == 1
    assert "other data" in out


def spoil(value, how):
    content = value["content"]
    if how == "answers as a column":
        content["columns"].append({"name": "died", "kind": "category"})
    elif how == "a column less":
        content["columns"].pop()
    elif how == "another kind":
        content["columns"][0]["kind"] = "category"
    elif how == "another number of rows":
        content["rows"] += 1
    elif how == "weights that are no name":
        content["weights"] = []
    elif how == "another target":
        content["target"] = "ward"
    elif how == "another family":
        content["proof"]["family"] = "multinomial"
    elif how == "a kind of column that is none":
        content["columns"][0]["kind"] = "wish"
    return value


@pytest.mark.parametrize("sealed_again", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        "answers as a column",
        "a column less",
        "another kind",
        "another number of rows",
        "weights that are no name",
        "another target",
        "another family",
        "a kind of column that is none",
    ],
)
def test_no_changed_file_is_verified(told, trial, how, sealed_again):
    from rosenblatt.strictjson import compute_checksum

    path = proof_of(told, trial)
    value = spoil(json.loads(path.read_text()), how)
    if sealed_again:
        value["checksum"] = compute_checksum(value)
    path.write_text(json.dumps(value))
    assert told("verify", path, trial)[0] in (1, 65)


def test_learn_names_the_columns_of_a_quasi_separable_verdict(told, tmp_path):
    (tmp_path / "q.csv").write_text(
        "dose,w,died\n1,0,no\n2,1,no\n3,0,no\n3,0.5,yes\n3,1,no\n4,1,yes\n"
    )
    code, out, err = told("learn", "q.csv", "--target", "died", "--test-size", 0)
    assert code == 0, err
    assert '1 estimate is infinite: column "dose"' in out
    code, _, err = told("separable", "q.csv", "--target", "died")
    assert code == 1
    assert "separation --help" in err


def test_columns_are_what_they_are_for_learning(told, answer, tmp_path):
    (tmp_path / "d.csv").write_text(
        "patient;dose;died\nanna;1,5;no\nbert;2,5;no\ncarl;3,5;no\ndora;3,5;yes\nemil;4,5;yes\n"
        "fred;4,25;yes\n"
    )
    value = answer("separation", "d.csv", "--target", "died", "--proof", "p.json", code=1)
    assert [c["name"] for c in value["coefficients"]] == ["(intercept)", "dose"]
    _, _, err = told("separation", "d.csv", "--target", "died")
    assert 'column "patient"' in err
    assert told("verify", "p.json", "d.csv")[0] == 0


def test_text_is_refused_in_a_sentence(told, tmp_path):
    words = "".join(f"{i % 2},word{i % 60} other{i}\n" for i in range(130))
    (tmp_path / "d.csv").write_text("y,note\n" + words)
    code, _, err = told("separation", "d.csv", "--target", "y")
    assert code in (64, 65)
    assert err.count("\n") == 1


PANEL = "flow,tariff,from,year\n" + "".join(
    f"{0 if k % 4 == 2 else k % 3},{k % 5},{'abcd'[k % 4]},{2000 + k % 3}\n" for k in range(48)
)


def test_a_formula_with_fixed_effects_and_its_proof(told, answer, tmp_path):
    (tmp_path / "trade.csv").write_text(PANEL)
    asked = ["separation", "trade.csv", "--family", "poisson", "--formula"]
    value = answer(*asked, "flow ~ tariff | from + year", "--proof", "p.json", code=1)
    names = [c["name"] for c in value["coefficients"]]
    assert names[:5] == ["tariff", "from[a]", "from[b]", "from[c]", "from[d]"]
    assert value["formula"] == "flow ~ tariff | from + year"
    assert set(range(3, 49, 4)) <= set(value["separated"])
    by_name = {c["name"]: c["estimate"] for c in value["coefficients"]}
    assert by_name["from[c]"] == "-inf"
    code, out, _ = told("verify", "p.json", "trade.csv")
    assert code == 0
    assert "formula flow ~ tariff | from + year" in out
    (tmp_path / "trade.csv").write_text(PANEL.replace("2,2,a", "0,2,a"))
    assert told("verify", "p.json", "trade.csv")[0] == 1


def test_a_formula_leaves_rows_with_missing_values_out(told, answer, tmp_path):
    lines = PANEL.splitlines()
    lines[5] = lines[5].replace(",a,", ",,")
    lines[9] = "1,NA,b,2001"
    (tmp_path / "trade.csv").write_text("\n".join(lines) + "\n")
    asked = ["trade.csv", "--family", "poisson", "--formula", "flow ~ tariff | from"]
    value = answer("separation", *asked, "--proof", "p.json", code=1)
    assert value["rows_left_out"] == 2
    assert "rows 5 and 9" in told("separation", *asked)[1]
    assert told("verify", "p.json", "trade.csv")[0] == 0


def test_successes_and_failures_are_two_targets(told, answer, tmp_path):
    (tmp_path / "d.csv").write_text("x,yes,no\n1,0,3\n2,0,1\n3,2,2\n4,5,0\n")
    value = answer("separation", "d.csv", "--target", "yes,no", "--proof", "p.json", code=1)
    assert value["separated"] == [1, 2, 4]
    assert value["target"] == ["yes", "no"]
    assert told("verify", "p.json", "d.csv")[0] == 0
    by_formula = answer("separation", "d.csv", "--formula", "cbind(yes, no) ~ x", code=1)
    assert by_formula["separated"] == [1, 2, 4]


def test_survival_times_and_matched_sets(told, answer, tmp_path):
    (tmp_path / "d.csv").write_text(
        "x,z,months,died,set\n1,1,5,1,a\n0,2,6,0,a\n1,0,3,1,b\n0,1,4,0,b\n0,3,2,0,c\n"
    )
    how = ["--family", "cox", "--target", "months,died", "--groups", "set", "--ignore", "z"]
    value = answer("separation", "d.csv", *how, "--proof", "p.json", code=1)
    assert [(c["name"], c["estimate"]) for c in value["coefficients"]] == [("x", "inf")]
    assert told("verify", "p.json", "d.csv")[0] == 0
    how = ["--family", "conditional", "--formula", "died ~ x", "--groups", "set"]
    value = answer("separation", "d.csv", *how, "--proof", "q.json", code=1)
    assert value["separated"] == [1, 2, 3, 4]
    assert told("verify", "q.json", "d.csv")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--formula", "flow ~ tarif"],
        ["--formula", "flow ~ tariff +* year"],
        ["--formula", "flow ~ tariff | from | year"],
        ["--formula", "flow ~ __import__('os').system('true')"],
        ["--formula", "flow ~ tariff", "--target", "flow"],
        ["--formula", "flow ~ tariff", "--groups", "nothere"],
        ["--target", "flow,tariff,year"],
        ["--target", "flow,nothere"],
        ["--target", "flow", "--family", "conditional"],
        ["--target", "tariff,flow", "--family", "cox"],
    ],
)
def test_a_model_that_cannot_be_asked_about_is_one_sentence(told, tmp_path, arguments):
    (tmp_path / "trade.csv").write_text(PANEL)
    code, _, err = told("separation", "trade.csv", *arguments)
    assert code in (64, 65)
    assert err.count("\n") == 1


def test_a_constant_column_is_hinted_at_in_the_terms_of_the_shell(told, tmp_path):
    (tmp_path / "d.csv").write_text("one,x,y\n1,1,no\n1,2,yes\n1,3,no\n1,4,yes\n")
    assert "--no-intercept" in told("separation", "d.csv", "--target", "y")[1]


def test_a_formula_in_a_proof_runs_no_code(told, tmp_path):
    from rosenblatt import strictjson

    (tmp_path / "trade.csv").write_text(PANEL)
    asked = ["trade.csv", "--family", "poisson", "--formula", "flow ~ tariff"]
    told("separation", *asked, "--proof", "p.json")
    path = tmp_path / "p.json"
    value = json.loads(path.read_text())
    value["content"]["formula"] = "flow ~ I(open('made', 'w').write('x'))"
    value.pop("checksum")
    path.write_text(strictjson.dump_with_checksum(value))
    code = told("verify", "p.json", "trade.csv")[0]
    assert code in (1, 64, 65)
    assert not (tmp_path / "made").exists()


def test_a_time_limit_ends_with_exit_code_2_and_what_is_known(answer, told, tmp_path):
    rows = [f"{i % 2},{i % 3},{(i * 7) % 5},{int(i % 4 == 0)}" for i in range(200)]
    (tmp_path / "many.csv").write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    value = answer("separation", "many.csv", "--target", "y", "--time-limit", "1e-9", code=2)
    assert (value["kind"], value["coefficients"], value["separated"]) == ("undecided", [], [])
    assert "time limit" in value["reason"]
    assert told("separation", "many.csv", "--target", "y", "--time-limit", "60")[0] == 1
    assert told("separation", "many.csv", "--target", "y", "--time-limit", "0")[0] == 64
