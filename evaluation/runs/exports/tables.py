"""What the rows of a run are as files: columns by method, and for others what their rows hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Subquery

from evaluation.methods.writing.signals import SIGNALS
from evaluation.models import (
    AnswerScore,
    CandidateScore,
    ItemLabel,
    ItemScore,
    Run,
    SystemScore,
    WorkerScore,
)

BASE = ("dimension", "component", "estimate", "low", "high", "n")
RANKED = (*BASE, "rank_low", "rank_high", "group")
SYSTEM = (("system", "system__name"), ("prompt_strategy", "system__prompt_strategy"))


@dataclass(frozen=True)
class Sheet:
    """A table of a run as a file.

    ``names`` are its first columns as (name in the file, path in the database), ``columns`` the
    model's own, ``extra`` keys of its JSON column ``source`` (in the file behind ``prefix``).
    With ``spread`` a row becomes several lines: its further columns, and their values by line, out
    of ``source``. ``beside`` are the last columns, of other tables than the run's.
    """

    model: Any
    names: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    extra: tuple[str, ...]
    source: str = "extra"
    prefix: str = ""
    spread: (
        tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Iterable[Sequence[Any]]]] | None
    ) = None
    beside: Mapping[str, Subquery] = field(default_factory=dict)

    @property
    def header(self) -> list[str]:
        """The columns of the file."""
        own = [name for name, _ in self.names]
        more = (f"{self.prefix}{key.replace('.', '_')}" for key in self.extra)
        return [*own, *self.columns, *more, *(self.spread[0] if self.spread else ()), *self.beside]

    def told(self, source: Mapping[str, Any]) -> list[Any]:
        """The values of ``extra``; a dot leads into a nested one."""
        return [
            (source.get(part) or {}).get(rest) if rest else source.get(part)
            for part, _, rest in (key.partition(".") for key in self.extra)
        ]

    def lines(self, source: Mapping[str, Any]) -> Iterator[list[Any]]:
        """What a row says beside the model's own columns: one line, or those it spreads into."""
        told = self.told(source)
        if self.spread is None:
            yield told
            return
        for line in self.spread[1](source):
            yield [*told, *line]


TABLES: dict[str, Sheet] = {
    "workers": Sheet(
        WorkerScore,
        (("worker", "worker__pseudonym"),),
        RANKED,
        ("raw", "adjusted", "uniterated", "normalised", "weight", "no_interval"),
    ),
    "systems": Sheet(SystemScore, SYSTEM, RANKED, ("raw", "adjusted", "uniterated", "no_interval")),
    "answers": Sheet(
        AnswerScore,
        (
            ("item_id", "answer__item__key"),
            ("worker", "answer__worker__pseudonym"),
            ("system", "answer__system__name"),
            ("prompt_strategy", "answer__system__prompt_strategy"),
            ("replicate", "answer__replicate"),
        ),
        BASE,
        ("uniterated", "best", "best_trusted"),
    ),
    "questions": Sheet(
        ItemScore,
        (("item_id", "item__key"), ("best_worker", "best_answer__worker__pseudonym")),
        BASE,
        ("spread", "agreement", "effect", "declined"),
    ),
}
# Of runs on pairwise tasks; dimension "" is all of them together.
PAIR_TABLES: dict[str, Sheet] = {
    "workers": Sheet(
        WorkerScore,
        (("worker", "worker__pseudonym"),),
        BASE,
        ("spam", "guess_left", "guess_neutral", "guess_right", "with_others", "n_others"),
    ),
    "systems": Sheet(SystemScore, SYSTEM, RANKED, ("se", "rank")),
    "texts": Sheet(
        CandidateScore,
        (
            ("candidate", "candidate__key"),
            ("topic", "candidate__topic"),
            *((name, f"candidate__{path}") for name, path in SYSTEM),
            ("style", "candidate__style"),
            ("origin", "candidate__origin"),
        ),
        BASE,
        ("rank", "grade", "grade_low", "grade_high", "of", "pairs"),
    ),
    "labels": Sheet(
        ItemLabel,
        (
            ("item_id", "item__key"),
            ("first_candidate", "item__first__key"),
            ("second_candidate", "item__second__key"),
        ),
        ("dimension", "component", "label", "entropy", "n"),
        ("first", "neutral", "second"),
        "posterior",
        "p_",
    ),
}
SIGNAL_COLUMNS = tuple(
    f"{part}.{signal.slug}" for part in ("states", "values") for signal in SIGNALS
)
# Of runs on written responses; a signal's state is fired, quiet, not_recorded or too_little.
WRITING_TABLES: dict[str, Sheet] = {
    "responses": Sheet(
        AnswerScore,
        (
            ("item_id", "answer__item__key"),
            ("topic", "answer__item__group__key"),
            ("style", "answer__item__settings__style"),
            ("worker", "answer__worker__pseudonym"),
            ("system", "answer__system__name"),
            ("prompt_strategy", "answer__system__prompt_strategy"),
            ("replicate", "answer__replicate"),
            ("words", "estimate"),
        ),
        (),
        (
            "statements",
            "citations",
            "documents",
            "unknown",
            "order",
            "bleu",
            "heavy",
            "readability",
            "source_readability",
            "minutes",
            *SIGNAL_COLUMNS,
        ),
    )
}
# Of every other method: whose rows there may be, under which names.
ANSWER = (
    *TABLES["answers"].names[:1],
    ("worker", "answer__worker__pseudonym"),
    *TABLES["answers"].names[2:],
)
OTHERS: dict[str, Sheet] = {
    "workers": Sheet(WorkerScore, (("worker", "worker__pseudonym"),), RANKED, ()),
    "systems": Sheet(SystemScore, SYSTEM, RANKED, ()),
    "texts": Sheet(CandidateScore, PAIR_TABLES["texts"].names, RANKED, ()),
    "answers": Sheet(AnswerScore, ANSWER, BASE, ()),
    "items": Sheet(ItemScore, (("item_id", "item__key"),), BASE, ()),
    "labels": PAIR_TABLES["labels"],
}


def found_tables(run: Run) -> dict[str, Sheet]:
    """The tables that the run has rows in, each with the plain values that its rows hold beside."""
    found = {}
    for name, sheet in OTHERS.items():
        first = sheet.model.objects.filter(run=run).order_by("pk").first()
        if first is None:
            continue
        if sheet.extra:  # labels have columns of their own
            found[name] = sheet
            continue
        taken = {*(name for name, _ in sheet.names), *sheet.columns}
        held = {
            key: value for key, value in first.extra.items() if not isinstance(value, dict | list)
        }
        found[name] = replace(sheet, extra=tuple(key for key in held if key not in taken))
    return found
