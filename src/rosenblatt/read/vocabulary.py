"""Vocabulary: which words of a text column count as features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The words of English that say least about what a text is about.
ENGLISH = """
    a about after all also am an and any are as at be because been before being but by can could
    did didn do does doesn doing don down for from had has have having he her here hers him his
    how i if in into is isn it its just ll me more most my no nor not of off on once only or
    other our out over own re same she should so some such than that the their them then there
    these they this those through to too under until up ve very was wasn we were what when where
    which while who whom why will with would you your yours
"""


@dataclass(frozen=True)
class Vocabulary:
    """Words of two characters or more, in enough cells, and not among the stop words."""

    min_count: int = 1
    stop_words: frozenset[str] = frozenset(ENGLISH.split())

    @classmethod
    def without(cls, stop_words: str, min_count: int) -> Vocabulary:
        """The vocabulary without the words of a text."""
        return cls(min_count, frozenset(stop_words.lower().split()))

    def of(self, count: Mapping[str, int]) -> tuple[str, ...]:
        """The words to count, in alphabetical order, by the number of cells that have each."""
        return tuple(
            sorted(
                word
                for word, cells in count.items()
                if cells >= self.min_count and len(word) >= 2 and word not in self.stop_words
            )
        )


def cells_with(words: Any, offsets: NDArray[np.int32]) -> dict[str, int]:
    """In how many cells each word comes, from the words of all cells and where a cell's begin."""
    coded = words.dictionary_encode()
    size = len(coded.dictionary) or 1
    cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    # A word counts once in a cell: twenty times in one message is still one message.
    once = np.unique(cells.astype(np.int64) * size + coded.indices.to_numpy())
    count = np.bincount(once % size, minlength=len(coded.dictionary))
    return dict(zip(coded.dictionary.to_pylist(), count.tolist(), strict=True))
