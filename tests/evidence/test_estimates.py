"""Finite estimates equal statsmodels' on the rows that overlap; bounds equal a brute-force scan."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse.linalg
from facts import refuses
from scipy import optimize
from slow_likelihoods import log_likelihood

import rosenblatt as rb
from rosenblatt.evidence.likelihood import conditional

sm = pytest.importorskip("statsmodels.api")
DROP = 2.705543454095404  # 90 % quantile of chi-squared with 1 degree of freedom


def design(rng, n, columns):
    return np.round(rng.normal(size=(n, columns)), 2)


def with_group_without_events(seed, n=60):
    """Return rows whose last column is 1 only for rows with y = 0."""
    rng = np.random.default_rng(seed)
    X = np.column_stack((design(rng, n, 2), rng.random(n) < 0.2))
    return rng, X


def finite(s):
    names = [name for name, value in s.coefficients.items() if value == 0]
    return names, [s.estimates[name] for name in names], [s.standard_errors[n] for n in names]


def overlapping(s, n):
    return np.setdiff1d(np.arange(n), s.rows)


@pytest.mark.parametrize("seed", range(5))
def test_logistic_estimates_match_statsmodels_on_the_overlapping_rows(seed):
    rng, X = with_group_without_events(seed)
    y = ((rng.random(len(X)) < 0.5) & (X[:, 2] == 0)).astype(int)
    s = rb.separation(X, y)
    rows = overlapping(s, len(X))
    fit = sm.Logit(y[rows], sm.add_constant(X[rows, :2])).fit(disp=0, method="newton", tol=1e-15)
    names, estimates, errors = finite(s)
    assert names == ["(intercept)", "x1", "x2"]
    assert s.estimates["x3"] == -np.inf
    np.testing.assert_allclose(estimates, fit.params, rtol=1e-8)
    np.testing.assert_allclose(errors, fit.bse, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_poisson_estimates_match_statsmodels_on_the_overlapping_rows(seed):
    rng, X = with_group_without_events(seed)
    y = rng.poisson(np.exp(0.5 * X[:, 0] + 1)) * (X[:, 2] == 0)
    weights = rng.integers(1, 4, len(X)).astype(float)
    s = rb.separation(X, y, family="poisson", sample_weight=weights)
    rows = overlapping(s, len(X))
    family = sm.families.Poisson()
    fit = sm.GLM(y[rows], sm.add_constant(X[rows, :2]), family, freq_weights=weights[rows])
    fit = fit.fit(tol=1e-15)
    names, estimates, errors = finite(s)
    assert names == ["(intercept)", "x1", "x2"]
    np.testing.assert_allclose(estimates, fit.params, rtol=1e-8)
    np.testing.assert_allclose(errors, fit.bse, rtol=1e-8)


def test_without_separation_all_estimates_match_statsmodels():
    rng = np.random.default_rng(3)
    X = design(rng, 200, 3) + np.array([0, 2000, 0])  # a year is far from 0
    labels = rng.integers(0, 3, 200)
    s = rb.separation(X, labels, family="multinomial")
    assert s.kind == "none"
    exog = sm.add_constant(X - [0, 2000, 0])
    fit = sm.MNLogit(labels, exog).fit(disp=0, method="newton", tol=1e-15)
    slopes = [s.estimates[(k, f"x{j}")] for k in (1, 2) for j in (1, 2, 3)]
    errors = [s.standard_errors[(k, f"x{j}")] for k in (1, 2) for j in (1, 2, 3)]
    np.testing.assert_allclose(slopes, fit.params[1:].T.ravel(), rtol=1e-8)
    np.testing.assert_allclose(errors, fit.bse[1:].T.ravel(), rtol=1e-8)


def test_multinomial_estimates_maximize_the_likelihood_of_the_remaining_labels():
    rng = np.random.default_rng(5)
    X = np.column_stack((design(rng, 80, 1), rng.random(80) < 0.3))
    labels = np.where(X[:, 1] == 1, rng.integers(0, 2, 80), rng.integers(0, 3, 80))
    s = rb.separation(X, labels, family="multinomial")
    assert {n for n, v in s.coefficients.items() if v != 0} == {(2, "x2")}

    def loss(b):
        b = b.reshape(2, 3)
        eta = np.column_stack((np.zeros(80), sm.add_constant(X) @ b.T))
        eta[X[:, 1] == 1, 2] = -np.inf  # the limit
        top = eta.max(axis=1)
        return (np.log(np.exp(eta - top[:, None]).sum(axis=1)) + top).sum() - eta[
            np.arange(80), labels
        ].sum()

    found = np.array([0 if np.isinf(v) else v for v in s.estimates.values()])
    best = optimize.minimize(loss, found, method="BFGS", options={"gtol": 1e-9})
    assert loss(found) <= best.fun + 1e-9
    assert np.abs(optimize.approx_fprime(found, loss, 1e-6)).max() < 1e-3


def test_ordinal_estimates_match_statsmodels():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rng = np.random.default_rng(2)
    X = design(rng, 150, 2)
    y = np.digitize(X @ [1.0, -0.5] + rng.logistic(size=150), [-1.0, 0.5, 2.0])
    s = rb.separation(X, y, family="ordinal")
    fit = OrderedModel(y, X, distr="logit").fit(method="newton", disp=0, tol=1e-9)
    np.testing.assert_allclose([s.estimates["x1"], s.estimates["x2"]], fit.params[:2], rtol=1e-7)
    np.testing.assert_allclose(
        [s.standard_errors["x1"], s.standard_errors["x2"]], fit.bse[:2], rtol=1e-4
    )  # its Hessian is numerical
    thresholds = fit.model.transform_threshold_params(fit.params)[1:-1]
    np.testing.assert_allclose(list(s.estimates.values())[:3], thresholds, rtol=1e-7)


def test_separated_ordinal_rows_leave_the_estimate_of_the_others():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rng = np.random.default_rng(2)
    X = np.column_stack((design(rng, 120, 1), np.arange(120) < 20))
    y = np.digitize(X[:, 0] + rng.logistic(size=120), [-1.0, 1.0])
    y[:20] = 2  # the highest level whenever the second column is 1
    s = rb.separation(X, y, family="ordinal")
    assert s.coefficients["x2"] == np.inf
    fit = OrderedModel(y[20:], X[20:, :1], distr="logit")
    fit = fit.fit(method="newton", disp=0, tol=1e-9)
    np.testing.assert_allclose(s.estimates["x1"], fit.params[0], rtol=1e-7)


@pytest.mark.parametrize("ties", [False, True])
def test_cox_estimates_match_statsmodels(ties):
    from statsmodels.duration.hazard_regression import PHReg

    rng = np.random.default_rng(4)
    X = design(rng, 80, 2)
    time = rng.exponential(np.exp(-X[:, 0]))
    time = np.ceil(4 * time) if ties else time
    event = rng.random(80) < 0.7
    s = rb.separation(X, np.column_stack((time, event)), family="cox")
    fit = PHReg(time, X, event.astype(int), ties="efron").fit(tol=1e-15)
    np.testing.assert_allclose(list(s.estimates.values()), fit.params, rtol=1e-7)
    np.testing.assert_allclose(list(s.standard_errors.values()), fit.bse, rtol=1e-6)


def test_monotone_cox_likelihood_leaves_the_estimate_of_the_limit():
    from statsmodels.duration.hazard_regression import PHReg

    rng = np.random.default_rng(4)
    X = np.column_stack((design(rng, 80, 1), np.arange(80) < 15))
    time, event = rng.exponential(size=80), (rng.random(80) < 0.7) & (np.arange(80) >= 15)
    s = rb.separation(X, np.column_stack((time, event)), family="cox")
    assert s.coefficients == {"x1": 0.0, "x2": -np.inf}
    fit = PHReg(time[15:], X[15:, :1], event[15:].astype(int)).fit(tol=1e-15)
    np.testing.assert_allclose(s.estimates["x1"], fit.params[0], rtol=1e-8)
    np.testing.assert_allclose(s.standard_errors["x1"], fit.bse[0], rtol=1e-8)


@pytest.mark.parametrize("cases", [1, 3])
def test_conditional_estimates_match_statsmodels(cases):
    from statsmodels.discrete.conditional_models import ConditionalLogit

    rng = np.random.default_rng(6)
    X = design(rng, 120, 2)
    groups = np.repeat(np.arange(20), 6)
    y = np.tile(np.arange(6) < cases, 20).astype(int)
    s = rb.separation(X, y, family="conditional", groups=groups)
    model = ConditionalLogit(y, X, groups=groups)
    estimates = np.array(list(s.estimates.values()))
    np.testing.assert_allclose(model.score(estimates), 0, atol=1e-9)
    covariance = np.linalg.inv(-model.hessian(estimates))  # numerical
    np.testing.assert_allclose(
        list(s.standard_errors.values()), np.sqrt(np.diag(covariance)), rtol=1e-5
    )


def test_separated_matched_sets_leave_the_estimate_of_the_others():
    from statsmodels.discrete.conditional_models import ConditionalLogit

    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(25), 4)
    y = np.tile([1, 0, 0, 0], 25)
    X = np.column_stack((design(rng, 100, 1), (y == 1) & (groups < 5)))  # only cases have it
    s = rb.separation(X, y, family="conditional", groups=groups)
    assert s.coefficients == {"x1": 0.0, "x2": np.inf}
    rest = groups >= 5
    model = ConditionalLogit(y[rest], X[rest, :1], groups=groups[rest])
    np.testing.assert_allclose(model.score(np.array([s.estimates["x1"]])), 0, atol=1e-9)


@pytest.mark.parametrize("family", ["conditional", "cox"])
def test_columns_that_are_constant_within_sets_change_no_estimate(family):
    rng = np.random.default_rng(9)
    X, groups = design(rng, 120, 2), rng.integers(0, 8, 120)
    y = ((rng.random(120) < 0.5) & (groups != 3)).astype(int)
    if family == "cox":
        y = np.column_stack((rng.integers(1, 9, 120), y))
    levels = np.eye(8)[groups]
    alone = rb.separation(X, y, family=family, groups=groups)
    with_levels = rb.separation(np.hstack([levels, X]), y, family=family, groups=groups)
    names, estimates, errors = finite(with_levels)
    assert names == ["x9", "x10"]
    np.testing.assert_allclose(estimates, list(alone.estimates.values()), rtol=1e-7)
    np.testing.assert_allclose(errors, list(alone.standard_errors.values()), rtol=1e-7)
    assert f"{estimates[0]:.4g}" in str(with_levels)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_an_infinite_estimate_matches_a_scan_with_statsmodels(seed):
    rng, X = with_group_without_events(seed)
    y = ((rng.random(len(X)) < 0.5) & (X[:, 2] == 0)).astype(int)
    s = rb.separation(X, y)
    rows = overlapping(s, len(X))
    exog = sm.add_constant(X[:, :2])
    best = sm.GLM(y[rows], exog[rows], sm.families.Binomial()).fit(tol=1e-14).llf

    def below(b):
        fit = sm.GLM(y, exog, sm.families.Binomial(), offset=b * X[:, 2]).fit(tol=1e-14)
        return 2 * (best - fit.llf) - DROP

    grid = np.linspace(-8, 3, 23)
    at = int(np.argmax([below(b) > 0 for b in grid]))
    scanned = optimize.brentq(below, grid[at - 1], grid[at], xtol=1e-12)
    assert set(s.bounds) == {"x3"}
    np.testing.assert_allclose(s.bounds["x3"], scanned, rtol=1e-6)


def test_bounds_hold_when_every_estimate_is_infinite():
    X = np.array([[1.0], [2.0], [3.0], [3.0], [4.0]])
    y = np.array([0, 0, 0, 1, 1])
    s = rb.separation(X, y)

    def below(slope):
        free = optimize.minimize_scalar(
            lambda a: np.logaddexp(0, np.where(y == 1, -1, 1) * (a + slope * X[:, 0])).sum(),
            bracket=(-10 * slope, 0),
            tol=1e-14,
        )
        return 2 * (free.fun - 2 * np.log(2)) - DROP  # two rows overlap, with p = 1/2

    np.testing.assert_allclose(s.bounds["x1"], optimize.brentq(below, 0.01, 20), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
@pytest.mark.parametrize("link", ["Logit", "Probit", "CLogLog", "LogLog", "Log"])
def test_binomial_models_with_other_links_match_statsmodels_on_the_overlapping_rows(link):
    rng = np.random.default_rng(3)
    X = sm.add_constant(np.column_stack([rng.normal(size=(200, 2)), rng.random(200) < 0.2]))
    shares = rng.choice([0.0, 0.0, 0.0, 0.25, 0.5, 1.0], 200)
    shares[X[:, 3] == 1] = 0.0
    weights = rng.integers(1, 4, 200).astype(float)

    def model(rows, columns):
        family = sm.families.Binomial(getattr(sm.families.links, link)())
        y, w = shares[rows], weights[rows]
        return sm.GLM(y, X[rows][:, :columns], family, freq_weights=w)

    s = rb.separation(model(slice(None), 4))
    assert s.family == ("log-binomial" if link == "Log" else "binomial")
    assert s.coefficients["x3"] == -np.inf
    fit = model(X[:, 3] == 0, 3).fit(
        method="newton"
    )  # whose errors are of the observed information
    names = ("const", "x1", "x2")
    np.testing.assert_allclose([s.estimates[n] for n in names], fit.params, rtol=1e-8)
    np.testing.assert_allclose([s.standard_errors[n] for n in names], fit.bse, rtol=1e-7)

    def below(bound):
        full = model(slice(None), 4)
        offset = bound * X[:, 3]
        held = sm.GLM(shares, X[:, :3], full.family, freq_weights=weights, offset=offset)
        return 2 * (fit.llf - held.fit(method="newton").llf) - DROP

    assert below(s.bounds["x3"]) == pytest.approx(0, abs=1e-5)


def test_probit_matches_statsmodels():
    rng, X = with_group_without_events(0)
    y = (rng.random(len(X)) < 0.5).astype(int)
    model = sm.Probit(y, sm.add_constant(X))
    fit, s = model.fit(disp=0, tol=1e-14), rb.separation(model)
    np.testing.assert_allclose(list(s.estimates.values()), fit.params, rtol=1e-8)
    np.testing.assert_allclose(list(s.standard_errors.values()), fit.bse, rtol=1e-8)
    with refuses(ValueError, "firthmodels"):
        s.firth()


def test_relative_risks_by_family_match_statsmodels():
    X = np.repeat([[0.0, 0], [1, 0], [0, 1]], [40, 30, 10], axis=0)
    y = np.concatenate([np.arange(40) < 8, np.arange(30) < 12, np.zeros(10)]).astype(int)
    s = rb.separation(X, y, family="log-binomial")
    assert s.estimates["x1"] == pytest.approx(np.log(2), rel=1e-8)
    assert s.standard_errors["x1"] == pytest.approx((0.8 / 8 + 0.6 / 12) ** 0.5, rel=1e-8)
    assert s.coefficients["x2"] == -np.inf

    def loss(p, ratio):  # of the rows of the reference, and the ten of which none has a 1
        return -8 * np.log(p) - 32 * np.log1p(-p) - 10 * np.log1p(-p * ratio)

    ratio = np.exp(s.bounds["x2"])
    held = optimize.minimize_scalar(loss, bounds=(0.01, 0.5), args=(ratio,), method="bounded")
    assert 2 * (held.fun - loss(0.2, 0.0)) == pytest.approx(DROP, rel=1e-6)


def test_relative_risks_on_the_boundary_are_reported_as_without_estimates():
    s = rb.separation([[1.0], [2], [3], [4], [5], [6]], [0, 0, 1, 0, 1, 1], family="log-binomial")
    assert s.kind == "none"
    with refuses(ValueError):
        _ = s.estimates
    assert "x1" in str(s)


def test_a_model_with_a_non_concave_link_has_no_estimates():
    rng, X = with_group_without_events(0)
    y = (rng.random(len(X)) < 0.5).astype(int)
    cauchy = sm.families.Binomial(sm.families.links.Cauchy())
    with refuses(ValueError, "Cauchy"):
        _ = rb.separation(sm.GLM(y, sm.add_constant(X), cauchy)).estimates


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_many_effects_solve_the_score_equations_with_the_errors_of_the_information(family):
    rng = np.random.default_rng(7)
    effect = rng.integers(0, 1010, 4000)
    dummies = scipy.sparse.csr_array((np.ones(4000), effect, np.arange(4001)), shape=(4000, 1010))
    x = rng.normal(size=(4000, 2))
    X = scipy.sparse.hstack([scipy.sparse.csr_array(x), dummies], format="csr")
    y = rng.poisson(np.exp(x[:, 0] - 1))
    y = y if family == "poisson" else np.minimum(y, 1)
    s = rb.separation(X, y, family=family, fit_intercept=False)
    assert s
    reduced = s.reduced()
    assert not set(reduced.rows.tolist()) & set(s.rows.tolist())
    Z = scipy.sparse.csr_array(reduced.X)
    mean = np.exp(Z @ [s.estimates[name] for name in reduced.names])
    mean = mean if family == "poisson" else mean / (1 + mean)
    np.testing.assert_allclose(Z.T @ mean, Z.T @ reduced.y, rtol=0, atol=1e-7)
    curve = mean if family == "poisson" else mean * (1 - mean)
    information = scipy.sparse.linalg.splu((Z.T @ scipy.sparse.diags_array(curve) @ Z).tocsc())
    errors = [np.sqrt(information.solve(unit)[j]) for j, unit in enumerate(np.eye(Z.shape[1])[:20])]
    ours = [s.standard_errors[name] for name in reduced.names[:20]]
    np.testing.assert_allclose(ours, errors, rtol=1e-6)


@pytest.mark.slow_without_jit
def test_very_many_coefficients_are_estimated_without_an_information_matrix():
    rng = np.random.default_rng(8)
    effect = np.concatenate([np.arange(5000), rng.integers(0, 5000, 15_000)])
    x = rng.normal(size=20_000)
    frame = pd.DataFrame({"y": rng.poisson(np.exp(x / 2)), "x": x, "f": effect})
    s = rb.separation("y ~ x | f", frame, family="poisson")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pytest.importorskip("pyfixest").fepois("y ~ x | f", frame, iwls_tol=1e-12)
    assert s.estimates["x"] == pytest.approx(fit.coef()["x"], rel=1e-8)
    for what in ("standard_errors", "bounds"):
        with refuses(ValueError, "pyfixest"):
            getattr(s, what)


def test_more_than_a_thousand_sparse_dummies_have_bounds():
    from scipy import sparse

    levels = np.repeat(np.arange(1050), 2)
    dummies = sparse.csr_array((np.ones(2100), (np.arange(2100), levels)))
    y = np.tile([0, 1], 1050)
    y[8:10] = 0  # the fifth level is separated
    s = rb.separation(dummies, y, fit_intercept=False)
    # Its log-likelihood is -2·log(1 + exp(b)), which the bound lowers from 0 by DROP / 2.
    assert s.bounds == {"x5": pytest.approx(np.log(np.expm1(DROP / 4)))}


def test_more_columns_than_rows_of_a_matched_set_change_no_likelihood():
    rng = np.random.default_rng(10)
    Z, sets, cases = rng.normal(size=(20, 2)), np.repeat(np.arange(4), 5), np.arange(20) % 5 < 2
    few = conditional(Z, cases, sets)(np.array([0.3, -0.7]))
    wide = np.column_stack((Z, np.zeros((20, 6))))  # derivatives are then computed by rows
    value, slope, information = conditional(wide, cases, sets)(np.array([0.3, -0.7] + [0.0] * 6))
    assert value == pytest.approx(few[0], rel=1e-12)
    np.testing.assert_allclose(slope, [*few[1], *[0.0] * 6], rtol=1e-12)
    np.testing.assert_allclose(information[:2, :2], few[2], rtol=1e-12)
    assert not information[2:].any()


def test_offset_weights_and_trials_of_a_model_are_used():
    rng = np.random.default_rng(8)
    X = sm.add_constant(design(rng, 40, 2))
    offset, yes = rng.normal(size=40), rng.integers(1, 5, 40)
    counts = np.column_stack((yes, 6 - yes))
    model = sm.GLM(counts, X, sm.families.Binomial(), offset=offset, freq_weights=1.0 + (yes > 2))
    fit = model.fit(tol=1e-15)
    s = rb.separation(model)
    np.testing.assert_allclose(list(s.estimates.values()), fit.params, rtol=1e-8)
    np.testing.assert_allclose(list(s.standard_errors.values()), fit.bse, rtol=1e-8)
    count = sm.Poisson(yes, X, exposure=np.exp(offset))
    np.testing.assert_allclose(
        list(rb.separation(count).estimates.values()),
        count.fit(disp=0, tol=1e-12).params,
        rtol=1e-6,
    )


def test_sparse_dummies_give_the_estimates_of_the_dense_design():
    from scipy import sparse

    rng = np.random.default_rng(9)
    levels = np.eye(12)[rng.integers(0, 12, 150)]
    X = np.column_stack((design(rng, 150, 1), levels))
    y = rng.poisson(2.0, 150) * (levels[:, 3] == 0)
    dense = rb.separation(X, y, family="poisson", fit_intercept=False)
    thin = rb.separation(sparse.csr_array(X), y, family="poisson", fit_intercept=False)
    assert dense.coefficients["x5"] == -np.inf
    names, estimates, errors = finite(dense)
    assert len(names) == 12
    np.testing.assert_allclose([thin.estimates[n] for n in names], estimates, rtol=1e-9)
    np.testing.assert_allclose([thin.standard_errors[n] for n in names], errors, rtol=1e-9)
    np.testing.assert_allclose(thin.bounds["x5"], dense.bounds["x5"], rtol=1e-7)


def test_firth_passes_the_design_to_firthmodels():
    firthmodels = pytest.importorskip("firthmodels")
    rng, X = with_group_without_events(1)
    y = ((rng.random(len(X)) < 0.5) & (X[:, 2] == 0)).astype(int)
    fitted = rb.separation(X, y).firth(backend="numpy", gtol=1e-8)
    theirs = firthmodels.FirthLogisticRegression(backend="numpy", gtol=1e-8).fit(X, y)
    np.testing.assert_allclose(fitted.coef_, theirs.coef_)
    assert fitted.intercept_ == pytest.approx(theirs.intercept_)


def test_firth_of_shares_matches_firth_of_individual_trials():
    firthmodels = pytest.importorskip("firthmodels")
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    yes, trials = np.array([0, 1, 2, 4]), np.array([4, 4, 4, 4])
    fitted = rb.separation(X, yes / trials, sample_weight=trials).firth(backend="numpy", gtol=1e-10)
    rows = np.repeat(np.arange(4), 4)
    y = np.concatenate([np.arange(t) < k for k, t in zip(yes, trials, strict=True)]).astype(int)
    theirs = firthmodels.FirthLogisticRegression(backend="numpy", gtol=1e-10).fit(X[rows], y)
    np.testing.assert_allclose(fitted.coef_, theirs.coef_, rtol=1e-8)


def test_firth_supports_a_cox_model():
    firthmodels = pytest.importorskip("firthmodels")
    rng = np.random.default_rng(4)
    X = np.column_stack((design(rng, 60, 1), np.arange(60) < 15))
    time, event = rng.exponential(size=60), (rng.random(60) < 0.7) & (np.arange(60) >= 15)
    fitted = rb.separation(X, np.column_stack((time, event)), family="cox")
    fitted = fitted.firth(backend="numpy")
    theirs = firthmodels.FirthCoxPH(backend="numpy").fit(X, (event, time))
    np.testing.assert_allclose(fitted.coef_, theirs.coef_, rtol=1e-8)


def test_firth_is_refused_for_families_unknown_to_firthmodels():
    s = rb.separation([[0.0], [1.0], [1.0]], [0, 3, 2], family="poisson")
    with refuses(ValueError, "firthmodels"):
        s.firth()


def test_the_reduced_model_has_the_finite_estimates_and_no_separation():
    rng, X = with_group_without_events(2)
    y = ((rng.random(len(X)) < 0.5) & (X[:, 2] == 1)).astype(int)  # the intercept runs away, too
    s = rb.separation(X, y)
    assert s.coefficients == {"(intercept)": -np.inf, "x1": 0.0, "x2": 0.0, "x3": np.inf}
    small = s.reduced()
    assert small.names == ("(intercept)", "x1", "x2")
    assert small.rows.tolist() == overlapping(s, len(X)).tolist()
    fit = sm.Logit(small.y, small.X).fit(disp=0, tol=1e-14)
    np.testing.assert_allclose(fit.params[1:], [s.estimates["x1"], s.estimates["x2"]], rtol=1e-8)
    assert not rb.separation(small.X, small.y, fit_intercept=False)


def test_nothing_is_fitted_before_it_is_used():
    rng, X = with_group_without_events(2)
    s = rb.separation(X, rng.integers(0, 2, len(X)))
    assert "fitted" not in s.limit.__dict__
    before = s.limit.data.X
    assert s.estimates
    assert s.limit.data.X is before


def test_advice_merges_no_level_silently():
    import pandas as pd

    rng = np.random.default_rng(3)
    town, age = rng.choice(["a", "b", "c"], 90), np.round(rng.normal(size=90), 2)
    y = (rng.random(90) < 0.5) & (town != "c")
    summary = str(rb.separation(pd.DataFrame({"age": age, "town": town}), y))
    assert "levels of town" in summary
    drug = np.where(town == "c", "new", "old")
    summary = str(rb.separation(pd.DataFrame({"age": age, "drug": drug}), y))
    assert "levels of" not in summary


def test_advice_never_keeps_only_a_small_part_of_the_rows():
    X = np.arange(35.0)[:, None]
    y = (X[:, 0] > 16).astype(int)
    y[[16, 17]] = 1, 0
    X[[16, 17]] = 16.0
    s = rb.separation(X, y)
    assert len(s.rows) == 33
    assert "reduced" not in str(s)


def test_endometrial_estimates_match_statsmodels_and_firthmodels(data):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(data / "separation" / "endometrial.csv")
    s = rb.separation(frame[["NV", "PI", "EH"]], frame["HG"])
    assert s.estimates["NV"] == np.inf
    rows = frame.drop(index=s.rows)
    fit = sm.Logit(rows["HG"], sm.add_constant(rows[["PI", "EH"]])).fit(disp=0, tol=1e-14)
    _, estimates, errors = finite(s)
    np.testing.assert_allclose(estimates, fit.params, rtol=1e-8)
    np.testing.assert_allclose(errors, fit.bse, rtol=1e-8)
    exog = sm.add_constant(frame[["PI", "EH"]])
    offset = s.bounds["NV"] * frame["NV"]
    bound = sm.GLM(frame["HG"], exog, sm.families.Binomial(), offset=offset).fit(tol=1e-14)
    assert 2 * (fit.llf - bound.llf) == pytest.approx(DROP, abs=1e-8)
    firth = s.firth(backend="numpy", gtol=1e-8)
    # As in the manuals of R's logistf and brglm2.
    assert firth.intercept_ == pytest.approx(3.77456, abs=1e-5)
    np.testing.assert_allclose(firth.coef_, [2.92927, -0.03475, -2.60416], atol=1e-5)


def test_lizards_as_grouped_counts_match_statsmodels(data):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(data / "separation" / "lizards.csv")
    trials = frame["grahami"] + frame["opalinus"]
    factors = frame[["height", "diameter", "light", "time"]]
    s = rb.separation(factors, frame["grahami"] / trials, sample_weight=trials)
    assert s.kind == "none"
    dummies = pd.get_dummies(factors, drop_first=True, dtype=float)
    counts = frame[["grahami", "opalinus"]]
    fit = sm.GLM(counts, sm.add_constant(dummies), sm.families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(list(s.estimates.values()), fit.params, rtol=1e-8)
    np.testing.assert_allclose(list(s.standard_errors.values()), fit.bse, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient", "ignore:Perfect")
@pytest.mark.parametrize("number", [1, 3, 5, 7, 9, 11, 13, 15, 17])
def test_ppmlhdfe_files_have_the_estimates_of_their_overlapping_rows(data, number):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(data / "separation" / f"ppml-{number:02}.csv")
    names = [name for name in frame if name.startswith("x")]
    effects = [name for name in frame if name.startswith("id")]
    dummies = [pd.get_dummies(frame[name], prefix=name, dtype=float) for name in effects]
    X = np.column_stack([np.ones(len(frame)), frame[names], *dummies])
    s = rb.separation(X, frame["y"], family="poisson", fit_intercept=False)
    rows = np.flatnonzero(frame["separated"] == 0)
    assert overlapping(s, len(frame)).tolist() == rows.tolist()
    fit = sm.GLM(frame["y"][rows], X[rows], sm.families.Poisson()).fit(tol=1e-13, maxiter=300)
    for j, name in enumerate(s.names):
        if s.coefficients[name] == 0:
            np.testing.assert_allclose(s.estimates[name], fit.params.iloc[j], rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(s.standard_errors[name], fit.bse.iloc[j], rtol=1e-5)


def test_a_combination_of_two_regressors_leaves_the_others_as_published():
    """Example 1 of Correia, Guimarães and Zylkin; the finite estimates as in R's glm."""
    table = np.array(
        [
            [0, 0, 0, 2, 10], [0, 0, 0, 0, -2], [0, 0, 0, 0, 6], [0, 0, 0, 4, 5],
            [0, 1, 0, 0, 3], [2, 0, 0, 0, 3], [2, 0, 0, 0, 4], [2, 0, 0, -2, 15],
            [2, 0, 0, 0, -7], [4, 0, 0, -3, 15], [6, -3, -3, 0, 4], [6, 0, 0, 0, 4],
        ]
    )  # fmt: skip
    s = rb.separation(table[:, 1:], table[:, 0], family="poisson")
    assert s.rows.tolist() == [4]
    _, estimates, _ = finite(s)
    np.testing.assert_allclose(estimates, [0.59095, -0.47085, -0.03779], atol=5e-6)


