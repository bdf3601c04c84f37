"""What the builder shows of a task that rates answers beside documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Item, ItemGroup
from annotation.task_types.sentences import sentences

DOCUMENTS_PER_PAGE = 25


@dataclass(frozen=True)
class DocumentRow:
    """A document in the builder's table."""

    group: ItemGroup
    number: int
    answers: int
    sentences: int

    @property
    def begins(self) -> str:
        """Title of the document, or the beginning of its text if it has none."""
        return self.group.title or " ".join(self.group.passage.split())[:120]


class RatingBuild:
    """The documents of a task in the builder."""

    def __init__(self, build: Build) -> None:
        self.build = build

    def documents(self, number: Any) -> tuple[Page, list[DocumentRow]]:
        """A page of documents with how many answers each has."""
        live = Q(items__since__lte=self.build.version.number) & (
            Q(items__until__isnull=True) | Q(items__until__gt=self.build.version.number)
        )
        rows = self.build.groups.annotate(answers=Count("items", filter=live))
        page = Paginator(rows, DOCUMENTS_PER_PAGE).get_page(number)
        return page, [
            DocumentRow(group, place, group.answers, len(sentences(group.passage)))
            for place, group in enumerate(page.object_list, page.start_index() or 1)
        ]

    def page_of(self, group: ItemGroup) -> int:
        """The page of the table where a document stands."""
        keys = list(self.build.groups.values_list("pk", flat=True))
        return keys.index(group.pk) // DOCUMENTS_PER_PAGE + 1 if group.pk in keys else 1

    def answers(self, group: ItemGroup) -> list[Item]:
        """The answers to the document's questions, in their order."""
        rows = self.build.items.filter(group=group).select_related("first__system")
        return list(rows)

    def shown(self, group: ItemGroup | None, key: str) -> Item | None:
        """The item of the live preview: the open one, or the first of the document."""
        rows = self.build.items.select_related("group", "first")
        if key:
            found: Item | None = rows.filter(key=key).first()
            if found is not None:
                return found
        if group is not None:
            rows = rows.filter(group=group)
        return rows.first()
