"""The methods by slug; a new method is one new file and one line here."""

from __future__ import annotations

from dataclasses import replace

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer_study import method as aqer_study
from evaluation.methods.baselines import bag_of_words, baselines, rasa, roy
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.checklists import attribute_diversity
from evaluation.methods.checklists import study as checklist_study
from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Method
from evaluation.methods.labels import method as labels
from evaluation.methods.pairwise import checks as pairwise_checks
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.rescaling import method as rescaling
from evaluation.methods.rescaling import ratings
from evaluation.methods.writing import method as writing

METHODS: dict[str, Method] = {
    method.slug: method
    for method in (
        aqer.METHOD,
        # The same method; its runs read the answers of a panel's members alone.
        replace(aqer.METHOD, slug="aqer_panel", title="AQER on a panel’s answers"),
        aqer_study.METHOD,
        attribute_diversity.METHOD,
        bag_of_words.METHOD,
        bradley_terry.METHOD,
        checklist_study.METHOD,
        dawid_skene.METHOD,
        labels.METHOD,
        mace.METHOD,
        pairwise.METHOD,
        pairwise_checks.METHOD,
        rasa.METHOD,
        ratings.METHOD,
        rescaling.METHOD,
        roy.METHOD,
        writing.METHOD,
        *baselines.METHODS,
    )
}


def get_method(slug: str) -> Method:
    """The method of this slug; raises BadParameter naming those that exist."""
    try:
        return METHODS[slug]
    except KeyError:
        known = ", ".join(sorted(METHODS))
        raise BadParameter(f"there is no method {slug!r}; there are: {known}") from None
