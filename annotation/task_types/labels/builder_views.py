"""The builder of labels: the item and its content, the fields, and known answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext, gettext_lazy

from annotation.accounts.plugins.selectors import text_rules
from annotation.authoring.selectors.builder.frame import PER_PAGE, Build, tasks_of_type
from annotation.authoring.views.builder.parts import (
    KNOWN,
    LAST,
    BuilderParts,
    BuilderState,
    Part,
    bundle_size,
    entry_of,
    segments,
)
from annotation.chats.units import AMONG, PER
from annotation.models import Item
from annotation.task_types.labels import page as labeling
from annotation.task_types.labels.content import CONTENTS, CONVERSATION, FILES
from annotation.task_types.labels.fields import (
    CHOOSE_TURN,
    COLORS,
    COMPARISONS,
    CONDITIONAL,
    KINDS,
    NUMBER,
    SCALE,
    SPANS,
    TEXTS,
    WITH_OPTIONS,
    codes_of,
    label_of,
)

FOLDER = "annotation/authoring/labels"


@dataclass(frozen=True)
class FieldRow:
    """A field in the builder's table, and the fields that a condition of its can look at."""

    number: int
    field: Mapping[str, Any]
    above: list[Mapping[str, Any]]

    @property
    def kind_label(self) -> str:
        """The kind in words, with the range of a scale."""
        own = self.field
        kind = str(KINDS[own["kind"]])
        if own["kind"] == SCALE:
            kind = gettext("Scale, %(low)s to %(high)s") % {"low": own["low"], "high": own["high"]}
        about = own.get("per") or own.get("among")
        return f"{kind} · {PER[about]}" if about else kind

    @property
    def shown_when(self) -> str:
        """Short text on when the field is asked: "always", or its first condition."""
        by_name = {row["name"]: row for row in self.above}
        if not self.field["ask_if"]:
            return gettext("always")
        one = self.field["ask_if"][0]
        about = by_name[one["field"]]
        values = [label_of(about, value) for value in one["values"]]
        told = {
            "field": about["question"],
            "is": COMPARISONS[one["is"]],
            "values": ", ".join(values) or "…",
            "more": len(self.field["ask_if"]) - 1,
        }
        if self.field["ask_if"][1:]:
            return gettext("if %(field)s %(is)s %(values)s and %(more)s more") % told
        return gettext("if %(field)s %(is)s %(values)s") % told

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """Conditions of the field, each with the answers that it can be set to."""
        by_name = {row["name"]: row for row in self.above}
        return [
            {
                **row,
                "codes": [
                    {
                        "value": code,
                        "label": label_of(by_name[row["field"]], code),
                        "chosen": code in row["values"],
                    }
                    for code in codes_of(by_name[row["field"]])
                ],
            }
            for row in self.field["ask_if"]
        ]

    @property
    def has_options(self) -> bool:
        return self.field["kind"] in WITH_OPTIONS or self.field["kind"] == SCALE

    @property
    def has_count(self) -> bool:
        """Whether a minimum and a maximum make sense: options, marks or words."""
        return self.field["kind"] in {"choose_several", SPANS, *TEXTS}

    @property
    def counted(self) -> str:
        """Unit that the field's limits count: words, marks or options."""
        if self.field["kind"] in TEXTS:
            return gettext("words")
        return gettext("marks") if self.field["kind"] == SPANS else gettext("options")

    @property
    def is_numeric(self) -> bool:
        return self.field["kind"] in (SCALE, NUMBER)

    @property
    def is_text(self) -> bool:
        return self.field["kind"] in TEXTS

    @property
    def can_be_unsure(self) -> bool:
        return self.field["kind"] not in TEXTS

    @property
    def keyed(self) -> int:
        """Number of options that a digit key can choose."""
        return min(len(self.field["options"]), labeling.KEYED)


