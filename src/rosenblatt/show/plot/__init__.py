"""Plots of classifiers, training runs and regressions, drawn with Matplotlib (extra `plot`)."""
