"""Words of texts that people wrote."""

from __future__ import annotations

from annotation.task_types.writing.citations import MARK
from crowdqc.web.words import count_words


def words_in(text: str) -> int:
    """Words of a text that may cite sources, whose marks are none."""
    return count_words(MARK.sub(" ", text))
