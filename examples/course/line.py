"""One line of the table: what was published, what was obtained, and whether they agree."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """A published value beside ours; a mean agrees within three standard errors."""

    what: str
    published: str
    obtained: str
    agrees: bool
    error: str = ""

    @classmethod
    def exact(cls, what, published, obtained):
        """A count or a vector that must come out the same."""
        return cls(what, str(published), str(obtained), published == obtained)

    @classmethod
    def mean(cls, what, published, published_error, values):
        """A mean over random runs, ours and theirs."""
        ours = np.std(values) / np.sqrt(len(values))
        far = abs(np.mean(values) - published) / np.hypot(ours, published_error)
        return cls(what, f"{published:g}", f"{np.mean(values):.4g}", far <= 3, f"{ours:.2g}")

    @classmethod
    def median(cls, what, published, values):
        """A median, published as a whole number: the values around it are no surprise.

        How many of n values are below the median is binomial, with standard error √n/2.
        """
        below = np.sum(np.asarray(values) < published - 0.5)
        above = np.sum(np.asarray(values) > published + 0.5)
        agrees = max(below, above) <= len(values) / 2 + 1.5 * np.sqrt(len(values))
        return cls(what, str(published), f"{np.median(values):g}", bool(agrees))

    @classmethod
    def choice(cls, what, published, choices, value):
        """The answer of a multiple choice: the choice nearest to what was obtained."""
        nearest = min(choices, key=lambda choice: abs(choice - value))
        return cls(what, f"nearest is {published:g}", f"{value:.4g}", nearest == published)

    def cells(self):
        return self.what, self.published, self.obtained, self.error, "yes" if self.agrees else "NO"
