"""A worker who reads all that the server sends cannot tell which item's answer is known.

Bundles are played through pages and API; all that comes back about each item is made into numbers,
and each number is tried as a way to name the hidden item, as is a classifier over all of them.
Contents are drawn alike for all items, so that nothing in them helps.
"""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.authoring.actions import media, tasks
from annotation.authoring.actions.known import set_known
from annotation.models import Assignment, Candidate, Membership, Project, Task
from annotation.pairs.actions import candidates, checklist_items, pair_items, rating_documents
from annotation.pairs.actions.topics import use_project_topics
from tests.support import factories
from tests.support.studies import judging, labels, ratings, thinking

pytestmark = pytest.mark.django_db
ASKED, EACH = 4, 8  # items of a bundle beside the hidden one; bundles of a worker
MANY = int(os.environ.get("CROWDQC_BUNDLES", "500"))
SURE = 1e-4  # the chance that anything is found in one kind of task where there is nothing
RULES = {"redundancy": 99, "items_per_assignment": ASKED, "order": "random"}
HIDDEN = {"gold_per_assignment": 1}
ITEMS = EACH * (ASKED + 1)
Features = dict[str, float]


# Kinds of tasks: items that differ in a made-up word, a fifth of them with a known answer ---------


def word(rng: random.Random) -> str:
    return "zq" + "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=10))


def finish(task: Task, rng: random.Random, given: Mapping[str, Any]) -> Task:
    """Publish; say later what is known of some items, which replaces them; publish again."""
    by = task.project.owner
    tasks.publish(by=by, task=task)
    of_documents = task.groups.count() == EACH
    rows: dict[int, list[str]] = {}
    for key, group in task.items.order_by("pk").values_list("key", "group"):
        rows.setdefault(group if of_documents else 0, []).append(key)
    each = EACH // len(rows)
    for key in sorted(key for row in rows.values() for key in rng.sample(row, each)):
        set_known(by=by, task=task, key=key, given=given)
    own = task.versions.latest("number").settings
    tasks.edit_draft(by=by, task=task, fields={"settings": {**own, **HIDDEN}})
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def free_text(project: Project, rng: random.Random) -> Task:
    asked = [f"What is a {word(rng)}?" for _ in range(ITEMS)]
    task = factories.make_task(project, ITEMS, questions=asked, publish=False, **RULES)
    return finish(task, rng, {"answer": "stork"})


def label_texts(project: Project, rng: random.Random) -> Task:
    texts = [f"A leaf of {word(rng)}." for _ in range(ITEMS)]
    task = labels.make_labels(project, texts, publish=False, **RULES)
    return finish(task, rng, {"damage": "none"})


def label_images(project: Project, rng: random.Random) -> Task:
    task = labels.make_labels(project, (), settings={"content": "image"}, publish=False, **RULES)
    files = [
        (f"gpt4_{word(rng)}.png", labels.png(f"#{rng.randrange(16**6):06x}", (8, 8)))
        for _ in range(ITEMS)
    ]
    media.upload_media(by=project.owner, task=task, files=files)
    return finish(task, rng, {"damage": "none"})


def checklist(project: Project, rng: random.Random) -> Task:
    by, told = project.owner, [f"The library has a {word(rng)}." for _ in range(ITEMS)]
    task = checklist_items.make_task(
        by=by,
        project=project,
        title="Check summaries",
        dimension="Coherence",
        questions=thinking.QUESTIONS,
        version=0,
        texts=[judging.make_candidate(project, text, "library") for text in told],
    )
    tasks.edit_draft(by=by, task=task, fields={**RULES, "pay": "1.00"})
    group = task.groups.get()
    tasks.save_group(by=by, task=task, group=group, title="Books", passage=thinking.SOURCE)
    return finish(task, rng, {"links": "yes"})


def rating_texts(project: Project, rng: random.Random) -> Task:
    return finish(_judged(project, rng, "rating", 1), rng, {"quality_overall": "4"})


def documents(project: Project, rng: random.Random) -> Task:
    """Eight documents, of each of which four answers are asked and one is known."""
    task = tasks.create_task(by=project.owner, project=project, type="rating", title="Complete?")
    fields = {**RULES, "settings": ratings.SETTINGS}
    tasks.edit_draft(by=project.owner, task=task, fields=fields)
    rows = [
        {**row, "answer": f"Because of a {word(rng)}.", "system": f"gpt-{place % 5}"}
        for place, row in enumerate(ratings.rows(EACH, ASKED + 1))
    ]
    rating_documents.add_documents(by=project.owner, task=task, rows=rows)
    return finish(task, rng, {"completeness": "70"})


