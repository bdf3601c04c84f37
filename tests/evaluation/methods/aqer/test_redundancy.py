"""Few answers per question: what ranks a board, how reliable that is, what more would bring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.rounds import PUBLISHED, Options
from evaluation.methods.baselines import bag_of_words
from evaluation.methods.baselines.bag_of_words import Bags
from evaluation.methods.core.base import BadParameter, Result
from evaluation.methods.core.redundancy import predicted_reliability
from evaluation.methods.simulation.planning.planner import plan, study
from evaluation.published.reproduce.data import data_folder
from tests.studies.aqer_redundancy import (
    VARIANTS,
    best_by_default,
    forecast,
    measure,
    texts_of,
    thin,
)
from tests.studies.redundancy_sets import (
    Crowd,
    CrowdSet,
    cached_encoder,
    explanations,
    simulated_sets,
)

SOURCES = {source.name: source for source in simulated_sets()}
PUBLISHED_VARIANT = VARIANTS.index(("iterated", "own in", "raw"))


def drawn(name: str, answers: int, seed: int = 1) -> Crowd:
    rng = np.random.default_rng(seed)
    return thin(SOURCES[name].draw(rng), answers, rng)


def board(crowd: Crowd, **params: object) -> tuple[Result, float]:
    """The fit, and how its ranking correlates with the known quality."""
    given: dict[str, Any] = {"resamples": 100, **params}
    result = aqer.fit(texts_of(crowd), rng=np.random.default_rng(0), **given)
    told = result.diagnostics["components"][0]
    workers = result.estimates["worker"]
    ranked = workers[told["ranked_by"]]
    use = np.isfinite(ranked) & (workers["n"] >= 5)
    return result, float(np.corrcoef(ranked[use], crowd.quality[use])[0, 1])


def test_two_answers_per_question_still_rank_workers_by_quality() -> None:
    """Both answers have the same cosine, so what is left of it after its question is noise."""
    crowd = drawn("planted, like questions", 2)
    result, found = board(crowd)
    assert result.diagnostics["components"][0]["ranked_by"] == "score"
    assert found > 0.7
    _, adjusted = board(crowd, rank_by="adjusted")
    assert abs(adjusted) < 0.5


@pytest.mark.parametrize(("answers", "gain"), [(2, 0.2), (3, 0.04), (5, 0.01)])
def test_the_default_ranks_simulated_crowds_better_than_the_published_way(
    answers: int, gain: float
) -> None:
    gains = []
    for name in ("F2, three qualities", "planted, like questions"):
        found = measure(SOURCES[name], answers, 8).correlations
        gains.append(found[best_by_default(answers)] - found[PUBLISHED_VARIANT])
    assert min(gains) > gain


def test_where_workers_got_questions_alike_the_default_allows_for_hard_ones() -> None:
    source = SOURCES["planted, hard and easy questions"]
    found = measure(source, 5, 5, sort=True).correlations
    raw = VARIANTS.index(("iterated", "left out", "raw"))
    assert found[best_by_default(5)] > found[raw] + 0.1


@pytest.fixture(scope="module")
def real_answers(tmp_path_factory: pytest.TempPathFactory) -> CrowdSet:
    """Answers of six models and people with human grades, dealt to bundles of twenty.

    Half of the questions: making their vectors takes most of the time.
    """
    encode = cached_encoder("char-svd", tmp_path_factory.mktemp("vectors"))
    return explanations(data_folder(), encode, every=2)


@pytest.mark.data
@pytest.mark.parametrize("answers", [2, 3])
def test_the_default_ranks_real_answers_best_or_nearly(
    answers: int, real_answers: CrowdSet
) -> None:
    found = measure(real_answers, answers, 4).correlations
    assert found[best_by_default(answers)] > found.max() - 0.05
    assert found[best_by_default(answers)] > found[PUBLISHED_VARIANT] + 0.03


def test_bags_of_words_and_baselines_follow_the_same_rule() -> None:
    rng = np.random.default_rng(0)
    worker = np.concatenate([rng.choice(6, 2, replace=False) for _ in range(40)])
    words = [[f"w{k}" for k in rng.choice(9, 4, replace=False)] for _ in worker]
    bags = Bags.build(
        worker,
        np.repeat(np.arange(40), 2),
        words,
        workers=[f"w{k}" for k in range(6)],
        questions=[f"q{k}" for k in range(40)],
    )
    result = bag_of_words.fit(bags, rng=rng, resamples=0)
    assert result.diagnostics["components"][0]["ranked_by"] == "score"


def test_a_board_names_its_redundancy_and_what_one_more_answer_would_bring() -> None:
    told = board(drawn("planted, like questions", 2))[0].diagnostics["components"][0]["redundancy"]
    assert (told["answers"], told["least"], told["most"], told["few"]) == (2.0, 2, 2, True)
    assert 0 < told["reliability"] < told["with_one_more"] < 1
    more = board(drawn("planted, like questions", 3))[0].diagnostics["components"][0]["redundancy"]
    assert more["few"] is False


@pytest.mark.parametrize("answers", [2, pytest.param(3, marks=pytest.mark.long)])
def test_the_promise_for_one_more_answer_is_kept(answers: int) -> None:
    """Mean over crowds: what a thinner board foretells is what the fuller one then measures."""
    now, promised, kept, true = forecast(SOURCES["planted, hard and easy questions"], answers, 5)
    assert now == pytest.approx(true, abs=0.12)
    assert now < kept
    assert promised == pytest.approx(kept, abs=0.08)


def test_one_more_answer_counts_as_the_pairs_of_answers_that_it_adds() -> None:
    assert predicted_reliability(0.5, 2) == pytest.approx(0.75)  # 1 pair becomes 3
    assert predicted_reliability(0.5, 10) == pytest.approx(11 / 20)  # 45 become 55
    assert predicted_reliability(0.0, 3) == 0.0


def test_too_few_workers_give_no_reliability() -> None:
    full = SOURCES["planted, like questions"].draw(np.random.default_rng(0))
    few = np.flatnonzero(full.worker < 3)
    small = Crowd(full.worker[few], full.question[few], full.vectors[few], full.quality)
    told = board(small)[0].diagnostics["components"][0]["redundancy"]
    assert (told["reliability"], told["with_one_more"]) == (None, None)
    assert told["reason"] == "3 workers have 5 answers or more; it needs 4"


def test_the_published_way_stays_selectable_and_a_bad_choice_is_refused() -> None:
    assert Options() == PUBLISHED
    crowd = drawn("F2, three qualities", 5)
    result, _ = board(crowd, leave_one_out=False, rank_by="score")
    assert result.diagnostics["components"][0]["ranked_by"] == "score"
    with pytest.raises(BadParameter, match="rank_by"):
        aqer.METHOD.check(rank_by="loudest")


def test_the_planner_warns_below_three_answers_and_scores_as_a_run_would() -> None:
    rng = np.random.default_rng(0)
    thin_plan = plan(study("f2", items=40, votes=2), rng=rng, replicates=4)
    assert any("2 answers a question" in said for said in thin_plan.diagnostics["warnings"])
    full = plan(study("f2", items=40, votes=3), rng=rng, replicates=4)
    assert not any("answers a question" in said for said in full.diagnostics["warnings"])
    table = full.estimates["answer"]
    truth = table["estimate"][table["quantity"].tolist().index("score_truth")]
    assert truth > 0.9


@pytest.mark.parametrize("name", ["F4, a fifth biased", "F1, errors correlate .3"])
def test_three_answers_per_question_settle_whatever_the_crowd(name: str) -> None:
    """Iterated with the own answer left out, these turn in circles: no board at all."""
    for seed in range(6):
        assert board(drawn(name, 3, seed), resamples=0)[0].converged
