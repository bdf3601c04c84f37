"""A simulated crowd judges a whole study over HTTP; who looked and who did not is then found out.

60 workers, 400 pairs of texts by eight sources whose order is known, five votes a pair; one
worker in five does not look: half of these always choose the left text, the others guess.
``CROWDQC_CROWD=300 pytest tests/test_simulated_crowd.py`` takes a crowd of the usual size.
"""

from __future__ import annotations

import http.client
import json
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from annotation.accounts.projects import actions as people
from annotation.accounts.tokens.actions import digest_token
from annotation.authoring.actions import tasks
from annotation.models import (
    Answer,
    ApiToken,
    Assignment,
    Candidate,
    Consent,
    Item,
    ItemGroup,
    System,
    Task,
    User,
)
from evaluation.models import Run, RunState, SystemScore, WorkerScore
from evaluation.runs import engine as runs
from tests.support import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.long]

WORKERS = int(os.environ.get("CROWDQC_CROWD", "60"))
PAIRS, VOTES, BUNDLE, SPAMMERS = WORKERS * 20 // 3, 5, 33, WORKERS // 5
MERITS = np.array([1.4, 1.0, 0.6, 0.2, -0.2, -0.6, -1.0, -1.4])
DIMENSIONS = ("clarity", "depth", "overall")


