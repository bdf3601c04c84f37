"""Ids that stand inside of JSON and texts, and how they are rewritten.

Every id of a project moves by the same number, so a rule says where an id stands, not of which
table it is. A rule is a path and a kind. A path has the names of keys; ``*`` stands for every key
or place, ``**`` for any depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

Rule = tuple[str, str]
ID = "id"  # an id, or a list of ids; 0 and less is none
USER = "user"  # the id of an account
KEYS = "keys"  # a dict whose keys are ids
NAMED = "named"  # "work:12", "correction-payment:12:34", "pair:12/1/pair:13"
CHANNEL = "channel"  # "paid:prolific-3", "item-12"
FIRST = "first"  # "12/words", "panel 12"

# What the columns of a result's rows are called where they hold an id.
ROWS: tuple[Rule, ...] = tuple(
    (f"**.{name}", ID)
    for name in (
        *("answer", "candidate", "item", "machine", "machine_a", "machine_b", "pair"),
        *("system", "system_a", "system_b", "worker"),
    )
)
PARAMS: tuple[Rule, ...] = (
    *((name, ID) for name in ("also", "checklist", "grading", "imported", "judge", "model")),
    ("panel", ID),
    ("encoder", NAMED),
)
COUNTS: tuple[Rule, ...] = (
    *((name, ID) for name in ("draw", "max_id", "mark.max_id")),
    ("judges.*", ID),
)
ACCOUNT: tuple[Rule, ...] = (("", NAMED), ("", CHANNEL))


def _below(name: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the same rules under a key."""
    return tuple((f"{name}.{path}", kind) for path, kind in rules)


FIGURES: dict[str, tuple[Rule, ...]] = {
    "": (("**.human_run", ID), ("**.subject", NAMED), ("**.call", ID)),  # of every figure
    "about": (("human_scores", KEYS),),
    "answerers": (("*.pk", ID),),
    "chances": (("items", KEYS),),
    "clusters": (*ROWS, ("*.listed.*.question", ID)),
    "compare": (("series.*.key", FIRST), ("series.*.run", ID)),
    "counts": (("*.source", ID),),
    "fields": (("", KEYS),),
    "frame": (("models.*", ID), ("people", ID), ("systems.*.id", ID)),
    "groups": (("*.members", ID),),
    "log": (("", KEYS),),
    "look_alikes": (("rows.*.workers", ID),),
    "made": (("calls", ID), ("checklist", ID)),
    "pair": (*ROWS, ("*.first", ID), ("*.second", ID)),
    "pair_incomplete": (("*.first", ID), ("*.second", ID)),
    "pairs": (("rows.*.workers", ID),),
    "recipe": (
        *_below("counts", COUNTS),
        *_below("params", PARAMS),
        *((name, ID) for name in ("also", "grades.grading", "panel")),
    ),
    "steps": (("of", ID),),
    "swaps": (("*.listed.*.down", ID), ("*.listed.*.up", ID)),
    "system_groups": (("*.members", ID),),
    "traces": (("*.item", ID), ("*.source", ID), ("*.trace", ID)),
    **dict.fromkeys(
        (
            *("candidate_interval", "change", "change_vote", "classes", "controlled"),
            *("grade_mean", "grade_test", "judge", "judge_pair", "judge_system", "judge_tau"),
            *("label_mean", "label_stability", "length", "merged", "repeat_worker", "shift"),
            *("straight_worker", "stratum_system", "systems", "top", "units", "win", "without"),
            *("without_models", "workers", "worst"),
        ),
        ROWS,
    ),
}
REFERENCES: dict[str, tuple[Rule, ...]] = {
    "annotation.AuditEntry.detail:audit.open": (("judge", USER),),
    "annotation.AuditEntry.detail:model.add": (("endpoint", ID),),
    "annotation.AuditEntry.detail:export.request": (("task", ID),),
    "annotation.AuditEntry.detail:message.send": (("message", ID),),
    "annotation.AuditEntry.detail:panel.select": (("workers", ID),),
    "annotation.AuditEntry.detail:panel.task": (("source", ID),),
    "annotation.AuditEntry.detail:project.transfer": (("before", USER), ("after", USER)),
    "annotation.AuditEntry.detail:recording.keep": (("item", ID),),
    "annotation.AuditEntry.detail:recording.remove": (("item", ID),),
    "annotation.AuditEntry.detail:sets.compare": (("item", ID),),
    "annotation.AuditEntry.detail:statement.book": (("statement", ID),),
    "annotation.AuditEntry.detail:statement.settle": (("statement", ID),),
    "annotation.AuditEntry.detail:systems.answer": (("system", ID),),
    "annotation.Conversation.seen": (("", ID),),
    "annotation.Correction.credit": ACCOUNT,
    "annotation.Correction.debit": ACCOUNT,
    "annotation.Correction.key": (("", NAMED),),
    "annotation.EventBatch.events": (("*.target", CHANNEL),),
    "annotation.LedgerEntry.credit": ACCOUNT,
    "annotation.LedgerEntry.debit": ACCOUNT,
    "annotation.LedgerEntry.key": (("", NAMED),),
    "annotation.Statement.rows": (
        *((f"*.{name}", ID) for name in ("assignment", "before.0", "correction", "payment")),
        ("*.parts.*.payment", ID),
        ("*.parts.*.entry", ID),
    ),
    "annotation.TaskVersion.settings": (("left_out", ID), ("version", ID)),
    "evaluation.CallUse.subject": (("", NAMED),),
    "evaluation.ChecklistStage.data": (("*.from", ID),),
    "evaluation.ExplanationAudit.answer_ids": (("", ID),),
    "evaluation.Grading.answer_ids": (("", ID),),
    "evaluation.ItemDraw.chances": (("", KEYS),),
    "evaluation.ItemDraw.drawn": (("", ID),),
    "evaluation.ItemDraw.known": (("", ID),),
    "evaluation.LiveEvaluation.judges": (("", ID),),
    "evaluation.LiveEvaluation.seen": (("mark.0.*.1", ID), ("mark.0.*.2", ID)),
    "evaluation.LiveEvaluation.systems": (("", ID),),
    "evaluation.Run.lane": (("", FIRST),),
    "evaluation.Run.limits": (("items", ID),),
    "evaluation.Run.params": PARAMS,
    "evaluation.RunSchedule.params": PARAMS,
    "evaluation.Selection.params": (("workers", ID),),
    "evaluation.Selection.rows": (("*.worker", ID),),
    "evaluation.Snapshot.answer_ids": (("", ID),),
    "evaluation.Snapshot.counts": COUNTS,
    **{
        f"evaluation.{name}.extra": (("call", ID),)
        for name in ("AnswerScore", "CandidateScore", "ItemScore", "SystemScore", "WorkerScore")
    },
    **{
        f"evaluation.RunFigure.data{':' if name else ''}{name}": rules
        for name, rules in FIGURES.items()
    },
}
# Columns whose form depends on another column of the row.
VARIANTS = {
    "annotation.AuditEntry.detail": "action",
    "evaluation.RunFigure.data": "name",
}
IN_TEXT = {
    NAMED: re.compile(r"(?<=[a-z]:)\d+(?=$|[/:~])|(?<=\d:)\d+(?=$|~)"),
    CHANNEL: re.compile(r"(?<=[a-z]-)\d+$"),
    FIRST: re.compile(r"^\d+(?=/|$)|(?<=^panel )\d+$"),
}
TWO_IDS = "correction-payment:"  # the only name of which both numbers are ids


