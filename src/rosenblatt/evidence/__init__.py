"""Proofs and bounds: what holds for the data, shown in exact arithmetic."""
