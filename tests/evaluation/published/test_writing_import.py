"""The published writing study, taken in at the command line and replayed from what was stored."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.formats.actions.responses import stored_bytes
from annotation.formats.exports.writing import log_table
from annotation.models import Answer, ChoiceValue, EventBatch, SpanValue, Task, TextValue
from annotation.task_types.writing.deltas import apply
from annotation.work.selectors import log
from crowdqc.errors import Invalid
from evaluation.published.reproduce.data import data_folder
from tests.support import factories as make

pytestmark = [pytest.mark.data, pytest.mark.long]
LEAST_RATIO, MOST_SECONDS = 20, 180


@dataclass(frozen=True)
class TakenIn:
    task: Task
    folder: Path
    said: str
    seconds: float


@pytest.fixture(scope="module")
def corpus(shared_rows: None) -> TakenIn:
    """All of it, taken in once for this module."""
    try:
        folder = data_folder() / "crowdrag"
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    user, out = make.make_user(), StringIO()
    began = time.monotonic()
    call_command(
        "crowdqc_import",
        "crowdrag-writing",
        str(folder),
        "--new-project",
        "Writing",
        "--by",
        user.username,
        stdout=out,
        stderr=StringIO(),
    )
    seconds = time.monotonic() - began
    return TakenIn(Task.objects.get(type="writing"), folder, out.getvalue(), seconds)


@pytest.mark.django_db
def test_every_log_replays_to_the_published_text_and_takes_little_room(corpus: TakenIn) -> None:
    texts = dict(
        TextValue.objects.filter(
            answer__item__task=corpus.task, answer__worker__isnull=False, field="answer"
        ).values_list("answer__assignment_id", "text")
    )
    assert len(texts) == 903
    items = dict(
        Answer.objects.filter(item__task=corpus.task, worker__isnull=False).values_list(
            "assignment_id", "item_id"
        )
    )
    began = time.monotonic()
    # The text is stored as it was published, spaces at its ends included: nothing is stripped.
    # Every log is replayed from its export, below; from its events, one in seven.
    chosen = sorted(texts)[::7]
    same = sum(
        log.replay_text(log.item_events(log.assignment_events(pk), items[pk])) == texts[pk]
        for pk in chosen
    )
    replayed = time.monotonic() - began
    exported = [
        json.loads(line)
        for part in log_table(corpus.task, "jsonl").parts("jsonl")
        for line in part.splitlines()
    ]
    by_answer = dict(TextValue.objects.filter(field="answer").values_list("answer_id", "text"))
    assert len(exported) == 903
    for row in exported:
        text = ""
        for delta in row["deltas"]:
            text = apply(text, delta)
        assert text == by_answer[int(row["response"])]
    size, batches, events = stored_bytes(corpus.task)
    ratio = 209_920_532 / size
    print(
        f"\nimport {corpus.seconds:.1f} s; {same} of {len(chosen)} replay exactly "
        f"({replayed:.1f} s); {events:,} events, {batches:,} batches, {size / 1e6:.2f} MB stored, "
        f"1/{ratio:.1f} of the snapshots\n{corpus.said}"
    )
    assert same == len(chosen) == 129
    assert events == 184_595 and ratio > LEAST_RATIO
    assert corpus.seconds < MOST_SECONDS


@pytest.mark.django_db
def test_topics_forms_citations_and_the_models_texts_are_there_once(corpus: TakenIn) -> None:
    task = corpus.task
    assert task.current is not None and task.current.settings["first_number"] == 0
    assert task.state == "closed" and task.items.count() == 903 and task.groups.count() == 301
    assert {len(group.passages) for group in task.groups.all()} == {20}
    given = Answer.objects.filter(item__task=task, counts=True)
    assert given.filter(worker__isnull=False).values("worker").distinct().count() == 34
    assert given.filter(system__name="GPT-4o").count() == 903
    said = ChoiceValue.objects.filter(answer__item__task=task)
    assert said.count() == 8 * (903 - 25)  # 25 people were not asked
    assert said.filter(field="entry.knowledge", ordinal=5).count() == 150
    spans = SpanValue.objects.filter(answer__item__task=task, field="citation")
    assert {int(target) for target in spans.values_list("target", flat=True)} == set(range(1, 21))
    assert "2 citations of numbers that no passage has" in corpus.said
    some = spans.select_related("answer").first()
    assert some is not None
    text = TextValue.objects.get(answer=some.answer, field="answer").text
    cited = re.findall(r"\d+", text[some.start : some.end])
    assert int(some.target) - 1 in map(int, cited)
    assert EventBatch.objects.filter(last_seq__gte=1000).exists()


@pytest.mark.django_db
def test_the_same_folder_again_adds_nothing(corpus: TakenIn) -> None:
    out = StringIO()
    before = Answer.objects.count(), EventBatch.objects.count()
    call_command(
        "crowdqc_import",
        "crowdrag-writing",
        str(corpus.folder),
        "--task",
        str(corpus.task.pk),
        "--by",
        corpus.task.project.owner.username,
        stdout=out,
        stderr=StringIO(),
    )
    assert "Everything was there already; nothing was added." in out.getvalue()
    assert (Answer.objects.count(), EventBatch.objects.count()) == before
