"""Checklists as pages show them: the stages of one, its versions, what is loose in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.models import Candidate, Project, Task, TaskVersion
from crowdqc.errors import Missing
from crowdqc.numbers import plural
from crowdqc.web.terms import Words
from evaluation.checklists.making import pipeline, stages
from evaluation.checklists.making.pipeline import Standing
from evaluation.checklists.making.runs import STAGE
from evaluation.checklists.making.stages import Entries, Entry
from evaluation.models import (
    Checklist,
    ChecklistStage,
    ChecklistVersion,
    LanguageModel,
    Run,
    RunState,
)
from evaluation.runs.engine import ACTIVE

# What a stage is, in a sentence, and what its button for doing it by hand is called.
ABOUT = {
    stages.ATTRIBUTES: gettext_noop("What people and models thought aloud about this dimension."),
    stages.COMPONENTS: gettext_noop(
        "The few themes that the attributes come back to, five at most."
    ),
    stages.CLUSTERS: gettext_noop("Each attribute under the component that it speaks of."),
    stages.KEY_QUESTIONS: gettext_noop("One yes/no question for each component."),
    stages.SUB_QUESTIONS: gettext_noop(
        "Each key question taken apart, with the attributes that it comes from."
    ),
    stages.VALIDATION: gettext_noop(
        "Questions kept, reworded, joined or left out: the final list."
    ),
}
LABELS: dict[str, Words] = {kind: ChecklistStage.Kind(kind).label for kind in stages.ORDER}
LABELS[stages.CLUSTERS] = gettext_lazy("Attributes by component")
HAND = {
    stages.VALIDATION: gettext_noop("Validate by hand"),
    stages.CLUSTERS: gettext_noop("Sort by hand"),
}


@dataclass(frozen=True)
class StageView:
    """A stage as a section of the page."""

    kind: str
    label: str
    about: str
    hand: str
    mark: str
    word: str
    sentence: str
    made: str  # who made it
    row: ChecklistStage | None
    open: bool  # the stage before it stands, so it can be done
    by_model: bool  # a model can do it
    entries: Entries
    parts: list[dict[str, Any]]
    loose: list[tuple[str, Entries]]
    active: Run | None
    failed: Run | None


@dataclass(frozen=True)
class Page:
    """A checklist in the making."""

    stages: list[StageView]
    next: StageView | None
    versions: list[ChecklistVersion]
    condition: Mapping[str, Any]
    authors: list[tuple[str, str, int]]
    active: bool

    @property
    def frozen(self) -> ChecklistVersion | None:
        """The newest version."""
        return self.versions[-1] if self.versions else None

    @property
    def unchanged(self) -> ChecklistVersion | None:
        """The version that was frozen from the stages as they stand; None after a change."""
        now = {one.kind: one.row.number for one in self.stages if one.row is not None}
        same = (one for one in self.versions if one.made_of.get("stages") == now)
        return next(same, None) if self.next is None else None


def page(checklist: Checklist) -> Page:
    """Return the page of a checklist."""
    found = pipeline.stage_states(checklist)
    data = pipeline.data_of(found)
    runs = _runs(checklist)
    views = [_view(kind, found, data, runs.get(kind)) for kind in stages.ORDER]
    left = pipeline.next_stage(found)
    entries = found[stages.ATTRIBUTES].data
    return Page(
        views,
        next((one for one in views if one.kind == left), None),
        list(checklist.versions.select_related("frozen_by").annotate(made=Count("tasks"))),
        stages.condition(entries),
        pipeline.authors(entries),
        any(one.active is not None for one in views),
    )


def _runs(checklist: Checklist) -> dict[str, Run]:
    """The newest run of each stage."""
    rows = Run.objects.filter(
        task=checklist.task_id, method=STAGE, params__checklist=checklist.pk
    ).order_by("number")
    return {run.params["stage"]: run for run in rows}


def _view(
    kind: str, found: Mapping[str, Standing], data: dict[str, Entries], run: Run | None
) -> StageView:
    one, previous = found[kind], found.get(stages.previous_stage(kind))
    ready = previous is None or (previous.row is not None and not previous.stale)
    active = run if run is not None and run.state in ACTIVE else None
    newer = run is not None and (one.row is None or run.created_at > one.row.created_at)
    failed = run if newer and run is not None and run.state == RunState.FAILED else None
    mark, word, sentence = _state(one, ready, active, failed)
    bare = not data.get(stages.ATTRIBUTES)
    return StageView(
        kind,
        str(LABELS[kind]),
        _(ABOUT[kind]),
        _(HAND.get(kind, gettext_noop("Write by hand"))),
        mark,
        word,
        sentence,
        _author_words(one.row),
        one.row,
        ready,
        kind != stages.ATTRIBUTES and not (bare and kind in (stages.COMPONENTS, stages.CLUSTERS)),
        one.data,
        _parts(kind, found),
        _loose(kind, found),
        active,
        failed,
    )


def _state(
    one: Standing, ready: bool, active: Run | None, failed: Run | None
) -> tuple[str, str, str]:
    if active is not None:
        return (
            "running",
            _("In progress"),
            _("Run %(number)s asks a model.") % {"number": active.number},
        )
    if failed is not None and one.row is None:
        return "bad", _("Failed"), failed.error
    if one.row is None:
        return "draft", _("Not made yet"), "" if ready else _("The stage before comes first.")
    if one.stale:
        changed = str(LABELS[one.stale])

        return (
            "warn",
            _("Out of date"),
            _("%(changed)s changed after this was made.") % {"changed": changed},
        )
    return "done", _("Made"), ""


def _author_words(row: ChecklistStage | None) -> str:
    if row is None:
        return ""
    if row.by_id is not None:
        return _("by %(name)s") % {"name": row.by}
    return (
        _("by a model, run %(number)s") % {"number": row.run.number}
        if row.run is not None
        else _("by a model")
    )


def _parts(kind: str, found: Mapping[str, Standing]) -> list[dict[str, Any]]:
    """By component, from what the stage itself holds; what is gone meanwhile is left out."""
    if kind in (stages.ATTRIBUTES, stages.COMPONENTS) or found[kind].row is None:
        return []
    attributes = stages.by_id(found[stages.ATTRIBUTES].data)
    components = found[stages.COMPONENTS].data
    subs = stages.by_id(found[stages.SUB_QUESTIONS].data)
    made = []
    for one in components:
        own = [row for row in found[kind].data if row["component"] == one["id"]]
        if kind == stages.CLUSTERS:
            held = [attributes[pk] for row in own for pk in row["attributes"] if pk in attributes]
            made.append({"name": one["text"], "question": "", "attributes": held, "questions": []})
        elif kind == stages.KEY_QUESTIONS:
            made.append(
                {
                    "name": one["text"],
                    "question": own[0]["text"] if own else "",
                    "attributes": [],
                    "questions": [],
                }
            )
        else:
            # One component with what stands under it at a stage.
            made.append(
                {
                    "name": one["text"],
                    # its key question, where the stage has one
                    "question": "",
                    "attributes": [],
                    # {"text", "attributes": [entries], "from": [texts]}
                    "questions": [_question_details(row, attributes, subs) for row in own],
                }
            )
    return made


def _question_details(
    row: Entry, attributes: Mapping[str, Entry], subs: Mapping[str, Entry]
) -> dict[str, Any]:
    sources = [subs[pk]["text"] for pk in row.get("from", []) if pk in subs]
    return {
        "text": row["text"],
        "attributes": [attributes[pk] for pk in row["attributes"] if pk in attributes],
        "changed": [text for text in sources if text != row["text"]] if len(sources) < 2 else [],
        "joined": sources if len(sources) > 1 else [],
    }


def _loose(kind: str, found: Mapping[str, Standing]) -> list[tuple[str, Entries]]:
    """Return a stage's unused entries, with what they are; none for a stage out of date."""
    if found[kind].row is None or found[kind].stale:
        return []
    data = {name: one.data for name, one in found.items()}
    told: list[tuple[str, Entries]] = []
    if kind == stages.CLUSTERS:
        alone, often = stages.unplaced_attributes(data), stages.repeated_attributes(data)
        told.append(
            (
                _("%(attributes)s in no component")
                % {"attributes": plural(len(alone), "attribute")},
                alone,
            )
        )
        told.append(
            (
                _("%(attributes)s in several components")
                % {"attributes": plural(len(often), "attribute")},
                often,
            )
        )
    elif kind in (stages.SUB_QUESTIONS, stages.VALIDATION):
        rest = stages.unused(kind, data)
        told.append(
            (
                _("%(attributes)s that no question takes up")
                % {"attributes": plural(len(rest), "attribute")},
                rest,
            )
        )
        if data[stages.ATTRIBUTES]:
            bare = [one for one in data[kind] if not one["attributes"]]
            told.append(
                (
                    _("%(questions)s without an attribute")
                    % {"questions": plural(len(bare), "question")},
                    bare,
                )
            )
        other = stages.misplaced_questions(kind, data)
        words = _("%(questions)s with an attribute of another component") % {
            "questions": plural(len(other), "question")
        }
        told.append((words, other))
        if kind == stages.VALIDATION:
            out = stages.dropped(data)
            told.append(
                (
                    _("%(sub_questions)s left out")
                    % {"sub_questions": plural(len(out), "sub-question")},
                    out,
                )
            )
    return [(words, entries) for words, entries in told if entries]


