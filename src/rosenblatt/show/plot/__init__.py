"""Displays, drawn with Matplotlib (extra `plot`)."""
