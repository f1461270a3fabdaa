"""One line of the table: the published value, our result, and whether they agree."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """Published value and our result; a mean agrees within three standard errors."""

    what: str
    published: str
    obtained: str
    agrees: bool
    error: str = ""

    @classmethod
    def exact(cls, what, published, obtained):
        """Compare a count or a vector, which must be equal."""
        return cls(what, str(published), str(obtained), published == obtained)

    @classmethod
    def mean(cls, what, published, published_error, values):
        """Compare means over random runs."""
        ours = np.std(values) / np.sqrt(len(values))
        far = abs(np.mean(values) - published) / np.hypot(ours, published_error)
        return cls(what, f"{published:g}", f"{np.mean(values):.4g}", far <= 3, f"{ours:.2g}")

    @classmethod
    def median(cls, what, published, values):
        """Compare a median that was published as an integer.

        The number of n values below the median is binomial, with standard error √n/2.
        """
        below = np.sum(np.asarray(values) < published - 0.5)
        above = np.sum(np.asarray(values) > published + 0.5)
        agrees = max(below, above) <= len(values) / 2 + 1.5 * np.sqrt(len(values))
        return cls(what, str(published), f"{np.median(values):g}", bool(agrees))

    @classmethod
    def choice(cls, what, published, choices, value):
        """Compare the answer of a multiple choice with the choice nearest to our mean."""
        nearest = min(choices, key=lambda choice: abs(choice - value))
        return cls(what, f"nearest is {published:g}", f"{value:.4g}", nearest == published)

    def cells(self):
        return self.what, self.published, self.obtained, self.error, "yes" if self.agrees else "NO"
