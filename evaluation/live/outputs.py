"""Reading outputs that were sent: rows of prompt, system and text become prompts, or none do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.pairs.actions.prompts import Prompt
from crowdqc.errors import Invalid
from crowdqc.numbers import count

MOST_ROWS, MOST_SHOWN = 5_000, 50
MOST = {"prompt": 60, "question": 20_000, "text": 20_000}
NEEDED = {
    "prompt": gettext_noop("Give every prompt a key of its own."),
    "question": gettext_noop("Send what the systems were asked."),
    "text": gettext_noop("Send what the system wrote."),
}
Rows = Sequence[Mapping[str, str]]


def read_outputs(rows: Rows, systems: Mapping[str, int]) -> list[Prompt]:
    """Rows (prompt, question, system, text) as prompts with one text of each system.

    ``systems`` are names with their ids. Raises Invalid, naming the row, its field and what to do,
    for the first 50 rows that are wrong.
    """
    if not 1 <= len(rows) <= MOST_ROWS:
        raise Invalid(
            _("There are too many outputs.") if rows else _("There is no output."),
            fields={
                "outputs": _("1 to %(most_rows)s at a time.") % {"most_rows": count(MOST_ROWS)}
            },
        )
    wrong: list[dict[str, Any]] = []
    questions: dict[str, str] = {}
    texts: dict[str, dict[int, str]] = {}
    lines: dict[str, int] = {}
    for line, row in enumerate(rows, 1):
        found = _wrong(row, systems)
        key, system = row["prompt"], systems.get(row["system"], 0)
        if found is None and questions.get(key, row["question"]) != row["question"]:
            found = (
                "question",
                _("It differs from another row of this prompt"),
                _("Send the same words."),
            )
        if found is None and system in texts.get(key, {}):
            found = (
                "system",
                _("This prompt has a text of this system already"),
                _("Send one text."),
            )
        if found is not None:
            field, why, mend = found
            wrong.append(_bad(line, field, row.get(field, ""), why, mend))
            continue
        questions[key] = row["question"]
        lines.setdefault(key, line)
        texts.setdefault(key, {})[system] = row["text"]
    for key, own in texts.items() if not wrong else ():
        lack = [name for name, pk in systems.items() if pk not in own]
        if lack:
            why = _("There is no text of %(names)s for this prompt") % {"names": ", ".join(lack)}
            wrong.append(_bad(lines[key], "system", key, why, _("Send one text of each system.")))
    if wrong:
        one, shown = wrong[0], wrong[:MOST_SHOWN]
        raise Invalid(
            _("Row %(line)s, %(column)s: %(wrong)s. %(mend)s Nothing was added.") % one,
            fields={
                f"outputs.{row['line'] - 1}.{row['column']}": row["wrong"] for row in wrong[:1]
            },
            rows=shown,
        )
    return [Prompt(key, questions[key], own) for key, own in texts.items()]


def _wrong(row: Mapping[str, str], systems: Mapping[str, int]) -> tuple[str, str, str] | None:
    """The field that is wrong, why, and what to do; None for a row that can be taken."""
    if row["system"] not in systems:
        return (
            "system",
            _("It is not compared here"),
            _("Use %(names)s.") % {"names": ", ".join(systems)},
        )
    for name, most in MOST.items():
        if not row[name]:
            return name, _("It is empty"), _(NEEDED[name])
        if len(row[name]) > most:
            return (
                name,
                _("It is too long"),
                _("Use %(most)s characters at most.") % {"most": count(most)},
            )
    return None


def _bad(line: int, column: str, value: str, wrong: str, mend: str) -> dict[str, Any]:
    return {"line": line, "column": column, "value": value[:80], "wrong": wrong, "mend": mend}
