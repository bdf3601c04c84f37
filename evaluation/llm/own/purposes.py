"""What a project's own prompt can be for, and the placeholders that each way of asking fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_noop

# What stands for each placeholder, and an example of it.
PLACES: dict[str, tuple[str, str]] = {
    "answer": (gettext_noop("The answer that is scored or was rated."), "It opened in 1932."),
    "article": (
        gettext_noop("The text behind the question, as numbered sentences."),
        "1. The bridge is old.",
    ),
    "attributes": (
        gettext_noop("The attributes, numbered."),
        "1. Look at the order of the sentences.",
    ),
    "citing": (
        gettext_noop("How passages are to be cited."),
        "Put the number of the passage in brackets.",
    ),
    "components": (
        gettext_noop("The components, c1 and so on, with what belongs to each."),
        "c1. Order",
    ),
    "definition": (
        gettext_noop("What the quality means."),
        "A text is coherent if its parts belong together.",
    ),
    "description": (
        gettext_noop("The longer description of the dimension."),
        "Think of a reader in a hurry.",
    ),
    "dimension": (gettext_noop("The quality that is judged."), "coherence"),
    "dimensions": (gettext_noop("Every dimension, a line each."), "- clarity (Clarity; A, N or B)"),
    "explanation": (
        gettext_noop("What the annotator wrote about the rating."),
        "It leaves out the second year.",
    ),
    "fields": (
        gettext_noop("Every field with its values."),
        "topic: What is it about? One of these values:",
    ),
    "instructions": (
        gettext_noop("The task’s instructions for people."),
        "Read both texts before you judge.",
    ),
    "item": (gettext_noop("The text of the item."), "The hotel was clean, but the room was loud."),
    "label": (gettext_noop("The name of the dimension, or the level that was rated."), "Clarity"),
    "left": (gettext_noop("The text that is called A."), "The bridge opened in 1932."),
    "limits": (gettext_noop("The limits on length."), "at most 50 words"),
    "neutral": (
        gettext_noop("When N may be answered; empty where it may not."),
        "if neither is better",
    ),
    "passage": (
        gettext_noop("The text that people are shown."),
        "The bridge was built from 1929 to 1932.",
    ),
    "passages": (
        gettext_noop("The ranked passages with their numbers."),
        "[1] The bridge was built in 1932.",
    ),
    "query": (gettext_noop("The query behind the texts."), "How old is the bridge?"),
    "question": (gettext_noop("The question as people read it."), "When did the bridge open?"),
    "questions": (
        gettext_noop("Every question of the checklist, numbered."),
        "q1. Is the text clear?",
    ),
    "right": (gettext_noop("The text that is called B."), "It opened in the thirties."),
    "rubric": (
        gettext_noop("What the dimension means, as its task says."),
        "Parts of a text belong together.",
    ),
    "samples": (
        gettext_noop("Texts that were scored already."),
        "Sample 1: the bridge opened. Score: 4",
    ),
    "scale": (gettext_noop("The rating with its question."), "Completeness. Is anything missing?"),
    "source": (
        gettext_noop("The document that the text was written from."),
        "The council met on Monday.",
    ),
    "sources": (
        gettext_noop("The sources that people are shown."),
        "[1] The bridge was built in 1932.",
    ),
    "steps": (
        gettext_noop("The evaluation steps that were made from the definition."),
        "1. Read the text.",
    ),
    "style": (gettext_noop("The style of the response."), "Essay"),
    "text": (gettext_noop("The text that is judged."), "The bridge opened in 1932."),
    "topic": (gettext_noop("The title of the item’s group."), "Bridges"),
    "unknown": (gettext_noop("What to answer where the answer is not known."), "I don’t know"),
}


@dataclass(frozen=True)
class Purpose:
    """One way of asking that a prompt can be written for.

    ``base`` is the built-in prompt that is used otherwise; ``shapes`` are the answers whose tasks
    are asked so; ``method`` and ``params`` are the runs that ask so, ``option`` the one of theirs
    that names the prompt. ``optional`` are placeholders offered beside the ``required`` ones.
    ``reads`` says what form of answer can be read.
    """

    slug: str
    title: str
    method: str
    base: str
    shapes: tuple[str, ...]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    reads: str
    option: str = "prompt"
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def offered(self) -> tuple[str, ...]:
        """Return every placeholder, the required ones first."""
        return self.required + self.optional


ANY_TEXT = gettext_noop("Any text; what follows “The answer is:” where that stands.")
A_SCORE = gettext_noop("A number from 0 to 100, as JSON with “score” or the first in the text.")
SHOWN = ("instructions", "query", "sources")
ASPECT = ("question", "description")
CHECKED = ("source", "dimension", "definition")


def _stage(
    kind: str, title: str, required: tuple[str, ...], optional: tuple[str, ...], reads: str
) -> Purpose:
    """A stage of a checklist that a model makes; its built-in prompt has the stage's name."""
    shapes, params = ("attributes",), {"stage": kind}
    slug = f"stage_{kind}"
    return Purpose(
        slug, title, "checklist_stage", kind, shapes, required, optional, reads, params=params
    )


RUBRIC = ("dimension", "rubric")

