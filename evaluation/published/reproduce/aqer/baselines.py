"""The methods AQER is compared with (App. H), measured on the same dealt answers.

Words are those of NLTK's word_tokenize on one line, case kept; BLEU4 is not smoothed (NLTK's
default, method 0), F1 is over sets of words (NLTK's f_measure). With these the figures measured
before this project are met; in lower case F1 is .03 higher on top20. Majority vote and ROUGE-L are
on lower-case words without signs. ROUGE-L and BERTScore were not measured before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from evaluation.methods.baselines import chai, rasa, roy
from evaluation.methods.baselines.baseline_boards import best_rows
from evaluation.methods.baselines.baselines import Rows, majority_scores
from evaluation.methods.core.base import FloatArray, IntArray, Texts
from evaluation.methods.text.corpus import Tokens, TokenVectors, stems, token_ids, treebank, words
from evaluation.methods.text.metrics import Similarity, bert_score, bleu, f1, gleu, pairs, rouge_l
from evaluation.published.reproduce.aqer.responses import CHOOSERS, Bench
from evaluation.published.reproduce.data import AS_DESCRIBED, VARIANTS, GradedAnswers
from evaluation.published.reproduce.rows import Row

Say = Callable[[str], None]


class BaselineScores(NamedTuple):
    """Scores of responses that vote (q, m), of those that do not (q, k), and of workers (m,)."""

    voting: FloatArray
    rest: FloatArray
    worker: FloatArray


SHARES = (0.2, 0.3)  # of answers dealt at random (App. N)
Score = Callable[[IntArray, IntArray], BaselineScores]


@dataclass(frozen=True)
class Entry:
    """A method, what was published for it (Table 3; Table D1), and what differs from that."""

    name: str
    published: float | None
    spearman: float | None
    note: str = ""
    # Table N1, 20 and 30 % of the answers dealt at random
    random: tuple[float, float] | None = None


NO_READING = "needs no encoder, and no reading of the set-up gives the printed figure"
ENTRIES = {
    "majority": Entry("majority vote on equal texts", None, None),
    "bleu1": Entry("BLEU1", 0.870, 0.787, NO_READING, random=(0.811, 0.776)),
    "bleu4": Entry("BLEU4", 0.864, 0.808, f"no smoothing; {NO_READING}", (0.794, 0.750)),
    "f1": Entry("F1", 0.893, 0.842, f"best reference; {NO_READING}"),
    "f1_mean": Entry("F1, mean of references", None, None),
    "rouge_l": Entry("ROUGE-L", None, None, "best reference"),
    "rouge_l_mean": Entry("ROUGE-L, mean of references", None, None),
    "bert_score": Entry(
        "BERTScore, MiniLM",
        0.895,
        0.806,
        "best reference; published with RoBERTa-large",
        (0.835, 0.789),
    ),
    "bert_score_mean": Entry("BERTScore, MiniLM, mean of references", None, None),
    "roy": Entry(
        "Roy et al., sequences up to 2",
        0.924,
        0.847,
        "length x support of shared sequences; the published weights are not given",
        (0.895, 0.868),
    ),
    "rasa": Entry("RASA, MiniLM", 0.927, 0.884, "published with USE", (0.909, 0.892)),
    "chai": Entry(
        "Chai et al. (our reading), MiniLM",
        0.055,
        0.055,
        "the loss is ours: none was published",
        (0.030, 0.076),
    ),
}


@dataclass(frozen=True, eq=False)
class Words:
    """Everything that depends on the answers alone, made once.

    ``vectors`` are MiniLM's (n, d); ``token_vectors`` may be None, which leaves BERTScore out.
    """

    answers: GradedAnswers
    vectors: Any
    token_vectors: TokenVectors | None = None

    @cached_property
    def tokens(self) -> Tokens:
        """Words of the answers as NLTK cuts them."""
        return token_ids([treebank(text) for text in self.answers.texts])

    @cached_property
    def plain(self) -> Tokens:
        """Lower-case words of all answers, as tokens."""
        return token_ids([words(text) for text in self.answers.texts])

    @cached_property
    def stems(self) -> Tokens:
        """Word stems of all answers, as tokens."""
        return token_ids([stems(text) for text in self.answers.texts])

    @cached_property
    def place(self) -> IntArray:
        """Position (n,) of each answer among those to its question."""
        question = self.answers.question
        order = np.argsort(question, kind="stable")
        opens = np.searchsorted(question[order], question)
        out = np.empty(len(order), dtype=np.int64)
        out[order] = np.arange(len(order))
        return out - opens

    def table(self, similarity: Similarity) -> FloatArray:
        """Similarity (q, a, a) of all answers to each question; NaN on the diagonal."""
        question, place = self.answers.question, self.place
        size = int(place.max()) + 1
        out = np.full((len(self.answers.questions), size, size), np.nan)
        for first, second in pairs(question, np.ones(len(question), dtype=bool)):
            found = similarity(first, second)
            out[question[first], place[first], place[second]] = found
            out[question[first], place[second], place[first]] = found
        return out

    def scores(self) -> dict[str, Score]:
        """Return the scoring function of each baseline, by name."""
        out: dict[str, Score] = {
            "majority": self._majority,
            "bleu1": lambda voting, rest: self._bleu(voting, rest, 1),
            "bleu4": lambda voting, rest: self._bleu(voting, rest, 4),
            "roy": self._roy,
            "rasa": self._rasa,
            "chai": self._chai,
        }
        kinds: dict[str, Similarity] = {"f1": f1(self.tokens), "rouge_l": rouge_l(self.plain)}
        if self.token_vectors is not None:
            kinds["bert_score"] = bert_score(self.token_vectors, self.answers.question)
        for name, similarity in kinds.items():
            table = self.table(similarity)
            out[name] = _reducer(table, self.place, np.nanmax)
            out[f"{name}_mean"] = _reducer(table, self.place, np.nanmean)
        return {name: out[name] for name in ENTRIES if name in out}

    def _rows(self, voting: IntArray, rest: IntArray) -> Rows:
        """The rows that the pure functions take: those that vote first."""
        question = np.arange(len(voting))
        return Rows(
            np.concatenate([np.repeat(question, part.shape[1]) for part in (voting, rest)]),
            np.arange(voting.size + rest.size) < voting.size,
            np.concatenate([voting.ravel(), rest.ravel()]),
            self.answers.texts,
        )

    def _majority(self, voting: IntArray, rest: IntArray) -> BaselineScores:
        rows = self._rows(voting, rest)
        found = majority_scores(self.plain.take(rows.text), rows.question, rows.votes)
        return _cut(found, voting, rest)

    def _bleu(self, voting: IntArray, rest: IntArray, order: int) -> BaselineScores:
        rows = self._rows(voting, rest)
        found = bleu(self.tokens.take(rows.text), rows.question, rows.votes, order=order)
        return _cut(found, voting, rest)

    def _roy(self, voting: IntArray, rest: IntArray) -> BaselineScores:
        rows = self._rows(voting, rest)
        asked = rows.question[: voting.size]
        answer = roy.sequence_scores(self.stems.take(voting.ravel()), asked)
        trust = np.tile(answer.reshape(voting.shape).mean(axis=0), len(voting))
        outside = roy.outside_scores(rows, answer, trust, self.tokens)
        return _cut(np.concatenate([answer, outside]), voting, rest)

    def _rasa(self, voting: IntArray, rest: IntArray) -> BaselineScores:
        q, m = voting.shape
        texts = Texts.build(
            np.tile(np.arange(m), q),
            np.repeat(np.arange(q), m),
            self.vectors,
            vector=voting.ravel(),
            workers=[str(k) for k in range(m)],
            questions=[str(k) for k in range(q)],
        )
        fit = rasa.reliabilities(texts)
        answer = fit.cosine.reshape(q, m)
        best = self.vectors[voting[np.arange(q), answer.argmax(axis=1)]]
        outside = np.einsum("qkd,qd->qk", self.vectors[rest], best)
        return BaselineScores(answer, outside, fit.reliability)

    def _chai(self, voting: IntArray, rest: IntArray) -> BaselineScores:
        vectors, mutual = self.vectors[voting], self.gleu[self.place_of(voting)]
        grams = (vectors @ vectors.swapaxes(1, 2), mutual @ mutual.swapaxes(1, 2))
        defaults = {name: chai.PARAMS.defaults[name] for name in ("step", "max_steps", "tolerance")}
        answer = -chai.descend(grams, **defaults)
        best = self.vectors[voting[np.arange(len(voting)), answer.argmax(axis=1)]]
        outside = np.einsum("qkd,qd->qk", self.vectors[rest], best)
        return BaselineScores(answer, outside, answer.mean(axis=0))

    @cached_property
    def gleu(self) -> FloatArray:
        """Mutual GLEU (q, a, a) of all answers to each question; 1 with itself."""
        table = self.table(gleu(self.plain))
        at = np.arange(table.shape[1])
        table[:, at, at] = 1.0
        return table

    def place_of(self, voting: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the indices of the pairs of these answers (q, k) in the table of all pairs."""
        place = self.place[voting]
        return np.arange(len(voting))[:, None, None], place[:, :, None], place[:, None, :]