def make_study() -> Task:
    """The published study; which source wrote which text is known to the test alone."""
    project = factories.make_project()
    task = tasks.create_task(
        by=project.owner, project=project, type="pairwise", title="Which text is better?"
    )
    asked = [{"name": name, "label": name.title(), "neutral": True} for name in DIMENSIONS]
    tasks.edit_draft(
        by=project.owner,
        task=task,
        fields={
            "redundancy": VOTES,
            "items_per_assignment": BUNDLE,
            "pay": "4.00",
            "settings": {"dimensions": asked},
        },
    )
    systems = System.objects.bulk_create(
        System(project=project, name=f"source {k}") for k in range(len(MERITS))
    )
    a_topic = len(MERITS) * (len(MERITS) - 1) // 2
    topics = -(-PAIRS // a_topic)
    texts = Candidate.objects.bulk_create(
        Candidate(
            project=project,
            key=f"t{topic}s{k}",
            topic=f"t{topic}",
            query=f"Topic {topic}?",
            text=f"A text on topic {topic} of some length, number {k}.",
            system=system,
        )
        for topic in range(topics)
        for k, system in enumerate(systems)
    )
    groups = ItemGroup.objects.bulk_create(
        ItemGroup(task=task, key=f"t{topic}", title=f"Topic {topic}?", position=topic, since=1)
        for topic in range(topics)
    )
    pairs = [
        (topic, texts[topic * len(MERITS) + i], texts[topic * len(MERITS) + j])
        for topic in range(topics)
        for i in range(len(MERITS))
        for j in range(i + 1, len(MERITS))
    ][:PAIRS]
    np.random.default_rng(5).shuffle(pairs)
    Item.objects.bulk_create(
        Item(
            task=task,
            group=groups[topic],
            key=f"p{n}",
            position=10 * n,
            question="Which?",
            since=1,
            first=first,
            second=second,
        )
        for n, (topic, first, second) in enumerate(pairs)
    )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


def make_crowd(task: Task) -> list[str]:
    """Tokens of the workers, who have agreed to be recorded."""
    users = User.objects.bulk_create(
        User(username=f"w{n}-{uuid.uuid4().hex}") for n in range(WORKERS)
    )
    text = people.current_consent_text(task.project)
    for user in users:
        worker = people.add_worker(project=task.project, user=user, pseudonym="")
        Consent.objects.create(membership=worker, text=text)
    return [factories.api_token(user) for user in users]


class Client:
    """One connection of one worker."""

    def __init__(self, url: str, token: str) -> None:
        self.to = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self.headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer; None where nothing is left to claim (409)."""
        self.to.request("POST", f"/api/{path}", json.dumps(body or {}), self.headers)
        answer = self.to.getresponse()
        content = answer.read()
        if answer.status == 409:
            return None
        assert answer.status in (200, 201), (answer.status, content[:400])
        return json.loads(content)


def sides(entry: dict[str, Any], merit: dict[str, float], kind: str, rng: Any) -> dict[str, str]:
    """A draft: what this worker clicks for a pair, from the texts as they are shown."""
    if kind == "left":
        return dict.fromkeys((f"d-{name}" for name in DIMENSIONS), "left")
    if kind == "guess":
        return {f"d-{name}": str(rng.choice(["left", "right"])) for name in DIMENSIONS}
    left, right = (merit[text] for text in entry["texts"])
    felt = left - right + rng.normal(0, 0.6)
    return {
        f"d-{name}": "neutral" if abs(seen) < 0.15 else "left" if seen > 0 else "right"
        for name in DIMENSIONS
        for seen in [felt + rng.logistic(0, 0.45)]
    }


def work(url: str, task: int, number: int, token: str, merit: dict[str, float]) -> None:
    """One worker takes one assignment, judges every pair of it and submits."""
    kind = "look" if number >= SPAMMERS else "left" if number % 2 else "guess"
    rng, client = np.random.default_rng(number), Client(url, token)
    with closing(client.to):
        held = client.post(f"work/tasks/{task}/claim/")
        if held is None:
            return
        drafts = {str(entry["item"]): sides(entry, merit, kind, rng) for entry in held["entries"]}
        body = {"key": str(uuid.uuid4()), "answers": drafts}
        client.post(f"work/assignments/{held['id']}/submit/", body)


def test_a_crowd_over_the_api_shows_who_does_not_look_and_which_source_is_better(
    live_server: Any,
) -> None:
    task = make_study()
    tokens = make_crowd(task)
    texts = Candidate.objects.filter(project=task.project).select_related("system")
    merit = {text.text: float(MERITS[int(text.system.name[-1])]) for text in texts}
    order = np.random.default_rng(1).permutation(WORKERS)
    with ThreadPoolExecutor(8) as pool:
        jobs = [
            pool.submit(work, live_server.url, task.pk, int(n), tokens[n], merit) for n in order
        ]
        for job in jobs:
            job.result()
    for n in order[::-1]:  # a few take a second assignment, until every slot is filled
        if Answer.objects.filter(item__task=task, counts=True).count() == PAIRS * VOTES:
            break
        work(live_server.url, task.pk, int(n), tokens[n], merit)
    assert Answer.objects.filter(item__task=task, counts=True).count() == PAIRS * VOTES
    flipped = Answer.objects.filter(item__task=task, flipped=True).count() / (PAIRS * VOTES)
    assert abs(flipped - 0.5) < 0.02  # both sides alike
    stretches = list(Assignment.objects.filter(task=task).values_list("stretch", flat=True))
    assert len(set(stretches)) == len(stretches)  # however many claimed at once
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200, "draws": 0})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    assert auc(run, tokens) >= 0.95
    scores = SystemScore.objects.filter(run=run, dimension="overall").select_related("system")
    found = {row.system.name: row.estimate for row in scores}
    ours = [found[f"source {k}"] for k in range(len(MERITS))]
    # Who takes which pairs depends on who claims first, so two neighbours may be too close to call.
    places = np.argsort(np.argsort(ours)) - np.argsort(np.argsort(MERITS))
    assert np.abs(places).max() <= 1, ours
    assert np.corrcoef(ours, MERITS)[0, 1] >= 0.97, ours


def auc(run: Run, tokens: list[str]) -> float:
    """The chance that a worker who looks has a higher mean competence than one who does not."""
    kept = [digest_token(token) for token in tokens]
    users = ApiToken.objects.filter(digest__in=kept).values_list("digest", "user_id")
    number = {user: kept.index(key) for key, user in users}
    total: dict[int, list[float]] = {}
    rows = WorkerScore.objects.filter(run=run, dimension__in=DIMENSIONS, component=1)
    for user, estimate in rows.values_list("worker__user_id", "estimate"):
        total.setdefault(number[user], []).append(estimate)
    mean = {n: float(np.mean(values)) for n, values in total.items()}
    assert len(mean) == WORKERS  # one component: everybody is comparable
    honest = np.array([value for n, value in mean.items() if n >= SPAMMERS])
    others = np.array([value for n, value in mean.items() if n < SPAMMERS])
    return float((honest[:, None] > others[None, :]).mean())
