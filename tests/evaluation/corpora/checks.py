"""A small checklist study written for these tests: notes on tea, a list of four, two people."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from annotation.authoring.actions import tasks
from annotation.formats.actions import judgments as judgment_imports
from annotation.formats.actions.judgments import Vote
from annotation.models import Candidate, Item, ItemGroup, Membership, Project, Task
from annotation.pairs.actions import checklist_items
from annotation.pairs.actions.candidates import add_candidates
from annotation.task_types.checklist.type import ORDINALS
from evaluation.checklists.filled.text_scores import HUMAN, publish
from tests.support import factories
from tests.support.kept import kept
from tests.support.servers.llm import Body, Chances, Stub, serving

QUESTIONS = (
    {
        "name": "q1",
        "label": "Does the note name the leaf?",
        "component": "Content",
        "attributes": [{"text": "says which tea it is", "author": "Stork 1", "kind": "person"}],
    },
    {
        "name": "q2",
        "label": "Does the note give the time?",
        "component": "Content",
        "attributes": [{"text": "time of brewing", "author": "model-a", "kind": "model"}],
    },
    {"name": "q3", "label": "Does the note say how warm?", "component": "Care"},
    {"name": "q4", "label": "Is the note free of jokes?", "component": "Care"},
)
WORDS = {"q1": "leaf", "q2": "minutes", "q3": "degrees", "q4": "sober"}
TOPICS, SYSTEMS = 6, 5


def note(topic: int, number: int) -> str:
    """A text whose words say which questions are to be answered yes; later ones say more."""
    said = [word for k, word in enumerate(WORDS.values()) if k < number or (topic + k) % 4 == 0]
    return f"Tea {topic}, note {number}: {' '.join(said)}."


def truth(text: str, name: str) -> str:
    """The answer that a text calls for."""
    return "yes" if WORDS[name] in text else "no"


def make_texts(project: Project, topics: int = TOPICS, systems: int = SYSTEMS) -> list[Candidate]:
    """A text a topic and system, the same ones when asked for again."""
    rows = [
        {
            "key": f"tea-{topic}-{number}",
            "topic": f"tea-{topic}",
            "text": note(topic, number),
            "query": f"How is tea {topic} made?",
            "system": f"writer {number}",
        }
        for topic in range(topics)
        for number in range(systems)
    ]
    add_candidates(by=project.owner, project=project, rows=rows)
    return list(Candidate.objects.filter(project=project, key__startswith="tea-").order_by("pk"))


@kept
def make_task(
    project: Project,
    *,
    topics: int = TOPICS,
    systems: int = SYSTEMS,
    title: str = "Is the tea made well?",
    questions: Sequence[Mapping[str, Any]] = QUESTIONS,
    version: int = 0,
) -> Task:
    """A published checklist task on the texts, a source beside each."""
    task = checklist_items.make_task(
        by=project.owner,
        project=project,
        title=title,
        dimension="Helpfulness",
        questions=questions,
        version=version,
        texts=make_texts(project, topics, systems),
    )
    for group in ItemGroup.objects.filter(task=task):
        ItemGroup.objects.filter(pk=group.pk).update(passage=f"All about {group.key}.")
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


def fill(
    task: Task,
    workers: Sequence[Membership],
    *,
    slips: int = 7,
    only: Sequence[int] | None = None,
) -> None:
    """Filled checklists of people; every ``slips``-th answer of a person is wrong."""
    rows = Item.objects.filter(task=task) if only is None else Item.objects.filter(pk__in=only)
    items = list(rows.select_related("first").order_by("pk"))
    votes = []
    names = [row["name"] for row in task.current.settings["questions"]]
    for who, worker in enumerate(workers):
        count = who
        for place, item in enumerate(items):
            choices = []
            for name in names:
                count += 1
                code = truth(item.first.text, name)
                if count % slips == 0:
                    code = "no" if code == "yes" else "yes"
                choices.append((name, code, ORDINALS[code]))
            votes.append(Vote(worker.pk, item.pk, tuple(choices), position=place))
    judgment_imports.add_votes(task=task, votes=votes)


def _quality(topic: int, number: int) -> float:
    """What readers think of a note: better the more it says, with a will of their own."""
    return 1 + number + (topic * 5 + number * 3) % 4 / 2


def score_by_people(task: Task, *, role: str = HUMAN, name: str = "two readers") -> Any:
    """Human scores of every text: better with its number, with a little unevenness."""
    given = {
        text.pk: _quality(*map(int, text.key.split("-")[1:]))
        for text in Candidate.objects.filter(project=task.project_id, key__startswith="tea-")
    }
    run, _ = publish(
        by=task.project.owner,
        task=task,
        name=name,
        version="test",
        role=role,
        scores={"helpfulness": given},
    )
    return run


@kept
def make_study(*, topics: int = TOPICS, people: int = 2, scored: bool = True) -> Task:
    """A published task, filled by people, and human scores of its texts."""
    project = factories.make_project()
    task = make_task(project, topics=topics)
    fill(task, [factories.make_worker(project) for _ in range(people)])
    if scored:
        score_by_people(task)
    return task


# A model ---------------------------------------------------------------------------------------


def asked_text(body: Body) -> str:
    """The text under judgment in a prompt."""
    told = body["messages"][-1]["content"]
    found = re.search(r"(?:Text under judgment|Text to rate):\n\n(.*?)\n\n", told, re.DOTALL)
    assert found is not None
    return found[1]


def answers(body: Body) -> str:
    """What the stub says: yes where the text has the word that the question is after."""
    told = body["messages"][-1]["content"]
    if "Write three to six steps" in told:
        return "1. Read the note. 2. Look for what it leaves out. 3. Give the score."
    text = asked_text(body)
    if "Form to fill in" in told:
        return json.dumps({"score": min(5, 1 + sum(word in text for word in WORDS.values()))})
    labels = {row["label"]: row["name"] for row in QUESTIONS}
    if "Checklist:" in told:
        lines = re.findall(r"^(q\d+)\. (.*)$", told, re.MULTILINE)
        return json.dumps({place: truth(text, labels[label]) for place, label in lines})
    question = re.search(r"^Question: (.*)$", told, re.MULTILINE)
    assert question is not None
    return json.dumps({"answer": truth(text, labels[question[1]])})


def answers_with_chances(body: Body) -> str | Chances:
    """The same as one token with probabilities where they are asked for: .8 for what is said."""
    said = answers(body)
    if not body.get("logprobs"):
        return said
    value = str(next(iter(json.loads(said).values())))
    other = str(1 + int(value) % 5) if value.isdigit() else {"yes": "no", "no": "yes"}[value]
    return Chances(value, {value: 0.8, other: 0.2})


def answering() -> AbstractContextManager[Stub]:
    """A stub that answers lists and forms, with probabilities where they are asked for."""
    return serving(answers_with_chances)
