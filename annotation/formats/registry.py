"""What tasks take as files: one registration a format, read by pages, API, jobs and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.plugins.selectors import enabled_plugins
from annotation.authoring.actions.known import import_known
from annotation.authoring.actions.tasks import can_change_type
from annotation.authoring.actions.think_topics import add_samples
from annotation.authoring.actions.writing_topics import add_topics, fill_topics
from annotation.chats.readers.files import holds_chats
from annotation.files.reading.importer import CheckedRows, Field, Importer, Row, Sheet, guess
from annotation.files.reading.recognise import is_usual
from annotation.files.reading.sheet import sheet_of
from annotation.files.reading.sources import Source
from annotation.files.reading.tables import Reading, Table, open_table
from annotation.formats.actions.answers import import_answers, import_system_answers
from annotation.formats.actions.chats import import_chat_items, import_chat_texts
from annotation.formats.actions.judgment_rows import (
    import_attributes,
    import_checks,
    import_judgment_rows,
)
from annotation.formats.actions.labels import import_label_items, import_labels
from annotation.formats.actions.ratings import import_ratings
from annotation.formats.actions.responses import import_responses
from annotation.formats.actions.votes import import_battle_rows
from annotation.formats.actions.with_known import import_questions, import_texts
from annotation.formats.imports import chats
from annotation.formats.imports.answers import Answers, SystemAnswers
from annotation.formats.imports.candidates import Candidates
from annotation.formats.imports.checks import Checks
from annotation.formats.imports.items import Items
from annotation.formats.imports.judgments import Judgments
from annotation.formats.imports.known_answers import KnownAnswersFile
from annotation.formats.imports.labels import LabelItems, Labels
from annotation.formats.imports.outside import Converted
from annotation.formats.imports.pairs import Pairs
from annotation.formats.imports.ratings import Documents, Ratings
from annotation.formats.imports.tables.answers import AnswerTable
from annotation.formats.imports.tables.base import Fit, TableReader
from annotation.formats.imports.tables.comparisons import (
    ComparisonTable,
    reason_of_verdicts,
    verdicts_in,
)
from annotation.formats.imports.tables.label_studio import LabelStudioTable
from annotation.formats.imports.tables.labels import LabelMatrix, LabelTable
from annotation.formats.imports.tables.nested import reason_of_nested
from annotation.formats.imports.tables.ratings import RatingTable
from annotation.formats.imports.tables.reasons import reason_of_kind
from annotation.formats.imports.think_aloud import Attributes, Samples
from annotation.formats.imports.tools.arena import Battles
from annotation.formats.imports.writing.collection import Collection
from annotation.formats.imports.writing.responses import Responses
from annotation.formats.imports.writing.topics import Topics
from annotation.formats.selectors import known
from annotation.models import Task
from annotation.pairs.actions.rating_documents import add_documents
from annotation.pairs.actions.topics import add_pairs
from annotation.task_types import get_type
from annotation.task_types.free_text.type import FreeText
from annotation.task_types.labels.content import FILES
from annotation.task_types.labels.type import Labels as Labelled
from annotation.task_types.pairwise.type import Pairwise
from annotation.task_types.rating.type import Rating
from annotation.work.snapshots import judgments
from crowdqc import plugins
from crowdqc.api import PluginError, RowFormat
from crowdqc.errors import Conflict, Invalid
from crowdqc.web.terms import Words as Text


@dataclass(frozen=True)
class Words:
    """What pages say of a format; ``{noun}`` and ``{line}`` are the type's answer and scale."""

    many: Text  # what a file holds
    one: str  # what a row makes
    do: Text  # what the link to it says
    columns: Text
    title: Text = ""  # in the list of a task's files, where it is not the format's own
    unit: str = ""  # what is counted as new, where several rows make one

    @property
    def units(self) -> str:
        """Singular and plural of a row of the file, such as ``row,rows``."""
        return f"{self.unit or 'row'},{self.unit or 'row'}s"


