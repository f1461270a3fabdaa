"""The online perceptron: its update rule, its memory and its input."""

from rosenblatt.online.perceptron import OnlinePerceptron

__all__ = ["OnlinePerceptron"]
