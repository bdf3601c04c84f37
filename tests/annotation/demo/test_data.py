"""The demo's data: complete, as described, and with logs that replay to the exact answers."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

import pytest

from annotation import demo
from annotation.demo import logs, reading
from annotation.work.actions.events import clean_event
from annotation.work.selectors.log import replay_text, summarize_streams
from crowdqc.errors import Invalid

KIND_SIZES = {
    "careful": 8,
    "ordinary": 6,
    "hasty": 4,
    "dont_know": 2,
    "copy_paster": 2,
    "confidently_wrong": 2,
}
MINUTES = {
    "careful": (10, 35),
    "ordinary": (6, 30),
    "hasty": (1, 6),
    "dont_know": (3, 20),
    "copy_paster": (2, 12),
    "confidently_wrong": (4, 20),
}


@pytest.fixture(scope="module")
def data() -> demo.DemoData:
    return demo.load()


@pytest.fixture(scope="module")
def all_logs(data: demo.DemoData) -> dict[str, list[logs.Event]]:
    """Every worker's log of one assignment over all their answers; targets are item ids."""
    return {
        worker.id: logs.assignment_log(
            [(a.item, a.text, data.text_of(a.item).context) for a in data.answers_of(worker.id)],
            worker.kind,
            logs.seeded("test", worker.id),
        )
        for worker in data.workers
    }


def test_the_demo_has_the_size_that_the_readme_promises(data: demo.DemoData) -> None:
    assert [len(text.questions) for text in data.texts] == [8, 8]
    assert all(len(text.passage) == 4 for text in data.texts)
    assert all(200 <= len(text.context.split()) <= 270 for text in data.texts)
    assert Counter(worker.kind for worker in data.workers) == KIND_SIZES
    assert len({row.system for row in data.systems}) == 4
    assert len(data.system_answers) == 16 * len(data.systems) == 96
    assert 340 <= len(data.answers) <= 384


def test_one_worker_has_too_few_answers_for_an_interval_and_the_others_nearly_all(
    data: demo.DemoData,
) -> None:
    counts = Counter(answer.worker for answer in data.answers)
    assert sorted(counts.values())[0] == 2
    assert sorted(counts.values())[1] >= 12


def test_no_two_people_gave_the_same_answer_unless_they_did_not_know(data: demo.DemoData) -> None:
    texts = [
        (answer.item, answer.text.casefold().strip(" ."))
        for answer in data.answers
        if not answer.declined
    ]
    assert [key for key, count in Counter(texts).items() if count > 1] == []


def test_planted_quality_agrees_with_the_grades_and_sets_the_kinds_apart(
    data: demo.DemoData,
) -> None:
    grades: dict[str, list[int]] = defaultdict(list)
    for answer in data.answers:
        grades[answer.worker].append(answer.grade)
    for worker in data.workers:
        assert worker.planted == pytest.approx(mean(grades[worker.id]) / 5, abs=0.03)
    by_kind = {kind: mean(w.planted for w in data.workers if w.kind == kind) for kind in KIND_SIZES}
    assert by_kind["careful"] > by_kind["ordinary"] > by_kind["hasty"] > by_kind["dont_know"]
    assert by_kind["dont_know"] > by_kind["confidently_wrong"]
    for system in data.systems:
        own = [
            row.grade
            for row in data.system_answers
            if (row.system, row.prompt_strategy) == (system.system, system.prompt_strategy)
        ]
        assert system.planted == pytest.approx(mean(own) / 5, abs=0.03)


def test_only_people_who_said_so_count_as_not_knowing(data: demo.DemoData) -> None:
    declined = [answer for answer in data.answers if answer.declined]
    assert {answer.grade for answer in declined} == {0}
    kinds = {worker.id: worker.kind for worker in data.workers}
    by_kind = Counter(kinds[answer.worker] for answer in declined)
    assert by_kind["dont_know"] >= 12
    assert by_kind["careful"] == by_kind["confidently_wrong"] == 0


def test_every_log_replays_to_the_very_answer(
    data: demo.DemoData, all_logs: dict[str, list[logs.Event]]
) -> None:
    for answer in data.answers:
        own = [event for event in all_logs[answer.worker] if event["target"] == answer.item]
        assert replay_text(own) == answer.text


def test_logs_are_taken_as_they_are_by_the_log_s_own_check(
    all_logs: dict[str, list[logs.Event]],
) -> None:
    for events in all_logs.values():
        assert [clean_event(event, number) for number, event in enumerate(events)] == events


def test_logs_run_forward_in_time_and_last_as_long_as_such_people_would_take(
    data: demo.DemoData, all_logs: dict[str, list[logs.Event]]
) -> None:
    for worker in data.workers:
        events = all_logs[worker.id]
        times = [event["time"] for event in events]
        assert times == sorted(times)
        if len(data.answers_of(worker.id)) > 2:
            low, high = MINUTES[worker.kind]
            assert low <= logs.seconds(events) / 60 <= high, worker


def test_only_the_copy_pasters_paste_and_both_from_the_passage_and_from_outside(
    data: demo.DemoData, all_logs: dict[str, list[logs.Event]]
) -> None:
    shares = {worker.id: summarize_streams([all_logs[worker.id]]) for worker in data.workers}
    for worker in data.workers:
        if worker.kind == "copy_paster":
            assert shares[worker.id].paste_share > 0.6
            assert shares[worker.id].pastes_passage >= 8
        else:
            assert shares[worker.id].pastes == 0
    assert sum(summary.pastes_outside for summary in shares.values()) >= 2
    assert sum(summary.focus_losses > 0 for summary in shares.values()) >= 8
    assert all(shares[w.id].corrections > 20 for w in data.workers if w.kind == "careful")


def test_the_same_seed_gives_the_same_log_and_another_seed_another() -> None:
    def one(seed: int) -> list[logs.Event]:
        return logs.events_for("A short answer.", "ordinary", "", logs.seeded("demo", seed))

    assert one(1) == one(1)
    assert one(1) != one(2)


@pytest.mark.parametrize("kind", list(logs.MANNERS))
def test_any_text_in_any_manner_replays_whatever_the_seed(kind: str) -> None:
    passage = "Storks build their nests on chimneys and poles, mostly near wet meadows.\n\nOr not."
    text = f"Line one, 2 \u201cquotes\u201d.\n\n  {passage[:60]} and é ü after; {passage[-30:]}  "
    for seed in range(20):
        assert replay_text(logs.events_for(text, kind, passage, logs.seeded(kind, seed))) == text


def test_an_unknown_kind_or_a_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="sloppy is not a way of working"):
        logs.events_for("a", "sloppy", "", logs.seeded(1))
    for file in reading.HERE.glob("*.json"):
        shutil.copy(file, tmp_path)
    answers = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    answers["answers"][3]["item"] = "voy-99"
    (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    with pytest.raises(Invalid, match=r"answers\.json, kestrel-07, voy-99: no question"):
        reading.read(tmp_path)