def _cut(found: FloatArray, voting: IntArray, rest: IntArray) -> BaselineScores:
    answer = found[: voting.size].reshape(voting.shape)
    return BaselineScores(answer, found[voting.size :].reshape(rest.shape), answer.mean(axis=0))


def _reducer(table: FloatArray, place: IntArray, reduce: Callable[..., Any]) -> Score:
    """Best or mean similarity to the other voting responses, read from a table of all pairs."""

    def score(voting: IntArray, rest: IntArray) -> BaselineScores:
        at = np.arange(len(voting))[:, None, None]
        columns = place[voting][:, None, :]
        answer = reduce(table[at, place[voting][:, :, None], columns], axis=2)
        outside = np.empty(rest.shape)
        if rest.size:
            outside = reduce(table[at, place[rest][:, :, None], columns], axis=2)
        return BaselineScores(answer, outside, answer.mean(axis=0))

    return score


def rows(bench: Bench, *, token_vectors: TokenVectors | None = None, say: Say) -> list[Row]:
    """Compute the rows of all baselines on the groups that AQER's rows use.

    ``bench`` is ``aqer_cs.Bench`` (MiniLM among its vectors). ``token_vectors`` are those of all
    answers (``embeddings.token_vectors``); without them BERTScore is left out. The same bench gives
    the same rows.
    """
    scorers = Words(bench.answers, bench.vectors["minilm"], token_vectors).scores()
    return [
        *worker_rows(bench, scorers, say=say),
        *random_rows(bench, scorers, say=say),
        *response_rows(bench, scorers, say=say),
    ]