@dataclass(frozen=True)
class Format:
    """A format: how its rows are read, what they are compared with, and what stores them.

    ``write(by, task, rows, name)`` returns how many are new; ``known(task)`` is what the task holds
    already, and ``of_task`` makes the reader where what a task asks decides on the columns.
    """

    reader: Importer
    known: Callable[[Task], Any]
    write: Callable[..., int]
    words: Words
    of_answers: bool = False  # they name the version that they answer: it must be published
    markdown: tuple[str, ...] = ()  # fields that pages show as Markdown
    seen_in: str | None = None  # its rows stand in the builder, in this part (the first)
    replaces_examples: bool = False  # its rows are items: those of the draft's template go
    names_files: bool = False  # its rows name images or sound, which may come with the table
    of_task: Callable[[Task], Importer] | None = field(default=None, repr=False)
    # Files that are no tables: how they are opened as one, and records that came as objects. Their
    # columns are the format's own, so that nobody maps them; ``hidden`` are not shown.
    opens: Callable[[Source, str], Table] | None = field(default=None, repr=False)
    reads_objects: Callable[[Iterable[Any]], Sheet] | None = field(default=None, repr=False)
    hidden: tuple[str, ...] = ()

    @property
    def maps_columns(self) -> bool:
        """Whether a person says which column of a file is read as which field."""
        return self.opens is None

    @property
    def slug(self) -> str:
        return self.reader.slug

    @property
    def title(self) -> Text:
        return self.reader.title

    @property
    def note(self) -> Text:
        return self.reader.note

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.reader.fields

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> CheckedRows:
        """Sort ``rows`` into good, present and bad."""
        return self.reader.check(rows, mapping, known)

    def open_table(self, source: Source, name: str, reading: Reading | None = None) -> Table:
        """Open a file as a table; Invalid where it cannot be read."""
        return self.opens(source, name) if self.opens else open_table(source, name, None, reading)

    def sheet_of(self, rows: Sequence[Mapping[str, Any]]) -> Sheet:
        """Make a sheet of rows that came as objects."""
        return self.reads_objects(rows) if self.reads_objects else sheet_of(rows)

    def for_task(self, task: Task) -> Format:
        """Return this format adapted to the task's questions."""
        return replace(self, reader=self.of_task(task)) if self.of_task else self

    def known_of(self, task: Task | None) -> Any:
        """Return what the task already holds; raise Conflict if answers come before publishing."""
        if task is None:
            return None
        if self.of_answers and task.current is None:
            raise Conflict(_("Publish the task first: answers name the version they answer."))
        return self.known(task)


def _judgment_importer(task: Task) -> Importer:
    return Judgments(judgments.version_items(task.version_or_draft()))


def _scales(task: Task) -> Importer:
    version = task.version_or_draft()
    return Ratings(version.settings["scales"])


