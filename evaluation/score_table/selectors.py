"""What the page of a table shows: what it is, how it is read, and what would be scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.files.reading.importer import plain
from annotation.formats.registry import TABLES
from annotation.formats.uploads.staging import ACTIVE
from annotation.models import ImportFile, User
from annotation.privacy.actions.erasure import KEPT_DAYS
from crowdqc.numbers import plural

State = ImportFile.State
KIND = "label_table"
SHOWN_PROBLEMS = 50
WINNERS = {"winner", "preferred", "preference"}
SCORES = {"score", "rating", "points", "stars"}
FREE_TEXTS = {"answertext", "response", "answer", "explanation"}


@dataclass(frozen=True)
class Kind:
    """A kind of table: the columns it needs, what the file has of it, and who takes it else."""

    name: str
    needs: str
    here: str
    chosen: bool = False
    elsewhere: str = ""  # what to do with such a table now


def own_table(user: User, file_id: int) -> ImportFile | None:
    """A table that this person uploaded."""
    mine = ImportFile.objects.filter(kind=KIND, uploaded_by=user)
    return mine.select_related("project", "task").filter(pk=file_id).first()


def tables_of(user: User) -> list[ImportFile]:
    """The person's newest tables."""
    mine = ImportFile.objects.filter(kind=KIND, uploaded_by=user).defer("sheet")
    return list(mine.select_related("task", "project").order_by("-pk")[:10])


def deleted_after_days() -> int:
    """For how many days a table is kept that was not scored."""
    return KEPT_DAYS


def frame(file: ImportFile) -> dict[str, Any]:
    """State, columns, problems and numbers of a table."""
    if file.state in ACTIVE:
        count = f"{file.done:,} of {file.total:,} rows" if file.total else f"{file.done:,} rows"
        said = f"{count} {'checked' if file.state == State.CHECKING else 'read'}."
        return {"state": ("running", "Reading the table", said), "active": True}
    if file.state == State.FAILED:
        said = f"{file.error.get('message', '')} {file.error.get('mend', '')}".strip()
        return {"state": ("bad", "Cannot be read", said)}
    found, about = file.found, file.found["about"]
    rows = file.sheet["rows"] + file.sheet["unreadable_lines"]
    problems = sorted([*found["problems"], *found["repeats"]], key=lambda one: one.get("line") or 0)
    return {
        "state": _state(file, rows),
        "rows": rows,
        "used": found["new"],
        "kinds": kinds(file),
        "columns": _columns(file),
        "fields": TABLES[KIND].fields,
        "first": _first(file),
        "problems": problems[:SHOWN_PROBLEMS],
        "left": rows - found["new"],
        "more": found["all_problems"] + found["repeated"] - len(problems[:SHOWN_PROBLEMS]),
        "missing": [one["label"].lower() for one in found["unmapped"]],
        "can_score": bool(found["new"]) and about.get("classes", 0) > 1,
        "about": about,
        "warnings": _warnings(about),
        "methods": _methods(about) if found["new"] else [],
    }


def _state(file: ImportFile, rows: int) -> tuple[str, str, str]:
    found = file.found
    read = plural(rows, "row") + " read"
    if found["unmapped"]:
        names = ", ".join(one["label"].lower() for one in found["unmapped"])
        return "waiting", "Columns missing", f"{read}. Choose the column of the {names} below."
    if not found["new"]:
        return "bad", "No row can be used", f"{read}. See what is wrong with them below."
    if found["about"]["classes"] < 2:
        return "bad", "Only one label", f"{read}. Every row has the same label: nothing to compare."
    left = rows - found["new"]
    verb = "is" if left == 1 else "are"
    said = f"{found['new']:,} can be used" + (f", {left:,} {verb} left out" if left else "")
    return "waiting", "Ready to score", f"{read}: {said}. Recognised as labels."


def kinds(file: ImportFile) -> list[Kind]:
    """The four kinds of table, and what the file has of each."""
    found, columns = file.found, {plain(name): name for name in file.sheet["columns"]}
    mapping, about = found["mapping"], found["about"]
    labels = not found["unmapped"]
    label = mapping.get("label", "")
    said = f"all three found; {label} has {plural(about.get('classes', 0), 'different value')}"
    missing = ", ".join(one["label"].lower() for one in found["unmapped"])
    winner = next((columns[name] for name in WINNERS if name in columns), "")
    score = next((columns[name] for name in SCORES if name in columns), "")
    text = next((columns[name] for name in FREE_TEXTS if name in columns), "")
    return [
        Kind("Labels", "worker, item, label", said if labels else f"no {missing} yet", labels),
        Kind(
            "Comparisons",
            "judge, left, right, winner",
            f"{winner} may name the winner" if winner else "no column with a winner",
            elsewhere="Import judgments into a pairwise task" if winner else "",
        ),
        Kind(
            "Free-text answers",
            "worker, question, answer",
            f"{text} may hold answers" if text else "no column with answers",
            elsewhere="Import answers into a free-text task" if text and not labels else "",
        ),
        Kind(
            "Ratings",
            "worker, item, score",
            f"{score} may hold scores" if score else "no column with a score",
            elsewhere="Import ratings into a rating task" if score else "",
        ),
    ]


def _columns(file: ImportFile) -> list[dict[str, str]]:
    fields = {column: name for name, column in file.found["mapping"].items()}
    return [{"name": name, "field": fields.get(name, "")} for name in file.sheet["columns"] if name]


def _first(file: ImportFile) -> list[list[dict[str, Any]]]:
    read = set(file.found["mapping"].values())
    return [
        [
            {"text": values.get(name, ""), "read": name in read}
            for name in file.sheet["columns"]
            if name
        ]
        for _, values in file.sheet["first"]
    ]


def _warnings(about: Mapping[str, Any]) -> list[dict[str, str]]:
    found = [
        {
            "level": "warn",
            "head": "One worker always gives the same label.",
            "text": f"{worker} chose “{label}” {n:,} times out of {n:,}.",
        }
        for worker, label, n in about.get("one_label", ())
    ]
    if about.get("rare"):
        listed = ", ".join(f"“{label}”" for label in about["rare"])
        said = f"Given once: {listed}. If it is a typo, correct it in the file and upload it again."
        found.append({"level": "warn", "head": "Rare labels.", "text": said})
    if about and about["low"] != about["high"]:
        said = f"From {about['low']:,} to {about['high']:,}."
        found.append({"level": "", "head": "Labels per item vary.", "text": said})
    return found


def _methods(about: Mapping[str, Any]) -> list[dict[str, str]]:
    """The methods with a sentence each: all are computed on the same labels."""
    if not about.get("workers"):
        return []
    each = about_each(about)
    return [
        {
            "name": "Dawid-Skene",
            "why": f"Shown first. Each worker gave about {plural(each, 'label')}: it estimates "
            "which labels each worker confuses.",
        },
        {
            "name": "MACE",
            "why": "Better when workers are few or some answer at random: it needs one number per "
            "worker, not a confusion matrix.",
        },
        {"name": "Majority vote", "why": "The most frequent label. No estimate of competence."},
    ]


def about_each(about: Mapping[str, Any]) -> int:
    """How many labels a worker gave, on average."""
    total = sum(n for _, n in about["labels"])
    return round(total / about["workers"])
