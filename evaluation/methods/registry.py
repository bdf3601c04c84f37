"""The methods by slug; a new method is one new file and one line here."""

from __future__ import annotations

from dataclasses import replace

from evaluation.methods import (
    aqer,
    aqer_study,
    attribute_diversity,
    bag_of_words,
    baselines,
    bradley_terry,
    checklist_study,
    dawid_skene,
    mace,
    pairwise,
    pairwise_checks,
    rasa,
    ratings,
    rescaling,
    roy,
    writing,
)
from evaluation.methods.base import BadParameter, Method

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
}  # fmt: skip


def get_method(slug: str) -> Method:
    """The method of this slug; raises BadParameter naming those that exist."""
    try:
        return METHODS[slug]
    except KeyError:
        known = ", ".join(sorted(METHODS))
        raise BadParameter(f"there is no method {slug!r}; there are: {known}") from None