def pairs(project: Project, rng: random.Random) -> Task:
    """Pairs as they are drawn, and pairs that test attention."""
    task, by = _judged(project, rng, "pairwise", 2), project.owner
    for topic in rng.sample(list(task.groups.values_list("key", flat=True)), EACH):
        left, right = Candidate.objects.filter(project=project, topic=topic).order_by("?")
        pair_items.add_attention(
            by=by, task=task, left=left.pk, right=right.pk, expected={"quality_overall": "left"}
        )
    pair_items.edit_design(by=by, task=task, fields={"repeat_every": 0})
    pair_items.make_pairs(by=by, task=task)
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def _judged(project: Project, rng: random.Random, kind: str, texts: int) -> Task:
    by = project.owner
    task = tasks.create_task(by=by, project=project, type=kind, title="How good?")
    tasks.edit_draft(by=by, task=task, fields={**RULES, "settings": HIDDEN if texts == 2 else {}})
    rows = [
        {
            "key": f"gpt{number}-{word(rng)}",
            "topic": f"t-{topic}",
            "query": f"What is a {name}?",
            "text": f"It is a {word(rng)}.",
            "system": f"gpt-{number}",
        }
        for topic, name in enumerate(word(rng) for _ in range(ITEMS))
        for number in range(texts)
    ]
    candidates.add_candidates(by=by, project=project, rows=rows)
    use_project_topics(by=by, task=task)
    return task


KINDS: dict[str, tuple[Callable[[Project, random.Random], Task], dict[str, Any]]] = {
    "free text": (free_text, {"text": "They nest on chimneys."}),
    "labels": (label_texts, {"l-damage": "none"}),
    "images": (label_images, {"l-damage": "none"}),
    "checklist": (checklist, thinking.YES),
    "ratings": (rating_texts, {"r-quality_overall": "4"}),
    "documents": (documents, ratings.draft()),
    "pairs": (pairs, {"d-quality_overall": "left", "seen": "left right"}),
}

# What the server sends, as numbers ---------------------------------------------------------------

DRAWN = re.compile(r"zq[a-z]{10}|[0-9a-f]{12,}|[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z0-9]{32,}")
NUMBER = re.compile(r"\d+")


def numbers_in(kind: str, text: str) -> Iterator[tuple[str, float]]:
    """Each part of a page and how often it stands there, and each number within one."""
    parts = [DRAWN.sub("~", part.strip()) for part in re.findall(r"<[^>]+>|[^<]+", text)]
    shapes = [NUMBER.sub("#", part) for part in parts]
    yield f"{kind} length", sum(map(len, shapes))
    for shape, count in Counter(shapes).items():
        yield f"{kind} {shape}", count
    for part, shape in zip(parts, shapes, strict=True):
        for at, number in enumerate(NUMBER.findall(part)):
            yield f"{kind} {shape} {at}", float(number)


