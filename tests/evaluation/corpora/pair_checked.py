"""What the tests of agreement pages share: runs with few draws, and the words of a page."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, ChoiceValue, Membership, System, Task
from annotation.task_types.pairwise.sides import ORDINALS
from evaluation.models import Run, RunFigure, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import one_similarity

QUICK = {
    "restarts": 2,
    "shuffles": 2,
    "resamples": 100,
    "permutations": 99,
    "gold_resamples": 0,
    "worst": 2,
    "folds": 2,
    "agreeing": 2,
    "share": 0.8,
}


def core(task: Task) -> Run:
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 100, "restarts": 3})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    return Run.objects.get(pk=run.pk)


def check(run: Run) -> Run:
    """Work on the checks that follow a core run, with few draws."""
    checks = Run.objects.get(source=run)
    Run.objects.filter(pk=checks.pk).update(params={**checks.params, **QUICK})
    with one_similarity():
        assert runs.execute(checks.pk) == RunState.DONE, Run.objects.get(pk=checks.pk).error
    return Run.objects.get(pk=checks.pk)


def signed_in(task: Task, user: Any = None) -> Client:
    client = Client()
    client.force_login(user or task.project.owner)
    return client


def words(response: Any) -> str:
    """The words of a page, without its tags."""
    text = re.sub(r"<[^>]+>", " ", response.content.decode().replace("\u00a0", " "))
    return " ".join(text.replace("&nbsp;", " ").split())


def page(task: Task, name: str, *args: int, query: str = "", client: Client | None = None) -> str:
    url = reverse(name, args=[task.project_id, task.pk, *args]) + query
    response = (client or signed_in(task)).get(url)
    assert response.status_code == 200, (name, response.status_code)
    return words(response)


def figure(run: Run, name: str) -> Any:
    return RunFigure.objects.get(run=run, name=name).data


def reliability(task: Task, dimension: str) -> np.ndarray:
    """Workers by pairs, for a second implementation of alpha."""
    rows = ChoiceValue.objects.filter(answer__item__task=task, field=dimension).values_list(
        "answer__worker", "answer__item", "ordinal"
    )
    people, items = (sorted({row[k] for row in rows}) for k in (0, 1))
    found = np.full((len(people), len(items)), np.nan)
    for person, item, ordinal in rows:
        found[people.index(person), items.index(item)] = ordinal
    return found


def careless(task: Task) -> Membership:
    """Who always votes left."""
    return task.project.memberships.filter(role="worker").latest("pk")


def judge(task: Task, name: str = "Tern-2", *, seed: int = 3) -> System:
    """A model that votes on every pair both ways round, mostly for the text of better merit."""
    rng = np.random.default_rng(seed)
    system = System.objects.create(project=task.project, name=name, prompt_strategy="judge")
    answers, votes = [], []
    for item in task.items.select_related("first", "second"):
        for flipped in (False, True):
            answer = Answer(
                version=task.current,
                item=item,
                system=system,
                replicate=int(flipped),
                flipped=flipped,
                answered_at=timezone.now(),
            )
            gap = pair_corpus.merit(item.first) - pair_corpus.merit(item.second)
            better = "first" if gap + rng.normal(0, 0.5) > 0 else "second"
            answers.append(answer)
            votes += [
                ChoiceValue(
                    answer=answer, field=str(row["name"]), code=better, ordinal=ORDINALS[better]
                )
                for row in pair_corpus.DIMENSIONS
            ]
    Answer.objects.bulk_create(answers)
    ChoiceValue.objects.bulk_create(votes)
    return system
