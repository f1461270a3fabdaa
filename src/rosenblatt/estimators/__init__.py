"""Estimators with the interface of scikit-learn, for data in memory."""

from rosenblatt.estimators.inseparable import FewestMistakes, PocketPerceptron, fewest_mistakes
from rosenblatt.estimators.perceptron import Perceptron

__all__ = ["FewestMistakes", "Perceptron", "PocketPerceptron", "fewest_mistakes"]
