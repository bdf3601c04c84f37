"""The demo's pairwise study: readable texts, judges who differ in care, logs the server takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean

import pytest

from annotation.demo import judging, logs
from annotation.demo.judging import DIMENSIONS, MANNERS
from annotation.task_types import get_type
from annotation.task_types.pairwise.page import sources_of
from annotation.task_types.pairwise.type import PREFIX, TEMPLATE
from annotation.work.actions.events import clean_event
from crowdqc.errors import Invalid

CITED = re.compile(r"\[([\d, ]+)\]")


@pytest.fixture(scope="module")
def study() -> judging.Study:
    return judging.load()


def test_ten_questions_have_four_answers_of_clearly_different_quality(study: judging.Study) -> None:
    assert len(study.topics) == 10
    at = DIMENSIONS.index(judging.OVERALL)
    for topic in study.topics:
        overall = sorted(text.marks[at] for text in topic.texts)
        assert overall[-1] - overall[0] >= 2, topic.id
        assert len({text.marks for text in topic.texts}) == 4, topic.id
    best, *_, worst = sorted(
        (mean(topic.texts[k].marks[at] for topic in study.topics), source.id)
        for k, source in enumerate(study.sources)
    )[::-1]
    assert (best[1], worst[1]) == ("orrery", "pellet") and best[0] - worst[0] > 2


def test_answers_cite_sources_that_stand_on_the_page_and_nothing_is_written_twice(
    study: judging.Study,
) -> None:
    texts = [text.text for topic in study.topics for text in topic.texts]
    assert len(set(texts)) == len(texts) == 40
    for topic in study.topics:
        shown = [source.number for source in sources_of(topic.passage)]
        assert shown == list(range(1, len(topic.sources) + 1))
        for text in topic.texts:
            cited = {int(n) for found in CITED.findall(text.text) for n in found.split(",")}
            assert cited and cited <= set(shown), judging.text_key(topic, text)
    for decoy in study.attention:
        assert not CITED.search(decoy.text)


def test_people_wrote_the_people_s_answers_and_are_among_those_who_judge(
    study: judging.Study,
) -> None:
    judged = {judge.worker for judge in study.judges}
    assert len(judged) == 24 and not judged & {one.worker for one in study.experts}
    for topic in study.topics:
        for text, source in zip(topic.texts, study.sources, strict=True):
            assert (text.author in judged) == (source.origin == "human")


def test_each_manner_votes_as_it_is_called(study: judging.Study) -> None:
    rng = logs.seeded("votes")
    pairs = [
        (one.marks, other.marks)
        for topic in study.topics
        for one in topic.texts
        for other in topic.texts
        if one != other
    ]

    def agrees(manner: str) -> float:
        """Share of decided lines, more than a mark apart, that name the better side."""
        right = []
        for left, other in pairs:
            said = judging.vote(left, other, manner, rng)
            for name, a, b in zip(DIMENSIONS, left, other, strict=True):
                if abs(a - b) > 1 and said[name] != "neutral":
                    right.append((said[name] == "left") == (a > b))
        return mean(right)

    careful = ["expert", "careful", "ordinary", "hasty", "guessing"]
    shares = [agrees(manner) for manner in careful]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.95 and shares[-1] < 0.7
    assert agrees("always_left") == pytest.approx(0.5)
    for left, other in pairs[:20]:
        assert set(judging.vote(left, other, "always_left", rng).values()) == {"left"}
        assert len(set(judging.vote(left, other, "one_label", rng).values())) == 1


@pytest.mark.parametrize("manner", list(MANNERS))
def test_votes_and_logs_are_such_as_the_server_takes_from_the_page(manner: str) -> None:
    kind = get_type("pairwise")
    settings = kind.clean_settings({"dimensions": [dict(row) for row in TEMPLATE]})
    for seed in range(10):
        rng = logs.seeded(manner, seed)
        said = [
            judging.vote((4, 3, 2, 4, 1, 0, 3), (1, 3, 3, 0, 2, 0, 1), manner, rng)
            for _ in range(3)
        ]
        events = judging.judging_log(
            [(f"item-{k}", one) for k, one in enumerate(said)], manner, rng
        )
        assert [clean_event(event, n) for n, event in enumerate(events)] == events
        times = [event["time"] for event in events]
        assert times == sorted(times)
        for k, one in enumerate(said):
            draft = {f"{PREFIX}{name}": side for name, side in one.items()}
            assert kind.check(draft, settings) is not None
            own = [event for event in events if event["target"] == f"item-{k}"]
            last = {e["name"]: e["comment"] for e in own if e["method"] == "change"}
            assert last == draft
            page = sum(int(e["comment"]) for e in own if e.get("name") == "page")
            assert page <= own[-1]["time"] - own[0]["time"] + 100


def test_a_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    content = json.loads((judging.HERE / judging.FILE).read_text(encoding="utf-8"))
    content["topics"][2]["texts"][1]["marks"][0] = 9
    (tmp_path / judging.FILE).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(Invalid, match=r"road-salt-prose: a mark from 0 to 4"):
        judging.load(tmp_path)
