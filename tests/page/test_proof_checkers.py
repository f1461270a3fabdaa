"""The proof checkers in Python and in JavaScript, which share no code, agree.

On trees over conflicts, rows that are alike, sample weights, more than two labels and data
without x0; as they are, and with a number, a word or a list changed under a checksum that matches.
"""

import copy
import json

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.evidence.certificate import ProofError
from rosenblatt.evidence.proof import Proof
from rosenblatt.files import dump_with_checksum

pytestmark = pytest.mark.slow_without_jit

MODULES = """
import { checkProof } from "./proof.js";

window.checked = (texts, points, targets, weights) =>
  texts.map((text) => {
    try {
      return checkProof(text, points, targets, weights);
    } catch (error) {
      return error.name === "Error" ? "refused" : String(error);
    }
  });
"""


def fewest(rng, sample_weight=None):
    n, d = int(rng.integers(12, 30)), int(rng.integers(2, 5))
    X, y = rng.integers(-2, 3, (n, d)).astype(float), np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    weight = None if sample_weight is None else sample_weight(rng, n)
    return rb.fewest_mistakes(X, y, sample_weight=weight, random_state=0).proof, X, y, weight


def several(rng, fit_intercept=True, labels=3):
    n, d = int(rng.integers(labels, 25)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)).round(1)
    y = (X @ rng.normal(size=(d, labels)) + rng.normal(size=labels)).argmax(1)
    if rng.random() < 0.6:
        y = np.where(rng.random(n) < 0.3, rng.integers(labels, size=n), y)
    y[:labels] = np.arange(labels)
    y = 2 * y - 1 if labels == 2 else y
    return rb.separability(X, y, fit_intercept=fit_intercept).proof, X, y, None


KINDS = {
    "fewest mistakes": fewest,
    "halves": lambda rng: fewest(rng, lambda rng, n: rng.integers(1, 5, n) / 2),
    "large weights": lambda rng: fewest(rng, lambda rng, n: 12.0 * rng.integers(1, 4, n)),
    "three labels": several,
    "five labels": lambda rng: several(rng, labels=5),
    "three labels, no x0": lambda rng: several(rng, fit_intercept=False),
    "two labels, no x0": lambda rng: several(rng, fit_intercept=False, labels=2),
}


def corrupted(rng, content):
    """Return a proof with one value changed and a checksum that matches."""
    content = copy.deepcopy(content)
    holder, key = content, None
    while key is None or (isinstance(holder[key], dict | list) and holder[key] and go(rng)):
        holder = holder if key is None else holder[key]
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        key = keys[int(rng.integers(len(keys)))]
    if isinstance(holder, dict) and rng.random() < 0.1:
        del holder[key]
    else:
        holder[key] = changed(rng, holder[key])
    return dump_with_checksum(content)


def go(rng):
    return rng.random() < 0.9


def changed(rng, value):
    pick = int(rng.integers(4))
    if isinstance(value, list):
        return [value[::-1], value[1:], [*value, *value[:1]], []][pick]
    if isinstance(value, int):
        return [value + 1, value - 1, -value, 2**70][pick]
    if isinstance(value, str) and value.lstrip("-").startswith("0x") and "." not in value:
        return [hex(int(value, 16) + pick - 1), hex(-int(value, 16)), value.upper(), "0x0"][pick]
    if isinstance(value, str) and any(map(str.isdigit, value)):
        digit = str(rng.integers(10))
        return [value[::-1], value + digit, value.replace("1", digit), value[:-1]][pick]
    return [None, "separable", 0, True][pick]


def by_python(text, X, y, weight):
    try:
        proof = Proof.from_json(text)
        return proof.check(X, y, weight) and proof.claim
    except ProofError:
        return "refused"


@pytest.mark.parametrize("kind", KINDS)
def test_valid_and_corrupted_proofs_are_judged_alike(page, kind):
    rng = np.random.default_rng(list(KINDS).index(kind))
    held = refused = 0
    for _ in range(6):
        proof, X, y, weight = KINDS[kind](rng)
        content = json.loads(proof.to_json())
        del content["checksum"]
        texts = [proof.to_json(), json.dumps(json.loads(proof.to_json()), indent=3)]
        texts += [corrupted(rng, content) for _ in range(40)]
        given = [texts, X.tolist(), y.tolist(), weight if weight is None else weight.tolist()]
        here = page.evaluate("given => window.checked(...given)", given)
        there = [by_python(text, X, y, weight) for text in texts]
        for text, one, other in zip(texts, here, there, strict=True):
            assert one == other, text
        assert here[:2] == [proof.claim] * 2
        held, refused = held + len(here) - here.count("refused"), refused + here.count("refused")
    assert refused > 100
    assert held >= 12
