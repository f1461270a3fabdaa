"""The page and Python return the same results for the same examples, bit for bit."""

import json
import math

import numpy as np
import pytest
from case_counts import n_cases
from firefox import firefox
from planes import KINDS, labelled_plane, plane, settings, train_in_python

from rosenblatt.algorithms.cells import cells_optimum
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.evidence.certificate import ProofError
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.files import dump_with_checksum
from rosenblatt.hypothesis import ZEROS
from rosenblatt.show.browser import bundle
from rosenblatt.show.story import weights_along

pytestmark = pytest.mark.slow_without_jit

MODULES = """
import { RandomGenerator } from "./random.js";
import { fewest } from "./fewest.js";
import { train } from "./train.js";
import { againstRivals, checkProof } from "./proof.js";
import { proofText } from "./prooftext.js";

const last = (search) => {
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
};
const checked = (text, points, targets) => {
  try {
    return checkProof(text, points, targets);
  } catch (error) {
    return error.name === "Error" ? "refused" : String(error);
  }
};
window.trained = ({ points, targets, settings }) => {
  const names = ["x1", "x2"];
  const story = train({ points, targets, names, labels: names }, settings);
  const { rows, weights, ends, reason, pocket, verdict } = story;
  return {
    rows,
    ends,
    reason,
    pocket,
    weights: Array.from(weights),
    verdict: verdict.name,
    bound: verdict.bound,
    radius: verdict.radius,
    proof: proofText(verdict.proof, points, targets),
    fewest: last(fewest(points, targets)).mistakes,
  };
};
window.labelled = ({ points, targets, labels, settings }) => {
  const plane = { points, targets, names: ["", ""], labels };
  const { weights, mistakes, verdict, ...story } = train(plane, settings);
  const { proof, ...rest } = verdict;
  const rows = proof && againstRivals({ ...proof, x0: 1 }, points, targets);
  const checkedVerdict = { ...rest, proof: proof && proofText(proof, rows.X, rows.y) };
  const numbers = { weights: Array.from(weights), mistakes: Array.from(mistakes) };
  return { ...story, verdict: checkedVerdict, ...numbers };
};
window.checked = (texts, points, targets) => texts.map((text) => checked(text, points, targets));
window.drawn = (seed) => {
  const rng = new RandomGenerator(seed);
  const many = (count, draw) => Array.from({ length: count }, draw);
  return [
    many(50, () => rng.random()),
    rng.permutation(31),
    many(31, () => rng.below(31)),
    rng.permutation(1000),
    many(9, () => rng.uniform(-1, 3)),
  ];
};
"""


