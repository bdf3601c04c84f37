"""Answers as text for reviewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import Answer
from annotation.task_types.labels.type import stored_in_words
from annotation.task_types.rating.explanation import EVIDENCE, EXPLANATION, FEEDBACK
from annotation.task_types.rating.type import PREFIX, in_words
from annotation.task_types.ready_made import translate_ready_made
from annotation.task_types.think_aloud.type import ATTRIBUTE, TRANSCRIPT

BETTER = {
    "first": gettext_lazy("First text better"),
    "second": gettext_lazy("Second text better"),
    "neutral": gettext_lazy("Neither better"),
}


def answer_paragraphs(answer: Answer) -> str:
    """Return an answer's parts as paragraphs; its relations are fetched.

    Attributes stand one a line under their numbers, with the transcript after them; the lines of
    a checklist under their questions, labels under their fields. Of other answers, their texts.
    """
    if "fields" in answer.version.settings:
        return stored_in_words(answer)
    texts = sorted(answer.texts.all(), key=lambda value: (value.field, value.index))
    attributes = [value for value in texts if value.field == ATTRIBUTE]
    if attributes:
        listed = [f"{value.index + 1}. {value.text}" for value in attributes]
        rest = [value.text for value in texts if value.field == TRANSCRIPT]
        return "\n\n".join(["\n".join(listed), *rest])
    asked = answer.version.settings.get("questions")
    if asked:
        given = {choice.field: choice.code for choice in answer.choices.all()}
        named = {"yes": _("yes: %(question)s"), "no": _("no: %(question)s")}
        rows = [
            named[given[row["name"]]] % {"question": row["label"]}
            for row in asked
            if row["name"] in given
        ]
        return "\n".join(rows)
    return "\n\n".join(value.text for value in texts)


def describe_judgment(answer: Answer, dimensions: Sequence[Mapping[str, str]]) -> str:
    """Describe a stored judgment of a pair, whichever side was shown."""
    codes = {choice.field: choice.code for choice in answer.choices.all()}
    rows = [
        (
            words,
            [
                translate_ready_made(row["label"])
                for row in dimensions
                if codes.get(row["name"]) == code
            ],
        )
        for code, words in BETTER.items()
    ]
    return "\n".join(f"{words}: {', '.join(labels)}" for words, labels in rows if labels)


def describe_answer(answer: Answer) -> str:
    """Describe an answer for its author; its item is fetched too.

    Of a rating the points, then why, the sentences, and the word to the requester; of a pair which
    text is better in what; of other answers what ``said`` tells.
    """
    settings = {**answer.version.settings, **answer.item.settings}
    if "dimensions" in settings:
        return describe_judgment(answer, settings["dimensions"])
    if "scales" not in settings:
        return answer_paragraphs(answer)
    points = {PREFIX + choice.field: choice.code for choice in answer.choices.all()}
    texts = {text.field: text.text for text in answer.texts.all()}
    shown = sorted(span.start for span in answer.spans.all() if span.field == EVIDENCE)
    parts = [in_words(points, settings), texts.get(EXPLANATION, "")]
    if shown:
        told = ngettext(
            "Sentence that shows it: %(numbers)s", "Sentences that show it: %(numbers)s", len(shown)
        )
        parts.append(told % {"numbers": ", ".join(map(str, shown))})
    if texts.get(FEEDBACK):
        told = _("To the people who made the task: %(text)s")
        parts.append(told % {"text": texts[FEEDBACK]})
    return "\n".join(part for part in parts if part)