def worker_rows(bench: Bench, scorers: Mapping[str, Score], *, say: Say) -> list[Row]:
    """Pearson (Table 3) and, where published, Spearman (Table D1) of workers with their grades."""
    out = []
    for slug, score in scorers.items():
        entry = ENTRIES[slug]
        say(entry.name)
        for variant in VARIANTS:
            found = []
            for repetition in range(bench.repetitions):
                dealt = bench.dealt(variant, repetition)
                worker = score(dealt, dealt[:, :0]).worker
                truth = bench.answers.grades[dealt].mean(axis=0)
                found.append(
                    (_pearson(worker, truth), scipy.stats.spearmanr(worker, truth).statistic)
                )
            for k, (table, kind, published) in enumerate(
                (("Table 3", "Pearson", entry.published), ("Table D1", "Spearman", entry.spearman))
            ):
                if k and published is None:
                    continue
                values = np.array(found)[:, k]
                spread = f"sd {np.std(values, ddof=1):.3f} over {len(values)} repetitions"
                note = "; ".join(part for part in (spread, entry.note) if part)
                name = table if published is not None else "-"
                out.append(
                    Row(
                        name,
                        f"{entry.name}, {kind}",
                        variant,
                        published,
                        float(values.mean()),
                        note,
                        is_variant=variant != AS_DESCRIBED,
                    )
                )
    return out


def random_rows(bench: Bench, scorers: Mapping[str, Score], *, say: Say) -> Iterator[Row]:
    """Table N1: workers some of whose answers are dealt at random, as the paper describes it."""
    for slug, score in scorers.items():
        entry = ENTRIES[slug]
        if entry.random is None:
            continue
        say(f"{entry.name}, random assignment")
        for share, published in zip(SHARES, entry.random, strict=True):
            values = []
            for repetition in range(bench.repetitions):
                dealt = bench.dealt(AS_DESCRIBED, repetition, share)
                worker = score(dealt, dealt[:, :0]).worker
                values.append(_pearson(worker, bench.answers.grades[dealt].mean(axis=0)))
            spread = f"sd {np.std(values, ddof=1):.3f} over {len(values)} repetitions"
            note = "; ".join(part for part in (spread, entry.note) if part)
            quantity = f"{share:.0%} random assignment, {entry.name}, Pearson".replace("%", " %")
            mean = float(np.mean(values))
            yield Row("Table N1", quantity, AS_DESCRIBED, published, mean, note)


def response_rows(
    bench: Bench, scorers: Mapping[str, Score], *, say: Say, variant: str = "rand20"
) -> Iterator[Row]:
    """Yield rows on best and held-out responses, with the same voters as AQER's rows."""
    for slug, score in scorers.items():
        entry = ENTRIES[slug]
        say(f"{entry.name}, single responses")
        for count in CHOOSERS:
            found = np.array(
                [
                    _score_voters(
                        bench, score, bench.dealt(variant, repetition), (count, repetition)
                    )
                    for repetition in range(bench.repetitions)
                ]
            )
            note = f"published as a figure only; {len(found)} sets of voters"
            for quantity, table, values in (
                (f"best response of {count} workers, {entry.name}, mean grade 0-5", "Figure I1", 0),
                (f"{count} workers vote, held-out responses, {entry.name}, Pearson", "Figure 3", 1),
                (f"{count} workers vote, held-out authors, {entry.name}, Pearson", "Figure 3", 2),
            ):
                mean = float(found[:, values].mean())
                yield Row(table, quantity, variant, None, mean, note)


def _score_voters(
    bench: Bench, score: Score, dealt: IntArray, key: tuple[int, int]
) -> tuple[float, float, float]:
    """Score one set of voters: mean grade of the best responses, Pearson of those held out."""
    order = np.random.default_rng([bench.seed, *key]).permutation(dealt.shape[1])
    voting, rest = dealt[:, order[: key[0]]], dealt[:, order[key[0] :]]
    found, grades = score(voting, rest), bench.answers.grades
    question = np.repeat(np.arange(len(voting)), voting.shape[1])
    trust = np.tile(found.worker, len(voting))
    best = voting.ravel()[best_rows(question, found.voting.ravel(), trust)]
    return (
        float(grades[best].mean()),
        _pearson(found.rest.ravel(), grades[rest].ravel()),
        _pearson(found.rest.mean(axis=0), grades[rest].mean(axis=0)),
    )


def _pearson(x: FloatArray, y: FloatArray) -> float:
    return float(np.corrcoef(x, y)[0, 1])
