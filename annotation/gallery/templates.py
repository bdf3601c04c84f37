"""The templates, each a file in ``studies``: one more file and one more name here add one.

``TEXTS`` holds title, sentence (what it is for) and result (what comes of it), translated. A file
holds ``type`` (of the task), ``rules`` (fields of a draft: instructions, redundancy, settings...),
``format`` (of ``annotation.formats.registry``) and ``rows`` (the example items as that format's
importer takes them). ``files`` says how the files that rows name are made (``example_files``),
``passages`` what stands beside an item. ``texts.json`` holds the words of all in other languages;
a task begins in the one of whoever begins it. All of it was written for this project. Keys, topics
and file names of examples begin with ``EXAMPLE`` of ``authoring.selectors.examples``, so that they
can be told from what a requester adds.
"""

from __future__ import annotations

import copy
import json
import uuid
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.accounts.plugins.selectors import enabled_plugins
from annotation.authoring.selectors.examples import EXAMPLE
from annotation.models import Project, TaskVersion
from annotation.task_types import TYPES
from crowdqc import plugins
from crowdqc.api import PluginError, TaskTemplate
from crowdqc.errors import Invalid
from crowdqc.web.terms import Words

# Fields that hold no words.
CODES = {"name", "value", "kind", "content", "key", "topic", "file", "color", "layout", "wanted"}
# name -> title, sentence and result
TEXTS: dict[str, tuple[Words, Words, Words]] = {
    "classification": (
        gettext_lazy("Classify messages"),
        gettext_lazy("Each text gets one of several classes. For data sets and content checks."),
        gettext_lazy("Class of each item, worker accuracy, agreement"),
    ),
    "sentiment": (
        gettext_lazy("Mark sentiment and its words"),
        gettext_lazy("Each text gets a sentiment, and the words that show it are marked."),
        gettext_lazy("Sentiment of each item, marked spans, agreement"),
    ),
    "entities": (
        gettext_lazy("Mark names in a text"),
        gettext_lazy("People, organizations and places are marked (named entities)."),
        gettext_lazy("Marked spans with labels, agreement"),
    ),
    "image": (
        gettext_lazy("Label images"),
        gettext_lazy("Each image gets one of several classes."),
        gettext_lazy("Class of each image, worker accuracy, agreement"),
    ),
    "audio": (
        gettext_lazy("Check transcripts of audio"),
        gettext_lazy("Workers listen to a recording and say whether its transcript is right."),
        gettext_lazy("Share of right transcripts, corrections, agreement"),
    ),
    "comparison": (
        gettext_lazy("Compare two answers"),
        gettext_lazy(
            "Which of two answers of language models is better? Each pair of models is compared."
        ),
        gettext_lazy("Leaderboard with intervals and ties"),
    ),
    "rating": (
        gettext_lazy("Rate answers and explain"),
        gettext_lazy("Answers about a document are rated on scales, with the reason in words."),
        gettext_lazy("Rescaled ratings of each system"),
    ),
    "questions": (
        gettext_lazy("Answer questions about a text"),
        gettext_lazy("Workers read a text and answer in their own words."),
        gettext_lazy("Consensus answers and worker scores (AQER)"),
    ),
    "asking": (
        gettext_lazy("Ask about a sentence"),
        gettext_lazy("Workers mark a sentence of a text and write the question it raises."),
        gettext_lazy("Questions with the sentences they are about"),
    ),
    "checklist": (
        gettext_lazy("Check texts with a list"),
        gettext_lazy("The same yes/no questions about every text, beside its source."),
        gettext_lazy("Share of yes for each text and system"),
    ),
}


@dataclass(frozen=True)
class Template:
    """A study to begin from."""

    slug: str
    title: Words
    sentence: Words
    result: Words
    type: str
    rules: dict[str, Any]
    format: str
    rows: list[dict[str, str]]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> how it is made
    passages: dict[str, str] = field(default_factory=dict)  # what stands beside an item, by its key

    @property
    def drawing(self) -> str:
        """Return the name of its drawing; that of our template of its type for a plug-in's."""
        own = templates()
        same = (slug for slug, one in own.items() if one.type == self.type)
        return self.slug if self.slug in own else next(same, "")


