"""scikit-learn's face: estimators that connect the rooms and do nothing else."""

from rosenblatt.estimators.perceptron import Perceptron
from rosenblatt.estimators.pocket import PocketPerceptron

__all__ = ["Perceptron", "PocketPerceptron"]
