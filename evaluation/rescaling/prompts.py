"""What a model is told of a rating, by variant of the prompt (section 5.1, App. B and Table 9).

Each variant carries its own inputs and nothing else. The article stands first where there is one,
so that endpoints which keep what prompts begin with read it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop, ngettext

from annotation.models import Task
from annotation.task_types.sentences import sentences
from annotation.work.snapshots import explanations
from annotation.work.snapshots.explanations import RatedDocument, RatingScale
from crowdqc import numbers
from crowdqc.errors import Conflict
from evaluation.llm.ask import ModelQuestion
from evaluation.llm.own import selectors as own
from evaluation.llm.prompting import Template, load
from evaluation.llm.schemas import SCORE
from evaluation.rescaling.dataset import ExplanationsDataset

# What was published on these: whose scores they are, and what it was told.
PUBLISHED_MODEL = "gpt-3.5-turbo"
PUBLISHED_PROMPT = "published: label, explanation and article"

PARAMS = {"temperature": 0, "max_tokens": 100}
TRIES = 3
JUDGES = "lets the model judge for itself"


@dataclass(frozen=True)
class Variant:
    """A way of asking: its prompt, what it is called, and what it tells beside the explanation.

    ``judges``: the model sees the answer, so it may score that instead of the explanation.
    """

    slug: str
    prompt: str
    label: str
    inputs: tuple[str, ...]
    paper: str  # its name in Table 9
    judges: bool = False


VARIANTS: dict[str, Variant] = {
    one.slug: one
    for one in (
        Variant(
            "explanation",
            "rescale_explanation",
            gettext_noop("Explanation only"),
            (),
            "only explanation",
        ),
        Variant(
            "label", "rescale_label", gettext_noop("With the label"), ("label",), "EBR w/o article"
        ),
        Variant(
            "article",
            "rescale_article",
            gettext_noop("With label and article"),
            ("label", "article"),
            "EBR",
        ),
        Variant(
            "question",
            "rescale_question",
            gettext_noop("With the question too"),
            ("label", "article", "question"),
            "EBR + Question",
        ),
        Variant(
            "answer",
            "rescale_answer",
            gettext_noop("With question and answer too"),
            ("label", "article", "question", "answer"),
            "EBR + Question + Answer",
            judges=True,
        ),
    )
}
DEFAULT = "article"
PURPOSE, INPUTS = "rescale", ("label", "article", "question", "answer")


def subject_of(answer_id: int) -> str:
    """Return the subject of a call about an answer, as CallUse stores it."""
    return f"answer:{answer_id}"


def describe_point(scale: RatingScale, value: int) -> str:
    """A point as the model reads it: its label, what it means, and its place among the others."""
    at = next(k for k, point in enumerate(scale.points) if point.value == value)
    point = scale.points[at]
    meaning = f": {point.description}" if point.description else ""
    return f"{point.label}{meaning} (category {at + 1} of {len(scale.points)}, from worst to best)"


def numbered(document: str) -> str:
    """A document as numbered sentences, one a line."""
    return "\n".join(f"{k}. {text}" for k, text in enumerate(sentences(document), 1))


def rating_questions(
    task: Task, frozen: ExplanationsDataset, slug: str, ref: str = ""
) -> list[ModelQuestion]:
    """A question to the model for each explained rating, in the order of the snapshot.

    ``ref`` names a prompt of the project, which tells what its placeholders name, in place of the
    variant; what an item lacks is left empty there. Raises Conflict where an item lacks what a
    variant tells, and Invalid for no such prompt.
    """
    variant = VARIANTS[slug]
    if not ref:
        return list(_questions(task, frozen, variant, load(variant.prompt)))
    template = own.template_for(task.project_id, PURPOSE, ref)
    told = tuple(name for name in INPUTS if name in template.places)
    return list(_questions(task, frozen, Variant(ref, ref, ref, told, ""), template))


def _questions(
    task: Task, frozen: ExplanationsDataset, variant: Variant, template: Template
) -> Iterator[ModelQuestion]:
    scale = frozen.scale
    about = explanations.rated_documents(task)
    articles: dict[int, str] = {}
    if "article" in variant.inputs:
        articles = {pk: numbered(text) for pk, text in explanations.documents(task).items()}
    if variant.paper:
        _complete(frozen, variant, about, articles)
    asked = f"{scale.label}. {scale.question}".strip()
    for row in frozen.rows:
        if not row.explanation:
            continue
        item = about[row.item_id]
        told = {
            "label": describe_point(scale, row.value),
            "article": articles.get(item.group_id, ""),
            "question": item.question,
            "answer": item.answer,
        }
        filled = {name: told[name] for name in variant.inputs}
        prompt = template.render(scale=asked, explanation=row.explanation, **filled)
        yield ModelQuestion(subject_of(row.answer_id), prompt, SCORE, PARAMS, tries=TRIES)


def _complete(
    frozen: ExplanationsDataset,
    variant: Variant,
    about: dict[int, RatedDocument],
    articles: dict[int, str],
) -> None:
    """Raise Conflict where items have no text for a place of the prompt."""
    lacking: Counter[str] = Counter()
    for pk in frozen.items:
        item = about[pk]
        has = {
            "article": articles.get(item.group_id),
            "question": item.question,
            "answer": item.answer,
            "label": "always",
        }
        lacking.update(name for name in variant.inputs if not (has[name] or "").strip())
    for name, count in lacking.items():
        said = ngettext(
            "%(items)s item has no %(part)s, which this prompt tells.",
            "%(items)s items have no %(part)s, which this prompt tells.",
            count,
        ) % {"items": numbers.count(count), "part": name}
        if name == "article":
            said += " " + gettext("Choose the variant with the label alone.")
        raise Conflict(said)
