"""Displays plot examples and boundaries correctly, and raise clear errors otherwise."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from clouds import cloud, searched
from facts import refuses
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import rosenblatt as rb
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.show.scene import Boundary, scene_of, view_of
from rosenblatt.show.story import examples_of, hypothesis_of

pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")

from matplotlib import pyplot
from matplotlib.animation import FFMpegWriter


def title(ax):
    return ax.get_title(loc="left")


def drawn(ax, label):
    """Return the number of marks with a label."""
    marks = [c for c in ax.collections if c.get_label() == label]
    return sum(len(c.get_offsets()) for c in marks)


def test_the_boundary_shows_every_example_and_rings_the_mistakes(noisy):
    clf, X, y = noisy
    ax = rb.BoundaryDisplay.from_estimator(clf, X, y).ax_
    assert drawn(ax, "good") == (y == "good").sum()
    assert drawn(ax, "bad") == (y == "bad").sum()
    assert drawn(ax, "mistake") == clf.n_mistakes_ == (clf.predict(X) != y).sum()
    assert title(ax) == f"{clf.n_mistakes_} mistakes on 60 examples"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")


def test_the_line_is_where_the_score_is_zero(separable):
    clf, X, y = separable
    ax = rb.BoundaryDisplay.from_estimator(clf, X, y).ax_
    whole = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert len(whole) == 1
    np.testing.assert_allclose(clf.decision_function(whole[0].get_xydata()), 0, atol=1e-9)


def test_the_band_touches_the_nearest_example(separable):
    clf, X, y = separable
    display = rb.BoundaryDisplay.from_estimator(clf, X, y)
    distances = np.abs(clf.decision_function(X)) / np.linalg.norm(clf.coef_)
    assert display.scene.margin == pytest.approx(distances.min())
    edges = [line.get_xydata() for line in display.ax_.lines if line.get_linestyle() != "-"]
    for edge in edges:
        scores = clf.decision_function(edge) / np.linalg.norm(clf.coef_)
        np.testing.assert_allclose(np.abs(scores), distances.min(), rtol=1e-6)
    assert len(edges) == 2


@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_array])
def test_a_projection_keeps_every_side_and_distance(many, shape):
    clf, X, y = many
    scene = scene_of(examples_of(clf, shape(X), y), hypothesis_of(clf))
    distances = clf.decision_function(X) / np.linalg.norm(clf.coef_)
    np.testing.assert_allclose(scene.points[:, 0], distances, atol=1e-9)
    line = scene.regions.scores[1]
    assert (line.b, line.c) == pytest.approx((0, 0), abs=1e-9)
    # The second direction is the one of most variance among those at right angles to w.
    u = clf.coef_[0] / np.linalg.norm(clf.coef_)
    rest = (X - X.mean(axis=0)) @ (np.eye(6) - np.outer(u, u))
    assert scene.points[:, 1].std() * np.sqrt(80) == pytest.approx(
        np.linalg.svd(rest, compute_uv=False)[0], rel=1e-6
    )


@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.eye(4, 3), np.outer(range(4), [1, 2, 2])])
def test_a_projection_of_nearly_constant_rows_is_finite(X):
    y = [0, 0, 1, 1]
    for w in ([0.0, 0, 0, 0], [0, 1.0, 2, 2], [1, 0, 0, 1.0]):
        examples = rb.examples.Examples.from_arrays(X, y)
        points = scene_of(examples, Hypothesis(np.array(w))).points
        assert np.isfinite(points).all()


def test_one_feature_is_enough():
    X, y = cloud(d=1)
    ax = rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y).ax_
    assert ax.get_yticks().tolist() == []
    assert drawn(ax, "good") + drawn(ax, "bad") == 60


def test_weights_of_zero_have_no_line():
    X, y = cloud()
    clf = rb.PocketPerceptron(max_updates=0).fit(X, y)
    ax = rb.BoundaryDisplay.from_estimator(clf, X, y).ax_
    assert len(ax.lines) == 0
    assert drawn(ax, "mistake") == 60


def test_large_data_are_sampled_and_the_title_says_so():
    X, y = cloud(n=5000)
    ax = rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y).ax_
    assert drawn(ax, "good") + drawn(ax, "bad") == 2000
    assert title(ax).endswith("(2,000 drawn)")


def test_names_come_from_the_frame_and_labels_from_y():
    X, y = cloud()
    frame = pd.DataFrame(X, columns=["age", "debt"])
    ax = rb.BoundaryDisplay.from_estimator(
        rb.Perceptron().fit(frame, y == "good"), frame, y == "good"
    ).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "debt")
    assert {c.get_label() for c in ax.collections} == {"True", "False"}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("make", [lambda: rb.FewestMistakes(time_limit=1), LogisticRegression])
def test_any_line_of_two_classes_can_be_drawn(make):
    X, y = cloud(noise=3)
    clf = make().fit(X, y)
    ax = rb.BoundaryDisplay.from_estimator(clf, X, y).ax_
    assert drawn(ax, "mistake") == (clf.predict(X) != y).sum()


def test_given_axes_are_drawn_on(separable, noisy):
    figure, axes = pyplot.subplots(2, 3)
    rb.BoundaryDisplay.from_estimator(*separable, ax=axes[0, 0])
    rb.TraceDisplay.from_estimator(*separable, t=[1, 2], axes=axes[0, 1:])
    rb.GuaranteeDisplay.from_estimator(*separable, axes=axes[1, :2])
    rb.PocketDisplay.from_estimator(*noisy, ax=axes[1, 2])
    assert pyplot.get_fignums() == [figure.number]
    assert all(ax.has_data() for ax in axes.ravel())
    with refuses(ValueError, 2):
        rb.GuaranteeDisplay.from_estimator(*separable, axes=axes)


def test_a_frame_shows_the_line_before_and_after(separable):
    clf, X, y = separable
    display = rb.TraceDisplay.from_estimator(clf, X, y, t=[3])
    ax = display.axes_[0]
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    for name, t in (("line before", 2), ("line after", 3)):
        w = clf.trace_.weights(t)
        np.testing.assert_allclose(lines[name] @ w[1:] + w[0], 0, atol=1e-9)
    spot = next(c for c in ax.collections if c.get_label() == "update")
    assert spot.get_offsets()[0].tolist() == X[clf.trace_.examples[2]].tolist()


def test_with_many_features_both_hyperplanes_of_a_frame_are_edge_on(many):
    clf, X, _ = many
    for frame in rb.TraceDisplay(clf.trace_).frames(range(1, clf.n_updates_ + 1)):
        for regions, t in ((frame.before, frame.t - 1), (frame.scene.regions, frame.t)):
            w, line = clf.trace_.weights(t), regions.scores[1]
            seen = frame.scene.points @ [line.a, line.b] + line.c
            np.testing.assert_allclose(seen, X @ w[1:] + w[0], atol=1e-8)


def test_the_pocket_is_drawn_beside_the_current_line(noisy):
    clf, X, y = noisy
    display = rb.TraceDisplay.from_estimator(clf, X, y, t=[clf.n_updates_])
    pocket = next(line for line in display.axes_[0].lines if line.get_label() == "pocket")
    np.testing.assert_allclose(clf.decision_function(pocket.get_xydata()), 0, atol=1e-9)


def test_small_multiples_show_six_frames_of_a_long_run():
    X, y = cloud(n=200, gap=0.005)
    clf = rb.Perceptron().fit(X, y)
    display = rb.TraceDisplay.from_estimator(clf, X, y)
    assert clf.n_updates_ > 6
    assert len(display.axes_) == 6
    assert title(display.axes_[-1]).startswith(f"t = {clf.n_updates_},")


def test_an_animation_has_one_frame_per_update(separable, tmp_path):
    from PIL import Image

    clf = separable[0]
    path = tmp_path / "run.gif"
    before = pyplot.get_fignums()
    display = rb.TraceDisplay(clf.trace_).animate(path, t=range(4), dpi=40)
    assert isinstance(display, rb.TraceDisplay)
    with Image.open(path) as movie:
        assert movie.n_frames == 4
    assert pyplot.get_fignums() == before


def test_an_mp4_without_ffmpeg_is_an_error_that_names_it(separable, tmp_path, monkeypatch):
    display = rb.TraceDisplay(separable[0].trace_)
    if FFMpegWriter.isAvailable():
        assert display.animate(tmp_path / "run.mp4", t=range(3), dpi=40)
        assert (tmp_path / "run.mp4").stat().st_size > 0
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with refuses(ValueError, "ffmpeg"):
        display.animate(tmp_path / "other.mp4")
    with refuses(ValueError, ".gif", ".mp4"):
        display.animate(tmp_path / "run.png")
    assert not (tmp_path / "other.mp4").exists()


def test_the_squeeze_lies_between_its_bounds(separable):
    clf, X, y = separable
    display = rb.GuaranteeDisplay.from_estimator(clf, X, y)
    most, least, run = (line.get_xydata() for line in display.axes_[0].lines[1:])
    t, squared = run.T
    assert len(t) == clf.n_updates_
    np.testing.assert_allclose(squared[-1], clf.weights_ @ clf.weights_)
    for line, sign in ((most, 1), (least, -1)):
        bound = np.exp(np.interp(np.log(t), np.log(line[:, 0]), np.log(line[:, 1])))
        assert (sign * squared <= sign * bound + 1e-9).all()
    assert f"Novikoff bound: {int(rb.separability(X, y).bound):,})" in title(display.axes_[0])


def test_a_run_from_nonzero_weights_still_has_its_squeeze():
    X, y = cloud()
    clf = rb.Perceptron(eta0=0.5).fit(X, y, coef_init=[5.0, 1.0], intercept_init=[-1.0])
    ax = rb.GuaranteeDisplay.from_estimator(clf, X, y).axes_[0]
    assert title(ax) == f"{clf.n_updates_} updates"


def test_the_pocket_curve_shows_the_mistakes_of_each_w(noisy):
    clf, X, y = noisy
    curve = rb.PocketDisplay.from_estimator(clf, X, y)
    signs = np.where(y == "good", 1, -1)
    for t, mistakes in zip(curve.t, curve.mistakes, strict=True):
        w = clf.trace_.weights(t)
        assert mistakes == (signs * (X @ w[1:] + w[0]) <= 0).sum()
    assert curve.pocket.tolist() == np.minimum.accumulate(curve.mistakes).tolist()
    assert curve.pocket[-1] == clf.n_mistakes_


def test_a_long_pocket_run_is_sampled_at_many_steps():
    X, y = cloud(noise=6)
    clf = rb.PocketPerceptron(max_updates=5000, random_state=0).fit(X, y)
    curve = rb.PocketDisplay.from_estimator(clf, X, y)
    assert 2000 <= len(curve.t) <= 2000 + len(clf.history_)
    assert {t for t, _ in clf.history_} <= set(curve.t.tolist())


@pytest.mark.slow_without_jit
def test_the_steps_of_an_optimum_are_its_history_and_converge():
    X, y = cloud(noise=6)
    clf = rb.FewestMistakes(random_state=0).fit(X, y)
    ax = rb.OptimumDisplay.from_estimator(clf).ax_
    history = np.array(clf.result_.history)
    best, bound = (line.get_xydata() for line in ax.lines)
    assert best.tolist() == history[:, :2].tolist()
    assert bound.tolist() == history[:, ::2].tolist()
    assert (np.diff(best, axis=0) * [1, -1] >= 0).all()
    assert (np.diff(bound, axis=0) >= 0).all()
    assert history[-1, 1:].tolist() == [clf.n_mistakes_, clf.lower_bound_]
    assert title(ax) == str(clf.result_)
    assert [text.get_text() for text in ax.texts] == [f"{clf.n_mistakes_}"]


def test_an_unproved_optimum_shows_both_bounds():
    display = rb.OptimumDisplay.from_result(searched())
    assert [text.get_text() for text in display.ax_.texts] == ["11", "14"]
    assert title(display.ax_) == "14 mistakes; no line makes fewer than 11 (proof: 1 conflict)"


def test_without_mistakes_there_is_no_gap():
    ax = rb.OptimumDisplay.from_result(rb.fewest_mistakes([[0.0], [1.0]], [0, 1])).ax_
    assert title(ax) == "no mistakes: a line classifies every example correctly"
    assert [text.get_text() for text in ax.texts] == ["0"]


def test_the_bars_of_an_experiment_count_its_runs():
    done = rb.experiment(15, 200, random_state=0)
    display = rb.ExperimentDisplay.from_experiment(done)
    for ax, values in zip(display.axes_, (done.updates, done.disagreement), strict=True):
        bars = sum(bar.get_height() for bar in ax.patches)
        beyond = 200 - bars
        assert 0 <= beyond <= 2
        assert (f"{beyond:.0f} more" in ax.texts[0].get_text()) == (beyond > 0)
        assert values.min() == pytest.approx(ax.patches[0].get_x(), abs=0.51)


@pytest.mark.parametrize(
    ("display", "make", "named"),
    [
        (rb.BoundaryDisplay, lambda X, y: rb.Perceptron(), "Perceptron is not fitted"),
        (
            rb.TraceDisplay,
            lambda X, y: rb.FewestMistakes(time_limit=1).fit(X, y),
            "FewestMistakes",
        ),
        (rb.PocketDisplay, lambda X, y: rb.Perceptron().fit(X, y), "PocketPerceptron"),
        (
            rb.TraceDisplay,
            lambda X, y: pickle.loads(pickle.dumps(rb.Perceptron().fit(X, y))),
            "trace",
        ),
        (
            rb.GuaranteeDisplay,
            lambda X, y: rb.Perceptron().fit(-X, y),
            "X",
        ),
        (
            rb.BoundaryDisplay,
            lambda X, y: rb.Perceptron().fit(X[:, :1] + 10 * (y == "good")[:, None], y),
            "Perceptron",
        ),
    ],
)
def test_unsupported_data_are_refused_in_one_sentence(display, make, named):
    X, y = cloud()
    clf = make(X, y)
    with refuses(ValueError, named):
        display.from_estimator(clf, X, y)


def test_there_is_no_guarantee_without_separability(noisy):
    with refuses(ValueError, "inseparable"):
        rb.GuaranteeDisplay.from_estimator(*noisy)


def test_moments_outside_the_run_are_refused(separable):
    clf, X, y = separable
    with refuses(ValueError, 99_999, 0, clf.n_updates_):
        rb.TraceDisplay.from_estimator(clf, X, y, t=[99_999])


def test_extreme_values_are_refused_in_one_sentence():
    X, y = np.array([[1e200, 1.0], [-1e200, 2.0]]), [1, 0]
    with refuses(ValueError, "1e+200"):
        rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)


def test_a_line_outside_the_axes_is_not_drawn():
    box = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    assert Boundary(5.0, 1.0, 1.0).ends(box) == []
    assert Boundary(1.0, 0.0, 0.0).ends(box) == []
    assert Boundary(0.0, 1.0, -1.0).ends(box) == [(0.0, 0.0), (1.0, 1.0)]


def test_a_view_of_two_features_is_the_plane_itself(separable):
    clf, X, y = separable
    examples = examples_of(clf, X, y)
    view = view_of(examples, hypothesis_of(clf))
    assert view.points(examples.X, np.arange(60)).tolist() == X.tolist()


def test_without_matplotlib_plotting_names_the_extra(separable, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with refuses(ImportError, "rosenblatt[plot]"):
        rb.BoundaryDisplay.from_estimator(*separable)


@pytest.mark.slow_without_jit
def test_without_extras_every_public_name_still_loads():
    blocked = "matplotlib", "anywidget", "river", "dask", "onnx", "skl2onnx"
    code = f"import sys; sys.modules.update(dict.fromkeys({blocked})); from rosenblatt import *"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_and_labels_are_drawn_verbatim():
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=["$\\frac{$", "price $\x1b"])
    y = np.where(X.iloc[:, 0] > 0, "_$a$", "$b")
    clf = rb.Perceptron().fit(X, y)
    for display in (rb.BoundaryDisplay, rb.TraceDisplay):
        figure = display.from_estimator(clf, X, y).figure_
        figure.canvas.draw()  # a formula that cannot be read would be an error here
        texts = [text.get_text() for text in figure.legends[0].get_texts()]
        assert {" _\\$a\\$", "\\$b"} <= set(texts)
    ax = rb.BoundaryDisplay.from_estimator(clf, X, y).ax_
    assert ax.get_ylabel() == "price \\$\\x1b"