PURPOSES = {
    one.slug: one
    for one in (
        Purpose(
            "answer",
            gettext_noop("Answer a question"),
            "answers",
            "answer_sentence",
            ("texts",),
            ("question",),
            ("passage", "topic", "limits", "unknown"),
            ANY_TEXT,
            "strategy",
        ),
        Purpose(
            "answer_steps",
            gettext_noop("Answer a question after thinking in steps"),
            "answers",
            "answer_steps",
            ("texts",),
            ("question",),
            ("passage", "topic", "limits", "unknown"),
            gettext_noop("What follows the last “The answer is:”; without it the answer fails."),
            "strategy",
        ),
        Purpose(
            "answer_writing",
            gettext_noop("Write a response from passages"),
            "answers",
            "answer_writing",
            ("responses",),
            ("query",),
            ("passages", "style", "instructions", "limits", "citing"),
            gettext_noop("The whole text, with citations such as [1]."),
            "strategy",
        ),
        Purpose(
            "answer_labels",
            gettext_noop("Label an item"),
            "answers",
            "answer_labels",
            ("labels",),
            ("item", "fields"),
            ("instructions", "passage"),
            gettext_noop("A JSON object with a value for each field by its name."),
            "strategy",
        ),
        Purpose(
            "pair_all",
            gettext_noop("Judge a pair on all dimensions at once"),
            "judge_pairs",
            "judge_pair_combined",
            ("pairs",),
            ("left", "right", "dimensions"),
            (*SHOWN, "neutral"),
            gettext_noop("A letter (A, N or B) for each dimension, as JSON or a line each."),
            params={"mode": "combined"},
        ),
        Purpose(
            "pair_one",
            gettext_noop("Judge a pair on one dimension"),
            "judge_pairs",
            "judge_pair_single",
            ("pairs",),
            ("left", "right", "label"),
            (*SHOWN, *ASPECT, "neutral"),
            gettext_noop("One letter (A, N or B), as JSON with “winner” or the last in the text."),
            params={"mode": "individual"},
        ),
        Purpose(
            "point_answer",
            gettext_noop("Score an answer to a question"),
            "judge_points",
            "judge_point",
            ("texts",),
            ("question", "answer"),
            ("passage",),
            A_SCORE,
        ),
        Purpose(
            "point_text",
            gettext_noop("Score a text on one dimension"),
            "judge_points",
            "judge_text",
            ("pairs", "ratings"),
            ("text", "label"),
            (*SHOWN, *ASPECT),
            A_SCORE,
        ),
        Purpose(
            "check_one",
            gettext_noop("Answer one checklist question"),
            "checklist_answers",
            "check_question",
            ("checks",),
            ("text", "question"),
            CHECKED,
            gettext_noop("Yes or no, as JSON with “answer” or the first such word."),
            params={"way": "each"},
        ),
        Purpose(
            "check_all",
            gettext_noop("Answer a whole checklist"),
            "checklist_answers",
            "check_all",
            ("checks",),
            ("text", "questions"),
            CHECKED,
            gettext_noop("A JSON object with yes or no under q1, q2 and so on."),
            params={"way": "all"},
        ),
        Purpose(
            "rate_steps",
            gettext_noop("Write evaluation steps (G-Eval)"),
            "g_eval",
            "g_eval_steps",
            ("checks",),
            ("definition",),
            ("dimension",),
            gettext_noop("The whole text."),
            "steps_prompt",
        ),
        Purpose(
            "rate_text",
            gettext_noop("Rate a text from 1 to 5 (G-Eval)"),
            "g_eval",
            "g_eval_score",
            ("checks",),
            ("text",),
            (*CHECKED, "steps"),
            gettext_noop(
                "A whole number from 1 to 5, as JSON with “score” or the first in the text."
            ),
        ),
        Purpose(
            "think_aloud",
            gettext_noop("Think aloud on a dimension"),
            "think_aloud",
            "think_aloud",
            ("attributes",),
            ("dimension",),
            ("rubric", "samples"),
            gettext_noop("JSON with a list under “considerations”, or a numbered list."),
        ),
        _stage(
            "components",
            gettext_noop("Find the components of a checklist"),
            ("attributes",),
            RUBRIC,
            gettext_noop("JSON with a list under “components”, at most five."),
        ),
        _stage(
            "clusters",
            gettext_noop("Sort attributes under components"),
            ("components", "attributes"),
            ("dimension",),
            gettext_noop("JSON with a list of numbers of attributes under c1, c2 and so on."),
        ),
        _stage(
            "key_questions",
            gettext_noop("Write the key questions of a checklist"),
            ("components",),
            RUBRIC,
            gettext_noop("JSON with a question under c1, c2 and so on."),
        ),
        _stage(
            "sub_questions",
            gettext_noop("Write the sub-questions of a checklist"),
            ("components",),
            RUBRIC,
            gettext_noop(
                "JSON with a list under c1, c2 and so on: “question”, and “attributes” by number."
            ),
        ),
        _stage(
            "validation",
            gettext_noop("Check the questions of a checklist"),
            ("questions",),
            RUBRIC,
            gettext_noop(
                "JSON with a list under “questions”: “question”, and “made_of” by number."
            ),
        ),
        Purpose(
            "rescale",
            gettext_noop("Rescale a rating by its explanation"),
            "rescaling",
            "rescale_answer",
            ("ratings",),
            ("explanation",),
            ("scale", "label", "article", "question", "answer"),
            A_SCORE,
        ),
    )
}
