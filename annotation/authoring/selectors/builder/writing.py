"""What the builder shows of a task that asks for responses: styles, forms, topics, passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Item, ItemGroup, Task
from annotation.task_types.writing import questionnaire
from annotation.task_types.writing.type import (
    ENTRY,
    ENTRY_TEMPLATE,
    EXIT,
    EXIT_TEMPLATE,
    STYLES,
    with_passages,
)
from crowdqc.web.terms import Words

TOPICS_PER_PAGE = 50
STAGES = (
    (
        ENTRY,
        gettext_lazy("Before writing"),
        gettext_lazy("asked before the passages are seen"),
        ENTRY_TEMPLATE,
    ),
    (
        EXIT,
        gettext_lazy("After writing"),
        gettext_lazy("asked once the text is done"),
        EXIT_TEMPLATE,
    ),
)


@dataclass(frozen=True)
class TopicRow:
    """A topic in the builder's table."""

    group: ItemGroup
    number: int
    query: str
    passages: int
    items: int


@dataclass(frozen=True)
class PassageRow:
    """A passage of the open topic; ``number`` is what a response cites it by."""

    key: str
    title: str
    text: str
    number: int


@dataclass(frozen=True)
class Form:
    """One questionnaire in the builder."""

    stage: str
    label: Words
    told: Words
    rows: Sequence[Mapping[str, Any]]
    templated: bool  # it is the template, word for word


class WritingBuild:
    """The styles, forms and topics of a task in the builder."""

    def __init__(self, build: Build) -> None:
        self.build, self.settings = build, build.version.settings

    @property
    def styles(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.settings["styles"]
        return found

    @property
    def styles_templated(self) -> bool:
        """Whether the styles are those of the template."""
        return self.styles == [dict(row) for row in STYLES]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Items by style."""
        rows = self.build.items.order_by().values_list("settings__style").annotate(n=Count("pk"))
        return dict(rows)

    @property
    def style_rows(self) -> list[dict[str, Any]]:
        """The styles with how many responses each asks for."""
        return [{**row, "items": self.counts.get(row["name"], 0)} for row in self.styles]

    @property
    def forms(self) -> list[Form]:
        return [
            Form(
                stage,
                label,
                told,
                self.settings[stage],
                self.settings[stage] == questionnaire.clean([dict(r) for r in template], stage),
            )
            for stage, label, told, template in STAGES
        ]

    @property
    def form_questions(self) -> int:
        """Questions of both forms."""
        return len(self.settings[ENTRY]) + len(self.settings[EXIT])

    def topics(self, number: Any) -> tuple[Page, list[TopicRow]]:
        """A page of topics with their queries; the passages themselves are not read."""
        asked = self.build.items.order_by("pk").filter(group=OuterRef("pk"))
        rows = with_passages(self.build.groups).annotate(
            query=Subquery(asked.values("question")[:1])
        )
        page = Paginator(rows, TOPICS_PER_PAGE).get_page(number)
        groups = list(page.object_list)
        counts = dict(
            self.build.items.filter(group__in=groups)
            .order_by()
            .values_list("group_id")
            .annotate(n=Count("pk"))
        )
        return page, [
            TopicRow(
                group,
                place,
                group.title if group.query is None else group.query,
                group.passages_there,
                counts.get(group.pk, 0),
            )
            for place, group in enumerate(groups, page.start_index() or 1)
        ]

    def page_of(self, group: ItemGroup) -> int:
        """The page of the table where a topic stands."""
        keys = list(self.build.groups.values_list("pk", flat=True))
        return keys.index(group.pk) // TOPICS_PER_PAGE + 1 if group.pk in keys else 1

    def passages(self, group: ItemGroup) -> list[PassageRow]:
        """The passages of a topic, the best first."""
        return [
            PassageRow(row["key"], row["title"], row["text"], number)
            for number, row in enumerate(group.passages, self.settings["first_number"])
        ]

    def shown(self, topic: ItemGroup | None, style: str) -> Item | None:
        """The item of the live preview: of the open topic and style, else the first."""
        rows = self.build.items
        if topic is not None:
            rows = rows.filter(group=topic)
        found = rows.filter(settings__style=style).first() if style else None
        return found or rows.first()


def topics_of(task: Task) -> QuerySet[ItemGroup]:
    """All topics of a task, of every version, each with its ``query``."""
    asked = Item.objects.filter(group=OuterRef("pk")).order_by("pk").values("question")[:1]
    return task.groups.annotate(
        query=Coalesce(Subquery(asked), F("title"), output_field=TextField())
    )