def earlier(checklist: Checklist, kind: str) -> list[tuple[ChecklistStage, str]]:
    """List the saved rows of a stage, newest first, each with who made it."""
    rows = checklist.stages.filter(kind=kind).select_related("by", "run").order_by("-number")
    return [(row, _author_words(row)) for row in rows[:20]]


# Lists and versions -----------------------------------------------------------------------------


def of_task(task: Task) -> list[dict[str, Any]]:
    """List the task's checklists (two queries)."""
    rows = (
        Checklist.objects.filter(task=task, archived_at__isnull=True)
        .select_related("item__group", "created_by")
        .annotate(frozen=Count("versions"))
        .order_by("pk")
    )
    newest: dict[int, dict[str, ChecklistStage]] = {}
    lasts = ChecklistStage.objects.filter(checklist__task=task).order_by(
        "checklist_id", "kind", "-number"
    )
    for row in lasts.distinct("checklist_id", "kind"):
        newest.setdefault(row.checklist_id, {})[row.kind] = row
    return [_line(one, newest.get(one.pk, {})) for one in rows]


def _line(one: Any, newest: Mapping[str, ChecklistStage]) -> dict[str, Any]:
    stand = [kind for kind in stages.ORDER if kind in newest]
    last = newest.get(stages.VALIDATION)
    first = newest.get(stages.ATTRIBUTES)
    return {
        "checklist": one,
        "dimension": one.item.group.title,
        "condition": stages.condition(first.data if first else [])["condition"],
        "stage": str(LABELS[stand[-1]]) if stand else _("nothing yet"),
        "done": len(stand),
        "questions": len(last.data) if last else None,
        "frozen": one.frozen,
    }


