"""Classify messages as spam by their words, and show the words with the largest weights.

Run it as `python examples/spam.py`. If ROSENBLATT_DATA is a folder that contains SMSSpamCollection,
it trains on 5,574 real messages, otherwise on ten invented ones.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

import rosenblatt as rb

MADE_UP = [
    ("spam", "Free prize! Claim your fantastic deal now"),
    ("ham", "Are we still on for lunch?"),
    ("spam", "You won a free phone. Call now to claim"),
    ("ham", "I will call you after the lecture"),
    ("spam", "Fantastic deal on drugs. Free delivery"),
    ("ham", "The homework is due on Friday"),
    ("spam", "Claim your free ringtone now"),
    ("ham", "Free for lunch on Friday?"),
    ("ham", "Great lecture. The proof was fantastic"),
    ("spam", "Urgent: your prize is waiting. Call now"),
]


def messages():
    """Return labels and texts: the real messages if they are found, else invented ones."""
    file = Path(os.environ.get("ROSENBLATT_DATA", ".")) / "SMSSpamCollection"
    if not file.exists():
        return zip(*MADE_UP, strict=True)
    lines = file.read_text(encoding="utf-8").splitlines()
    return zip(*(line.split("\t", 1) for line in lines), strict=True)


def main():
    kinds, texts = map(list, messages())
    parts = train_test_split(texts, kinds, test_size=0.2, stratify=kinds, random_state=0)
    learn, test, learn_kinds, test_kinds = parts
    words = CountVectorizer(stop_words="english").fit(learn)
    X = words.transform(learn)

    print(f"{X.shape[0]:,} messages, {X.shape[1]:,} words")
    print(rb.separability(X, learn_kinds, widest=False).explain().splitlines()[0])
    clf = rb.Perceptron().fit(X, learn_kinds)
    print(f"{clf.n_updates_} updates in {clf.n_iter_} epochs")
    right = clf.score(words.transform(test), test_kinds)
    print(f"{right:.1%} right on {len(test):,} messages held out")
    names = words.get_feature_names_out()
    strongest = np.argsort(clf.coef_[0])[:-11:-1]
    print("strongest words for spam:", ", ".join(names[strongest]))


if __name__ == "__main__":
    main()