def test_random_numbers_are_numpys(page):
    for seed in (0, 1, 7, 2**31 - 1):
        rng = np.random.default_rng(seed)
        assert page.evaluate("seed => window.drawn(seed)", seed) == [
            rng.random(50).tolist(),
            rng.permutation(np.arange(31)).tolist(),
            rng.integers(31, size=31).tolist(),
            rng.permutation(np.arange(1000)).tolist(),
            rng.uniform(-1, 3, 9).tolist(),
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_run_verdict_bound_and_fewest_mistakes_are_those_of_python(page, kind):
    rng = np.random.default_rng(list(KINDS).index(kind))
    for _ in range(n_cases(20)):
        examples, chosen = plane(rng, kind), settings(rng)
        given = {"points": examples.X.tolist(), "targets": examples.y.tolist(), "settings": chosen}
        same_run(page.evaluate("given => window.trained(given)", given), examples, chosen)


def same_run(found, examples, chosen):
    run, verdict = train_in_python(examples, chosen), separability_of(examples)
    T = len(run.trace)
    assert found["rows"] == run.trace.examples.tolist(), chosen
    assert [t for t in found["ends"] if t < T] == [t for t in run.trace.ends.tolist() if t < T]
    assert found["weights"] == weights_along(run.trace).ravel().tolist()
    assert found["reason"] == run.reason
    if chosen["algorithm"] in ("pocket", "ratchet"):
        assert [tuple(entry) for entry in found["pocket"]] == list(run.pocket.history)
    assert found["verdict"] == verdict.verdict
    assert found["fewest"] == cells_optimum(examples, np.zeros(3)).mistakes
    same_bound(found, verdict)
    assert Proof.from_json(found["proof"]).check_examples(examples)


def same_bound(found, verdict):
    """Compare bounds: exact on the page; Python's margin is within 1e-9 of the maximum."""
    assert found["radius"] == pytest.approx(verdict.radius, rel=1e-15)
    if verdict.bound is None or verdict.bound > 1e300:
        assert found["bound"] is None or found["bound"] > 1e300
        return
    assert found["bound"] == pytest.approx(verdict.bound, rel=3e-9)
    if verdict.bound < 1e9:
        assert math.floor(found["bound"] * (1 + 1e-12)) == math.floor(verdict.bound * (1 + 1e-12))


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_several_labels_are_those_of_python(page, kind):
    rng = np.random.default_rng(50 + list(KINDS).index(kind))
    for _ in range(n_cases(10)):
        examples = labelled_plane(rng, kind)
        chosen = settings(rng, examples.k)
        given = {
            "points": examples.X.tolist(),
            "targets": examples.y.tolist(),
            "labels": list("abcde")[: examples.k],
            "settings": chosen,
        }
        found = page.evaluate("given => window.labelled(given)", given)
        run = train_in_python(examples, chosen)
        trace, T = run.trace, len(run.trace)
        assert found["rows"] == trace.examples.tolist(), chosen
        assert found["rivals"] == trace.rivals.tolist()
        assert [t for t in found["ends"] if t < T] == [t for t in trace.ends.tolist() if t < T]
        W = weights_along(trace)
        assert found["weights"] == W.ravel().tolist()
        assert found["reason"] == run.reason
        if chosen["algorithm"] in ("pocket", "ratchet"):
            assert [tuple(entry) for entry in found["pocket"]] == list(run.pocket.history)
        same_verdict(found["verdict"], examples)
        judge = Judge(examples, ZEROS[chosen["zero"]])
        assert found["mistakes"] == judge.counts(W).tolist()


def same_verdict(found, examples):
    """Compare verdict, bound and proof for several labels."""
    if found["name"] == "undecided":  # numbers that differ by more than a hundred digits
        sizes = np.abs(examples.X[examples.X != 0])
        assert sizes.min() < 1e-60
        return
    verdict = separability_of(examples)
    assert found["name"] == verdict.verdict
    same_bound(found, verdict)
    assert Proof.from_json(found["proof"]).check(examples.X, examples.y)


def corrupted(rng, text):
    """Return the text with a number or word changed, with the old and a new checksum."""
    content = json.loads(text)
    del content["checksum"]
    place, key = content, str(rng.choice(["claim", "data", "x0", "weights", "conflicts"]))
    if key == "conflicts" and content["conflicts"]:
        place = content["conflicts"][int(rng.integers(len(content["conflicts"])))]
        key = str(rng.choice(["rows", "multipliers", "rest"]))
    place[key] = changed(rng, key, place[key])
    return [
        json.dumps({**content, "checksum": json.loads(text)["checksum"]}),
        dump_with_checksum(content),
    ]


def changed(rng, key, value):
    if key == "claim":
        others = ["separable", "quasi-separable", "inseparable", "at least 1 mistake", "true"]
        return str(rng.choice([other for other in others if other != value]))
    if isinstance(value, list):
        if not value or rng.random() < 0.2:
            return [*value, 0 if key == "rows" else "0x1"]
        some, n = list(value), int(rng.integers(len(value)))
        if rng.random() < 0.3:
            del some[n]
        elif key == "rows":
            some[n] += int(rng.choice([-1, 1, 1000]))
        else:
            some[n] = hex(int(some[n], 16) * int(rng.choice([-1, 1, 2])) + int(rng.integers(2)))
        return some
    if key == "rest":
        return str(rng.choice(["0x1", "-0x1", "0x2"]))
    return value[::-1]


@pytest.mark.parametrize("kind", KINDS)
def test_valid_and_corrupted_proofs_are_judged_alike(page, kind):
    rng = np.random.default_rng(100 + list(KINDS).index(kind))
    checked = []
    for _ in range(12):
        examples = plane(rng, kind)
        text = separability_of(examples).proof.to_json()
        texts = [text, text.replace("\n", " "), text[:-3], text.replace("[", "[1.0, ", 1)]
        for _ in range(6):
            texts += corrupted(rng, text)
        points, targets = examples.X.tolist(), examples.y.tolist()
        here = page.evaluate("given => window.checked(...given)", [texts, points, targets])
        assert here == [by_python(text, examples) for text in texts]
        checked += here
    assert checked.count("refused") > 100
    assert len(checked) - checked.count("refused") >= 24


def by_python(text, examples):
    try:
        proof = Proof.from_json(text)
        return proof.check_examples(examples) and proof.claim
    except ProofError:
        return "refused"


def test_firefox_gives_the_same_results_and_opens_the_file(saved):
    rng = np.random.default_rng(7)
    with firefox() as tab:
        tab.open("about:blank")
        tab.ask(f"(() => {{\n{bundle(MODULES)}\n}})() ?? null")
        for kind in KINDS:
            for _ in range(8):
                examples, chosen = plane(rng, kind), settings(rng)
                points, targets = examples.X.tolist(), examples.y.tolist()
                given = {"points": points, "targets": targets, "settings": chosen}
                same_run(tab.ask(f"window.trained({json.dumps(given)})"), examples, chosen)
        tab.open(f"{saved.as_uri()}#data=xor&algorithm=pocket&order=random&t=9")
        shown = "document.querySelector('.rb-verdict h2')?.textContent"
        seen = f"new Promise((done) => setInterval(() => {shown} && done({shown}), 20))"
        assert tab.ask(seen) == "Inseparable"
        assert tab.ask("window.rosenblatt.player.t") == 9
        dark = "window.rosenblatt.set({theme: 'dark'}).then(() => window.rosenblatt.player.palette)"
        assert tab.ask(dark)["paper"] == "#14171c"
        assert tab.ask("window.rosenblatt.writeAddress()").startswith(saved.as_uri())
