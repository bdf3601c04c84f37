"""The methods by slug; a new method is one new file and one line here."""

from __future__ import annotations

from dataclasses import replace

from evaluation.methods.aqer import classes as aqer_classes
from evaluation.methods.aqer import joint
from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer_study import method as aqer_study
from evaluation.methods.aqer_study import workers as text_methods
from evaluation.methods.baselines import bag_of_words, baselines, chai, rasa, roy
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.checklists import attribute_diversity
from evaluation.methods.checklists import references as text_references
from evaluation.methods.checklists import study as checklist_study
from evaluation.methods.competence import dawid_skene, glad
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Method
from evaluation.methods.labels import method as labels
from evaluation.methods.pairwise import checks as pairwise_checks
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.replacement import method as replacement
from evaluation.methods.rescaling import learned, ratings
from evaluation.methods.rescaling import method as rescaling
from evaluation.methods.traces import method as traces
from evaluation.methods.turns import method as turns
from evaluation.methods.writing import method as writing

METHODS: dict[str, Method] = {
    method.slug: method
    for method in (
        aqer.METHOD,
        # The same method; its runs read the answers of a panel's members alone.
        replace(aqer.METHOD, slug="aqer_panel", title="AQER on a panel’s answers"),
        aqer_classes.METHOD,
        joint.METHOD,
        aqer_study.METHOD,
        attribute_diversity.METHOD,
        bag_of_words.METHOD,
        bradley_terry.METHOD,
        chai.METHOD,
        checklist_study.METHOD,
        dawid_skene.METHOD,
        glad.METHOD,
        labels.METHOD,
        mace.METHOD,
        pairwise.METHOD,
        pairwise_checks.METHOD,
        rasa.METHOD,
        ratings.METHOD,
        replacement.METHOD,
        # The same test where people and models write, and their texts are compared by vectors.
        replace(
            replacement.METHOD,
            slug="replacement_texts",
            title="Can a model replace who writes your answers?",
        ),
        rescaling.METHOD,
        learned.METHOD,
        roy.METHOD,
        text_methods.METHOD,
        text_references.METHOD,
        traces.METHOD,
        turns.METHOD,
        writing.METHOD,
        *baselines.METHODS,
    )
}


def reason_missing(slug: str) -> str:
    """Why a method cannot be run by itself: it is part of another; "" where it is no such."""
    if slug in METHODS and METHODS[slug].internal:
        return f"is not started by itself ({METHODS[slug].internal})"
    return ""


def get_method(slug: str) -> Method:
    """The method of this slug; raises BadParameter naming those that exist."""
    try:
        return METHODS[slug]
    except KeyError:
        known = ", ".join(sorted(METHODS))
        raise BadParameter(f"there is no method {slug!r}; there are: {known}") from None