class LabelsBuilder(BuilderParts):
    """One item at a time, and its fields."""

    parts: Mapping[str, Part] = {
        "text": Part(gettext_lazy("Item and instructions"), f"{FOLDER}/_part_item.html"),
        "fields": Part(gettext_lazy("Fields"), f"{FOLDER}/_part_fields.html", "task_build_field"),
        **KNOWN,
        "order": Part(gettext_lazy("People per item"), f"{FOLDER}/_part_order.html"),
        **LAST,
    }
    opens_at = "fields"
    preview_template = f"{FOLDER}/_preview.html"
    page_template = f"{FOLDER}/_preview_page.html"
    saved_template = f"{FOLDER}/_saved.html"
    simulates_precision = False
    task_facts_template = f"{FOLDER}/_task_facts.html"
    instructions_help = gettext_lazy(
        "Shown before the first %(noun)s, and on each behind “Instructions”."
    )
    order_help = gettext_lazy("Random order is over all %(nouns)s.")
    redundancy_help = gettext_lazy(
        "How many different workers label each %(noun)s. A lower number never takes away what is "
        "answered or in progress."
    )
    redrawn_by = frozenset({"content"})
    redundancy_label = gettext_lazy("Labels per item")
    begin_words = gettext_lazy("Add an item in the builder; it appears here as a worker sees it.")

    def counts(self, build: Build, shown: Mapping[str, Any]) -> dict[str, int]:
        return {
            "text": build.questions,
            "fields": len(shown["rows"]),
        }

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        fields = build.version.settings["fields"]
        rows = [
            FieldRow(n, row, [one for one in fields[: n - 1] if one["kind"] in CONDITIONAL])
            for n, row in enumerate(fields, 1)
        ]
        found: dict[str, Any] = {
            "settings": build.version.settings,
            "rows": rows,
            "kinds": [
                (kind, words)
                for kind, words in KINDS.items()
                if kind != CHOOSE_TURN or build.version.settings["content"] == CONVERSATION
            ],
            "comparisons": COMPARISONS.items(),
            "colors": COLORS,
            "text_rules": text_rules(build.task.project_id),
            "contents": CONTENTS.items(),
            "parts_of_chat": PER.items(),
            "parts_to_choose": [(part, PER[part]) for part in AMONG],
            "import_kind": "chats"
            if build.version.settings["content"] == CONVERSATION
            else "label_items",
            "takes_files": build.version.settings["content"] in FILES,
        }
        if place.part == "fields":
            found["field_tasks"] = tasks_of_type(build.task)
        item = None
        if place.part == "text":
            item = build.item(place.question)
            listed = build.counted_items.select_related("media").order_by("position", "pk")
            page = Paginator(listed, PER_PAGE).get_page(place.page)
            numbered = list(enumerate(page.object_list, page.start_index() or 1))
            found |= {"page": page, "item_rows": numbered, "open_item": item}
            if build.version.settings["content"] in FILES:
                unused = build.task.project.media_files.filter(items__isnull=True)
                failed = build.items.filter(media__isnull=True, settings__fetch__error__gt="")
                found |= {"unused_files": unused.count(), "failed_files": failed.count()}
        if place.part == "known":
            item = build.item(place.question)
        item = item or build.nth(1)
        return {**found, **_previewed(item, build), "shown_item": item}

    def previewed(
        self, build: Build, item: Item, settings: dict[str, Any], size: int
    ) -> dict[str, Any]:
        return labeling.page(item, settings, {})


BUILDER = LabelsBuilder()


def _previewed(item: Item | None, build: Build) -> dict[str, Any]:
    """The preview: an item as a worker sees it; without one its fields alone."""
    settings: dict[str, Any] = {**build.version.settings, **(item.settings if item else {})}
    size = bundle_size(build)
    found: dict[str, Any] = {
        "segments": segments(size, 0, build.noun),
        "shown_of": size,
        "entry": entry_of(item, 0),
    }
    if item is None:
        return {**found, "lines": labeling.lines(settings["fields"], {})}
    return {**found, **labeling.page(item, settings, {})}
