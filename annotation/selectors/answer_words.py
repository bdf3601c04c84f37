"""An answer in words, as somebody who reviews it reads it."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.judging import in_words
from annotation.models import Answer
from annotation.task_types.explanation import EVIDENCE, EXPLANATION, FEEDBACK
from annotation.task_types.rating import PREFIX
from annotation.task_types.think_aloud import ATTRIBUTE, TRANSCRIPT


def said(answer: Answer) -> str:
    """What an answer holds, a paragraph a part; its texts, choices and version are fetched.

    Attributes stand one a line under their numbers, with the transcript after them; the lines of
    a checklist under their questions. Of other answers, their texts.
    """
    texts = sorted(answer.texts.all(), key=lambda value: (value.field, value.index))
    attributes = [value for value in texts if value.field == ATTRIBUTE]
    if attributes:
        listed = [f"{value.index + 1}. {value.text}" for value in attributes]
        rest = [value.text for value in texts if value.field == TRANSCRIPT]
        return "\n\n".join(["\n".join(listed), *rest])
    asked = answer.version.settings.get("questions")
    if asked:
        given = {choice.field: choice.code for choice in answer.choices.all()}
        rows: Sequence[str] = [
            f"{given[row['name']]}: {row['label']}" for row in asked if row["name"] in given
        ]
        return "\n".join(rows)
    return "\n\n".join(value.text for value in texts)


def given(answer: Answer) -> str:
    """All that an answer holds, as the person who gave it reads it; its item is fetched too.

    Of a rating the points, then why, the sentences, and the word to the requester; of other
    answers what ``said`` tells.
    """
    settings = {**answer.version.settings, **answer.item.settings}
    if "scales" not in settings:
        return said(answer)
    points = {PREFIX + choice.field: choice.code for choice in answer.choices.all()}
    texts = {text.field: text.text for text in answer.texts.all()}
    shown = sorted(span.start for span in answer.spans.all() if span.field == EVIDENCE)
    parts = [in_words(points, settings), texts.get(EXPLANATION, "")]
    if shown:
        show = "Sentence that shows it" if len(shown) == 1 else "Sentences that show it"
        parts.append(f"{show}: {', '.join(map(str, shown))}")
    if texts.get(FEEDBACK):
        parts.append(f"To the people who made the task: {texts[FEEDBACK]}")
    return "\n".join(part for part in parts if part)
