"""scikit-learn's face: estimators that connect the rooms and do nothing else."""

from rosenblatt.estimators.fewest import FewestMistakes, fewest_mistakes
from rosenblatt.estimators.perceptron import Perceptron
from rosenblatt.estimators.pocket import PocketPerceptron

__all__ = ["FewestMistakes", "Perceptron", "PocketPerceptron", "fewest_mistakes"]