FORMATS: dict[str, Format] = {
    one.slug: one
    for one in (
        Format(
            Items(),
            known.items,
            import_questions,
            Words(
                gettext_lazy("questions"),
                "question",
                gettext_lazy("Import questions"),
                gettext_lazy("item_id, question, context, topic; gold if the answer is known"),
            ),
            markdown=("question", "context"),
            seen_in="",
            replaces_examples=True,
        ),
        Format(
            KnownAnswersFile(),
            known.known_fields,
            import_known,
            Words(
                gettext_lazy("known answers"),
                "answer",
                gettext_lazy("Import known answers"),
                gettext_lazy("item, answer; field, tolerance, explanation"),
            ),
            seen_in="known",
        ),
        Format(
            Answers(),
            known.answers,
            import_answers,
            Words(
                gettext_lazy("answers of workers"),
                "answer",
                gettext_lazy("Import answers"),
                gettext_lazy("item_id, worker_id, answer, submitted_at"),
            ),
            of_answers=True,
        ),
        Format(
            SystemAnswers(),
            known.system_answers,
            import_system_answers,
            Words(
                gettext_lazy("answers of systems"),
                "answer",
                gettext_lazy("Import system answers"),
                gettext_lazy("item_id, system, prompt_strategy, answer"),
            ),
            of_answers=True,
        ),
        Format(
            Candidates(),
            known.texts,
            import_texts,
            Words(
                gettext_lazy("texts to be judged"),
                "text",
                gettext_lazy("Import texts"),
                gettext_lazy("topic, text, system or origin, style, query, author"),
            ),
            markdown=("text", "query", "context"),
            seen_in="texts",
            replaces_examples=True,
        ),
        Format(
            Pairs(),
            known.pairs,
            add_pairs,
            Words(
                gettext_lazy("pairs to be judged"),
                "pair",
                gettext_lazy("Import pairs"),
                gettext_lazy("prompt, response_a, response_b; model_a, model_b"),
            ),
            markdown=("prompt", "response_a", "response_b"),
            seen_in="pairs",
            replaces_examples=True,
        ),
        Format(
            Judgments(),
            known.judged_pairs,
            import_judgment_rows,
            Words(
                gettext_lazy("judgments"),
                "judgment",
                gettext_lazy("Import {noun}s"),
                gettext_lazy(
                    "of people or language models: item_id, or the texts; worker or system; a "
                    "column a {line}"
                ),
                gettext_lazy("{noun}s from elsewhere"),
            ),
            of_answers=True,
            of_task=_judgment_importer,
        ),
        Format(
            Topics(),
            known.topics,
            add_topics,
            Words(
                gettext_lazy("topics"),
                "topic",
                gettext_lazy("Import topics"),
                gettext_lazy(
                    "JSONL: topic, query, passages; CSV: topic, query, rank, passage_key, "
                    "title, passage"
                ),
                gettext_lazy("Topics and passages"),
                unit="topic",
            ),
            markdown=("query", "passage", "passages", "references_texts"),
            seen_in="",
        ),
        Format(
            Collection(),
            known.topics_to_fill,
            fill_topics,
            Words(
                gettext_lazy("passages to search"),
                "passage",
                gettext_lazy("Search a collection"),
                gettext_lazy("key, title, text"),
                gettext_lazy("Passages to search for topics that have none"),
                unit="passage",
            ),
            markdown=("text",),
            seen_in="",
        ),
        Format(
            Responses(),
            known.responses,
            import_responses,
            Words(
                gettext_lazy("responses"),
                "response",
                gettext_lazy("Import responses"),
                gettext_lazy("topic, style, text, worker or system"),
                gettext_lazy("Responses of people and of systems"),
            ),
            of_answers=True,
        ),
        Format(
            Samples(),
            known.samples,
            add_samples,
            Words(
                gettext_lazy("dimensions with scored samples"),
                "sample",
                gettext_lazy("Import samples"),
                gettext_lazy("dimension, rubric, sample_id, source, text, score"),
            ),
            markdown=("text", "rubric"),
        ),
        Format(
            Attributes(),
            known.attributes,
            import_attributes,
            Words(
                gettext_lazy("attributes"),
                "session",
                gettext_lazy("Import attributes"),
                gettext_lazy(
                    "dimension, worker or system, index, attribute, start, end, transcript"
                ),
                gettext_lazy("Attributes of people and of systems"),
                unit="session",
            ),
            of_answers=True,
        ),
        Format(
            Checks(),
            known.checks,
            import_checks,
            Words(
                gettext_lazy("checklists"),
                "checklist",
                gettext_lazy("Import answers"),
                gettext_lazy("item_id, worker or system, name, answer"),
                gettext_lazy("Checklists filled in elsewhere"),
                unit="checklist",
            ),
            of_answers=True,
        ),
        Format(
            Documents(),
            known.documents,
            add_documents,
            Words(
                gettext_lazy("documents with answers"),
                "answer",
                gettext_lazy("Import documents"),
                gettext_lazy(
                    "document_id, document, question_id, question, sentence, answer_id, "
                    "answer, system"
                ),
            ),
            markdown=("document", "question", "answer"),
            replaces_examples=True,
        ),
        Format(
            Ratings(),
            known.ratings,
            import_ratings,
            Words(
                gettext_lazy("ratings with explanations"),
                "rating",
                gettext_lazy("Import ratings"),
                gettext_lazy("item_id, worker_id, label, explanation, evidence, correct"),
            ),
            of_answers=True,
            of_task=_scales,
        ),
        Format(
            LabelItems(),
            known.label_items,
            import_label_items,
            Words(
                gettext_lazy("items to label"),
                "item",
                gettext_lazy("Import items"),
                gettext_lazy("key, text, gold; other columns kept"),
            ),
            names_files=True,
            markdown=("text",),
            seen_in="text",
            replaces_examples=True,
        ),
        Format(
            Labels(),
            known.labels,
            import_labels,
            Words(
                gettext_lazy("labels"),
                "answer",
                gettext_lazy("Import labels"),
                gettext_lazy(
                    "worker or system, item, label; field, gold and time if you have them"
                ),
                gettext_lazy("Labels from elsewhere"),
                unit="answer",
            ),
            of_answers=True,
        ),
        Format(
            chats.Chats(),
            known.chat_items,
            import_chat_items,
            Words(
                gettext_lazy("conversations"),
                "conversation",
                gettext_lazy("Import conversations"),
                gettext_lazy(
                    "chats and traces in the formats of model providers and tracing tools"
                ),
                unit="conversation",
            ),
            seen_in="text",
            replaces_examples=True,
            opens=chats.open_table,
            reads_objects=chats.sheet_of,
            hidden=chats.HIDDEN,
        ),
        Format(
            chats.ChatTexts(),
            known.chat_texts,
            import_chat_texts,
            Words(
                gettext_lazy("conversations to be judged"),
                "conversation",
                gettext_lazy("Import conversations"),
                gettext_lazy("chats, pairs and traces in the formats of arenas and tracing tools"),
            ),
            seen_in="texts",
            replaces_examples=True,
            opens=chats.open_table,
            reads_objects=chats.sheet_of,
            hidden=chats.HIDDEN,
        ),
        Format(
            Battles(),
            known.battles,
            import_battle_rows,
            Words(
                gettext_lazy("arena battles"),
                "battle",
                gettext_lazy("Import battles"),
                gettext_lazy(
                    "model_a, model_b, winner; judge, conversations or responses, question_id "
                    "if you have them"
                ),
            ),
        ),
    )
}


