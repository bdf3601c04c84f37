"""Which pairs a worker is given, which side is left, and what of it counts."""

from __future__ import annotations

import itertools
import json
import uuid

import numpy as np
import pytest

from annotation.api.work import assignment_payload
from annotation.authoring.actions import tasks
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Candidate,
    ChoiceValue,
    Item,
    Membership,
    Panel,
    PanelMember,
    Task,
)
from annotation.pair_design import components
from annotation.task_types.pairwise.sides import SHOWN, STORED, to_canonical, to_displayed
from annotation.work.actions import answers, assignments, leases
from annotation.work.actions.answers import KNOWN
from annotation.work.selectors import work
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def claim(task: Task, worker: Membership | None = None) -> Assignment:
    worker = worker or factories.make_worker(task.project)
    assert worker.user is not None
    task.refresh_from_db()
    return assignments.claim_assignment(by=worker.user, task=task, worker=worker)


def submit(held: Assignment, side: str = "left") -> Assignment:
    """Every pair judged by the same side."""
    names = [row["name"] for row in held.version.settings["dimensions"]]
    draft = {f"d-{name}": side for name in names}
    drafts = dict.fromkeys(held.entries.values_list("item_id", flat=True), draft)
    user = held.worker.user
    assert user is not None
    return answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4(), drafts=drafts)


def test_a_vote_is_stored_for_the_pair_and_read_back_as_it_was_given() -> None:
    for flipped in (False, True):
        for side in SHOWN:
            assert to_displayed(to_canonical(side, flipped=flipped), flipped=flipped) == side
        for code in STORED:
            assert to_canonical(to_displayed(code, flipped=flipped), flipped=flipped) == code
    assert to_canonical("left", flipped=True) == "second"
    assert to_canonical("neutral", flipped=True) == "neutral"
    held = submit(claim(pair_corpus.make_task()), side="right")
    for answer in Answer.objects.filter(assignment=held):
        entry = AssignmentItem.objects.get(assignment=held, item=answer.item_id)
        assert answer.flipped == entry.flipped and answer.order_shown == entry.position
        expected = "first" if entry.flipped else "second"
        codes = set(ChoiceValue.objects.filter(answer=answer).values_list("code", flat=True))
        assert codes == {expected}


def test_both_texts_of_a_pair_stand_left_equally_often() -> None:
    task = pair_corpus.make_task(topics=2, sources=4, redundancy=6)
    while True:
        try:
            submit(claim(task))
        except Conflict:
            break
    for item in task.items.all():
        sides = list(
            Answer.objects.filter(item=item, counts=True).values_list("flipped", flat=True)
        )
        assert len(sides) == 6 and sum(sides) == 3


def test_pairs_that_were_authored_with_a_side_are_shown_that_way() -> None:
    task = pair_corpus.make_task(topics=1, sources=4)
    ids = list(task.items.values_list("pk", flat=True))
    Item.objects.filter(pk__in=ids[:3]).update(side=-1)
    Item.objects.filter(pk__in=ids[3:]).update(side=1)
    held = claim(task)
    for entry in held.entries.all():
        assert entry.flipped == (entry.item_id in ids[:3])


def test_a_designed_repeat_is_shown_the_other_way_round_to_who_met_the_pair_before() -> None:
    task = pair_corpus.make_task(topics=1, sources=3)
    worker = factories.make_worker(task.project)
    before = claim(task, worker)
    turned = dict(before.entries.values_list("item_id", "flipped"))
    submit(before)
    with pytest.raises(Conflict):
        claim(task, worker)  # a pair is seen once
    draft = tasks.draft_of(task, by=task.project.owner)
    for item in task.items.all():
        Item.objects.create(
            task=task,
            group=item.group,
            key=f"{item.key}-again",
            position=item.position + 1000,
            question=item.question,
            since=draft.number,
            first=item.first,
            second=item.second,
            repeat=True,
        )
    tasks.publish(by=task.project.owner, task=task)
    again = claim(task, worker)
    pairs = {item.pk: (item.first_id, item.second_id) for item in task.items.all()}
    by_pair = {pairs[pk]: flipped for pk, flipped in turned.items()}
    for entry in again.entries.all():
        assert entry.flipped != by_pair[pairs[entry.item_id]]


def test_nobody_is_given_a_pair_with_a_text_of_their_own() -> None:
    task = pair_corpus.make_task(topics=2, sources=4)
    author = factories.make_worker(task.project)
    own = Candidate.objects.filter(project=task.project, key="t0-s1").get()
    Candidate.objects.filter(pk=own.pk).update(author=author)
    seen: set[int] = set()
    while True:
        try:
            held = claim(task, author)
        except Conflict:
            break
        seen |= set(held.entries.values_list("item_id", flat=True))
        submit(held)
    mine = set(task.items.filter(first=own).values_list("pk", flat=True))
    mine |= set(task.items.filter(second=own).values_list("pk", flat=True))
    assert len(mine) == 3 and not seen & mine
    assert len(seen) == task.items.count() - 3
    assert not work.list_offers(
        work.memberships_with_consent(author.user)
    )  # nothing left is offered


