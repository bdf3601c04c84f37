"""What a project's own prompt can be for, and the placeholders that each way of asking fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# What stands for each placeholder, and an example of it.
PLACES: dict[str, tuple[str, str]] = {
    "answer": ("The answer that is scored or was rated.", "It opened in 1932."),
    "article": ("The text behind the question, as numbered sentences.", "1. The bridge is old."),
    "attributes": ("The attributes, numbered.", "1. Look at the order of the sentences."),
    "citing": ("How passages are to be cited.", "Put the number of the passage in brackets."),
    "components": ("The components, c1 and so on, with what belongs to each.", "c1. Order"),
    "definition": ("What the quality means.", "A text is coherent if its parts belong together."),
    "description": ("The longer description of the dimension.", "Think of a reader in a hurry."),
    "dimension": ("The quality that is judged.", "coherence"),
    "dimensions": ("Every dimension, a line each.", "- clarity (Clarity; A, N or B)"),
    "explanation": ("What the annotator wrote about the rating.", "It leaves out the second year."),
    "fields": ("Every field with its values.", "topic: What is it about? One of these values:"),
    "instructions": ("The task’s instructions for people.", "Read both texts before you judge."),
    "item": ("The text of the item.", "The hotel was clean, but the room was loud."),
    "label": ("The name of the dimension, or the level that was rated.", "Clarity"),
    "left": ("The text that is called A.", "The bridge opened in 1932."),
    "limits": ("The limits on length.", "at most 50 words"),
    "neutral": ("When N may be answered; empty where it may not.", "if neither is better"),
    "passage": ("The text that people are shown.", "The bridge was built from 1929 to 1932."),
    "passages": ("The ranked passages with their numbers.", "[1] The bridge was built in 1932."),
    "query": ("The query behind the texts.", "How old is the bridge?"),
    "question": ("The question as people read it.", "When did the bridge open?"),
    "questions": ("Every question of the checklist, numbered.", "q1. Is the text clear?"),
    "right": ("The text that is called B.", "It opened in the thirties."),
    "rubric": ("What the dimension means, as its task says.", "Parts of a text belong together."),
    "samples": ("Texts that were scored already.", "Sample 1: the bridge opened. Score: 4"),
    "scale": ("The rating with its question.", "Completeness. Is anything missing?"),
    "source": ("The document that the text was written from.", "The council met on Monday."),
    "sources": ("The sources that people are shown.", "[1] The bridge was built in 1932."),
    "steps": ("The evaluation steps that were made from the definition.", "1. Read the text."),
    "style": ("The style of the response.", "Essay"),
    "text": ("The text that is judged.", "The bridge opened in 1932."),
    "topic": ("The title of the item’s group.", "Bridges"),
    "unknown": ("What to answer where the answer is not known.", "I don’t know"),
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
        """Every placeholder, the required ones first."""
        return self.required + self.optional


ANY_TEXT = "Any text; what follows “The answer is:” where that stands."
A_SCORE = "A number from 0 to 100, as JSON with “score” or the first in the text."
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
            "Answer a question",
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
            "Answer a question after thinking in steps",
            "answers",
            "answer_steps",
            ("texts",),
            ("question",),
            ("passage", "topic", "limits", "unknown"),
            "What follows the last “The answer is:”; without it the answer fails.",
            "strategy",
        ),
        Purpose(
            "answer_writing",
            "Write a response from passages",
            "answers",
            "answer_writing",
            ("responses",),
            ("query",),
            ("passages", "style", "instructions", "limits", "citing"),
            "The whole text, with citations such as [1].",
            "strategy",
        ),
        Purpose(
            "answer_labels",
            "Label an item",
            "answers",
            "answer_labels",
            ("labels",),
            ("item", "fields"),
            ("instructions", "passage"),
            "A JSON object with a value for each field by its name.",
            "strategy",
        ),
        Purpose(
            "pair_all",
            "Judge a pair on all dimensions at once",
            "judge_pairs",
            "judge_pair_combined",
            ("pairs",),
            ("left", "right", "dimensions"),
            (*SHOWN, "neutral"),
            "A letter (A, N or B) for each dimension, as JSON or a line each.",
            params={"mode": "combined"},
        ),
        Purpose(
            "pair_one",
            "Judge a pair on one dimension",
            "judge_pairs",
            "judge_pair_single",
            ("pairs",),
            ("left", "right", "label"),
            (*SHOWN, *ASPECT, "neutral"),
            "One letter (A, N or B), as JSON with “winner” or the last in the text.",
            params={"mode": "individual"},
        ),
        Purpose(
            "point_answer",
            "Score an answer to a question",
            "judge_points",
            "judge_point",
            ("texts",),
            ("question", "answer"),
            ("passage",),
            A_SCORE,
        ),
        Purpose(
            "point_text",
            "Score a text on one dimension",
            "judge_points",
            "judge_text",
            ("pairs", "ratings"),
            ("text", "label"),
            (*SHOWN, *ASPECT),
            A_SCORE,
        ),
        Purpose(
            "check_one",
            "Answer one checklist question",
            "checklist_answers",
            "check_question",
            ("checks",),
            ("text", "question"),
            CHECKED,
            "Yes or no, as JSON with “answer” or the first such word.",
            params={"way": "each"},
        ),
        Purpose(
            "check_all",
            "Answer a whole checklist",
            "checklist_answers",
            "check_all",
            ("checks",),
            ("text", "questions"),
            CHECKED,
            "A JSON object with yes or no under q1, q2 and so on.",
            params={"way": "all"},
        ),
        Purpose(
            "rate_steps",
            "Write evaluation steps (G-Eval)",
            "g_eval",
            "g_eval_steps",
            ("checks",),
            ("definition",),
            ("dimension",),
            "The whole text.",
            "steps_prompt",
        ),
        Purpose(
            "rate_text",
            "Rate a text from 1 to 5 (G-Eval)",
            "g_eval",
            "g_eval_score",
            ("checks",),
            ("text",),
            (*CHECKED, "steps"),
            "A whole number from 1 to 5, as JSON with “score” or the first in the text.",
        ),
        Purpose(
            "think_aloud",
            "Think aloud on a dimension",
            "think_aloud",
            "think_aloud",
            ("attributes",),
            ("dimension",),
            ("rubric", "samples"),
            "JSON with a list under “considerations”, or a numbered list.",
        ),
        _stage(
            "components",
            "Find the components of a checklist",
            ("attributes",),
            RUBRIC,
            "JSON with a list under “components”, at most five.",
        ),
        _stage(
            "clusters",
            "Sort attributes under components",
            ("components", "attributes"),
            ("dimension",),
            "JSON with a list of numbers of attributes under c1, c2 and so on.",
        ),
        _stage(
            "key_questions",
            "Write the key questions of a checklist",
            ("components",),
            RUBRIC,
            "JSON with a question under c1, c2 and so on.",
        ),
        _stage(
            "sub_questions",
            "Write the sub-questions of a checklist",
            ("components",),
            RUBRIC,
            "JSON with a list under c1, c2 and so on: “question”, and “attributes” by number.",
        ),
        _stage(
            "validation",
            "Check the questions of a checklist",
            ("questions",),
            RUBRIC,
            "JSON with a list under “questions”: “question”, and “made_of” by number.",
        ),
        Purpose(
            "rescale",
            "Rescale a rating by its explanation",
            "rescaling",
            "rescale_answer",
            ("ratings",),
            ("explanation",),
            ("scale", "label", "article", "question", "answer"),
            A_SCORE,
        ),
    )
}
