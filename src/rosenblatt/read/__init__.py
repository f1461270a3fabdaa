"""Reading of files as examples: formats, kinds of columns, and their encoding as numbers."""

from rosenblatt.read.source import Layout, Source

__all__ = ["Layout", "Source"]
