"""How the answers of a run were collected, as a methods section says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet, Value

from annotation.authoring.selectors.cost import IS_EARNED
from annotation.authoring.selectors.planned import planned_answers
from annotation.formats.imports.tables.label_studio import LabelStudioTable
from annotation.formats.registry import TABLES
from annotation.models import (
    Answer,
    Assignment,
    Consent,
    Exclusion,
    ImportFile,
    Rejection,
    TaskVersion,
    Visit,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from crowdqc.database.quantiles import Quantile, seconds_between
from crowdqc.money import as_decimal, round_money
from crowdqc.numbers import count, percent, plural, several
from crowdqc.tally import reason_words
from evaluation.bundles.manifest import Row
from evaluation.models import Run

ASKED = ("fields", "dimensions", "scales", "questions")  # of a version's settings
IMPORTED = "import"  # the source of assignments that came in a file
NOT_KNOWN = "not known: the answers came in a file"
# Answers of a file that gives no times: they got the moment of the import, or one just after it.
UNDATED = Q(assignment__source=IMPORTED, answered_at__gte=F("assignment__settled_at"))
Lines = Iterator[tuple[str, str]]


# What is kept ----------------------------------------------------------------------------------


def study_of(run: Run) -> Row:
    """Plan, people, pay, time, dates and exclusions of the answers that a run saw.

    The plan is that of the version in force when the run took them; pay is that of the newest
    version that any of them was given to.
    """
    ids = run.snapshot.answer_ids if run.snapshot else []
    given = Answer.objects.filter(pk__in=ids)
    people = given.filter(worker__isnull=False)
    version = TaskVersion.objects.filter(pk__in=given.values("version")).order_by("number").last()
    in_force = version_of(run) or version
    origin = origin_of(run, people)
    dated = given.exclude(UNDATED) if origin["is_dated"] else given.none()
    days = dated.aggregate(first=Min("answered_at"), last=Max("answered_at"))
    return {
        "version": version_facts(in_force) if in_force else None,
        "answers_per_item": in_force.redundancy if in_force else None,
        "items_per_assignment": version.items_per_assignment if version else None,
        "pay": str(version.pay) if version else None,
        "bonus": version.bonus_note if version else "",
        "currency": run.project.currency,
        **_progress(run, people, in_force),
        **_assignments(run, version),
        **_people(run, people),
        "origin": origin,
        "imports": [
            {"rows": one["came"], "left_out": one["left_out"]}
            for one in ImportFile.objects.filter(task=run.task_id, kind__in=TABLES)
            .order_by("pk")
            .values_list("report", flat=True)
            if one
        ],
        "exclusions": [
            {
                "worker": one.worker_id,
                "date": one.created_at.date().isoformat(),
                "answers": one.given,
            }
            for one in exclusions_at(run).annotate(given=_answers_of(run)).order_by("pk")
        ],
        "first_answer": days["first"].date().isoformat() if days["first"] else None,
        "last_answer": days["last"].date().isoformat() if days["last"] else None,
    }


def version_of(run: Run) -> TaskVersion | None:
    """Return the version in force when a run took its answers; None before the first."""
    taken = run.started_at or run.created_at
    return run.task.versions.filter(published_at__lte=taken).order_by("number").last()


def version_facts(version: TaskVersion) -> Row:
    """Return what a bundle holds of a version of the task."""
    return {
        "number": version.number,
        "title": version.title,
        "settings": version.settings,
        "instructions": version.instructions,
        "published_at": version.published_at.isoformat() if version.published_at else None,
    }


def origin_of(run: Run, people: QuerySet[Answer]) -> Row:
    """Return what is known here of when answers were given, and of what workers saw.

    ``is_table``: the task was made of a file of answers, so that its questions are made up;
    ``is_dated``: some answers of people, if there are any, have a time of their own.
    """
    files = ImportFile.objects.filter(task=run.task_id, kind__in=TABLES)
    return {
        "is_table": files.exclude(kind=LabelStudioTable.slug).exists(),
        "is_dated": people.exclude(UNDATED).exists() or not people.exists(),
    }


def exclusions_at(run: Run) -> QuerySet[Exclusion]:
    """Return the exclusions that held when a run took its answers."""
    taken = Exclusion.objects.in_force_at(run.started_at or run.created_at)
    return taken.filter(task=run.task_id)


def _answers_of(run: Run) -> Count:
    """Count the answers of an exclusion's worker to the run's task."""
    own = Q(worker__answers__item__task=run.task_id, worker__answers__stage=Answer.Stage.MAIN)
    return Count("worker__answers", filter=own)


def _progress(run: Run, people: QuerySet[Answer], version: TaskVersion | None) -> Row:
    """What was planned of the task, how much of that the run saw, and what models answered."""
    if version is None:
        return {}
    wanted = run.task.items.in_version(version.number).filter(expected__isnull=True)
    # Of a version that is not in use any more, what was planned then: items tell today's plan.
    is_current = version.pk == run.task.current_id
    per_item = planned_answers(version.redundancy) if is_current else Value(version.redundancy)
    planned = dict(wanted.values_list("pk", per_item))
    ours = people.filter(item__in=planned)
    given = dict(ours.order_by().values_list("item").annotate(n=Count("pk")))
    models = Answer.objects.filter(item__task=run.task_id, system__isnull=False).aggregate(
        answers=Count("pk"), models=Count("system", distinct=True)
    )
    own = Assignment.objects.filter(task=run.task_id).exclude(source=IMPORTED)
    uploaded = run.task.state == TaskState.CLOSED and not own.exists()
    return {
        "planned": {"items": len(planned), "answers": sum(planned.values())},
        "reached": {"items": len(given), "answers": sum(given.values())},
        "missing": sum(max(0, n - given.get(item, 0)) for item, n in planned.items()),
        "uploaded": uploaded,
        "models": models,
    }


def _assignments(run: Run, version: TaskVersion | None) -> Row:
    """How many assignments were submitted by then, how long they took, how many were rejected.

    Of all workers, also of those whose answers are left out.
    """
    taken = run.started_at or run.created_at
    own = Assignment.objects.filter(
        task=run.task_id,
        state=AssignmentState.SUBMITTED,
        quiz__isnull=True,
        submitted_at__lte=taken,
    )
    timed = own.filter(opened_at__isnull=False).filter(IS_EARNED)
    seconds = seconds_between("opened_at", "submitted_at")
    times = timed.exclude(source=IMPORTED).aggregate(
        n=Count("pk"), median=Quantile(seconds, share=0.5)
    )
    median, hourly = times["median"], None
    if median and version is not None:
        hourly = str(round_money(version.pay * 3600 / as_decimal(median)))
    standing = Rejection.objects.exclude(outcome=Rejection.Outcome.OVERTURNED)
    rejected = standing.filter(assignment__in=own, rejected_at__lte=taken)
    return {
        "assignments": own.exclude(source=IMPORTED).count(),
        "imported": own.filter(source=IMPORTED).count(),
        "median_minutes": round(median / 60, 1) if times["n"] else None,
        "hourly": hourly,
        "rejected": rejected.count(),
    }


def _people(run: Run, people: QuerySet[Answer]) -> Row:
    """How many workers there were, which ways they came, and what they agreed to."""
    workers = people.order_by().values("worker").distinct()
    visits = Visit.objects.filter(worker__in=workers, recruitment__task=run.task_id)
    ways = visits.values("recruitment__kind", "recruitment__name").annotate(
        n=Count("worker", distinct=True)
    )
    agreed = Consent.objects.filter(  # to the text as it reads for this type of task
        Q(task_types=[]) | Q(task_types__contains=[run.task.type]),
        membership__in=workers,
        text__project=run.project_id,
        withdrawn_at__isnull=True,
    )
    texts = agreed.values("text__number").annotate(n=Count("membership", distinct=True))
    elsewhere = workers.exclude(worker__in=visits.values("worker"))
    asked = people.filter(assignment__isnull=False).exclude(assignment__source=IMPORTED)
    return {
        "workers": workers.count(),
        "ways": [
            {"kind": kind, "name": name, "workers": n}
            for kind, name, n in ways.order_by(
                "recruitment__kind", "recruitment__name"
            ).values_list("recruitment__kind", "recruitment__name", "n")
        ],
        "elsewhere": elsewhere.count(),
        # of these, those of whom all answers came by a file
        "of_files": elsewhere.exclude(worker__in=asked.values("worker")).count(),
        "asked_version": asked.aggregate(number=Max("version__number"))["number"],
        "consent": list(texts.order_by("text__number").values_list("text__number", "n")),
        "consent_asked": run.project.consent_texts.exists(),
    }


# What a report says of it ----------------------------------------------------------------------


def unfinished(manifest: Mapping[str, Any]) -> str:
    """Say how much of the planned collection a run saw; "" where that is all."""
    planned, reached = _plan(manifest)
    if not planned:
        return ""
    # A bundle of before the missing answers were kept has their totals alone.
    missing = manifest["study"].get("missing", planned["answers"] - reached["answers"])
    if missing <= 0:
        return ""
    came = planned["answers"] - missing
    return (
        f"Collection was not finished: {count(came)} of "
        f"{count(planned['answers'])} planned answers "
        f"({percent(came / planned['answers'])}), "
        f"{count(reached['items'])} of {count(planned['items'])} items."
    )


def _plan(manifest: Mapping[str, Any]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What was planned and reached; nothing of a closed task whose answers came in a file."""
    told = manifest.get("study") or {}
    planned = told.get("planned") or {}
    if not planned.get("answers") or told["uploaded"]:
        return {}, {}
    return planned, told["reached"]


