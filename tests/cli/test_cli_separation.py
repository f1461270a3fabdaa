"""`rosenblatt separation`: what it says, how it ends, and proofs that verify checks."""

import json

import pytest

TRIAL = "dose,ward,died\n1,a,no\n2,a,no\n3,b,no\n3,b,yes\n4,b,yes\n2,,yes\n"


@pytest.fixture
def trial(tmp_path):
    path = tmp_path / "trial.csv"
    path.write_text(TRIAL)
    return path


def test_infinite_estimates_and_their_rows_are_reported(run_command, trial):
    code, out, err = run_command("separation", trial, "--target", "died", "--ignore", "ward")
    assert code == 0, err  # 2,yes overlaps
    code, out, err = run_command("separation", trial, "--target", "died", "--missing", "drop")
    assert code == 1
    assert "5 rows, 1 numeric column, 1 categorical column" in out
    assert "quasi-complete separation" in out
    assert "ward[b]" in out
    assert "counted from 1: 1, 2 and 5" in out


def test_json_has_all_results(run_json, trial):
    value = run_json("separation", trial, "--target", "died", "--missing", "drop", code=1)
    assert value["kind"] == "quasi-complete"
    assert value["separated"] == [1, 2, 5]
    assert {c["name"] for c in value["coefficients"]} == {"(intercept)", "dose", "ward[b]"}
    assert value["overlapping"] == 2
    dose = next(c for c in value["coefficients"] if c["name"] == "dose")
    assert dose["estimate"] == "inf"
    assert dose["standard_error"] is None
    assert isinstance(dose["bound"], float)


