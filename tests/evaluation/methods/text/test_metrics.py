"""Similarity of texts against NLTK, textbook recursions and published examples."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.metrics.scores import f_measure
from nltk.stem import PorterStemmer
from nltk.tokenize import word_tokenize
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from evaluation.methods.core.base import BadParameter, BadShape, BadVector
from evaluation.methods.text.corpus import TokenVectors, stem, token_ids, treebank
from evaluation.methods.text.metrics import (
    Similarity,
    bert_score,
    bleu,
    f1,
    lcs_lengths,
    pairs,
    reduce_pairs,
    rouge_l,
)

NLTK = {"none": "method0", "epsilon": "method1", "add_one": "method2", "nist": "method3"}
ENDS = ["", "s", "ing", "ed", "ation", "izer", "iveness", "ement", "ness", "ically", "ies", "ion"]
WORD = st.text("abc", min_size=1, max_size=1)
TEXT = st.lists(WORD, max_size=12)
# Texts with the question they answer and whether they are a reference.
CROWD = st.lists(st.tuples(TEXT, st.integers(0, 2), st.booleans()), min_size=2, max_size=12)


@cache
def lcs(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """The textbook recursion."""
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return lcs(a[:-1], b[:-1]) + 1
    return max(lcs(a[:-1], b), lcs(a, b[:-1]))


def others(crowd: list[tuple[list[str], int, bool]], row: int) -> list[list[str]]:
    return [
        text
        for k, (text, question, votes) in enumerate(crowd)
        if k != row and votes and question == crowd[row][1]
    ]


def arrays(crowd: list[tuple[list[str], int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([q for _, q, _ in crowd]), np.array([v for _, _, v in crowd])


@pytest.mark.parametrize("smoothing", NLTK)
@pytest.mark.filterwarnings("ignore:\\nThe hypothesis contains 0 counts")
@settings(max_examples=60, deadline=None)
@given(crowd=CROWD)
def test_bleu_of_a_whole_crowd_is_nltks_bleu_of_each_response(
    smoothing: str, crowd: list[tuple[list[str], int, bool]]
) -> None:
    texts = token_ids([text for text, _, _ in crowd])
    question, votes = arrays(crowd)
    smoother = getattr(SmoothingFunction(), NLTK[smoothing])
    four = bleu(texts, question, votes, smoothing=smoothing)
    one = bleu(texts, question, votes, order=1)
    for row, (text, _, _) in enumerate(crowd):
        references = others(crowd, row)
        if not references:
            assert np.isnan(four[row]) and np.isnan(one[row])
            continue
        expected = sentence_bleu(references, text, smoothing_function=smoother)
        assert four[row] == pytest.approx(expected, abs=1e-12)
        assert one[row] == pytest.approx(sentence_bleu(references, text, (1.0,)), abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(crowd=CROWD)
def test_f1_and_rouge_l_pick_the_best_reference_as_the_slow_way_does(
    crowd: list[tuple[list[str], int, bool]],
) -> None:
    texts = token_ids([text for text, _, _ in crowd])
    question, votes = arrays(crowd)

    def overlap(a: list[str], b: list[str]) -> float:
        return f_measure(set(a), set(b)) or 0.0 if a and b else 0.0

    def sequence(a: list[str], b: list[str]) -> float:
        return 2 * lcs(tuple(a), tuple(b)) / max(len(a) + len(b), 1)

    for measure, slow in ((f1, overlap), (rouge_l, sequence)):
        best = reduce_pairs(measure(texts), question, votes)
        mean = reduce_pairs(measure(texts), question, votes, references="mean")
        for row, (text, _, _) in enumerate(crowd):
            values = [slow(text, other) for other in others(crowd, row)]
            assert best[row] == pytest.approx(max(values) if values else np.nan, nan_ok=True)
            assert mean[row] == pytest.approx(np.mean(values) if values else np.nan, nan_ok=True)


def test_common_subsequences_are_right_across_machine_words() -> None:
    rng = np.random.default_rng(0)
    lists = [list(rng.integers(0, 6, size)) for size in (0, 1, 63, 64, 65, 127, 128, 129, 200)]
    texts = token_ids([[str(token) for token in one] for one in lists])
    first, second = np.triu_indices(len(lists))
    found = lcs_lengths(texts, first, second)
    for a, b, length in zip(first, second, found, strict=True):
        table = np.zeros((len(lists[a]) + 1, len(lists[b]) + 1), dtype=int)
        for i, x in enumerate(lists[a]):
            for j, y in enumerate(lists[b]):
                table[i + 1, j + 1] = (
                    table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
                )
        assert length == table[-1, -1]


def test_bleu_gives_the_published_clipping_example() -> None:
    """Papineni et al. (2002), example 2: 'the' seven times has precision 2/7, not 7/7."""
    candidate, first, second = (
        "the the the the the the the",
        "the cat is on the mat",
        "there is a cat on the mat",
    )
    texts = token_ids([text.split() for text in (candidate, first, second)])
    votes = np.array([False, True, True])
    assert bleu(texts, np.zeros(3, dtype=np.int64), votes, order=1)[0] == pytest.approx(2 / 7)


def test_rouge_l_gives_the_published_example() -> None:
    """Lin (2004), section 3.1: 'police killed the gunman' against two candidates: 3/4 and 2/4."""
    lines = ("police killed the gunman", "police kill the gunman", "the gunman kill police")
    texts = token_ids([line.split() for line in lines])
    found = rouge_l(texts)(np.array([0, 0]), np.array([1, 2]))
    assert found.tolist() == [0.75, 0.5]


def slow_bert(a: np.ndarray, b: np.ndarray) -> float:
    cosine = a @ b.T
    p, r = cosine.max(axis=1).mean(), cosine.max(axis=0).mean()
    return float(2 * p * r / (p + r))


def test_bert_score_is_the_greedy_match_of_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    lengths = np.array([3, 1, 0, 5, 4, 2])
    raw = np.abs(rng.standard_normal((lengths.sum(), 7)))
    start = np.concatenate([[0], np.cumsum(lengths)])
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    parts = np.split(unit, start[1:-1])
    first, second = (index.ravel() for index in np.indices((6, 6)))
    expected = [
        slow_bert(parts[a], parts[b]) if lengths[a] and lengths[b] else 0.0
        for a, b in zip(first, second, strict=True)
    ]
    group = np.array([0, 0, 0, 1, 1, 1])
    measured: Similarity = bert_score(TokenVectors(start, raw, "test"), group)
    np.testing.assert_allclose(measured(first, second), expected, atol=1e-6)
    monkeypatch.setattr("evaluation.methods.text.metrics.CELLS", 20)  # many small blocks
    np.testing.assert_allclose(measured(first, second), expected, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(crowd=CROWD, block=st.integers(1, 9))
def test_every_pair_of_a_question_comes_once_whatever_the_block(
    crowd: list[tuple[list[str], int, bool]], block: int
) -> None:
    question, votes = arrays(crowd)
    found = [
        frozenset((a, b))
        for first, second in pairs(question, votes, block)
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    expected = {
        frozenset((a, b))
        for a in range(len(crowd))
        for b in range(a)
        if question[a] == question[b] and (votes[a] or votes[b])
    }
    assert len(found) == len(set(found)) and set(found) == expected


@pytest.mark.parametrize(
    "text",
    [
        "He said: \"I can't, won't (gonna?) do it\"...",
        "It's 3.88, DON'T cost $3,000; e.g. a[i] = *p -- done!",
        "arrays' length; `quoted' 'tis cannot wanna go .",
        "“curly” l’été … a.b. end.)",
        "",
    ],
)
def test_words_are_cut_as_nltk_cuts_them(text: str) -> None:
    assert treebank(text) == word_tokenize(text, preserve_line=True)


@settings(max_examples=100, deadline=None)
@given(st.text("aeoglmntsTSN'., \"(", max_size=20))
def test_any_text_is_cut_as_nltk_cuts_it(text: str) -> None:
    assert treebank(text) == word_tokenize(text, preserve_line=True)


def test_stems_are_porters() -> None:
    published = {
        "caresses": "caress",
        "ponies": "poni",
        "feed": "feed",
        "agreed": "agre",
        "plastered": "plaster",
        "motoring": "motor",
        "sing": "sing",
        "conflated": "conflat",
        "hopping": "hop",
        "falling": "fall",
        "filing": "file",
        "happy": "happi",
        "relational": "relat",
        "vietnamization": "vietnam",
        "electriciti": "electr",
        "adoption": "adopt",
        "rate": "rate",
        "controll": "control",
    }
    assert {word: stem(word) for word in published} == published


@settings(max_examples=100, deadline=None)
@given(st.text("aeiblnst", min_size=1, max_size=5), st.sampled_from(ENDS))
def test_any_word_is_stemmed_as_nltk_stems_it(start: str, end: str) -> None:
    word = start + end  # of two y in a row, as no word has them, the two make different things
    if len(word) > 2:  # the published programme leaves shorter words alone
        assert stem(word) == PorterStemmer(mode="ORIGINAL_ALGORITHM").stem(word)


def test_what_cannot_be_compared_is_said() -> None:
    texts = token_ids([["a"], ["b"]])
    question, votes = np.zeros(2, dtype=np.int64), np.ones(2, dtype=bool)
    with pytest.raises(BadParameter, match="smoothing"):
        bleu(texts, question, votes, smoothing="some")
    with pytest.raises(BadParameter, match="order"):
        bleu(texts, question, votes, order=0)
    with pytest.raises(BadParameter, match="references"):
        reduce_pairs(f1(texts), question, votes, references="median")
    with pytest.raises(BadVector, match="not finite"):
        TokenVectors(np.array([0, 1]), np.array([[np.nan]]), "test")
    with pytest.raises(BadShape, match="start"):
        TokenVectors(np.array([0, 2]), np.ones((1, 3)), "test")
