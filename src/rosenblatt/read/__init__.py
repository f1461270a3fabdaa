"""Readers of files, frames and streams, which encode their columns as numbers."""

from rosenblatt.read.source import Layout, Source

__all__ = ["Layout", "Source"]
