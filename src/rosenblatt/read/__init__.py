"""From a file to examples: one file a format, what a column is, and how it becomes numbers."""

from rosenblatt.read.source import Layout, Source

__all__ = ["Layout", "Source"]