def collection_lines(manifest: Mapping[str, Any]) -> Lines:
    """Label and text of what was planned and reached; none of a bundle of before it was kept."""
    told = manifest.get("study")
    if not told:
        return
    planned, reached = _plan(manifest)
    if planned:
        yield "Planned items with answers", _of(reached["items"], planned["items"])
        yield (
            "Answers that count",
            f"{count(reached['answers'])}, {count(planned['answers'])} planned",
        )
        yield "Answers planned per item", str(told["answers_per_item"])
    answered = [str(one["number"]) for one in manifest.get("task_versions") or ()]
    if told.get("version") and answered not in ([], [str(told["version"]["number"])]):
        yield "Versions that were answered", ", ".join(answered)
    models = told.get("models") or {}
    if models.get("answers") and not manifest["counts"].get("system_answers"):
        yield (
            "Answers of models in the task",
            f"{count(models['answers'])} of {plural(models['models'], 'model')}, "
            "not part of this run",
        )
    if not is_known(manifest, "is_dated"):
        yield "Collected", NOT_KNOWN
    elif told["first_answer"]:
        yield "Collected", f"{told['first_answer']} to {told['last_answer']}"


def is_known(manifest: Mapping[str, Any], what: str) -> bool:
    """Whether dates (``is_dated``) or questions (``is_asked``) of answers are known here."""
    origin = (manifest.get("study") or {}).get("origin") or {}
    return bool(origin.get("is_dated", True) if what == "is_dated" else not origin.get("is_table"))


