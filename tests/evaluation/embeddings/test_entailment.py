"""A cross-encoder by its folder: a tiny untrained one, so only the path is tested."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.embeddings.entailment import CrossEncoder
from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.entailment import start_votes
from tests.evaluation.methods.simulated import crowd

LABELS = ["contradiction", "neutral", "entailment"]


def build(folder: Path, labels: list[str]) -> Path:
    """A model of two small layers with random weights and a vocabulary of a few words."""
    transformers = pytest.importorskip("transformers")
    import torch

    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "blue", "a", "wall", "is"]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        initializer_range=2.0,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_local_cross_encoder_starts_aqer(tmp_path: Path) -> None:
    scorer = CrossEncoder(build(tmp_path, LABELS))
    premises = ["a red wall", "a blue wall is a wall", "red"] * 15
    hypotheses = ["red", "blue", "a wall is red"] * 15
    found = scorer(premises, hypotheses)
    assert found.shape == (45,)
    assert np.all((found > 0) & (found < 1))
    # The order of pairs and what they are batched with do not matter, what stands first does.
    np.testing.assert_allclose(found, np.tile(scorer(premises[:3], hypotheses[:3]), 15), atol=1e-6)
    assert np.abs(scorer(hypotheses[:3], premises[:3]) - found[:3]).max() > 1e-4
    data = crowd(np.array([0.4, 0.6, 0.8]), questions=3, seed=1)
    texts = ["red wall", "blue", "a wall", "is", "a red", "red red", "wall", "a blue", "blue wall"]
    votes = start_votes(data, texts, scorer)
    result = aqer.fit(
        data, rng=np.random.default_rng(0), start="entailment", start_votes=votes, resamples=0
    )
    assert np.isfinite(result.estimates["worker"]["score"]).all()
    assert scorer.identity.startswith(tmp_path.name)


def test_pairs_longer_than_the_model_are_cut(tmp_path: Path) -> None:
    scorer = CrossEncoder(build(tmp_path, LABELS))  # 32 tokens, and no limit in its tokenizer
    long, longer = "red " * 40, "red " * 90
    found = scorer([long, longer], ["blue", "blue"])
    assert np.all((found > 0) & (found < 1)) and found[0] == pytest.approx(found[1])


def test_a_folder_without_an_entailment_model_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="holds no classifier"):
        CrossEncoder(tmp_path)(["a"], ["b"])
    with pytest.raises(Invalid, match="no label entailment, but good, poor"):
        CrossEncoder(build(tmp_path, ["poor", "good"]))(["a"], ["b"])


def test_a_single_output_is_a_similarity_by_the_logistic_function(tmp_path: Path) -> None:
    folder = build(tmp_path, ["score"])
    pairs = ["a red wall", "red"], ["red", "a wall is blue"]
    found = CrossEncoder(folder, similarity=True)(*pairs)
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(*pairs, padding=True, return_tensors="pt")
    with torch.inference_mode():
        raw = model(**tokens).logits[:, 0].double().numpy()
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-raw)), atol=1e-6)
    with pytest.raises(Invalid, match="no label entailment, but score"):
        CrossEncoder(folder)(*pairs)
