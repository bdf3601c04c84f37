"""Audits of explanations: an equal sample, a judge who sees no label, shares once it is closed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Membership, Role, Task, User
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.methods.core.base import BadParameter
from evaluation.methods.rescaling.explanation_audit import sample, share
from evaluation.models import AuditVerdict, ExplanationAudit
from evaluation.rescaling import audits
from tests.evaluation.corpora import rescaling as corpus
from tests.support import factories


def test_a_sample_takes_the_same_number_of_every_worker_and_label_in_a_random_order() -> None:
    workers = [k // 40 for k in range(120)]
    labels = [k % 4 for k in range(120)]
    drawn = sample(workers, labels, each=3, rng=np.random.default_rng(1))
    assert len(drawn) == len(set(drawn)) == 36
    assert set(Counter((workers[at], labels[at]) for at in drawn).values()) == {3}
    assert drawn == sample(workers, labels, each=3, rng=np.random.default_rng(1))
    assert drawn != sample(workers, labels, each=3, rng=np.random.default_rng(2))
    assert [workers[at] for at in drawn] != sorted(workers[at] for at in drawn)
    assert len(sample([1, 1, 2], ["a", "a", "a"], each=2, rng=np.random.default_rng(0))) == 3
    with pytest.raises(BadParameter):
        sample([1], ["a"], each=0, rng=np.random.default_rng(0))


def test_a_share_has_the_wilson_interval() -> None:
    # 81 of 263: Newcombe (1998), Table I, method 3.
    found = share(81, 263)
    assert (found.low, found.high) == (
        pytest.approx(0.2553, abs=1e-4),
        pytest.approx(0.3662, abs=1e-4),
    )
    assert share(0, 0).value is None
    with pytest.raises(BadParameter):
        share(3, 2)


def world(each: int = 2, **more: Any) -> tuple[Task, User, ExplanationAudit]:
    """A rated task, a manager as judge, and an open audit."""
    task = corpus.make_rated(**more)
    judge = factories.make_member(task.project, Role.MANAGER).user
    assert judge is not None
    audit = audits.open_audit(by=task.project.owner, task=task, judge=judge, each=each)
    return task, judge, audit


def page(client: Client, task: Task, name: str, *args: Any, **query: Any) -> Any:
    return client.get(reverse(name, args=[task.project_id, task.pk, *args]), query)


@pytest.mark.django_db
def test_only_staff_who_rated_nothing_may_judge_and_only_a_requester_opens() -> None:
    task = corpus.make_rated(items=3)
    owner = task.project.owner
    rater = Membership.objects.get(project=task.project, external_id="0")
    rater.user = factories.make_user()
    rater.save()
    factories.make_member(task.project, Role.MANAGER, rater.user)
    manager = factories.make_member(task.project, Role.MANAGER).user
    assert manager is not None
    assert rater.user not in audits.judges(task) and manager in audits.judges(task)
    for judge, each, words in ((rater.user, 2, "judge"), (manager, 0, "out of range")):
        with pytest.raises(Invalid, match=words):
            audits.open_audit(by=owner, task=task, judge=judge, each=each)
    with pytest.raises(NotAllowed):
        audits.open_audit(by=manager, task=task, judge=manager, each=2)
    audits.open_audit(by=owner, task=task, judge=manager, each=2)
    with pytest.raises(Conflict, match="open audit"):
        audits.open_audit(by=owner, task=task, judge=manager, each=2)


@pytest.mark.django_db
def test_the_audit_draws_explained_ratings_equally_and_the_same_again() -> None:
    task, judge, audit = world()
    rows = Answer.objects.filter(pk__in=audit.answer_ids).values_list(
        "worker_id", "choices__ordinal"
    )
    cells = Counter(rows)
    everything = Counter(
        Answer.objects.filter(item__task=task, texts__field="explanation").values_list(
            "worker_id", "choices__ordinal"
        )
    )
    assert {cell: min(2, n) for cell, n in everything.items()} == cells
    audits.close(by=task.project.owner, audit=audit)
    again = audits.open_audit(by=task.project.owner, task=task, judge=judge, each=2)
    assert again.answer_ids == audit.answer_ids


@pytest.mark.django_db
def test_the_judge_sees_document_question_answer_and_explanation_and_no_label(
    client: Client,
) -> None:
    task, judge, audit = world()
    client.force_login(judge)
    for number in range(1, len(audit.answer_ids) + 1):
        text = page(client, task, "audit_judge", audit.pk, n=number).content.decode()
        answer = Answer.objects.select_related("item__first").get(pk=audit.answer_ids[number - 1])
        assert answer.texts.get().text in text
        assert answer.item.first is not None and answer.item.first.text in text
        assert corpus.QUESTION in text and "A keeper lived in the tower" in text
        for point in corpus.POINTS:
            assert f">{point['label']}<" not in text and f"“{point['label']}”" not in text
        for worker in task.project.memberships.filter(role=Role.WORKER):
            assert worker.pseudonym not in text
        assert f'value="{answer.pk}"' not in text  # nor the id under which it could be looked up
        assert 'class="sentence cited"' in text


@pytest.mark.django_db
def test_verdicts_are_kept_resumed_and_changed_until_the_audit_is_closed(client: Client) -> None:
    task, judge, audit = world(each=1)
    total = len(audit.answer_ids)
    client.force_login(judge)
    address = reverse("audit_judge", args=[task.project_id, task.pk, audit.pk])
    client.post(address, {"n": 1, "verdict": "agree"})
    client.post(address, {"n": 2, "verdict": "disagree", "note": "Not in the text."})
    text = client.get(address).content.decode()
    assert f"Explanation 3 of {total}" in text and "2 judged" in text
    client.post(address, {"n": 1, "verdict": "disagree"})
    assert list(audit.verdicts.values_list("agrees", flat=True)) == [False, False]
    assert client.post(address, {"n": 1, "verdict": "maybe"}).status_code == 422
    assert client.post(address, {"n": total + 1, "verdict": "agree"}).status_code == 422
    with pytest.raises(Conflict, match="not judged yet"):
        audits.close(by=judge, audit=audit)
    for number in range(1, total + 1):
        client.post(address, {"n": number, "verdict": "agree" if number % 4 else "disagree"})
    assert "Everything is judged" in client.get(address).content.decode()
    client.post(reverse("audit_close", args=[task.project_id, task.pk, audit.pk]))
    assert client.post(address, {"n": 1, "verdict": "agree"}).status_code == 409
    assert AuditVerdict.objects.count() == total


@pytest.mark.django_db
def test_shares_are_shown_to_everybody_once_the_audit_is_closed_and_not_before() -> None:
    task, judge, audit = world(each=1)
    owner, total = task.project.owner, len(audit.answer_ids)
    for number in range(1, total + 1):
        audits.give_verdict(by=judge, audit=audit, place=number, agrees=number > 2, note="Why")
    client = Client()
    client.force_login(owner)
    before = page(client, task, "audit", audit.pk).content.decode()
    assert f"{total} of {total}" in before and "agrees with" not in before
    with pytest.raises(NotAllowed):
        audits.give_verdict(by=owner, audit=audit, place=1, agrees=True)
    audits.close(by=judge, audit=audit)
    after = page(client, task, "audit", audit.pk).content.decode()
    assert "agrees with" in after and "Rater 0" in after and "misses a little" in after
    everybody = share(total - 2, total)
    assert everybody.low is not None and f"{100 * everybody.low:.0f}–" in after
    assert page(client, task, "audit_judge", audit.pk).status_code == 403


@pytest.mark.django_db
def test_one_opens_an_audit_on_its_page_and_a_task_without_explanations_says_so() -> None:
    task = corpus.make_rated(items=3)
    judge = factories.make_member(task.project, Role.MANAGER).user
    assert judge is not None
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("audit_list", args=[task.project_id, task.pk])
    assert "No audit yet" in client.get(address).content.decode()
    form = {"judge": judge.pk, "each": 1, "scale": "completeness", "seed": 3}
    assert client.post(address, form).status_code == 302
    assert ExplanationAudit.objects.get().judge == judge
    assert client.post(address, form).status_code == 409
    bare = corpus.make_task(2)
    client.force_login(bare.project.owner)
    none = reverse("audit_list", args=[bare.project_id, bare.pk])
    refused = client.post(none, {**form, "judge": bare.project.owner.pk})
    assert refused.status_code == 422
    assert "Another." in refused.content.decode()