@cache
def _columns_with_rules(label: str) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table that hold ids, each with its name in ``REFERENCES``."""
    names = {name.partition(":")[0] for name in REFERENCES}
    return tuple(
        (name.rpartition(".")[2], name)
        for name in sorted(names)
        if name.rpartition(".")[0] == label
    )


@dataclass(frozen=True)
class Rewriter:
    """Rewrites the ids of one move."""

    shift: int
    user: Callable[[int], int | None]

    def rewrite_row(self, label: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with the ids in its JSON and texts rewritten."""
        made = dict(row)
        for column, name in _columns_with_rules(label):
            made[column] = self.rewrite(name, made[column])
            if variant := VARIANTS.get(name):
                made[column] = self.rewrite(f"{name}:{row[variant]}", made[column])
        return made

    def rewrite(self, field: str, value: Any) -> Any:
        """Return a column's value with its ids rewritten."""
        for path, kind in REFERENCES.get(field, ()):
            value = self._walk(value, path.split(".") if path else [], kind)
        return value

    def _walk(self, value: Any, path: list[str], kind: str) -> Any:
        if not path:
            return self._change(value, kind)
        step, rest = path[0], path[1:]
        if step == "**":
            value = self._walk(value, rest, kind)
            deeper = isinstance(value, dict | list)
            return self._walk(value, ["*", *path], kind) if deeper else value
        if isinstance(value, list) and (step == "*" or step.isdigit()):
            return [
                self._walk(one, rest, kind) if step in ("*", str(place)) else one
                for place, one in enumerate(value)
            ]
        if isinstance(value, dict) and step == "*":
            return {key: self._walk(one, rest, kind) for key, one in value.items()}
        if isinstance(value, dict) and step in value:
            return {**value, step: self._walk(value[step], rest, kind)}
        return value

    def _change(self, value: Any, kind: str) -> Any:
        if isinstance(value, list):
            return [self._change(one, kind) for one in value]
        if kind == KEYS and isinstance(value, dict):
            return {str(int(key) + self.shift): one for key, one in value.items()}
        if isinstance(value, str):
            return self._change_text(value, kind)
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            return value
        return self.user(value) if kind == USER else value + self.shift

    def _change_text(self, value: str, kind: str) -> str:
        if kind not in IN_TEXT:
            return value
        both = value.startswith(TWO_IDS)

        def move(match: re.Match[str]) -> str:
            second = kind == NAMED and value[match.start() - 2 : match.start() - 1].isdigit()
            return match[0] if second and not both else str(int(match[0]) + self.shift)

        return IN_TEXT[kind].sub(move, value)
