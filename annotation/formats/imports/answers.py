"""Free text in: answers of workers, and answers of systems with their replicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Importer, Reader, Row, UniqueRows, same_name
from annotation.files.reading.keys import TextDigests
from annotation.files.reading.recognise import NUMBERED
from crowdqc.numbers import plural

MAX_ANSWER = 20_000
MOST = 32_767  # the highest replicate
ITEM_ID = Field(
    "item_id",
    gettext_lazy("Question id"),
    True,
    ("question_id", "qid", "item", "id", "key", *NUMBERED),
)
SYSTEM = Field(
    "system", gettext_lazy("System"), True, ("model", "llm", "system_name", "model_name", "source")
)
STRATEGY = Field(
    "prompt_strategy", gettext_lazy("Prompt strategy"), False, ("strategy", "prompt", "prompting")
)
REPLICATE = Field("replicate", gettext_lazy("Replicate"), False, ("rep", "sample", "run", "repeat"))
Key = tuple[str, str, str, int]  # system, prompt strategy, question, replicate
Spelled = Mapping[str, dict[str, str]]


def refuse_removed(
    reader: Reader, row: Row, column: str, worker: object, removed: Set[Any]
) -> None:
    """Refuse a row of a worker who was removed from the project."""
    if worker in removed:
        wrong = gettext_noop("This worker was removed from the project.")
        mend = _("Take them back on the People page, or leave the row out.")
        reader.refuse(row, column, wrong, mend)


@dataclass(frozen=True)
class KnownAnswers:
    """The published questions in order, and (worker, question) -> text of what is there."""

    keys: Sequence[str] = ()
    texts: Mapping[tuple[str, str], str] | TextDigests = field(default_factory=dict)
    removed: Set[str] = frozenset()  # workers who were removed from the project


@dataclass(frozen=True)
class KnownSystems:
    """The published questions, the names in use, and the text behind each key."""

    keys: Sequence[str] = ()
    names: Sequence[str] = ()
    strategies: Sequence[str] = ()
    texts: Mapping[Key, str] | TextDigests = field(default_factory=dict)


def _item(reader: Reader, row: Row, keys: Set[str], order: Sequence[str]) -> str:
    """The question of a row; where there is none, say which is nearest. Raises Refused."""
    key = reader.known_name(row, "item_id", keys)
    if key not in keys:
        wrong = gettext_noop("No question has this id.") if key else gettext_noop("There is no id.")
        reader.refuse_unknown(row, "item_id", wrong, near=key, known=order, order=order)
    return key


def _text(reader: Reader, row: Row, who: str) -> str:
    """An answer that can be stored. Raises Refused."""
    mend = _("Write “I don’t know” if the %(who)s gave no answer, or delete the row.") % {
        "who": who
    }
    reader.needed(row, "answer", gettext_noop("An answer needs text."), mend)
    return reader.fit(row, "answer", MAX_ANSWER, gettext_noop("an answer"))


def spellings(names: Iterable[str], strategies: Iterable[str]) -> Spelled:
    """Map normalised names of systems and prompt strategies to their usual spelling."""
    return {
        "system": {same_name(name): name for name in names},
        "prompt_strategy": {same_name(name): name for name in strategies},
    }


def usual_name(reader: Reader, row: Row, name: str, spelled: dict[str, str], noun: str) -> str:
    """Return a name in its usual spelling; a new name is added to ``spelled``. Raises Refused."""
    value = reader.value(row, name)
    usual = spelled.setdefault(same_name(value), value) if value else ""
    if value != usual:
        wrong = _("Differs from “%(usual)s” only by case and space.") % {"usual": usual}
        reader.refuse(
            row, name, wrong, _("Use one spelling, or they count as two %(noun)s.") % {"noun": noun}
        )
    return value


def named_system(reader: Reader, row: Row, spelled: Spelled) -> tuple[str, str]:
    """The system of a row and its prompt strategy, in their usual spelling. Raises Refused."""
    wrong, mend = (
        gettext_noop("There is no system."),
        gettext_noop("Write which model or source it is."),
    )
    reader.needed(row, "system", wrong, mend)
    found = []
    for name, noun in (("system", "systems"), ("prompt_strategy", "strategies")):
        reader.fit(row, name, 120, gettext_noop("a name"))
        found.append(usual_name(reader, row, name, spelled[name], noun))
    return found[0], found[1]


def numbered(reader: Reader, row: Row, most: int = MOST) -> int:
    """Return the replicate of a row, 0 if none is given. Raises Refused."""
    return (
        reader.number(row, "replicate", gettext_noop("Number the repeats 0, 1, 2 and so on."), most)
        or 0
    )


class Answers(Importer):
    """Answers of workers: item_id, worker_id, answer, submitted_at."""

    slug = "answers"
    title = gettext_lazy("Answers of workers")
    fields = (
        ITEM_ID,
        Field(
            "worker_id",
            gettext_lazy("Worker id"),
            True,
            (
                *("worker", "participant", "participant_id", "annotator", "user", "user_id"),
                *("student", "rater", "teilnehmer", "annotateur"),
            ),
        ),
        Field(
            "answer",
            gettext_lazy("Answer text"),
            True,
            (
                *("response", "resp", "text", "reply", "completion", "output"),
                *("antwort", "reponse", "respuesta", "risposta"),
            ),
        ),
        Field(
            "submitted_at",
            gettext_lazy("Time of the answer"),
            False,
            ("timestamp", "time", "date", "created_at", "answered_at"),
        ),
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownAnswers) -> None:
        """Rows of a question, a worker and their answer; a worker answers a question once."""
        checked, keys = reader.checked, set(known.keys)
        once = UniqueRows(
            reader,
            ["worker_id", "item_id"],
            known.texts,
            twice=gettext_noop("Keep one: a worker answers a question once."),
            differs=gettext_noop("The task has another answer of this worker to this question."),
            leave=gettext_noop("Leave the row out: answers are not overwritten."),
        )
        workers: set[str] = set()
        questions: set[str] = set()
        for row in rows:
            with reader:
                item = _item(reader, row, keys, known.keys)
                worker = self._worker(reader, row, known)
                text = _text(reader, row, "worker")
                at = reader.moment(row, "submitted_at")
                if once.is_new(row, (worker, item), text):
                    values = {"item_id": item, "worker_id": worker, "answer": text}
                    checked.good.append({**values, "submitted_at": at})
                    workers.add(worker)
                    questions.add(item)
        if checked.good:
            checked.facts += [plural(len(workers), "worker"), plural(len(questions), "question")]

    @staticmethod
    def _worker(reader: Reader, row: Row, known: KnownAnswers) -> str:
        wrong, mend = (
            gettext_noop("There is no worker."),
            gettext_noop("Write who gave it; any id will do."),
        )
        worker = reader.needed(row, "worker_id", wrong, mend)
        refuse_removed(reader, row, "worker_id", worker, known.removed)
        return reader.fit(row, "worker_id", 120, gettext_noop("a worker id"))


class SystemAnswers(Importer):
    """Answers of systems: item_id, system, prompt_strategy, answer (and replicate)."""

    slug = "system_answers"
    title = gettext_lazy("Answers of systems")
    fields = (
        ITEM_ID,
        SYSTEM,
        STRATEGY,
        Field(
            "answer",
            gettext_lazy("Answer text"),
            True,
            ("response", "resp", "output", "completion", "text"),
        ),
        REPLICATE,
    )

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownSystems) -> None:
        """Rows of a question, a system and its answer; a system answers once a replicate."""
        checked, keys = reader.checked, set(known.keys)
        spelled = spellings(known.names, known.strategies)
        once = UniqueRows(
            reader,
            ["system", "item_id"],
            known.texts,
            twice=gettext_noop("Keep one, or add a replicate column."),
            differs=gettext_noop("The task has another answer of this system to it."),
            leave=gettext_noop("Leave the row out, or give it another replicate."),
        )
        for row in rows:
            with reader:
                item = _item(reader, row, keys, known.keys)
                system, strategy = named_system(reader, row, spelled)
                text, replicate = _text(reader, row, "system"), numbered(reader, row)
                if once.is_new(row, (system, strategy, item, replicate), text):
                    checked.good.append(
                        {
                            "item_id": item,
                            "system": system,
                            "prompt_strategy": strategy,
                            "answer": text,
                            "replicate": replicate,
                        }
                    )
        if checked.good:
            systems = {values["system"] for values in checked.good}
            questions = {values["item_id"] for values in checked.good}
            checked.facts += [plural(len(systems), "system"), plural(len(questions), "question")]
            if "prompt_strategy" in reader.mapping:
                checked.facts.append(
                    _("prompt strategy in %(prompt_strategy)s")
                    % {"prompt_strategy": reader.mapping["prompt_strategy"]}
                )
