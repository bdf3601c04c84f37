"""Token vectors of the bundled sentence model, which BERTScore compares."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.embeddings.embeddings import get_encoder
from evaluation.embeddings.token_vectors import has_tokens, token_vectors
from evaluation.methods.text.metrics import bert_score


@pytest.fixture(scope="module", autouse=True)
def model() -> None:
    try:
        get_encoder("minilm")
    except Invalid as reason:
        pytest.skip(f"the bundled model is not here: {reason.message}")


def test_tokens_are_unit_vectors_without_the_special_ones_in_the_order_of_the_texts() -> None:
    texts = ["a longer text about a stack of plates", "queue", "", "queue"]
    found = token_vectors(texts)
    assert found.model == get_encoder("minilm").identity
    assert np.diff(found.start).tolist() == [8, 1, 0, 1]
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-5)
    # In another order, so in another batch with other padding.
    other = token_vectors(texts[::-1])
    np.testing.assert_allclose(found.vectors[:8], other.vectors[-8:], atol=1e-5)


def test_a_paraphrase_is_closer_than_another_subject() -> None:
    found = token_vectors(
        ["It stores the last item on top.", "The newest element lies on top.", "Bread is baked."]
    )
    score = bert_score(found, np.zeros(3, dtype=np.int64))(np.array([0, 0]), np.array([1, 2]))
    assert score[0] > score[1] + 0.1


@pytest.mark.parametrize("encoder", ["char-svd", "word-tfidf", "minilm+spelling"])
def test_an_encoder_without_tokens_is_refused(encoder: str) -> None:
    assert not has_tokens(encoder)
    with pytest.raises(Invalid) as refused:
        token_vectors(["a"], encoder)
    assert "encoder" in refused.value.fields


def test_a_static_model_has_no_tokens_and_a_transformer_has(tmp_path: Path) -> None:
    for name, has in (("StaticEmbedding", False), ("Transformer", True)):
        module = {"idx": 0, "name": "0", "path": "", "type": f"sentence_transformers.models.{name}"}
        (tmp_path / "modules.json").write_text(json.dumps([module]))
        assert has_tokens(f"path:{tmp_path}") is has
