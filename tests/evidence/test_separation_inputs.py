"""Every way of giving a regression to `separation` means the same regression."""

import math
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt.errors import UserError

PLACES = ("file", pd.DataFrame, pl.from_pandas, pa.Table.from_pandas)


def panel(seed=0, n=80):
    """A panel with counts, two fixed effects, a factor, and a level without any count."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 5, n) / 2,
            "g": rng.choice(["a", "b", "c"], n),
            "f": rng.integers(1, 7, n),
            "h": rng.choice(["u", "v", "w"], n),
            "y": rng.poisson(0.8, n),
        }
    )
    frame.loc[frame.f == 3, "y"] = 0
    frame["yes"], frame["no"] = frame.y, rng.integers(0, 2, n)
    frame["label"] = np.where(frame.y > 0, "some", "none")
    return frame


def same(s, t):
    """Whether two separations agree on everything but the names of the coefficients."""
    estimates = [list(map(str, one.coefficients.values())) for one in (s, t)]
    return s.kind == t.kind and s.rows.tolist() == t.rows.tolist() and estimates[0] == estimates[1]


@pytest.mark.parametrize("place", PLACES)
def test_frames_and_files_give_the_result_of_their_arrays(place, tmp_path):
    frame = panel()[["x", "f", "y"]]
    expected = rb.separation(frame[["x", "f"]].to_numpy(), frame.y, family="poisson")
    given = tmp_path / "panel.csv" if place == "file" else place(frame)
    if place == "file":
        frame.to_csv(given, index=False)
    for s in (
        rb.separation(given, "y", family="poisson"),
        rb.separation(given, target="y", family="poisson"),
        rb.separation("y ~ x + f", given, family="poisson"),
        rb.separation("y ~ x + f", data=given, family="poisson"),
    ):
        assert same(s, expected)
        assert s.names == ("(intercept)", "x", "f")
    assert s.proof.check("y ~ x + f", given)
    assert expected.proof.check(given, target="y")


@pytest.mark.parametrize("place", PLACES)
def test_fixed_effects_match_dummies_written_by_hand(place, tmp_path):
    frame = panel()
    by_hand = pd.concat(
        [
            frame[["x"]],
            pd.get_dummies(frame.g, prefix="g").iloc[:, 1:],
            pd.get_dummies(frame.f, prefix="f"),
            pd.get_dummies(frame.h, prefix="h").iloc[:, 1:],
        ],
        axis=1,
    ).astype(float)
    expected = rb.separation(by_hand.to_numpy(), frame.y, family="poisson", fit_intercept=False)
    given = tmp_path / "panel.csv" if place == "file" else place(frame)
    if place == "file":
        frame.to_csv(given, index=False)
    s = rb.separation("y ~ x + C(g) | f + h", given, family="poisson")
    assert expected.kind == "quasi-complete"
    assert same(s, expected)
    assert s.names[:3] == ("x", "C(g)[T.b]", "C(g)[T.c]")
    assert s.names[3:] == (*(f"f[{k}]" for k in range(1, 7)), "h[v]", "h[w]")
    assert s.coefficients["f[3]"] == -math.inf
    assert s.proof.check("y ~ x + C(g) | f + h", given)


def test_crossed_effects_and_interactions_are_supported():
    frame = panel()
    cells = frame.f.astype(str) + "," + frame.h
    s = rb.separation("y ~ x | f^h", frame, family="poisson")
    assert s.names == ("x", *(f"f^h[{cell}]" for cell in sorted(set(cells))))
    X = pd.get_dummies(cells).astype(float)
    X.insert(0, "x", frame.x)
    assert same(s, rb.separation(X.to_numpy(), frame.y, family="poisson", fit_intercept=False))
    s = rb.separation("label ~ x * h", frame)
    h = pd.get_dummies(frame.h).astype(float)[["v", "w"]].to_numpy()
    x = frame[["x"]].to_numpy()
    assert same(s, rb.separation(np.hstack([x, h, x * h]), frame.label))
    assert s.names == ("(intercept)", "x", "h[T.v]", "h[T.w]", "x:h[T.v]", "x:h[T.w]")
    without = rb.separation("label ~ 0 + x", frame)
    assert same(without, rb.separation(x, frame.label, fit_intercept=False))


def test_many_levels_stay_sparse():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"f": np.arange(3000) // 3, "x": rng.integers(0, 9, 3000)})
    frame["y"] = rng.poisson(1.0, 3000)
    s = rb.separation("y ~ x | f", frame, family="poisson")
    silent = frame.groupby("f").y.transform("sum") == 0
    assert s.rows.tolist() == np.flatnonzero(silent).tolist()


def test_successes_and_failures_are_two_targets():
    frame = panel()
    counts = frame[["yes", "no"]].to_numpy()
    some = counts.sum(axis=1) > 0
    share = np.divide(counts[:, 0], counts.sum(axis=1), where=some, out=np.zeros(len(frame)))
    expected = rb.separation(frame[["x", "f"]], share, sample_weight=some.astype(float))
    for s in (
        rb.separation(frame[["x", "f"]], counts),
        rb.separation(frame[["x", "f", "yes", "no"]], target=["yes", "no"]),
        rb.separation("yes + no ~ x + f", frame),
        rb.separation("cbind(yes, no) ~ x + f", pl.from_pandas(frame)),
    ):
        assert same(s, expected)
        assert s.n_rows == some.sum()


def test_groups_and_weights_are_given_by_column_name():
    frame = panel().drop(columns=["g", "h", "yes", "no", "label"])
    frame["y"] = (frame.y > 0).astype(int)
    frame["w"] = np.arange(len(frame)) % 3
    how = {"family": "conditional", "sample_weight": "w", "groups": "f"}
    expected = rb.separation(
        frame[["x"]].to_numpy(), frame.y, **(how | {"sample_weight": frame.w, "groups": frame.f})
    )
    assert same(rb.separation(frame, "y", **how), expected)
    assert same(rb.separation("y ~ x", frame, **how), expected)
    frame["time"], frame["event"] = frame.f, frame.y
    stratified = {"family": "cox", "groups": "w"}
    expected = rb.separation(frame[["x"]], frame[["time", "event"]], family="cox", groups=frame.w)
    assert same(rb.separation("Surv(time, event) ~ x", frame, **stratified), expected)
    assert same(rb.separation("time + event ~ x", pl.from_pandas(frame), **stratified), expected)
    some = frame[["x", "w", "time", "event"]]
    assert same(rb.separation(some, target=("time", "event"), **stratified), expected)


def test_an_ordered_category_keeps_its_order_in_a_formula():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6]})
    levels = ["low", "mid", "high"]
    frame["y"] = pd.Categorical(np.repeat(levels, 2), categories=levels, ordered=True)
    s = rb.separation("y ~ x", frame, family="ordinal")
    assert s.names == ("low|mid", "mid|high", "x")
    assert same(s, rb.separation(frame[["x"]], frame.y, family="ordinal"))


def test_rows_with_missing_values_are_left_out_and_named():
    frame = panel()
    frame.index = [f"r{i}" for i in range(len(frame))]
    frame["x"] = frame.x.where(frame.index != "r5")
    frame["f"] = frame.f.astype("Int64").where(frame.index != "r9")
    s = rb.separation("y ~ np.sqrt(x) | f", frame, family="poisson")
    whole = frame.drop(index=["r5", "r9"])
    t = rb.separation("y ~ np.sqrt(x) | f", whole, family="poisson")
    assert s.left_out.tolist() == [5, 9]
    assert s.n_rows == len(frame) - 2
    assert [frame.index[n] for n in s.rows] == [whole.index[n] for n in t.rows]
    assert '5 ("r5") and 9 ("r9")' in str(s)
    assert f'"{frame.index[s.rows[0]]}"' in str(s)
    assert s.proof.check("y ~ np.sqrt(x) | f", frame)


def test_a_value_that_the_formula_computes_may_be_missing():
    frame = pd.DataFrame({"x": [-1.0, 1, 2, 3, 4], "y": [0, 0, 1, 0, 1]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rb.separation("y ~ log(x)", frame).left_out.tolist() == [0]
        with refuses(ValueError, "log", row=0):
            rb.separation("y ~ log(x)", frame.assign(x=[0.0, 1, 2, 3, 4]))
        with refuses(ValueError, "-inf", row=0):
            rb.separation("log(y) ~ x", frame, family="poisson")


def test_a_target_may_be_computed():
    frame = panel()
    assert same(rb.separation("I(y > 0) ~ x", frame), rb.separation("label ~ x", frame))


def test_columns_with_unusual_names_are_quoted_in_backticks():
    frame = panel().rename(columns={"x": "the | x", "f": "a b"})
    s = rb.separation("y ~ `the | x` + Q('the | x') | `a b`", frame, family="poisson")
    assert s.names[0] == "the | x"
    assert "a b[3]" in s.names
    assert math.isnan(s.coefficients["the | x"])  # given twice


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ x +* f",
        "~ x",
        "y ~ x | f | h",
        "y ~ x |",
        "y ~ x | C(f)",
        "y ~ x | f[x]",
        "y ~ 0",
        "y ~ (x",
        "y ~ x +",
        "y ~ `x",
        "y ~ C(f",
        "y ~ C(f, foo=1)",
        "y ~ x + 3",
        "y ~ (x > 1)",
        "y ~",
        "y",
        "y ~ unknown",
        "y ~ x | unknown",
        "y ~ log(unknown)",
        "y ~ nofunction(x)",
        "y ~ np.load('file')",
        "y ~ x.__class__",
        "y ~ I(x.mean())",
        "y ~ I([k for k in x])",
        "y ~ I(__import__('os'))",
        "y ~ {lambda: x}",
    ],
)
def test_an_invalid_formula_gets_one_sentence(formula):
    with pytest.raises(UserError) as refused:
        rb.separation(formula, panel(), family="poisson")
    assert "formula" in refused.value.message.parameters
    said = str(refused.value)
    assert not re.search(r"\n|insuffient|context|evaluate factor|Error", said), said
    assert "mark" in said or formula.count("`") != 1


def test_a_fixed_effect_that_is_given_twice_counts_once():
    once, twice = (
        rb.separation(formula, panel(), family="poisson")
        for formula in ("y ~ x | f", "y ~ x | f + f")
    )
    assert (once.names, once.reasons) == (twice.names, twice.reasons)


def test_an_error_about_an_unknown_column_lists_the_columns():
    frame = panel()
    for formula in ("y ~ lable", "lable ~ x", "y ~ x | lable", "y ~ C(lable)"):
        with refuses(UserError, '"lable"', "label"):
            rb.separation(formula, frame)
    for how in ({"target": "lable"}, {"target": "y", "groups": "lable"}):
        with refuses(UserError, '"lable"', "label"):
            rb.separation(frame, **how)


@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        (("y ~ x",), {}),
        (("y ~ x", [[1.0]]), {}),
        (("y ~ x", panel()), {"target": "y"}),
        (("y ~ x", panel()), {"fit_intercept": False}),
        ((panel(),), {}),
        ((panel(), "y"), {"target": "x"}),
        (([[1.0], [2.0]], [0, 1]), {"target": "y"}),
        (([[1.0], [2.0]],), {"target": "y"}),
        (([[1.0], [2.0]], [[1, -1], [0, 2]]), {}),
        (([[1.0], [2.0]], [[0, 0], [0, 0]]), {}),
        (([[1.0], [2.0]], [[-1.0, 1], [2, 0]]), {"family": "cox"}),
    ],
)
def test_incompatible_arguments_are_refused(arguments, how):
    with refuses(ValueError):
        rb.separation(*arguments, **how)


@pytest.mark.parametrize(
    ("fixest", "terms", "names"),
    [
        ("i(g)", "C(g)", ["g::1", "g::2"]),
        ("i(g, ref=1)", "C(g, contr.treatment(base=1))", ["g::0", "g::2"]),
        ("x + i(g, x, ref=0)", "x + (C(g) - 1):x", ["g::1:x", "g::2:x"]),
        ("i(g, x) - 1", "C(g):x - 1", ["g::0:x", "g::1:x", "g::2:x"]),
        ("i(t, ref='b') + i(g)", "C(t, contr.treatment(base='b')) + C(g)", ["t::a", "t::c"]),
    ],
)
def test_the_level_syntax_of_fixest_is_supported(fixest, terms, names):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.integers(0, 3, 60), "x": rng.normal(size=60).round(2)})
    frame["t"] = rng.choice(["a", "b", "c"], 60)
    frame["y"] = rng.poisson(1.0, 60) * (frame.g != 2)
    frame.loc[5, "x"] = math.nan
    s = rb.separation(f"y ~ {fixest}", frame, family="poisson")
    same_as = rb.separation(f"y ~ {terms}", frame, family="poisson")
    assert s.rows.tolist() == same_as.rows.tolist()
    assert set(names) <= set(s.names)


@pytest.mark.parametrize("term", ["i(g, ref=7)", "i(g, t)", "i(lost)"])
def test_a_mistake_in_a_level_term_gets_one_sentence(term):
    frame = pd.DataFrame({"g": [0, 1, 2, 0], "t": list("abca"), "y": [0, 1, 0, 1]})
    with pytest.raises(rb.errors.UserError) as caught:
        rb.separation(f"y ~ {term}", frame)
    assert "does not take" not in str(caught.value)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_a_series_of_one_regressor_is_refused_by_its_shape(series):
    for ask in (rb.separation, rb.separability):
        with refuses(ValueError, "(4,)"):
            ask(series([1.0, 2.0, 3.0, 4.0]), [0, 1, 0, 1])


def test_a_level_with_one_row_is_separated():
    frame = pd.DataFrame({"g": ["a", "a", "b", "b", "c"], "y": [0, 1, 0, 1, 1]})
    s = rb.separation("y ~ g", frame)
    assert s.rows.tolist() == [4]
    assert s.coefficients["g[T.c]"] == math.inf


def test_a_constant_column_gets_a_hint():
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    y = [0, 1, 0, 1, 0, 1]
    hints = rb.separation(X, y).notes
    assert [note.parameters for note in hints] == [["fit_intercept"]]
    assert "x1" in str(hints[0])
    assert not rb.separation(X, y, fit_intercept=False).notes
    assert rb.separation(pa.table({"c": X[:, 0], "x": X[:, 1]}), y).notes
    import scipy.sparse

    assert rb.separation(scipy.sparse.csr_array(X), y).notes
    frame = pd.DataFrame({"c": X[:, 0], "x": X[:, 1], "y": y})
    (hint,) = rb.separation("y ~ c + x", frame).notes
    assert "0 +" in str(hint)
    assert not rb.separation("y ~ 0 + c + x", frame).notes
    assert not rb.separation("y ~ x", frame).notes


def test_without_formulaic_the_extra_is_named():
    code = (
        "import sys; sys.modules['formulaic'] = None\n"
        "import pyarrow, rosenblatt as rb\n"
        "rb.separation('y ~ x', pyarrow.table({'x': [1.0, 2.0], 'y': [0, 1]}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().splitlines()[-1].endswith("pip install 'rosenblatt[formula]'.")


def test_comparisons_are_written_inside_a_call():
    with refuses(UserError, "I(x > 0)"):
        rb.separation("y ~ (x > 1)", panel())
    assert rb.separation("label ~ I(x > 1)", panel()).kind == "none"


@pytest.mark.parametrize("ask", [rb.separability, rb.learn, rb.fewest_mistakes])
def test_functions_without_formulas_say_so(ask):
    with refuses(UserError, "rosenblatt.separation"):
        ask("label ~ x", panel())


def test_rows_of_a_model_are_shown_with_the_labels_of_its_frame():
    import statsmodels.formula.api as smf

    frame = pd.DataFrame({"x": [1.0, 2, math.nan, 3, 3, 4], "y": [0, 0, 1, 0, 1, 1]})
    frame.index = list("abcdef")
    s = rb.separation(smf.logit("y ~ x", frame))
    assert s.rows.tolist() == [0, 1, 4]  # rows of the model, which drops the third
    assert '0 ("a"), 1 ("b") and 4 ("f")' in str(s)


def test_models_of_statsmodels_match_their_formulas():
    import statsmodels.api as sm
    import statsmodels.formula.api as smf
    from statsmodels.discrete.conditional_models import ConditionalLogit
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    frame = panel()
    frame["b"] = (frame.y > 0).astype(int)
    frame["o"] = pd.Categorical(frame.h, categories=["v", "u", "w"], ordered=True)
    pairs = [
        (smf.logit("b ~ x + C(f)", frame), "b ~ x + C(f)", {}),
        (smf.poisson("y ~ x + C(f)", frame), "y ~ x + C(f)", {"family": "poisson"}),
        (OrderedModel(frame.o, frame[["x", "f"]]), "o ~ x + f", {"family": "ordinal"}),
        (
            sm.PHReg(frame.f, frame[["x"]], status=frame.b, strata=frame.y % 2),
            "f + b ~ x",
            {"family": "cox", "groups": frame.y % 2},
        ),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # groups without variation
        matched = ConditionalLogit(frame.b, frame[["x"]], groups=frame.f)
    pairs.append((matched, "b ~ x", {"family": "conditional", "groups": "f"}))
    for model, formula, how in pairs:
        s, t = rb.separation(model), rb.separation(formula, frame, **how)
        estimates = {n.replace("Intercept", "(intercept)"): e for n, e in s.coefficients.items()}
        assert (s.kind, s.family, s.rows.tolist()) == (t.kind, t.family, t.rows.tolist())
        assert str(sorted(estimates.items())) == str(sorted(t.coefficients.items()))
        assert s.proof.check(model)
    assert rb.separation(pairs[2][0]).names[:2] == ("v|u", "u|w")
    late = sm.PHReg(frame.f, frame[["x"]], status=frame.b, entry=np.zeros(len(frame)))
    with refuses(ValueError, "entry"):
        rb.separation(late)


def test_fits_of_pyfixest_match_their_formulas():
    pyfixest = pytest.importorskip("pyfixest", reason="pyfixest is not installed")
    frame = panel()
    frame["b"] = (frame.y > 0).astype(int)
    frame.loc[4, "x"] = math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = pyfixest.fepois("y ~ x | f + h", frame, separation_check=[])
        cut = pyfixest.fepois("y ~ x | f + h", frame)
        logit = pyfixest.feglm("b ~ x | h", frame, family="logit")
        lean = pyfixest.fepois("y ~ x | f", frame, lean=True)
        linear = pyfixest.feols("y ~ x", frame)
        event = pyfixest.fepois("y ~ i(h, ref='u') + x - 1", frame, separation_check=[])
    s, t = rb.separation(whole), rb.separation("y ~ x | f + h", frame, family="poisson")
    assert same(s, t)
    assert s.names == t.names
    assert s.proof.check(whole)
    assert rb.separation(cut).kind == "none"
    assert len(rb.separation(cut).notes) == 1
    assert same(rb.separation(logit), rb.separation("b ~ x | h", frame))
    assert set(event.coef().index) <= set(rb.separation(event).names)
    for fit in (lean, linear):
        with refuses(ValueError):
            rb.separation(fit)


def test_endometrial_data_are_decided_by_formula(data):
    path = data / "separation" / "endometrial.csv"
    for s in (
        rb.separation("HG ~ NV + PI + EH", path),
        rb.separation(str(path), target="HG"),
    ):
        assert s.coefficients == {"(intercept)": 0.0, "NV": math.inf, "PI": 0.0, "EH": 0.0}


def test_lizards_have_finite_main_effects(data):
    lizards = pd.read_csv(data / "separation" / "lizards.csv")
    s = rb.separation("cbind(grahami, opalinus) ~ height + diameter + light + time", lizards)
    assert s.kind == "none"
    assert set(s.coefficients.values()) == {0.0}


@pytest.mark.parametrize("number", ["01", "03", "07", "13"])
def test_fixed_effects_match_ppmlhdfe(data, number):
    frame = pd.read_csv(data / "separation" / f"ppml-{number}.csv")
    regressors = [name for name in frame if name.startswith("x")] or ["1"]
    effects = [name for name in frame if name.startswith("id")]
    formula = f"y ~ {' + '.join(regressors)} | {' + '.join(effects)}"
    s = rb.separation(formula, frame, family="poisson")
    assert s.rows.tolist() == np.flatnonzero(frame.separated).tolist()
    assert s.proof.check(formula, frame)