def get_version(checklist: Checklist, number: int) -> ChecklistVersion:
    """A frozen version; Missing where there is none of this number."""
    found = checklist.versions.filter(number=number).select_related("frozen_by").first()
    if found is None:
        raise Missing(_("This checklist has no such version."))
    return found


def tasks_of(version: ChecklistVersion) -> list[tuple[int, str]]:
    """Return (id, title) of the tasks in which people answer the version, oldest first."""
    draft = TaskVersion.objects.filter(task=OuterRef("pk")).order_by("-number").values("title")
    rows = version.tasks.annotate(name=Coalesce("current__title", Subquery(draft[:1])))
    return list(rows.order_by("pk").values_list("pk", "name"))


def by_component(version: ChecklistVersion) -> list[tuple[str, list[dict[str, Any]]]]:
    """Group a version's questions by component, numbered through."""
    found: dict[str, list[dict[str, Any]]] = {}
    for number, one in enumerate(version.questions, 1):
        found.setdefault(one["component"], []).append({**one, "number": number})
    return list(found.items())


def topics(project: Project) -> list[tuple[str, int]]:
    """Count the project's texts by topic, as (topic, number)."""
    rows = Candidate.objects.filter(project=project).values("topic").annotate(n=Count("pk"))
    return [(row["topic"], row["n"]) for row in rows.order_by("topic")]


def has_model(project: Project) -> bool:
    """Whether a chat model can be asked."""
    return LanguageModel.objects.usable(project.pk, LanguageModel.Use.CHAT).exists()
