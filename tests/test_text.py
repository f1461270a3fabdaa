"""Words of messages: counts of one are singular everywhere."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from facts import refuses
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.text import plural

SOURCE = Path(rb.__file__).parent
# scikit-learn's checks ask for these very words, of a count that is never one.
THEIRS = ("Found array with 0 sample(s)", "Found array with 0 feature(s)")


@pytest.mark.parametrize("one", [1, 1.0, np.int64(1), np.float32(1), "1", True])
def test_one_is_singular_in_every_number_type(one):
    assert plural(one, "mistake") == "1 mistake"


@pytest.mark.parametrize(
    ("many", "expected"),
    [
        (0, "0 mistakes"),
        (2.5, "2.5 mistakes"),
        (1234567.0, "1,234,567 mistakes"),
        (np.int64(1234567), "1,234,567 mistakes"),
        ("1,000", "1,000 mistakes"),
    ],
)
def test_other_counts_are_plural_and_written_in_full(many, expected):
    assert plural(many, "mistake") == expected


def test_no_message_has_an_optional_plural():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                assert not re.search(r"\b[a-z]{3,}\((s|es)\)", text) or text.startswith(THEIRS), (
                    path
                )


def test_values_with_one_item_use_the_singular():
    with pytest.warns(ConvergenceWarning):
        clf = rb.Perceptron(max_iter=1, fit_intercept=False).fit([[1.0], [2.0]], [1, 0])
    assert repr(clf.trace_) == "Trace(2 updates in 1 complete epoch)"
    online = rb.OnlinePerceptron()
    online.learn_one({"a": 1.0}, "yes")
    assert repr(online).startswith("OnlinePerceptron(1 example seen, ")
    assert str(rb.experiment(3, 1, random_state=0)).startswith("1 run: median ")
    s = rb.separability([[1.0], [-1.0]], [1, 0], fit_intercept=False)
    assert str(s).endswith("= 1 update>")
    no = rb.separability([[0.0, 0.0], [0.0, 1.0]], [0, 1], fit_intercept=False)
    assert "1 conflict<" in no.proof._repr_html_()
    found = rb.fewest_mistakes([[0.0], [0.0], [1.0]], [0, 1, 1], time_limit=0.1)
    assert str(found).startswith("1 mistake; ")


def test_errors_about_one_item_use_the_singular():
    with refuses(ValueError, "0 dimensions"):
        rb.OnlinePerceptron().learn_one(3.0, "yes")
    with refuses(ValueError, "1 row", "2 labels"):
        rb.separability([[1.0]], [0, 1])
    with refuses(ValueError, "one class"):
        rb.Perceptron().fit([[1.0], [2.0]], [0, 1], sample_weight=[1.0, 0.0])
