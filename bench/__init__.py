"""Benchmarks that compare with peers by ratios measured in one run, not by absolute times."""