@pytest.mark.parametrize("family", ["multinomial", "ordinal", "cox", "conditional"])
def test_bounds_of_every_family_lower_the_profile_of_a_slow_likelihood_by_the_quantile(family):
    rng = np.random.default_rng(11)
    tried = 0
    while tried < 6:
        n = int(rng.integers(7, 13))
        X = rng.integers(-2, 3, (n, 2)).astype(float)
        y, groups = rng.integers(0, 3, n), None
        if family == "cox":
            y = np.column_stack((rng.integers(1, 8, n), rng.integers(0, 2, n)))
        if family == "conditional":
            y, groups = np.arange(n) % 3 == 0, np.arange(n) // 6
            y = y.astype(int)
        s = rb.separation(X, y, family=family, groups=groups)
        for name, bound in s.bounds.items():
            assert drop(s, name, bound, (X, y, groups)) == pytest.approx(DROP, abs=1e-3)
        tried += bool(s.bounds)


def drop(s, name, bound, data):
    """Return twice the log-likelihood that the best fit with this coefficient lacks."""
    j, base = s.names.index(name), s.limit.fitted.estimates
    others = np.arange(len(base)) != j
    gamma = np.asarray(s.direction, dtype=float)

    def loss(v):
        b = np.full(len(base), bound)
        b[others] = v
        return -log_likelihood(s.family, *data, b)

    best = np.inf
    starts = [base + gamma * (bound - base[j]) / gamma[j], np.arange(len(base)) / 10 + bound]
    for start in starts if others.any() else []:
        for method in ("Nelder-Mead", "Powell"):
            found = optimize.minimize(loss, start[others], method=method, options={"maxiter": 4000})
            found = optimize.minimize(loss, found.x, method="BFGS")
            best = min(best, found.fun)
    best = best if others.any() else loss(np.empty(0))
    return 2 * (s.limit.fitted.log_likelihood + best)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_survival_models_provide_their_ties(ties):
    from statsmodels.duration.hazard_regression import PHReg

    rng = np.random.default_rng(4)
    X, time = design(rng, 60, 2), rng.integers(1, 9, 60).astype(float)
    model = PHReg(time, X, (rng.random(60) < 0.7).astype(int), ties=ties)
    s = rb.separation(model)
    np.testing.assert_allclose(list(s.estimates.values()), model.fit(tol=1e-15).params, rtol=1e-7)