CHATS = (chats.Chats.slug, chats.ChatTexts.slug)
TEXTS = {Pairs.slug, Candidates.slug}  # told apart by the columns of the file
ITEM_KINDS = {*TEXTS, LabelItems.slug}  # as which a file of conversations may be chosen


def _not_alone(**given: Any) -> int:
    raise Conflict(_("A table becomes a task of its own."))


_lower = lazy(lambda title: str(title).lower(), str)
# Tables that become tasks: nothing is there to compare them with, and no task takes them.
READERS: dict[str, TableReader] = {
    one.slug: one
    for one in (
        LabelTable(),
        LabelMatrix(),
        ComparisonTable(),
        AnswerTable(),
        RatingTable(),
        LabelStudioTable(),
    )
}
TABLES: dict[str, Format] = {
    slug: Format(
        reader,
        lambda task: None,
        _not_alone,
        Words(
            _lower(reader.title), reader.unit, gettext_lazy("Score a table"), "", unit=reader.unit
        ),
    )
    for slug, reader in READERS.items()
}


def recognise_table(columns: Sequence[str], rows: Sequence[Row]) -> tuple[str, dict[str, Fit]]:
    """Return which of ``TABLES`` a file is, by its first rows, and how well it fits each.

    Labels where it fits none. The later kinds ask for more, so that they are tried first.
    """
    fits = {slug: reader.fit(columns, rows) for slug, reader in READERS.items()}
    slug = next((slug for slug in reversed(fits) if fits[slug].fits), "")
    named = guess(columns, ComparisonTable.fields)
    sides = {"model_a", "model_b"} <= named.keys()
    says_who_won = "winner" in named and not is_usual(named["winner"])
    is_open = says_who_won or not any(map(is_usual, columns))  # unclear who won, or nobody judged
    if slug != ComparisonTable.slug and verdicts_in(columns, rows, named):
        return ComparisonTable.slug, fits
    if sides and is_open and slug in ("", LabelTable.slug):
        return ComparisonTable.slug, fits
    return slug or LabelTable.slug, fits


def reason_of_table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Say why the columns of a table do not tell who gave what, where something else does."""
    looked = [row.values for row in rows]
    reason = reason_of_verdicts(columns, rows) or reason_of_kind(columns, looked)
    return reason or reason_of_nested(rows)


@dataclass(frozen=True)
class FileUse:
    """What the rows of a file may become: items of a type of tasks."""

    format: str
    type: str
    title: Text

    @property
    def slug(self) -> str:
        return f"{self.type}.{self.format}"


# What a file with items may be chosen to be.
FILE_USES = (
    FileUse(LabelItems.slug, Labelled.slug, gettext_lazy("Items to label")),
    FileUse(Pairs.slug, Pairwise.slug, gettext_lazy("Pairs to compare, a pair a row")),
    FileUse(Candidates.slug, Pairwise.slug, gettext_lazy("Texts to compare, a text a row")),
    FileUse(Candidates.slug, Rating.slug, gettext_lazy("Texts to rate")),
    FileUse(Items.slug, FreeText.slug, gettext_lazy("Questions to answer")),
)


def file_uses(task: Task, kind: str) -> list[FileUse]:
    """What an upload of this kind may be chosen to be; a draft without items changes its type."""
    if kind not in {one.format for one in FILE_USES} or kind not in kinds_of(task):
        return []
    draft = task.versions.latest("number")
    if draft.settings.get("content") in FILES:
        return []
    is_free = can_change_type(task)
    return [one for one in FILE_USES if one.type == task.type or is_free]


def recognise_texts(columns: Sequence[str], rows: Sequence[Row] = ()) -> str:
    """Whether a file of texts to be judged holds a pair a row (``pairs``) or a text a row."""
    sides = {"response_a", "response_b"}
    return Pairs.slug if sides <= Pairs().guess(columns, rows).keys() else Candidates.slug


def get_format(slug: str) -> Format:
    """The format of this name, or Invalid."""
    found = FORMATS.get(slug) or _outside_formats().get(slug)
    if found is None:
        raise Invalid(
            _("There is no format %(format)s.") % {"format": repr(slug)},
            fields={"kind": ", ".join(FORMATS)},
        )
    return found


def _outside_formats() -> dict[str, Format]:
    """Return the formats of all plug-ins that are loaded, by full name."""
    return {
        name: _outside_format(name, outside)
        for plugin in plugins.current().loaded.values()
        for name, outside in plugin.row_formats.items()
    }


def _outside_format(name: str, outside: RowFormat) -> Format:
    inner = FORMATS[outside.into]
    columns = _literal(", ".join(column.name for column in outside.columns))
    title = _literal(outside.title)
    return replace(
        inner,
        reader=Converted(name, outside, inner.reader),
        words=replace(inner.words, do=title, columns=columns, title=title),
        of_task=lambda task: Converted(name, outside, inner.for_task(task).reader),
    )


def _literal(text: str) -> str:
    """Escape a text for ``str.format``, which fills the words of formats in."""
    return text.replace("{", "{{").replace("}", "}}")


def check_format_addition(addition: object) -> None:
    """Raise PluginError for a plug-in's format of rows that nothing here reads."""
    if isinstance(addition, RowFormat) and addition.into not in FORMATS:
        known = ", ".join(FORMATS)
        raise PluginError(f"There is no kind of rows {addition.into!r}; there are: {known}.")


