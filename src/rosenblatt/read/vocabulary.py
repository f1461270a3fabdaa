"""Vocabulary: which words of a text column count as features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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

    def of(self, words: Any, offsets: NDArray[np.int32]) -> tuple[str, ...]:
        """The words to count, in alphabetical order."""
        coded = words.dictionary_encode()
        codes = coded.indices.to_numpy()
        cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        # A word counts once in a cell: twenty times in one message is still one message.
        once = np.unique(cells.astype(np.int64) * (len(coded.dictionary) or 1) + codes)
        count = np.bincount(once % (len(coded.dictionary) or 1), minlength=len(coded.dictionary))
        long = pc.greater_equal(pc.utf8_length(coded.dictionary), 2)
        enough = pa.array(count >= self.min_count)
        kept = coded.dictionary.filter(pc.and_(long, enough)).to_pylist()
        return tuple(sorted(word for word in kept if word not in self.stop_words))
