"""Text that counts its comparisons: time in proportion to the input, on any machine."""


class Counted(str):
    """A name that counts how often names like it are compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__
