"""How different attributes are by condition: sets whose answer is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.checklists import attribute_diversity
from evaluation.methods.checklists.attribute_diversity import Attributes
from evaluation.methods.core.base import BadParameter, BadShape, EmptyData

WORDS = "order thread pronoun opening ending tie claim source voice theme".split()


def made(people: list[str], models: list[str]) -> Attributes:
    """One dimension, one person and one model; a text's vector is a direction of its own."""
    texts = people + models
    place = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    vectors = np.eye(len(place))[[place[text] for text in texts]]
    author = [0] * len(people) + [1] * len(models)
    return Attributes.build(
        texts,
        vectors,
        [0] * len(texts),
        author,
        dimensions=["Order"],
        authors=["owl", "gpt"],
        model=[False, True],
    )


def fitted(data: Attributes) -> dict[str, object]:
    found = attribute_diversity.fit(data, rng=np.random.default_rng(1))
    told: dict[str, object] = found.diagnostics["dimensions"][0]
    return told


def test_alike_attributes_have_similarity_one_and_different_ones_none() -> None:
    told = fitted(made(WORDS[:10], ["look at the order"] * 10))
    person, model, combined = told["conditions"]  # type: ignore[misc]
    for measure in attribute_diversity.MEASURES:
        assert model[measure]["estimate"] == pytest.approx(1)
        assert person[measure]["estimate"] == pytest.approx(0)
        assert 0 < combined[measure]["estimate"] < 1
        assert "as like the others" in person[measure]["reason"]
    assert told["differences"] == {}  # neither side has a spread that says how sure it is
    assert [one["condition"] for one in (person, model, combined)] == [
        "one person",
        "one model",
        "people and models",
    ]


def test_a_small_set_has_no_interval_and_a_single_attribute_no_pair() -> None:
    told = fitted(made(WORDS[:1], WORDS[1:5]))
    person, model, _ = told["conditions"]  # type: ignore[misc]
    assert person["rouge"]["estimate"] is None and "no pair" in person["rouge"]["reason"]
    assert model["rouge"]["low"] is None and "needs 10" in model["rouge"]["reason"]
    assert told["differences"] == {} and "topics need 10" in str(told["no_topics"])


def test_attributes_of_two_subjects_fall_on_two_topics() -> None:
    nests, tides = "storks nest on chimneys in spring", "tides turn with moon and bays"
    data = made([nests] * 8, [tides] * 8)
    found = attribute_diversity.fit(data, rng=np.random.default_rng(1), topics=2)
    person, model, combined = found.diagnostics["dimensions"][0]["conditions"]
    assert sorted(person["spread"]["share"]) == sorted(model["spread"]["share"]) == [0, 1]
    assert combined["spread"]["share"] == [0.5, 0.5] and combined["spread"]["sd"] == 0
    topics = found.diagnostics["dimensions"][0]["topics"]
    shown = {word for words in topics for word in words}
    assert {"storks", "chimneys"} <= shown  # words as they were written, no stems


def test_wrong_data_and_parameters_are_named() -> None:
    with pytest.raises(EmptyData):
        made([], [])
    with pytest.raises(BadShape):
        Attributes.build(["a"], np.eye(2), [0], [0], dimensions=["d"], authors=["o"], model=[False])
    with pytest.raises(BadParameter, match="topics"):
        attribute_diversity.METHOD.check(topics=1)