def test_finite_estimates_are_numbers_in_json(run_json, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,no\n2,yes\n2,no\n3,yes\n1,yes\n4,no\n")
    value = run_json("separation", "t.csv", "--target", "y")
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
def test_an_invalid_request_gets_one_sentence(run_command, trial, arguments, says):
    code, _, err = run_command("separation", trial, *arguments)
    assert code in (64, 65)
    assert says in err
    assert err.count("\n") == 1


def test_help_lists_only_options_of_a_regression(run_command):
    code, out, _ = run_command("separation", "--help")
    assert code == 0
    assert "--category" in out
    assert not [o for o in ("--text", "--stop-words", "--min-count", "--positive") if o in out]
    assert "mean" not in out


def test_categories_and_weights_are_options(run_json, tmp_path):
    (tmp_path / "flow.csv").write_text(
        "flow,country,w\n0,1,1\n0,1,2\n3,2,1\n1,2,1\n0,3,1\n2,3,0\n0,2,1\n"
    )
    options = ["separation", "flow.csv", "--target", "flow", "--family", "poisson"]
    value = run_json(*options, "--category", "country", "--ignore", "w", code=1)
    assert value["separated"] == [1, 2]
    value = run_json(*options, "--category", "country", "--weights", "w", code=1)
    assert value["separated"] == [1, 2, 5]
    assert value["rows"] == 6


def test_weights_are_reported_and_are_not_a_regressor(run_command, tmp_path):
    (tmp_path / "flow.csv").write_text("x,w,y\n1,1,no\n2,1,no\n3,2,yes\n0,0,yes\n")
    options = ["flow.csv", "--target", "y", "--weights", "w", "--proof", "p.json"]
    code, out, _ = run_command("separation", *options)
    assert code == 1
    assert '4 rows, 1 numeric column; target column "y", weights column "w"' in out
    code, out, _ = run_command("verify", "p.json", "flow.csv")
    assert code == 0
    assert 'weights column "w"' in out


def test_the_lines_of_libsvm_are_columns_of_numbers(run_command, run_json, tmp_path):
    (tmp_path / "l.libsvm").write_text("0 1:1 3:2\n0 1:2\n1 1:3\n")
    value = run_json("separation", "l.libsvm", "--proof", "p.json", code=1)
    assert [c["name"] for c in value["coefficients"]] == ["(intercept)", "1", "2", "3"]
    assert run_command("verify", "p.json", "l.libsvm")[0] == 0


def proof_of(run_command, trial):
    options = ["--target", "died", "--missing", "drop", "--proof", "p.json"]
    assert run_command("separation", trial, *options)[0] == 1
    return trial.parent / "p.json"


def test_a_proof_is_verified_and_described(run_command, run_json, trial):
    path = proof_of(run_command, trial)
    code, out, _ = run_command("verify", path, trial)
    assert code == 0
    assert "1 numeric column, 1 categorical column" in out
    assert "1 row with missing values left out" in out
    assert "quasi-complete separation, family binomial" in out
    assert run_json("verify", path, trial)["holds"] is True


def test_a_proof_does_not_hold_for_other_data(run_command, trial):
    path = proof_of(run_command, trial)
    trial.write_text(TRIAL.replace("4,b,yes", "2.5,b,yes"))
    code, out, _ = run_command("verify", path, trial)
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
def test_a_changed_file_is_not_verified(run_command, trial, how, sealed_again):
    from rosenblatt.files import compute_checksum

    path = proof_of(run_command, trial)
    value = spoil(json.loads(path.read_text()), how)
    if sealed_again:
        value["checksum"] = compute_checksum(value)
    path.write_text(json.dumps(value))
    assert run_command("verify", path, trial)[0] in (1, 65)


def test_learn_names_the_columns_behind_quasi_separability(run_command, tmp_path):
    (tmp_path / "q.csv").write_text(
        "dose,w,died\n1,0,no\n2,1,no\n3,0,no\n3,0.5,yes\n3,1,no\n4,1,yes\n"
    )
    code, out, err = run_command("learn", "q.csv", "--target", "died", "--test-size", 0)
    assert code == 0, err
    assert '1 estimate is infinite: column "dose"' in out
    code, _, err = run_command("separable", "q.csv", "--target", "died")
    assert code == 1
    assert "separation --help" in err


def test_columns_have_the_types_that_learn_gives_them(run_command, run_json, tmp_path):
    (tmp_path / "d.csv").write_text(
        "patient;dose;died\nanna;1,5;no\nbert;2,5;no\ncarl;3,5;no\ndora;3,5;yes\nemil;4,5;yes\n"
        "fred;4,25;yes\n"
    )
    value = run_json("separation", "d.csv", "--target", "died", "--proof", "p.json", code=1)
    assert [c["name"] for c in value["coefficients"]] == ["(intercept)", "dose"]
    _, _, err = run_command("separation", "d.csv", "--target", "died")
    assert 'column "patient"' in err
    assert run_command("verify", "p.json", "d.csv")[0] == 0


def test_text_is_refused_in_one_sentence(run_command, tmp_path):
    words = "".join(f"{i % 2},word{i % 60} other{i}\n" for i in range(130))
    (tmp_path / "d.csv").write_text("y,note\n" + words)
    code, _, err = run_command("separation", "d.csv", "--target", "y")
    assert code in (64, 65)
    assert err.count("\n") == 1


PANEL = "flow,tariff,from,year\n" + "".join(
    f"{0 if k % 4 == 2 else k % 3},{k % 5},{'abcd'[k % 4]},{2000 + k % 3}\n" for k in range(48)
)


def test_a_formula_with_fixed_effects_is_decided_and_proved(run_command, run_json, tmp_path):
    (tmp_path / "trade.csv").write_text(PANEL)
    options = ["separation", "trade.csv", "--family", "poisson", "--formula"]
    value = run_json(*options, "flow ~ tariff | from + year", "--proof", "p.json", code=1)
    names = [c["name"] for c in value["coefficients"]]
    assert names[:5] == ["tariff", "from[a]", "from[b]", "from[c]", "from[d]"]
    assert value["formula"] == "flow ~ tariff | from + year"
    assert set(range(3, 49, 4)) <= set(value["separated"])
    by_name = {c["name"]: c["estimate"] for c in value["coefficients"]}
    assert by_name["from[c]"] == "-inf"
    code, out, _ = run_command("verify", "p.json", "trade.csv")
    assert code == 0
    assert "formula flow ~ tariff | from + year" in out
    (tmp_path / "trade.csv").write_text(PANEL.replace("2,2,a", "0,2,a"))
    assert run_command("verify", "p.json", "trade.csv")[0] == 1


def test_a_formula_leaves_rows_with_missing_values_out(run_command, run_json, tmp_path):
    lines = PANEL.splitlines()
    lines[5] = lines[5].replace(",a,", ",,")
    lines[9] = "1,NA,b,2001"
    (tmp_path / "trade.csv").write_text("\n".join(lines) + "\n")
    options = ["trade.csv", "--family", "poisson", "--formula", "flow ~ tariff | from"]
    value = run_json("separation", *options, "--proof", "p.json", code=1)
    assert value["rows_left_out"] == 2
    assert "rows 5 and 9" in run_command("separation", *options)[1]
    assert run_command("verify", "p.json", "trade.csv")[0] == 0


def test_successes_and_failures_are_two_targets(run_command, run_json, tmp_path):
    (tmp_path / "d.csv").write_text("x,yes,no\n1,0,3\n2,0,1\n3,2,2\n4,5,0\n")
    value = run_json("separation", "d.csv", "--target", "yes,no", "--proof", "p.json", code=1)
    assert value["separated"] == [1, 2, 4]
    assert value["target"] == ["yes", "no"]
    assert run_command("verify", "p.json", "d.csv")[0] == 0
    by_formula = run_json("separation", "d.csv", "--formula", "cbind(yes, no) ~ x", code=1)
    assert by_formula["separated"] == [1, 2, 4]


def test_survival_times_and_matched_sets_are_supported(run_command, run_json, tmp_path):
    (tmp_path / "d.csv").write_text(
        "x,z,months,died,set\n1,1,5,1,a\n0,2,6,0,a\n1,0,3,1,b\n0,1,4,0,b\n0,3,2,0,c\n"
    )
    how = ["--family", "cox", "--target", "months,died", "--groups", "set", "--ignore", "z"]
    value = run_json("separation", "d.csv", *how, "--proof", "p.json", code=1)
    assert [(c["name"], c["estimate"]) for c in value["coefficients"]] == [("x", "inf")]
    assert run_command("verify", "p.json", "d.csv")[0] == 0
    how = ["--family", "conditional", "--formula", "died ~ x", "--groups", "set"]
    value = run_json("separation", "d.csv", *how, "--proof", "q.json", code=1)
    assert value["separated"] == [1, 2, 3, 4]
    assert run_command("verify", "q.json", "d.csv")[0] == 0


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
def test_an_unsupported_model_gets_one_sentence(run_command, tmp_path, arguments):
    (tmp_path / "trade.csv").write_text(PANEL)
    code, _, err = run_command("separation", "trade.csv", *arguments)
    assert code in (64, 65)
    assert err.count("\n") == 1


def test_a_hint_about_a_constant_column_names_the_option(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("one,x,y\n1,1,no\n1,2,yes\n1,3,no\n1,4,yes\n")
    assert "--no-intercept" in run_command("separation", "d.csv", "--target", "y")[1]


def test_a_formula_in_a_proof_cannot_run_code(run_command, tmp_path):
    from rosenblatt.files import dump_with_checksum

    (tmp_path / "trade.csv").write_text(PANEL)
    options = ["trade.csv", "--family", "poisson", "--formula", "flow ~ tariff"]
    run_command("separation", *options, "--proof", "p.json")
    path = tmp_path / "p.json"
    value = json.loads(path.read_text())
    value["content"]["formula"] = "flow ~ I(open('made', 'w').write('x'))"
    value.pop("checksum")
    path.write_text(dump_with_checksum(value))
    code = run_command("verify", "p.json", "trade.csv")[0]
    assert code in (1, 64, 65)
    assert not (tmp_path / "made").exists()


def test_a_time_limit_exits_with_2_and_the_results_so_far(run_json, run_command, tmp_path):
    rows = [f"{i % 2},{i % 3},{(i * 7) % 5},{int(i % 4 == 0)}" for i in range(200)]
    (tmp_path / "many.csv").write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    value = run_json("separation", "many.csv", "--target", "y", "--time-limit", "1e-9", code=2)
    assert (value["kind"], value["coefficients"], value["separated"]) == ("undecided", [], [])
    assert "time limit" in value["reason"]
    assert run_command("separation", "many.csv", "--target", "y", "--time-limit", "60")[0] == 1
    assert run_command("separation", "many.csv", "--target", "y", "--time-limit", "0")[0] == 64