def test_ordered_and_conditional_models_have_estimates():
    from statsmodels.discrete.conditional_models import ConditionalLogit
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rng = np.random.default_rng(5)
    X, y = design(rng, 90, 2), rng.integers(0, 3, 90)
    ordered = OrderedModel(y, X, distr="logit")
    fit = ordered.fit(method="newton", disp=0, tol=1e-9)
    slopes = list(rb.separation(ordered).estimates.values())[-2:]
    np.testing.assert_allclose(slopes, fit.params[:2], rtol=1e-6)
    for model in (OrderedModel(y, X, distr="probit"), OrderedModel(y, X, y, distr="logit")):
        with refuses(ValueError, "OrderedModel"):  # another link, or an offset
            _ = rb.separation(model).estimates
    matched = ConditionalLogit(np.arange(90) % 3 == 0, X, groups=np.arange(90) // 6)
    estimates = np.array(list(rb.separation(matched).estimates.values()))
    np.testing.assert_allclose(matched.score(estimates), 0, atol=1e-9)


def test_two_columns_of_counts_weight_the_estimates():
    rng = np.random.default_rng(6)
    X = design(rng, 30, 2)
    counts = rng.integers(0, 6, (30, 2)) + np.array([1, 0])
    s = rb.separation(X, counts)
    fit = sm.GLM(counts, sm.add_constant(X), sm.families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(list(s.estimates.values()), fit.params, rtol=1e-8)
    np.testing.assert_allclose(list(s.standard_errors.values()), fit.bse, rtol=1e-8)


@pytest.mark.parametrize("family", ["conditional", "cox"])
def test_small_differences_between_large_numbers_keep_their_bounds(family):
    k, groups = np.array([0.0, 3, 1, 5, 2, 6, 1, 4]), np.arange(8) // 2
    event = np.arange(8) % 2
    y = event if family == "conditional" else np.column_stack((2 - event, np.ones(8)))
    same = np.array([0.1, 0.3, 0.7, 0.9])[groups]  # in each group, so not identified

    def bound(x):
        s = rb.separation(np.column_stack((x, same)), y, family=family, groups=groups)
        assert np.isnan(s.estimates["x2"])
        assert str(s)
        return s.bounds.get("x1")

    assert bound(k) > 0
    assert bound(1 + k * 2.0**-50) * 2.0**-50 == pytest.approx(bound(k), rel=1e-9)
    assert bound(k * 2.0**-1070) is None  # squares underflow: better no bound than 0
