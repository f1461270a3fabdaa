"""Streams: the online perceptron, its memory, its rule and the rows it takes."""

from rosenblatt.online.perceptron import OnlinePerceptron

__all__ = ["OnlinePerceptron"]
