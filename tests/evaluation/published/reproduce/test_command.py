"""Published AQER figures measured again on the real answers, and the protocol's variants."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from crowdqc.errors import Invalid
from evaluation.methods.aqer.diagnostics import bound
from evaluation.methods.core.base import BadParameter, BadShape
from evaluation.published.reproduce import REPRODUCTIONS
from evaluation.published.reproduce.aqer import crowd as aqer_cs
from evaluation.published.reproduce.aqer import key, responses
from evaluation.published.reproduce.aqer import simulations as aqer_simulations
from evaluation.published.reproduce.data import GradedAnswers, data_folder, deal_answers, mohler
from evaluation.published.reproduce.rows import Row
from tests.studies.redundancy_sets import cached_encoder
from tests.support.processes import ROOT

VECTORS = ROOT / "build" / "vectors"
# Variant: plain AQER and its tolerance, no iteration (MiniLM, 25 repetitions).
TARGETS = {
    "top20": (0.916, 0.02, 0.879),
    "bot20": (0.951, 0.015, 0.938),
    "rand20": (0.975, 0.015, 0.966),
}
CHARACTER = {"top20": 0.947, "bot20": 0.983, "rand20": 0.987}
CURVE = dict(
    zip(aqer_cs.CURVE, (0.972, 0.972, 0.967, 0.961, 0.956, 0.945, 0.931, 0.848), strict=False)
)
BEST = {  # mean grade of the answer chosen among 5, 10, 15 workers
    "random": (4.186, 4.151, 4.163),
    "AQER MiniLM": (4.717, 4.686, 4.726),
    "AQER character SVD": (4.752, 4.743, 4.773),
    "AQER character SVD + 0.1 x worker score": (4.767, 4.776, 4.827),
    "oracle": (4.902, 4.979, 4.991),
}


@pytest.fixture(scope="session")
def folder() -> Path:
    try:
        return data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")


@pytest.fixture(scope="module")
def bench(folder: Path) -> aqer_cs.Bench:
    """All answers, whose vectors are kept for the next time: making them takes most of a minute."""
    answers = mohler(folder)
    with pytest.MonkeyPatch.context() as patch:
        kept = {slug: cached_encoder(slug, VECTORS) for slug in ("minilm", "char-svd")}
        patch.setattr(aqer_cs, "get_encoder", lambda slug: SimpleNamespace(encode=kept[slug]))
        vectors = aqer_cs.encode(answers, tuple(kept), lambda line: None)
    return aqer_cs.Bench(answers, vectors, repetitions=25, seed=0)


@pytest.fixture(scope="module")
def quick(folder: Path) -> aqer_cs.Bench:
    """The same on vectors of characters alone: those of MiniLM take ten times as long to make."""
    answers = mohler(folder)
    vectors = cached_encoder("char-svd", VECTORS)(answers.texts)
    return aqer_cs.Bench(answers, dict.fromkeys(aqer_cs.ENCODERS, vectors), 25, seed=0)


def recipes(*starts: str) -> list[aqer_cs.Recipe]:
    return [recipe for recipe in aqer_cs.RECIPES if recipe.quantity.startswith(starts)]


def by_variant(rows: list[Row], quantity: str) -> dict[str, float]:
    return {row.protocol: row.measured for row in rows if row.quantity.startswith(quantity)}


@pytest.mark.data
@pytest.mark.long
def test_aqer_gives_the_known_figures_in_each_named_variant(bench: aqer_cs.Bench) -> None:
    rows = aqer_cs.worker_rows(bench, recipes=recipes("AQER, MiniLM, P", "no iter", "AQER, char"))
    plain, uniterated, character = (
        by_variant(rows, name) for name in ("AQER, MiniLM", "no iteration", "AQER, character")
    )
    for variant, (target, tolerance, first) in TARGETS.items():
        assert plain[variant] == pytest.approx(target, abs=tolerance)
        assert uniterated[variant] == pytest.approx(first, abs=0.02)
        assert character[variant] == pytest.approx(CHARACTER[variant], abs=0.015)
    published = {row.published for row in rows if row.quantity.startswith("AQER, MiniLM")}
    assert published == {0.964}


@pytest.mark.data
@pytest.mark.long
def test_other_recipes_stand_where_they_were_measured(bench: aqer_cs.Bench) -> None:
    fewer = aqer_cs.Bench(bench.answers, bench.vectors, repetitions=8, seed=1)
    rows = aqer_cs.worker_rows(fewer, recipes=recipes("leave", "neg", "20 %", "30 %", "noisy"))
    known = {
        "leave-one-out": (0.918, 0.959, 0.978),
        "negative Euclidean": (0.920, 0.961, 0.979),
        "20 % random": (0.886, 0.941, 0.967),
        "30 % random": (0.867, 0.925, 0.956),
        "noisy start": (0.916, 0.951, 0.975),
    }
    for quantity, values in known.items():
        found = by_variant(rows, quantity)
        for variant, value, wide in zip(found, values, (0.05, 0.03, 0.02), strict=True):
            assert found[variant] == pytest.approx(value, abs=wide), (quantity, variant)


@pytest.mark.data
@pytest.mark.long
def test_fewer_questions_and_best_answers_follow_the_known_curves(bench: aqer_cs.Bench) -> None:
    fewer = aqer_cs.Bench(bench.answers, bench.vectors, repetitions=10, seed=0)
    for row in aqer_cs.curve_rows(fewer):
        count = int(row.quantity.split()[0])
        if count in CURVE and "share" not in row.quantity:
            assert row.measured == pytest.approx(CURVE[count], abs=0.02 if count >= 30 else 0.06)
    more = aqer_cs.Bench(bench.answers, bench.vectors, repetitions=50, seed=0)
    rows = {row.quantity: row.measured for row in responses.best_response_rows(more)}
    for way, values in BEST.items():
        for count, value in zip(responses.CHOOSERS, values, strict=True):
            found = rows[f"best response of {count} workers, {way}, mean grade 0-5"]
            assert found == pytest.approx(value, abs=0.09)


@pytest.mark.data
@pytest.mark.long
def test_bags_of_words_give_the_known_figures(bench: aqer_cs.Bench) -> None:
    rows = aqer_cs.worker_rows(bench, recipes=recipes("bag of words"))
    known = {
        "bag of words, majority": (0.777, 0.937, 0.933),
        "bag of words, w": (0.889, 0.960, 0.958),
    }
    for quantity, values in known.items():
        for variant, value in zip(("top20", "bot20", "rand20"), values, strict=True):
            assert by_variant(rows, quantity)[variant] == pytest.approx(value, abs=0.02)


@pytest.mark.long
@pytest.mark.data
def test_held_out_responses_are_scored_better_than_by_chance(quick: aqer_cs.Bench) -> None:
    fewer = aqer_cs.Bench(quick.answers, quick.vectors, repetitions=4, seed=0)
    rows = {row.quantity: row.measured for row in responses.held_out_rows(fewer)}
    for count in responses.CHOOSERS:
        assert 0.3 < rows[f"{count} workers vote, held-out responses, MiniLM, Pearson"] < 0.65
        assert rows[f"{count} workers vote, held-out authors, MiniLM, Pearson"] > 0.8


@pytest.mark.data
@pytest.mark.long
def test_answers_like_the_key_have_the_better_grades(folder: Path, bench: aqer_cs.Bench) -> None:
    rows = [*key.key_rows(folder, bench.answers, bench.vectors["minilm"])]
    assert [row.measured for row in rows] == pytest.approx([0.466, 0.491], abs=0.002)
    assert rows[0].is_within_rounding  # printed as .47


@pytest.mark.data
def test_other_grades_give_other_rows(quick: aqer_cs.Bench) -> None:
    swapped = GradedAnswers(
        quick.answers.questions,
        quick.answers.question,
        quick.answers.texts,
        5.0 - quick.answers.grades,
    )
    other = aqer_cs.Bench(swapped, quick.vectors, repetitions=2, seed=0)
    rows = aqer_cs.worker_rows(other, recipes=recipes("AQER, MiniLM, P"))
    assert by_variant(rows, "AQER")["rand20"] < 0


@pytest.mark.data
def test_the_command_prints_rows_that_outside_checks_can_read(
    folder: Path, quick: aqer_cs.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aqer_cs, "encode", lambda answers, encoders, say: quick.vectors)
    monkeypatch.setattr(aqer_cs, "token_vectors", lambda texts: None)  # leaves BERTScore out
    some = quick.vectors["minilm"]
    encoder = SimpleNamespace(encode=lambda texts: some[: len(texts)])
    monkeypatch.setattr(key, "get_encoder", lambda slug: encoder)
    out, err = io.StringIO(), io.StringIO()
    call_command(
        "reproduce",
        "aqer-cs",
        "--data",
        str(folder),
        "--json",
        "--repetitions",
        "2",
        stdout=out,
        stderr=err,
    )
    rows = json.loads(out.getvalue())
    tables = {
        "Table 3",
        "Table B1",
        "Table C1",
        "Table D1",
        "Table G1",
        "Table G2",
        "Table N1",
        "Table P2",
    }
    assert {row["table"] for row in rows} >= {*tables, "Figure 3", "Figure E1", "Figure I1"}
    for row in rows:
        assert list(row) == [
            "table",
            "quantity",
            "protocol",
            "published",
            "measured",
            "difference",
            "note",
            "is_within_rounding",
            "is_counted",
        ]
        if row["table"] != "Table P2":
            assert row["protocol"] in ("top20", "bot20", "rand20")
        if row["published"] is None:
            assert row["difference"] is None
        else:
            assert row["difference"] == pytest.approx(row["measured"] - row["published"])
    kept = replace(REPRODUCTIONS["aqer-cs"], run=lambda *args, **more: [])  # measured above
    monkeypatch.setitem(REPRODUCTIONS, "aqer-cs", kept)
    out = io.StringIO()
    call_command("reproduce", "aqer-cs", "--repetitions", "2", stdout=out, stderr=err)
    assert "Not measured: RoBERTa-large" in out.getvalue()


def test_low_quality_workers_who_agree_turn_the_ranking_upside_down() -> None:
    """F1 in both readings: the sign flips where the noise correlates by .78, as theory says."""
    mixed, plain = (
        aqer_simulations.Curve(
            curve.table, curve.quantity, (0.5, 0.7, 0.8), curve.make, curve.protocol
        )
        for curve in aqer_simulations.CURVES[:2]
    )
    for curve, flips in ((mixed, 0.7), (plain, 0.8)):
        rows = aqer_simulations.curve_rows(curve, [0], repetitions=3)
        iterated = [row.measured for row in rows if "AQER" in row.quantity]
        assert [value > 0 for value in iterated] == [value < flips for value in curve.values]
        assert rows[-1].measured == flips
        assert rows[-1].published == 0.7


@pytest.mark.parametrize(
    ("table", "known"),
    [
        ("Figure F2", {3: 0.91, 12: 0.996}),
        ("Figure F3", {1.5: 0.998, 2.5: 0.990, 3.5: 0.956}),
        ("Figure F4", {0.3: 0.971, 0.4: 0.914, 0.5: 0.834, 0.7: 0.731}),
        ("App. K", {10: 1.0}),
    ],
)
def test_simulated_curves_pass_through_the_known_points(
    table: str, known: dict[float, float]
) -> None:
    (curve,) = (curve for curve in aqer_simulations.CURVES if curve.table == table)
    for value, expected in known.items():
        found = np.mean([aqer_simulations.measure(curve.make, value, [0, k])[0] for k in range(10)])
        assert found == pytest.approx(expected, abs=0.02)


def test_the_bounds_are_printed_in_full_and_called_vacuous_where_they_are() -> None:
    rows = {row.quantity: row for row in aqer_simulations.bound_rows()}
    assert len(rows) == 24
    worst = rows["5 workers of quality 0.5, worst error, eq. 8"]
    assert worst.measured == bound(0.5, 5).worst == pytest.approx(1.2347, abs=5e-5)
    vacuous = {name for name, row in rows.items() if "vacuous" in row.note}
    assert vacuous == {name for name, row in rows.items() if row.measured > 1}


@pytest.fixture
def graded() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    yield np.repeat(np.arange(6), 25), rng.integers(0, 11, 150) / 2


@pytest.mark.parametrize("variant", ["top20", "bot20", "rand20"])
def test_answers_are_dealt_by_grade_from_the_best_group_to_the_worst(
    variant: str, graded: tuple[np.ndarray, np.ndarray]
) -> None:
    question, grades = graded
    dealt = deal_answers(question, grades, variant, np.random.default_rng(1))
    assert dealt.shape == (6, 20)
    for j, row in enumerate(dealt):
        assert len(set(row)) == 20
        assert set(question[row]) == {j}
        groups = grades[row].reshape(10, 2)
        assert np.all(groups[:-1].min(axis=1) >= groups[1:].max(axis=1))
        ordered = np.sort(grades[question == j])
        if variant != "rand20":
            expected = ordered[-20:] if variant == "top20" else ordered[:20]
            assert np.sort(grades[row]).tolist() == expected.tolist()


def test_random_assignment_deals_the_same_answers_to_other_workers(
    graded: tuple[np.ndarray, np.ndarray],
) -> None:
    question, grades = graded
    dealt = deal_answers(question, grades, "top20", np.random.default_rng(2), random_share=1.0)
    means = grades[dealt].mean(axis=0)
    assert [len(set(row)) for row in dealt] == [20] * 6
    assert abs(means[:10].mean() - means[10:].mean()) < 0.5


def test_an_unknown_variant_and_too_few_answers_are_refused() -> None:
    with pytest.raises(BadParameter, match="variant is 'best20'"):
        deal_answers(np.zeros(20, dtype=int), np.ones(20), "best20", np.random.default_rng(0))
    with pytest.raises(BadShape, match="question 0 has 19 answers"):
        deal_answers(np.zeros(19, dtype=int), np.ones(19), "top20", np.random.default_rng(0))


def test_published_encoders_are_measured_where_they_are_there(tmp_path: Path) -> None:
    assert aqer_cs.published_recipes(tmp_path) == []
    (tmp_path / "encoders" / "all-mpnet-base-v2").mkdir(parents=True)
    (recipe,) = aqer_cs.published_recipes(tmp_path)
    assert (recipe.table, recipe.published) == ("Table B1", 0.958)
    assert recipe.encoder == f"path:{tmp_path}/encoders/all-mpnet-base-v2"


def test_missing_data_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no data folder at .*nowhere"):
        call_command("reproduce", "aqer-cs", "--data", str(tmp_path / "nowhere"))
    with pytest.raises(CommandError, match=r"no mohler_answers\.csv"):
        call_command("reproduce", "aqer-cs", "--data", str(tmp_path))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("question_id,answer\n1,a\n", "no column grade_avg_0_5"),
        ("question_id,answer,grade_avg_0_5\n1,a,5\n1,b,five\n", "line 3.*'five'"),
        ("question_id,answer,grade_avg_0_5\n", "no answers"),
    ],
)
def test_a_bad_file_names_the_column_or_the_line(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "mohler_answers.csv").write_text(content)
    with pytest.raises(Invalid, match=says):
        mohler(tmp_path)