def numbers_of(kind: str, value: Any) -> Iterator[tuple[str, float]]:
    """The same of JSON: what stands at each of its places."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from numbers_of(f"{kind}.{name}", one)
    elif isinstance(value, list):
        yield f"{kind} length", len(value)
        for one in value:
            yield from numbers_of(f"{kind}[]", one)
    elif isinstance(value, bool | int | float):
        yield f"{kind} number", float(value)
    else:
        yield from numbers_in(kind, str(value))


class Reader:
    """A worker who plays bundles and keeps all that came back of their items."""

    def __init__(self, task: Task, worker: Membership, draft: Mapping[str, Any]) -> None:
        assert worker.user is not None
        self.task, self.draft = task, dict(draft)
        self.browser = Client()
        self.browser.force_login(worker.user)
        token = factories.api_token(worker.user, ["work"])
        self.program = APIClient(HTTP_AUTHORIZATION=f"Token {token}")
        self.bundles: dict[int, list[Features]] = {}
        self.met: Counter[str] = Counter()
        self.raw: list[str] = []

    def note(self, assignment: int, place: int, kind: str, value: Any) -> None:
        own = self.bundles[assignment][place]
        rows = numbers_in if isinstance(value, str) else numbers_of
        for name, number in rows(kind, value):
            own[name] = own.get(name, 0.0) + number

    def ask(self, assignment: int, place: int, kind: str, request: Callable[[], Any]) -> Any:
        """What a request about an item answers: status, headers, body, and what it took."""
        with CaptureQueriesContext(connection) as asked:
            answer = request()
        body = answer.content.decode()
        self.raw.append(body)
        heads = {name: value for name, value in answer.headers.items() if "nonce" not in value}
        told = {"status": answer.status_code, "queries": len(asked), "heads": heads}
        self.note(assignment, place, kind, told)
        self.note(assignment, place, kind, body)
        return answer

    def claim(self) -> int:
        url = self.browser.post(reverse("work_claim", args=[self.task.pk])).url
        pk = int(NUMBER.findall(url)[0])
        self.bundles[pk] = [{} for _ in range(ASKED + 1)]
        return pk

    def pages(self, pk: int) -> list[str]:
        """All items read once; what each is recognised by counts as met."""
        pages = []
        for place in range(ASKED + 1):
            url = reverse("work_item", args=[pk, place + 1])
            answer = self.ask(pk, place, "page", lambda url=url: self.browser.get(url))
            pages.append(answer.content.decode())
        words = [set(re.findall(r"zq[a-z]{10}|[0-9a-f]{64}", page)) for page in pages]
        for place, own in enumerate(words):
            names = own - set.union(*(words[n] for n in range(len(words)) if n != place))
            before = max((self.met[name] for name in names), default=0)
            self.note(pk, place, "met before", {"times": before})
            self.met.update(names)
        return pages

    def play(self, *, give_back: bool) -> None:
        """Take a bundle (and give it back, and take it again), and answer it."""
        pk = self.claim()
        if give_back:
            self.pages(pk)
            self.browser.post(reverse("work_return", args=[pk]))
            pk = self.claim()
        pages, key = self.pages(pk), str(uuid.uuid4())
        numbers = [int(re.findall(r'data-item="(\d+)"', page)[0]) for page in pages]
        events = [
            {"method": "click", "time": n, "target": f"item-{name}"}
            for n, name in enumerate(numbers)
        ]
        post = {"content_type": "application/json", "HTTP_ACCEPT": "application/json"}
        log = {"stream": key, "first_seq": 0, "events": events}
        self.browser.post(reverse("work_events", args=[pk]), json.dumps(log), **post)
        found = self.program.get(reverse("api_assignment", args=[pk])).json()
        for place, entry in enumerate(found["entries"]):
            self.note(pk, place, "program", entry)
            body = {"item": numbers[place], "draft": self.draft, "seq": 7}
            url = reverse("work_draft", args=[pk])
            self.ask(
                pk,
                place,
                "draft",
                lambda url=url, body=body: self.browser.post(url, json.dumps(body), **post),
            )
            url = reverse("api_feedback", args=[pk, place])
            self.ask(pk, place, "feedback", lambda url=url: self.program.post(url))
        self.rows(pk, "review", reverse("work_assignment", args=[pk]))
        done = self.browser.post(
            reverse("work_submit", args=[pk]), json.dumps({"key": key, "drafts": {}}), **post
        )
        assert done.status_code == 200, done.content
        self.raw.append(self.browser.get(reverse("work_done", args=[pk])).content.decode())
        self.rows(pk, "record", reverse("work_record_assignment", args=[pk]))
        kept = self.program.get(reverse("api_own_log", args=[pk])).json()
        self.raw.append(json.dumps(kept))
        for place, event in enumerate(kept["events"]):
            self.note(pk, place, "log", event)

    def rows(self, pk: int, kind: str, url: str) -> None:
        page = self.browser.get(url).content.decode()
        self.raw.append(page)
        listed = re.findall(r"<li.*?</li>", page.split('<ul class="marked', 1)[1], re.DOTALL)
        for place, row in enumerate(listed[: ASKED + 1]):
            self.note(pk, place, kind, row)

    def own_data(self) -> None:
        """The file of one's own data, row by row."""
        sent = self.browser.get(reverse("own_data"))
        with zipfile.ZipFile(io.BytesIO(b"".join(sent))) as archive:  # type: ignore[arg-type]
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        self.raw += files.values()
        for name in ("answers", "drafts"):
            places: Counter[int] = Counter()
            for row in map(json.loads, files[f"{name}.jsonl"].splitlines()):
                pk = row.pop("assignment")
                self.note(pk, places[pk], name, row)
                places[pk] += 1
        for row in map(json.loads, files["events.jsonl"].splitlines()):
            for place, event in enumerate(row["events"]):
                self.note(row["assignment"], place, "events", event)


