"""scikit-learn's face: estimators that connect the rooms and do nothing else."""

from rosenblatt.estimators.inseparable import FewestMistakes, PocketPerceptron, fewest_mistakes
from rosenblatt.estimators.perceptron import Perceptron

__all__ = ["FewestMistakes", "Perceptron", "PocketPerceptron", "fewest_mistakes"]