def chat_format(task: Task) -> str:
    """The format in which a task takes conversations; Invalid where it takes none."""
    kinds = kinds_of(task)
    found = next((one for one in CHATS if one in kinds), "")
    if not found:
        raise Invalid(
            _("This task takes no conversations."),
            fields={"task": _("A task that labels items, compares or rates texts.")},
        )
    return found


def recognise_upload(kinds: Sequence[str], kind: str, name: str, content: Source) -> str:
    """Tell which of a task's kinds a file is that was chosen as ``kind``.

    Conversations, pairs and texts are told apart by the file; ``kind`` where it cannot be read.
    """
    chats_kind = next((one for one in CHATS if one in kinds), "")
    if chats_kind and kind in ITEM_KINDS and holds_chats(content, name):
        return chats_kind
    if kind not in TEXTS or not set(kinds) >= TEXTS:
        return kind
    try:
        table = open_table(content, name)
        next(iter(table.events), None)  # the first row of JSON Lines names the columns
    except Invalid:
        return kind
    return recognise_texts(table.columns)


def kinds_of(task: Task) -> tuple[str, ...]:
    """The kinds of files that a task takes."""
    version = task.versions.order_by("-number").first()
    own = get_type(task.type).imports_of(version.settings if version else {})
    return (*own, *_outside_kinds(task, own))


def _outside_kinds(task: Task, own: Iterable[str]) -> list[str]:
    """Return the formats of the project's plug-ins that are made into one of these kinds."""
    return [
        name
        for plugin in enabled_plugins(task.project_id)
        for name, outside in plugins.current().loaded[plugin].row_formats.items()
        if outside.into in own
    ]


def item_format(kinds: Iterable[str]) -> str:
    """The first of these formats that holds items; empty without one."""
    return next((kind for kind in kinds if get_format(kind).replaces_examples), "")


def formats_listed(task: Task, settings: Mapping[str, Any]) -> list[Format]:
    """The formats that the task's page names, in the words of its type."""
    type, found = get_type(task.type), []
    own = {"noun": type.answer_noun, "line": type.scales_in.removesuffix("s")}
    listed = type.imports_listed(settings)
    for slug in (*listed, *_outside_kinds(task, listed)):
        one = get_format(slug)
        said = {"title": one.words.title or one.title, "columns": one.words.columns}
        said |= {"do": one.words.do, **type.import_words.get(slug, {})}
        told = {name: str(text).format(**own) for name, text in said.items()}
        title = told["title"][:1].upper() + told["title"][1:]
        found.append(replace(one, words=replace(one.words, **{**told, "title": title})))
    return found


def format_for(task: Task | None, kind: str) -> Format:
    """The format of this kind, with what this task asks for; Invalid where it takes no such file.

    A task that was never published has what its draft asks for. Without a task the file is a table
    that is to become one.
    """
    if task is None:
        return TABLES[kind]
    one, kinds = get_format(kind), kinds_of(task)
    if kind not in kinds:
        raise Invalid(
            _("This task takes no %(format)s.") % {"format": str(one.title).lower()},
            fields={"kind": ", ".join(kinds)},
        )
    return one.for_task(task)
