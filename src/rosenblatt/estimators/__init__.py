"""scikit-learn estimators; they translate arguments and results."""

from rosenblatt.estimators.inseparable import FewestMistakes, PocketPerceptron, fewest_mistakes
from rosenblatt.estimators.perceptron import Perceptron

__all__ = ["FewestMistakes", "Perceptron", "PocketPerceptron", "fewest_mistakes"]
