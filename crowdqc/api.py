"""The surface that plug-ins may use, version 1.0: see docs/develop/plugins.md.

A plug-in imports nothing of crowdqc but this module. What is added raises the second number of
``API_VERSION``; what is changed or removed is announced a release before, and raises the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

API_VERSION = (1, 0)
OptionKind = Literal["whole", "number", "flag", "choice"]


class PluginError(Exception):
    """What a plug-in offers cannot be taken; the message says why."""


@dataclass(frozen=True)
class Option:
    """An option of a method, in forms, the API and commands.

    ``kind`` is whole or number (within ``low`` and ``high``), flag, or choice (of ``choices``).
    """

    name: str
    label: str
    default: int | float | bool | str
    kind: OptionKind
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    help: str = ""


@dataclass(frozen=True, eq=False)
class LabelVotes:
    """Labels that people gave to items, one row a vote (n,), without names.

    ``worker``, ``item`` and ``label`` are indices from 0; ``labels`` are the options of the field.
    ``known`` (items,) is the index of an item's known answer, -1 without one.
    """

    worker: NDArray[np.int64]
    item: NDArray[np.int64]
    label: NDArray[np.int64]
    workers: int
    items: int
    labels: tuple[str, ...]
    known: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelEstimates:
    """What a method makes of votes.

    ``probability`` (items, labels) of each label; its rows sum to 1. ``quality`` (workers,) is an
    estimate of each worker, with ``low`` and ``high`` where there are intervals; NaN where there is
    none. ``notes`` are figures by name, shown below the tables.
    """

    probability: NDArray[np.float64]
    quality: NDArray[np.float64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    notes: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class LabelMethod:
    """A method that estimates labels, and perhaps workers, from votes.

    ``fit(votes, rng=..., **options)`` is pure: no database, clock, network or global random state,
    so that a run can be repeated. A new ``version`` is due whenever its numbers change.
    """

    slug: str
    title: str
    version: str
    fit: Callable[..., LabelEstimates]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class TextRule:
    """A check of what workers write into a text field.

    ``check(text)`` returns the text to store, or raises ValueError with a sentence for the worker.
    """

    slug: str
    label: str
    check: Callable[[str], str]


@dataclass(frozen=True)
class FileColumn:
    """A column of a file, and other names that it goes by."""

    name: str
    label: str
    required: bool = True
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowFormat:
    """A format of files that are imported, made into rows of a kind that crowdqc knows.

    ``convert(row)`` takes the texts of a row by the names of ``columns`` and returns the row as the
    kind ``into`` has it (``GET /api/tasks/{id}/imports/``); ValueError refuses the row, with a
    sentence for who imports.
    """

    slug: str
    title: str
    into: str
    columns: tuple[FileColumn, ...]
    convert: Callable[[Mapping[str, str]], Mapping[str, str]]


@dataclass(frozen=True)
class TaskTemplate:
    """A task to begin from, of a type that crowdqc has, in the gallery of a new task.

    ``type`` is free_text, labels, pairwise, rating, checklist, think_aloud or writing; ``rules``
    are fields of its draft as the API takes them (instructions, redundancy, settings...). ``rows``
    are example items of the kind ``into``, whose ids begin with "template-example-".
    """

    slug: str
    title: str
    sentence: str
    result: str
    type: str
    rules: Mapping[str, Any]
    into: str
    rows: tuple[Mapping[str, str], ...]


class Additions:
    """What one plug-in adds; handed to its ``register`` function.

    Nothing of it is taken unless ``register`` returns and everything in it can be taken.
    """

    version = API_VERSION

    def __init__(self) -> None:
        self.methods: list[LabelMethod] = []
        self.text_rules: list[TextRule] = []
        self.row_formats: list[RowFormat] = []
        self.templates: list[TaskTemplate] = []

    def add_method(self, method: LabelMethod) -> None:
        """Add a method for labels."""
        self.methods.append(method)

    def add_text_rule(self, rule: TextRule) -> None:
        """Add a check of text fields."""
        self.text_rules.append(rule)

    def add_row_format(self, row_format: RowFormat) -> None:
        """Add a format of files."""
        self.row_formats.append(row_format)

    def add_template(self, template: TaskTemplate) -> None:
        """Add a template of tasks."""
        self.templates.append(template)

    def all(self) -> Sequence[Any]:
        """Return everything that was added."""
        return [*self.methods, *self.text_rules, *self.row_formats, *self.templates]


Register = Callable[[Additions], None]


@dataclass(frozen=True)
class Plugin:
    """What an entry point of the group ``crowdqc.plugins`` names."""

    register: Register
    api: str
    title: str


def plugin(*, api: str, title: str) -> Callable[[Register], Plugin]:
    """Declare a plug-in by its ``register`` function.

    ``api`` is the version of this module that it was written for, such as "1.0".
    """
    return lambda register: Plugin(register, api, title)