def people_lines(manifest: Mapping[str, Any]) -> Lines:
    """Label and text of who worked, how they came, what they agreed to, and what they were paid."""
    told = manifest.get("study")
    if not told:
        return
    if "workers" in told:
        yield "Workers whose answers count", _ways(told)
        yield "Consent", _consent(told)
    if told["assignments"]:
        yield "Assignments", _assignment_words(told)
        yield "Items per assignment", str(told["items_per_assignment"])
        yield "Median time of an assignment", f"{told['median_minutes']} min"
        yield "Pay per assignment", f"{told['pay']} {told['currency']}"
        if told.get("hourly"):
            yield "Pay per hour", f"{told['hourly']} {told['currency']} at the median time"
        if told.get("bonus"):
            yield "Bonus", told["bonus"]
    elif told.get("imported"):
        yield "Time and pay", NOT_KNOWN


def _of(part: int, whole: int) -> str:
    return f"{count(min(part, whole))} of {count(whole)}"


def _ways(told: Mapping[str, Any]) -> str:
    """In which ways the workers came."""
    kinds = {"prolific": "Prolific", "panel": "a panel"}
    ways = [
        f"{plural(one['workers'], 'worker')} through {kinds.get(one['kind'], one['kind'])} "
        f"(“{one['name']}”)"
        for one in told["ways"]
    ]
    files = told.get("of_files", 0 if told["assignments"] else told["elsewhere"])
    if invited := told["elsewhere"] - files:
        ways.append(f"{plural(invited, 'worker')} by invitation to the project")
    if files:
        ways.append(f"{plural(files, 'worker')} from an imported file")
    return "; ".join(ways) or "not known"


def _consent(told: Mapping[str, Any]) -> str:
    """How many workers agreed to which version of the consent text."""
    if not told["consent"]:
        return "none recorded" if told["consent_asked"] else "not asked here"
    return "; ".join(
        f"version {number}: {_of(n, told['workers'])} {several('worker')}"
        for number, n in told["consent"]
    )


def _assignment_words(told: Mapping[str, Any]) -> str:
    parts = [f"{count(told['assignments'])} submitted"]
    if told.get("imported"):
        parts.append(f"{count(told['imported'])} imported")
    if "rejected" in told:
        parts.append(f"{count(told['rejected'])} rejected")
    return ", ".join(parts)


def exclusion_lines(manifest: Mapping[str, Any], names: Mapping[str, str]) -> Lines:
    """Label and text of each worker who was left out by hand; ``names`` by their ids.

    The reason is the team's own and stays there, also that of a bundle that still holds it.
    """
    for one in (manifest.get("study") or {}).get("exclusions") or ():
        who = names.get(str(one["worker"]), f"worker {one['worker']}")
        yield (
            f"{who}, left out by hand",
            f"{plural(one['answers'], 'answer')}, {one['date']}",
        )


def import_lines(manifest: Mapping[str, Any]) -> Lines:
    """Label and text of the rows that were left out when a file was read, by reason."""
    for one in (manifest.get("study") or {}).get("imports") or ():
        for reason, n in one["left_out"].items():
            yield (
                f"Left out on import: {reason_words(reason)}",
                f"{count(n)} of {plural(one['rows'], 'row')} of the file",
            )


def asked_lines(
    settings: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield label, exact question and options of each field, dimension or scale asked."""
    is_asked = is_known(manifest, "is_asked")
    for key in ASKED:
        for one in settings.get(key) or ():
            if not isinstance(one, dict) or not one.get("label"):
                continue
            question = str(one.get("question") or "")
            options = [_option(option) for option in one.get("options") or one.get("points") or ()]
            about = str(one.get("description") or "")
            said = " ".join(part for part in (question, about) if part)
            yield (
                str(one["label"]),
                said if is_asked else NOT_KNOWN,
                [option for option in options if option],
            )


def _option(option: Any) -> str:
    """The wording of an option, with what explains it."""
    if not isinstance(option, dict):
        return str(option)
    label, about = str(option.get("label") or ""), str(option.get("description") or "")
    return f"{label}: {about}" if label and about else label or str(option.get("value", ""))
