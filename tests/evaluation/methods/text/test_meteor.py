"""METEOR against a worked example, by hand, and against NLTK's on random texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nltk.stem import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from evaluation.methods.text.corpus import stem, words
from evaluation.methods.text.meteor import align, meteor
from evaluation.methods.text.wordnet import is_wordnet, read_wordnet


class NoSynonyms:
    """WordNet without a word, so that NLTK matches by form and stem alone."""

    def synsets(self, word: str) -> list[Any]:
        return []


def nltk_score(text: list[str], reference: list[str]) -> float:
    found = single_meteor_score(
        reference,
        text,
        preprocess=str.lower,
        stemmer=PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM),
        wordnet=NoSynonyms(),
    )
    return float(found)


def test_worked_examples_by_hand() -> None:
    # 6 of 6 words match in 6 and 1 chunk(s) of the published penalty 0.5 (chunks / matches)^3.
    same = "the cat sat on a mat".split()
    assert meteor(same, [same]) == pytest.approx(1 - 0.5 / 6**3)
    turned = "mat a on sat cat the".split()
    assert meteor(turned, [same]) == pytest.approx(0.5)
    # P = 3/4, R = 3/6, Fmean = 10 P R / (R + 9 P); "cats" matches by its stem; 2 chunks.
    text = "the cats on green".split()
    mean = 10 * 0.75 * 0.5 / (0.5 + 9 * 0.75)
    assert meteor(text, [same]) == pytest.approx(mean * (1 - 0.5 * (2 / 3) ** 3))
    assert meteor(text, [["nothing"], same]) == meteor(text, [same])  # the best reference
    assert meteor([], [same]) == meteor(text, [[]]) == meteor(text, []) == 0.0


def test_texts_without_repeated_words_score_as_nltk_scores_them() -> None:
    rng = np.random.default_rng(0)
    stock = "walk walked walking tea teas brew brewed leaf cup warm water stir time cold".split()
    for _ in range(300):
        text, reference = (
            list(rng.permutation(stock)[: rng.integers(1, len(stock))]) for _ in range(2)
        )
        # One form of a word a text: else programs may match another one of the same stem.
        text, reference = (
            list({stem(one): one for one in each}.values()) for each in (text, reference)
        )
        assert meteor(text, [reference]) == pytest.approx(nltk_score(text, reference))


def test_repeated_words_match_as_often_as_nltk_says_in_no_more_chunks() -> None:
    rng = np.random.default_rng(1)
    stock = words("the the a of leaf leaves water warm warmly stir it it and and cup")
    for _ in range(300):
        text, reference = (list(rng.choice(stock, rng.integers(3, 40))) for _ in range(2))
        found = align(text, reference)
        assert len({b for _, b in found}) == len(found)
        # Fewer chunks are a smaller penalty on the same Fmean.
        assert meteor(text, [reference]) >= nltk_score(text, reference) - 1e-12


def build_wordnet(folder: Path) -> Path:
    """A database of a few words, as wndb(5WN) describes its files."""
    folder.mkdir()
    files = {
        "index.noun": "  1 This line is the licence.\n"
        "car n 2 1 @ 2 1 02958343 02959942  \nautomobile n 1 1 @ 1 1 02958343  \n"
        "motor_car n 1 1 @ 1 0 02958343  \ngoose n 1 1 @ 1 1 01855672  \n",
        "index.verb": "stop v 1 1 @ 1 1 01859586  \nhalt v 1 1 @ 1 1 01859586  \n",
        "index.adj": "quick a 1 0 1 0 00976508  \nfast a 1 0 1 0 00976508  \n",
        "index.adv": "",
        "noun.exc": "geese goose\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_synonyms_match_by_wordnet_where_its_database_is_given(tmp_path: Path) -> None:
    assert not is_wordnet(tmp_path)
    folder = build_wordnet(tmp_path / "wordnet")
    assert is_wordnet(folder)
    synsets = read_wordnet(folder).synsets
    assert synsets("cars") == {"n02958343", "n02959942"} and synsets("automobile") == {"n02958343"}
    assert synsets("geese") == synsets("goose") != synsets("unknown") == frozenset()
    assert synsets("stopping") == set() and synsets("halted") == {"v01859586"}  # as morphy has it
    text, reference = "the cars halted there".split(), "the automobile halts here".split()
    assert align(text, reference) == [(0, 0), (2, 2)]
    assert align(text, reference, synsets) == [(0, 0), (1, 1), (2, 2)]
    # 3 of 4 words on either side in one run: Fmean = 3/4, penalty 0.5 (1/3)^3.
    assert meteor(text, [reference], synsets) == pytest.approx(0.75 * (1 - 0.5 / 27))