@cache
def templates() -> dict[str, Template]:
    """All templates by name, in the order of the gallery."""
    folder = Path(__file__).parent / "studies"
    made = {}
    for slug, (title, sentence, result) in TEXTS.items():
        rules = json.loads((folder / f"{slug}.json").read_text(encoding="utf-8"))
        made[slug] = Template(slug=slug, title=title, sentence=sentence, result=result, **rules)
    return made


@cache
def _texts() -> dict[str, dict[str, str]]:
    """The texts of templates in other languages than English: text -> language -> translation."""
    file = Path(__file__).parent / "studies" / "texts.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))


def in_language(template: Template, language: str | None) -> Template:
    """Return a template with its words and example items in a language; others stay English."""
    short = (language or "")[:2]
    known = {text: told[short] for text, told in _texts().items() if short in told}

    def said(held: Any, name: str = "") -> Any:
        if isinstance(held, dict):
            return {key: said(one, key) for key, one in held.items()}
        if isinstance(held, list):
            return [said(one, name) for one in held]
        return known.get(held, held) if isinstance(held, str) and name not in CODES else held

    return replace(
        template,
        rules=said(template.rules),
        rows=said(template.rows),
        passages=said(template.passages),
    )


def get_template(slug: str, project: Project | None = None) -> Template:
    """The template of this name, also of a plug-in that the project uses, or Invalid."""
    known = templates_of(project) if project is not None else templates()
    try:
        return known[slug]
    except KeyError:
        raise Invalid(
            f"There is no template {slug[:40]!r}.", fields={"template": ", ".join(known)}
        ) from None


def templates_of(project: Project) -> dict[str, Template]:
    """Return all templates by name, those of the project's plug-ins last."""
    loaded = plugins.current().loaded
    outside = {
        name: _from_plugin(name, template)
        for plugin in sorted(enabled_plugins(project.pk))
        for name, template in loaded[plugin].templates.items()
    }
    return {**templates(), **outside}


def _from_plugin(name: str, template: TaskTemplate) -> Template:
    return Template(
        slug=name,
        title=template.title,
        sentence=template.sentence,
        result=template.result,
        type=template.type,
        rules=copy.deepcopy(dict(template.rules)),
        format=template.into,
        rows=[dict(row) for row in template.rows],
    )


def check_template_addition(addition: object) -> None:
    """Raise PluginError for a plug-in's template that no task can be begun from."""
    if not isinstance(addition, TaskTemplate):
        return
    if addition.type not in TYPES:
        known = ", ".join(TYPES)
        raise PluginError(f"There is no type of tasks {addition.type!r}; there are: {known}.")
    if addition.into not in TYPES[addition.type].imports:
        raise PluginError(f"Tasks of type {addition.type} take no rows {addition.into!r}.")
    ids = [str(next(iter(row.values()), "")) for row in addition.rows]
    if not ids or not all(one.startswith(EXAMPLE) for one in ids):
        raise PluginError(f"Example rows begin with an id like {EXAMPLE}1.")
    try:
        TYPES[addition.type].clean_settings(addition.rules.get("settings", {}))
    except Invalid as error:
        raise PluginError(f"Its settings are wrong: {error.message}") from error


def is_template_text(instructions: str) -> bool:
    """Whether instructions are those of a template, not changed in a single word."""
    own = instructions.split()
    english = [one.rules.get("instructions", "") for one in templates().values()]
    others = (said for text in english for said in _texts().get(text, {}).values())
    return bool(own) and any(text.split() == own for text in (*english, *others))


def is_unconfirmed_text(version: TaskVersion) -> bool:
    """Whether instructions are a template's, and no published version of the task kept them."""
    if not is_template_text(version.instructions):
        return False
    published = version.task.versions.exclude(published_at=None)
    own = version.instructions.split()
    return all(text.split() != own for text in published.values_list("instructions", flat=True))


def gallery(project: Project) -> dict[str, Any]:
    """What ``annotation/gallery/_gallery.html`` and ``_from_file.html`` show."""
    return {
        "templates": list(templates_of(project).values()),
        "template_key": uuid.uuid4(),
        "file_key": uuid.uuid4(),
    }
