"""How long work takes before any of it is measured: reading, writing and deciding, in minutes."""

from __future__ import annotations

import math
from typing import Any

from django.db.models import Avg, Count, F
from django.db.models.functions import Coalesce, Length

from annotation.models import TaskVersion
from crowdqc.web.words import count_words

# Silent reading of plain prose, about 210 words a minute; composing on a keyboard.
READ_A_MINUTE = 210
CHARACTERS_A_MINUTE = 1200
WORDS_A_MINUTE = 25
SECONDS_A_LINE = 5  # to decide on one dimension or scale, once the texts are read
# Writing from sources goes faster than composing, since much is taken over, and of many passages
# only a part is read. Together they give 10 minutes for 250 words with 20 passages at hand, where
# Gienapp et al. (2025, 3.1) measured 10:22.
SOURCED_A_MINUTE = 40
READ_FOR_A_WORD = 3  # words of passages read for each word written, where there are so many
CHARACTERS_A_WORD = 6
WORDS_AN_ATTRIBUTE = 12  # of one attribute thought aloud, with the thinking


def estimate_answering(
    version: TaskVersion, items: Any, groups: Any, per: int, count: int
) -> float:
    """Estimate the minutes to read instructions, texts and questions and write ``per`` answers."""
    length = items.aggregate(mean=Avg(Length("question")))["mean"] or 0
    texts = groups.aggregate(mean=Avg(Length("passage")), n=Count("pk"))
    read_texts = min(texts["n"], math.ceil(per * texts["n"] / count))
    low = version.settings.get("min_words", 1)
    high = version.settings.get("max_words", 120)
    words = low + min(40, (high - low) / 4)
    characters = len(version.instructions) + per * length + read_texts * (texts["mean"] or 0)
    return characters / CHARACTERS_A_MINUTE + per * words / WORDS_A_MINUTE


def estimate_judging(
    version: TaskVersion, items: Any, shown: int, lines: int, *, beside: float = 0, said: int = 0
) -> float:
    """Estimate the minutes to read instructions and ``shown`` texts and decide on each line.

    ``beside``: words read beside them, in all; ``said``: words written about each.
    """
    both = F("first__words") + Coalesce(F("second__words"), 0)
    words = items.order_by().aggregate(mean=Avg(both))["mean"] or 0
    reading = count_words(version.instructions) + shown * words + beside
    writing = shown * said / WORDS_A_MINUTE
    return float(reading / READ_A_MINUTE + writing + shown * lines * SECONDS_A_LINE / 60)


def mean_words(rows: Any, field: str) -> float:
    """Words that a field of these rows has on average."""
    there = rows.order_by().aggregate(mean=Avg(Length(field)))["mean"] or 0
    return float(there / CHARACTERS_A_WORD)