def study(kind: str, bundles: int, seed: int) -> tuple[list[list[Features]], list[int]]:
    """What workers read of so many bundles, and where in each the hidden item stood."""
    make, draft = KINDS[kind]
    rng = random.Random(seed)
    task = make(factories.make_project(), rng)
    keys = set(task.items.values_list("key", flat=True))
    keys |= set(Candidate.objects.values_list("key", flat=True))
    keys |= set(
        Candidate.objects.filter(system__name__startswith="gpt").values_list(
            "system__name", flat=True
        )
    )
    found, hidden = [], []
    while len(found) < bundles:
        reader = Reader(task, factories.make_worker(task.project), draft)
        for number in range(min(EACH, bundles - len(found))):
            reader.play(give_back=number % 4 == 1)
        reader.own_data()
        told = "\n".join(reader.raw)
        assert not [key for key in keys if re.search(rf"\b{re.escape(key)}\b", told)]
        for pk, features in reader.bundles.items():
            held = Assignment.objects.get(pk=pk)
            if held.state != "submitted":
                continue
            places = held.entries.filter(item__expected__isnull=False)
            (place,) = places.values_list("position", flat=True)
            # As the place followed from the address.
            old = random.Random(f"{pk}").randrange(ASKED + 1)
            for at, own in enumerate(features):
                own |= {"place": at, "old place": float(at == old)}
            found.append(features)
            hidden.append(place)
    return found, hidden


# Whether any of it helps -------------------------------------------------------------------------


def table(bundles: list[list[Features]]) -> tuple[list[str], np.ndarray]:
    """The features that differ within a bundle, as (bundles, items, features)."""
    names = sorted({name for bundle in bundles for own in bundle for name in own})
    rows = np.array([[[own.get(n, 0.0) for n in names] for own in bundle] for bundle in bundles])
    differs = (rows != rows[:, :1]).any(axis=(0, 1))
    return [n for n, kept in zip(names, differs, strict=True) if kept], rows[:, :, differs]


def guesses(scores: np.ndarray, hidden: np.ndarray, rng: np.random.Generator) -> float:
    """The chance to name as many hidden items as the highest score does; ties are drawn."""
    ties = scores + rng.random(scores.shape) * 1e-9 * (1 + np.abs(scores).max())
    hits = int((ties.argmax(axis=1) == hidden).sum())
    n, chance = len(hidden), 1 / scores.shape[1]
    more = range(hits, n + 1)
    return sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in more)


def telling(names: list[str], rows: np.ndarray, hidden: np.ndarray) -> dict[str, float]:
    """What names hidden items better than chance, of all that is tried, and how likely that is."""
    rng = np.random.default_rng(5)
    tried: dict[bytes, tuple[str, np.ndarray]] = {}
    for at, name in enumerate(names):
        for sign, most in ((1, "most"), (-1, "least")):
            scores = sign * rows[:, :, at]
            tops = scores == scores.max(axis=1, keepdims=True)
            tried.setdefault(tops.tobytes(), (f"{most} {name}", scores))
    found = {name: guesses(scores, hidden, rng) for name, scores in tried.values()}
    found["classifier"] = guesses(classified(rows, hidden), hidden, rng)
    return {name: p for name, p in found.items() if p < SURE / len(found)}


def classified(rows: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """How much each item looks like a hidden one, learned from other bundles."""
    n, size, _ = rows.shape
    own = rows - rows.mean(axis=1, keepdims=True)
    own /= own.std(axis=(0, 1)) + 1e-12
    is_hidden = hidden[:, None] == np.arange(size)
    scores = np.zeros((n, size))
    for fold in range(4):
        test = np.arange(n) % 4 == fold
        x, y = own[~test].reshape(-1, own.shape[2]), is_hidden[~test].ravel() - 1 / size
        ridge = np.linalg.solve(x.T @ x + 10 * np.eye(x.shape[1]), x.T @ y)
        scores[test] = own[test] @ ridge
    return scores


def check(kind: str, bundles: int) -> None:
    read, places = study(kind, bundles, seed=11)
    names, rows = table(read)
    hidden = np.array(places)
    assert len(names) > 10
    assert telling(names, rows, hidden) == {}
    # And it would find one, among all the others.
    planted = (hidden[:, None] == np.arange(rows.shape[1])).astype(float)
    rows = np.concatenate([rows, planted[:, :, None]], axis=2)
    assert "most planted" in telling([*names, "planted"], rows, hidden)


@pytest.mark.parametrize("kind", ("free text", "images", "pairs"))
def test_nothing_that_a_worker_is_sent_names_the_hidden_item(kind: str) -> None:
    check(kind, EACH)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_names_it_over_hundreds_of_bundles(kind: str) -> None:
    check(kind, MANY)
