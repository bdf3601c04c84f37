"""Templates: every one becomes a task that can be previewed, published and answered."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from annotation.authoring.actions import items
from annotation.authoring.actions.drafts import edit_draft
from annotation.authoring.actions.examples import remove_examples
from annotation.authoring.selectors.examples import EXAMPLE, examples_of
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import (
    CODES,
    get_template,
    in_language,
    is_template_text,
    templates,
)
from annotation.models import Answer, Candidate, Item, MediaFile, System, Task, TaskVersion
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
WHY = "It leaves out when the flood came and what is done about it."
# What a worker's form sends for one item of each template.
ANSWERS: dict[str, dict[str, str]] = {
    "classification": {"l-topic": "delivery"},
    "sentiment": {"l-sentiment": "mixed", "l-words": '[[0, 3, "praise"]]'},
    "entities": {"l-names": '[[0, 4, "person"]]'},
    "image": {"l-class": "circle"},
    "audio": {"l-right": "no", "l-correction": "Two long tones."},
    "comparison": {"d-helpfulness": "left", "d-clarity": "neutral", "seen": "left right"},
    "rating": {"r-completeness": "30", "r-correctness": "1", "explanation": WHY},
    "questions": {"text": "Because the bay freezes in winter."},
    "asking": {"l-sentence": '[[0, 20, "asked"]]', "l-question": "Who will repair the lamp?"},
    "checklist": {
        f"c-{name}": "yes" for name in ("main_point", "dates", "nothing_added", "readable", "short")
    },
}


WRITTEN = ("image",)  # whose options the requester writes first


def write_options(task: Task) -> None:
    """The options of a template whose only field has none."""
    settings = task.versions.get().settings
    (field,) = settings["fields"]
    assert field["options"] == []
    options = [{"value": name, "label": name.title()} for name in ("circle", "square")]
    fields = [{**field, "options": options}]
    edit_draft(
        by=task.project.owner, task=task, fields={"settings": {**settings, "fields": fields}}
    )


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def begun(world: factories.World, slug: str) -> Task:
    return begin_task(by=world.requester, project=world.project, template=get_template(slug))


@pytest.mark.parametrize("slug", ANSWERS)
def test_a_template_becomes_a_task_that_is_previewed_published_and_answered(slug: str) -> None:
    world = factories.make_world(1)
    by = signed_in(world.requester)
    new = reverse("task_new", args=[world.project.pk])
    assert str(get_template(slug).title) in html_of(by.get(new))
    choose = reverse("task_from_template", args=[world.project.pk, slug])
    key = uuid.uuid4()
    built = by.post(choose, {"key": key}, follow=True)
    assert by.post(choose, {"key": key}).status_code == 302  # a second click makes no second task
    task = world.project.tasks.exclude(pk=world.task.pk).get()
    head = html_of(built)
    examples = examples_of(task, task.versions.get()).count()
    assert f"It has {examples} example items." in head
    assert len(built.context["missing"]) == (slug in WRITTEN)
    if slug in WRITTEN:
        write_options(task)
    where = [world.project.pk, task.pk]
    publish = reverse("task_publish", args=where)
    assert f"{examples} example items of the template." in html_of(by.get(publish))
    preview = by.get(reverse("task_preview", args=where))
    first = task.items.order_by("position").first()
    assert first is not None and preview.status_code == 200
    published = html_of(by.post(publish, follow=True))
    assert f"It has {examples} example items." in published
    task.refresh_from_db()
    held = factories.claim(task, world.worker)
    worker = signed_in(world.worker.user)
    for number in range(1, held.entries.count() + 1):
        form = {"go": "next", "seq": 1, **ANSWERS[slug]}
        moved = worker.post(reverse("work_item", args=[held.pk, number]), form)
        assert "check=1" not in moved["Location"], html_of(worker.get(moved["Location"]))
    done = worker.post(reverse("work_submit", args=[held.pk]), {"key": uuid.uuid4()}, follow=True)
    assert "Submitted, thank you" in html_of(done)
    assert Answer.objects.filter(item__task=task, counts=True).count() == held.entries.count()


def test_the_builder_says_how_many_examples_have_a_known_answer() -> None:
    world = factories.make_world(1)
    task = begun(world, "classification")
    Item.objects.filter(pk=task.items.first().pk).update(expected={"class": "fault"})
    where = reverse("task_build", args=[world.project.pk, task.pk])
    head = html_of(signed_in(world.requester).get(where))
    assert "It has 6 example items, 1 of them with a known answer." in head


def test_every_template_is_tested_here_and_its_examples_can_be_told() -> None:
    assert list(ANSWERS) == list(templates())
    for one in templates().values():
        for row in one.rows:
            keys = [row[name] for name in ("key", "item_id", "answer_id") if name in row]
            assert keys and all(key.startswith(EXAMPLE) for key in keys)


@pytest.mark.parametrize("slug", ANSWERS)
def test_removing_the_examples_leaves_nothing_of_them_and_what_was_added(slug: str) -> None:
    world = factories.make_world(1)
    task, again = begun(world, slug), begun(world, slug)
    assert task.items.count() == again.items.count() > 0
    own = None
    if slug in ("classification", "questions"):
        own = items.save_item(by=world.requester, task=task, question="My own?")
    number = examples_of(task, task.versions.get()).count()
    url = reverse("task_examples", args=[world.project.pk, task.pk])
    told = html_of(signed_in(world.requester).post(url, follow=True))
    assert f"{number} example items removed." in told
    assert "Remove example items" not in told
    assert list(task.items.values_list("pk", flat=True)) == ([own.pk] if own else [])
    assert again.items.count() == number  # those of another task stay
    remove_examples(by=world.requester, task=again)
    assert not Item.objects.filter(key__startswith=EXAMPLE).exists()
    assert not MediaFile.objects.filter(project=world.project).exists()
    assert not Candidate.objects.filter(project=world.project).exists()
    assert not System.objects.filter(project=world.project).exists()
    assert TaskVersion.objects.get(task=task).settings.get("left_out", []) == []


def test_a_template_that_is_not_there_is_named() -> None:
    world = factories.make_world(1)
    url = reverse("task_from_template", args=[world.project.pk, "nothing"])
    answer = signed_in(world.requester).post(url)
    assert answer.status_code == 422 and "There is no template" in html_of(answer)


def words_in(held: Any, name: str = "") -> set[str]:
    """The texts that people read."""
    if isinstance(held, dict):
        return {word for key, one in held.items() for word in words_in(one, key)}
    if isinstance(held, list):
        return {word for one in held for word in words_in(one, name)}
    is_text = isinstance(held, str) and name not in CODES
    return {held} if is_text and any(map(str.isupper, held)) else set()


@pytest.mark.parametrize("language", ["de", "es"])
@pytest.mark.parametrize("slug", templates())
def test_a_task_begins_in_the_language_of_whoever_begins_it(slug: str, language: str) -> None:
    world = factories.make_world(1)
    english = get_template(slug)
    with override(language):
        task = begin_task(by=world.requester, project=world.project, template=english)
    version = task.versions.get()
    theirs = words_in({"instructions": version.instructions, **version.settings})
    texts = {*task.items.values_list("question", flat=True)}
    texts |= {*task.groups.values_list("passage", flat=True)}
    assert theirs.isdisjoint(words_in(english.rules) - {"Form", "Person", "Neutral", "Negative"})
    assert texts.isdisjoint(words_in(english.rows) | words_in(english.passages))
    assert is_template_text(version.instructions)
    translated = in_language(english, language)
    assert len(words_in(translated.rows)) == len(words_in(english.rows))