def test_attention_pairs_come_beside_the_bundle_and_never_count() -> None:
    task = pair_corpus.make_task(topics=2, sources=4)
    by = task.project.owner
    tasks.edit_draft(by=by, task=task, fields={"settings": {"gold_per_assignment": 1}})
    hidden = task.items.order_by("pk").last()
    assert hidden is not None
    Item.objects.filter(pk=hidden.pk).update(expected={"overall": "first"}, redundancy=0)
    tasks.publish(by=by, task=task)
    held = claim(task)
    assert held.entries.count() == 7
    entry = held.entries.get(item=hidden)
    assert not entry.holds
    submit(held)
    answer = Answer.objects.get(assignment=held, item=hidden)
    assert not answer.counts and answer.uncounted_reason == KNOWN
    assert Answer.objects.filter(assignment=held, counts=True).count() == 6
    hidden.refresh_from_db()
    assert (hidden.held, hidden.redundancy) == (0, 0)
    with pytest.raises(Conflict, match="is known"):
        answers.set_counts(by=by, answer=answer, counts=True)


def test_a_task_for_a_panel_is_offered_to_its_members_alone() -> None:
    task = pair_corpus.make_task()
    panel = Panel.objects.create(
        project=task.project, name="Experts", created_by=task.project.owner
    )
    Task.objects.filter(pk=task.pk).update(panel=panel)
    member, other = (factories.make_worker(task.project) for _ in range(2))
    PanelMember.objects.create(panel=panel, worker=member)
    with pytest.raises(NotAllowed, match="panel"):
        claim(task, other)
    assert not work.list_offers(work.memberships_with_consent(other.user))
    assert len(work.list_offers(work.memberships_with_consent(member.user))) == 1
    assert claim(task, member).entries.count() == 6


def test_missing_and_forbidden_judgments_are_refused_by_name() -> None:
    task = pair_corpus.make_task()
    held = claim(task)
    user = held.worker.user
    assert user is not None
    items = list(held.entries.values_list("item_id", flat=True))
    drafts = {pk: {"d-clarity": "neutral", "d-overall": "left"} for pk in items}
    for wrong, message in (
        ({"d-clarity": "left"}, "Overall"),
        ({"d-clarity": "left", "d-overall": "neutral"}, "asks for left or right"),
        ({"d-clarity": "left", "d-overall": "left", "d-length": "left"}, "no line 'length'"),
        ({"d-clarity": "middle", "d-overall": "left"}, "middle"),
    ):
        with pytest.raises(Invalid, match=message):
            answers.submit_assignment(
                by=user, assignment=held, key=uuid.uuid4(), drafts={**drafts, items[0]: wrong}
            )
    assert not Answer.objects.filter(assignment=held).exists()


def test_workers_and_pairs_are_one_graph_though_everybody_takes_one_assignment() -> None:
    task = pair_corpus.make_task(topics=3, sources=5, redundancy=2)
    number = 0
    while True:
        try:
            held = claim(task)
        except Conflict:
            break
        number += 1
        if number == 3:  # one is given back: its stretch is the next one's
            assert held.worker.user is not None
            leases.return_assignment(by=held.worker.user, assignment=held)
        else:
            submit(held)
    rows = list(Answer.objects.filter(item__task=task).values_list("worker_id", "item_id"))
    workers, items = (sorted(set(column)) for column in zip(*rows, strict=True))
    part, _ = components(
        np.array([workers.index(w) for w, _ in rows]),
        np.array([items.index(i) for _, i in rows]),
        len(workers),
        len(items),
    )
    assert len(items) == 30 and set(part.tolist()) == {1}


def test_a_worker_is_told_neither_whose_texts_they_are_nor_how_the_study_was_made() -> None:
    task = pair_corpus.make_task()
    by = task.project.owner
    tasks.edit_draft(by=by, task=task, fields={"settings": {"gold_per_assignment": 1}})
    hidden = task.items.order_by("pk").last()
    assert hidden is not None
    Item.objects.filter(pk=hidden.pk).update(expected={"overall": "first"}, redundancy=0)
    tasks.publish(by=by, task=task)
    told = json.dumps(assignment_payload(claim(task)), default=str)
    assert "How is tea" in told and "is best drunk warm" in told
    for secret in ("gold", "design", "left_out", "t0-s1", "model-a", "tea-0_"):
        assert secret not in told


def test_pairs_come_in_an_order_drawn_for_each_worker_not_topic_by_topic() -> None:
    task = pair_corpus.make_task(topics=3, sources=4, redundancy=30)
    mixed, orders = 0, set()
    for _ in range(18):  # by chance a single order may go topic by topic
        entries = claim(task).entries.select_related("item").order_by("position")
        topics = [entry.item.group_id for entry in entries]
        mixed += sum(a != b for a, b in itertools.pairwise(topics)) >= len(set(topics))
        orders.add(tuple(entry.item_id for entry in entries))
    assert len(orders) > 12 and mixed >= 1
