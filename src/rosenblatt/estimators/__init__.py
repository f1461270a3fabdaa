"""scikit-learn's face: estimators that connect the rooms and do nothing else."""

from rosenblatt.estimators.perceptron import Perceptron

__all__ = ["Perceptron"]
