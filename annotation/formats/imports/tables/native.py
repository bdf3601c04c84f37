"""Exports of annotation tools as plain tables: a row a worker and item, a column a question.

Prodigy, Argilla and doccano (JSON Lines or lists), MTurk's results with the answers of a crowd form
in a cell, Ground Truth of SageMaker, differences of INCEpTION, and Potato (also
``one_hot``). Several options at once are one label: ``news + sport``.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.literals import WRAPPED, read_value
from annotation.files.reading.recognise import ITEMS, LABELS, WORKERS, is_usual, named_column
from annotation.files.reading.rows import FILE, Problem, Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import as_text
from annotation.formats.imports.tables import (
    choices,
    nested,
    numbered,
    one_hot,
    pairs,
    rating_matrix,
    reasons,
    scales,
    screening,
    trials,
    written_scores,
)
from crowdqc.files.json_input import Unreadable

Values = Mapping[str, str]
ANSWER = "Answer."
PREFIXES = ("Input.", ANSWER)  # of the columns of MTurk
CROWD_FORM = "taskAnswers"
POTATO = "instance_id_to_label_to_value"
# What the columns of a question end in in a data set of Argilla, and the statuses that count.
RESPONSES, USERS, STATUSES = ".responses", ".responses.users", ".responses.status"
SUBMITTED = ("submitted", None)
# Columns that say that an answer does not count, by the value that says so.
REJECTED = {
    "AssignmentStatus": ("Rejected", gettext_noop("The requester rejected this assignment")),
    "ASSIGNMENT:status": ("REJECTED", gettext_noop("The requester rejected this assignment")),
    "_tainted": ("true", gettext_noop("The answers of this worker were not trusted")),
}
GOLDEN = "GOLDEN:"  # begins the known answers of Toloka
TOLOKA = ("INPUT:", "OUTPUT:", "ASSIGNMENT:")


def unfold(table: Table) -> Table:
    """Convert a table of a known tool to one row per worker and item; others stay as they are.

    Several options in a label of JSON are one, and the names of an archive's files are the worker
    or item that no column names.
    """
    table = screening.fold(trials.leave_out_trials(_with_form_answers(table)))
    table = written_scores.fold(table)
    table, rows = nested.peek(table)
    if any(WRAPPED.match(said) for row in rows for said in row.values()):
        table = replace(table, events=map(_without_types, table.events))
        table, rows = nested.peek(table)
    if any(_tool_of(row) is _read_phoenix for row in rows):
        note = _("%(column)s: each kind counts as one worker where no column names people.")
        table.notes.append(note % {"column": KIND})
    if not (rows and _is_of_tool(rows[0])):
        reasons.refuse_spans(table.columns, rows)
    table = nested.spread(one_hot.fold(numbered.fold(table)), _is_of_tool)
    is_json = table.kind in ("JSON", "JSONL")
    if is_json or FILE in table.columns or _tool_of(table.columns):
        columns: list[str] = []
        table = replace(table, columns=columns, events=_events(table, columns))
    table = pairs.fold(table, choices.FINDERS, (choices.of_preferences,))
    return rating_matrix.fold(scales.fold(table))


def _without_types(event: Event) -> Event:
    """A row without the objects in which MongoDB names the types of values."""
    if not isinstance(event, Row):
        return event
    bare = {
        name: as_text(_json(said))
        for name, said in event.values.items()
        if WRAPPED.match(said) and not _is_object(_json(said))
    }
    return Row(event.line, {**event.values, **bare}) if bare else event


def _with_form_answers(table: Table) -> Table:
    """A table whose cells hold XML of MTurk with a column for each question in place of them."""
    table, rows = nested.peek(table)
    names = [name for name in table.columns if any(FORM in row.get(name, "") for row in rows)]
    if not names:
        return table
    columns = [name for name in table.columns if name not in names]
    asked = (_form_answers(row.get(name, "")) for row in rows for name in names)
    columns += dict.fromkeys(itertools.chain.from_iterable(asked))
    table.notes.append(
        _("%(columns)s: answers are read out of the XML.") % {"columns": ", ".join(names)}
    )
    return replace(table, columns=columns, events=_opened_forms(table.events, names))


def _opened_forms(events: Iterator[Event], names: Collection[str]) -> Iterator[Event]:
    for event in events:
        if isinstance(event, Row):
            kept = {name: said for name, said in event.values.items() if name not in names}
            for name in names:
                kept |= _form_answers(event.values.get(name, ""))
            yield Row(event.line, kept)
        else:
            yield event


def _form_answers(cell: str) -> dict[str, str]:
    """Answers by question; several as one. No reader of XML is used, as files may be hostile."""
    first, *marked = cell.split("<![CDATA[")
    parts = [inner.partition("]]>") for inner in marked]
    cell = first + "".join(f"{html.escape(inner)}{rest}" for inner, _end, rest in parts)
    found: dict[str, str] = {}
    for answer in cell.split("</Answer>"):
        if (asked := FORM_QUESTION.search(answer)) is not None:
            values = FORM_VALUE.findall(answer, asked.end())
            given = [html.unescape(said) for _tag, said in values]
            found[html.unescape(asked[1])] = _joined(given) if len(given) > 1 else "".join(given)
    return found


def _events(table: Table, columns: list[str]) -> Iterator[Event]:
    known: set[str] = set()
    for event in table.events:
        if not isinstance(event, Row):
            yield event
            continue
        read = _tool_of(event.values)
        if read and (refused := _rejected(event)):
            yield refused
            continue
        given = list(read(event.values)) if read else [_with_labels(event.values)]
        if not given and read in EMPTY:
            column, wrong = EMPTY[read]
            yield Problem(event.line, column, event.values[column], _(wrong), _("Left out."))
        for one in given:
            if isinstance(one, Problem):
                yield replace(one, line=event.line)
                continue
            values = _with_file(one, event.values.get(FILE, ""))
            columns.extend(name for name in values if name not in known)
            known.update(values)
            yield Row(event.line, values)


def _rejected(row: Row) -> Problem | None:
    """Why an answer does not count, as its tool says; None if it does."""
    for name, (said, wrong) in REJECTED.items():
        if row.values.get(name) == said:
            return Problem(row.line, name, said, _(wrong), _("Left out."))
    return None


def _tool_of(names: Collection[str]) -> Reader | None:
    """The reader of the tool that writes columns of these names."""
    if any(name.endswith(USERS) for name in names):
        return _read_argilla_set
    return next((read for marks, read in TOOLS if marks.issubset(names)), None)


def _is_of_tool(values: Values) -> bool:
    """Whether a tool wrote these, which has a reader of its own."""
    if values.keys() >= LABEL_STUDIO or "completions" in values:
        return True
    read = _tool_of(values)
    column, mark = OWN.get(read, ("", ""))
    return read is not None and mark in values.get(column, "")


def _with_labels(values: Values) -> Values:
    """The values with one label for a list of options, as doccano writes one."""
    lists = {name: _json(said) for name, said in values.items() if said[:1] == "["}
    joined = {
        name: _joined(said)
        for name, said in lists.items()
        if isinstance(said, list)
        and named_column([name], LABELS)
        and not any(map(_is_nested, said))
    }
    return {**values, **joined} if joined else values


def _with_file(values: Values, file: str) -> Values:
    """The values with the name of their file as the worker or item that no column names."""
    if not file:
        return values
    bare = {name: said for name, said in values.items() if name != FILE}
    if not any(map(is_usual, bare)):
        return values
    parts = {"worker": WORKERS, "item": ITEMS}
    lacks = next((part for part, names in parts.items() if not named_column(bare, names)), "")
    return {**bare, lacks: file} if lacks else bare


def _read_prodigy(values: Values) -> Iterator[Values]:
    """Accepted options, or where there are none whether the task was accepted."""
    chosen, label = _json(values.get("accept", "")), values["answer"]
    if chosen is not None:
        label = _joined(chosen) if label == "accept" else ""
    item = values["_input_hash"] if chosen is not None else values.get("_task_hash")
    yield {
        "worker": values.get("_annotator_id") or values.get("_session_id", ""),
        "item": item or values["_input_hash"],
        "label": "" if label == "ignore" else label,
        "text": values.get("text", ""),
        "category": values.get("label", ""),
        "time": values.get("_timestamp", ""),
    }


def _read_argilla(values: Values) -> Iterator[Values | Problem]:
    """Submitted responses, by question in newer exports and by person in older ones."""
    found = _json(values["responses"])
    if not isinstance(found, dict):
        by_person = found if isinstance(found, list) else []
        found = {}
        for one in filter(_is_object, by_person):
            for name, said in dict(one.get("values") or {}).items():
                value = said.get("value") if isinstance(said, dict) else said
                found.setdefault(name, []).append({**one, "value": value})
    texts = _json(values["fields"])
    text = next(iter(texts.values()), "") if isinstance(texts, dict) else ""
    by_worker: dict[str, dict[str, str]] = {}
    for question, responses in found.items():
        for one in filter(_is_object, responses if isinstance(responses, list) else []):
            worker, status = as_text(one.get("user_id")), one.get("status")
            if status in SUBMITTED:
                by_worker.setdefault(worker, {})[question] = _joined(one.get("value"))
            else:
                yield _not_submitted("responses", worker, as_text(status))
    item = values.get("id") or values.get("external_id", "")
    for worker, said in by_worker.items():
        yield {"worker": worker, "item": item, "text": as_text(text), **said}


def _not_submitted(column: str, worker: str, status: str) -> Problem:
    wrong = _("This response was not submitted")
    return Problem(None, column, f"{worker}: {status}", wrong, _("Left out."))


def _read_argilla_set(values: Values) -> Iterator[Values | Problem]:
    """A data set of Argilla: lists of responses, of who gave them, and of their status."""
    found: dict[str, dict[str, str]] = {}
    asked = [name.removesuffix(USERS) for name in values if name.endswith(USERS)]
    for question in asked:
        lists = (_json(values.get(f"{question}{end}", "")) for end in (RESPONSES, USERS, STATUSES))
        responses, users, statuses = (one if isinstance(one, list) else [] for one in lists)
        for said, user, status in itertools.zip_longest(responses, users, statuses):
            worker = as_text(user)
            if status in SUBMITTED:
                found.setdefault(worker, {})[question] = _joined(said)
            else:
                yield _not_submitted(f"{question}{RESPONSES}", worker, as_text(status))
    kept = {
        name: value
        for name, value in values.items()
        if not any(name.startswith(f"{question}.") for question in asked)
    }
    for worker, answers in found.items():
        yield {**kept, "worker": worker, **answers}


def _read_doccano(values: Values) -> Iterator[Values]:
    """Labels of whole texts; those of parts of a text say nothing of it."""
    by_worker: dict[str, list[Any]] = {}
    given = _json(values["annotations"])
    for one in filter(_is_object, given if isinstance(given, list) else []):
        if "start_offset" not in one:
            by_worker.setdefault(as_text(one.get("user")), []).append(one.get("label"))
    for worker, said in by_worker.items():
        yield {
            "worker": worker,
            "item": values["id"],
            "label": _joined(said),
            "text": values["text"],
        }


def _read_mturk(values: Values) -> Iterator[Values | Problem]:
    """Columns without the word of what they are, and a crowd form's answers as columns."""
    found: dict[str, str] = {}
    for name, value in values.items():
        bare = next((name.removeprefix(one) for one in PREFIXES if name.startswith(one)), name)
        forms = _json(value) if bare == CROWD_FORM else None
        for form in filter(_is_object, forms if isinstance(forms, list) else []):
            found |= {question: _answer(said) for question, said in form.items()}
        if not forms:
            found[bare if bare not in found else name] = value
    yield _chosen(found, [name[len(ANSWER) :] for name in values if name.startswith(ANSWER)])


def _read_toloka(values: Values) -> Iterator[Values]:
    """Columns without the word of what they are; the known answer where there is one question."""
    known = [name for name in values if name.startswith(GOLDEN)]
    bare = {name: next((one for one in TOLOKA if name.startswith(one)), "") for name in values}
    found = {
        "gold" if known == [name] else name.removeprefix(bare[name]): said
        for name, said in values.items()
    }
    yield found if len(found) == len(values) else values


def _read_whole(values: Values) -> Iterator[Values]:
    """Columns as they are."""
    yield values


def _chosen(found: dict[str, str], answers: Iterable[str]) -> Values:
    """The options of a question whose columns hold true and false, as one answer."""
    options: dict[str, list[str]] = {}
    for name in answers:
        question, dot, option = name.rpartition(".")
        if dot and option:
            options.setdefault(question, []).append(name)
    for question, names in options.items():
        said = {name: found.get(name, "").casefold() for name in names}
        if (
            len(names) > 1
            and question not in found
            and {"true", "false", ""}.issuperset(said.values())
        ):
            for name in names:
                found.pop(name, None)
            ticked = [name[len(question) + 1 :] for name in names if said[name] == "true"]
            found[question] = _joined(ticked)
    return found


def _read_phoenix(values: Values) -> Iterator[Values]:
    """An annotation of a span; who gave it, else what kind of annotator."""
    names = ("user_id", "annotator_id", "annotator_name")
    worker = next((values[name] for name in names if values.get(name)), values[KIND])
    item = next((values[name] for name in SPANS if values.get(name)), "")
    kept = {name: said for name, said in values.items() if name not in (*names, *SPANS)}
    yield {"worker": worker, **({"item": item} if item else {}), **kept}


def _read_teamware(values: Values) -> Iterator[Values]:
    """A document of GATE Teamware, whose annotators each have a set of annotations."""
    sets, about = _json(values[SETS]), _json(values.get("features", ""))
    about = {name: as_text(said) for name, said in (about if _is_object(about) else {}).items()}
    kept = {name: said for name, said in values.items() if name not in (SETS, "features")}
    kept |= {name: said for name, said in about.items() if name not in kept}
    for worker, given in sets.items() if _is_object(sets) else ():
        marks = given.get("annotations") if _is_object(given) else None
        answers = [one.get("features") for one in marks or () if _is_object(one)]
        said = {
            name: _joined(one) for own in filter(_is_object, answers) for name, one in own.items()
        }
        yield {**_named_item(kept), "worker": worker, **said}


def _named_item(values: Values) -> Values:
    """The values with an item by its name where no column is called as items are."""
    if named_column(values, ITEMS) or "name" not in values:
        return values
    return {"item" if name == "name" else name: said for name, said in values.items()}


def _read_sagemaker(values: Values) -> Iterator[Values]:
    """Responses of workers to an item of Ground Truth, which is the folder of their file."""
    given = _json(values["answers"])
    if not isinstance(given, list) or not all(
        _is_object(one) and "workerId" in one for one in given
    ):
        yield values
        return
    path = values.get(FILE, "").split("/")
    for one in given:
        content = one.get("answerContent")
        said = content.items() if isinstance(content, dict) else ()
        yield {
            "worker": as_text(one["workerId"]),
            **({"item": path[-2]} if len(path) > 1 else {}),
            **{question: _answer(answer) for question, answer in said},
            "time": as_text(one.get("submissionTime")),
        }


def _read_potato(values: Values) -> Iterator[Values]:
    """What Potato keeps of a user: by item, the options with what was said to each."""
    items = _json(values[POTATO])
    for item, given in items.items() if isinstance(items, dict) else ():
        said: dict[str, str] = {}
        for one in given if isinstance(given, list) else ():
            if isinstance(one, list) and len(one) == 2 and _is_object(one[0]):
                schema, name = as_text(one[0].get("schema")), as_text(one[0].get("name"))
                said[f"{schema}{one_hot.MARK}{name}"] = as_text(one[1])
        yield {"worker": values.get("user_id", ""), "item": item, **one_hot.folded(said)}


def _read_inception(values: Values) -> Iterator[Values]:
    """A place in a document that annotators see differently, with a column each."""
    place, _space, quoted = values["Position"].partition(" ")
    layer = values["Layer"].rpartition(".")[2]
    others = {name: said for name, said in values.items() if name not in INCEPTION}
    item = f"{values['Document']} {place} {layer}.{values['Feature']}"
    yield {"item": item, "text": quoted.removeprefix("[").removesuffix("]"), **others}


def _answer(said: Any) -> str:
    """Return the answer in a crowd form's data: a label, the ticked options, or a text."""
    if not isinstance(said, dict):
        return as_text(said)
    if "label" in said:
        return as_text(said["label"])
    if isinstance(said.get("labels"), list):
        return _joined(said["labels"])
    return _joined([option for option, ticked in said.items() if ticked is True])


def _joined(said: Any) -> str:
    """Several options as one label, and ranks as an order."""
    if isinstance(said, list) and said and all(map(pairs.is_rank, said)):
        return " > ".join(map(" = ".join, pairs.groups_of(said)))
    return " + ".join(sorted(map(as_text, said))) if isinstance(said, list) else as_text(said)


def _json(cell: str) -> Any:
    try:
        return read_value(cell) if cell[:1] in ("[", "{") else None
    except Unreadable:
        return None


def _is_object(one: Any) -> bool:
    return isinstance(one, dict)


def _is_nested(one: Any) -> bool:
    return isinstance(one, dict | list)


MTURK = {"HITId", "AssignmentId", "WorkerId"}
KIND = "annotator_kind"  # HUMAN, LLM or CODE
SPANS = ("span_id", "trace_id", "document_id", "context.span_id", "id")
SETS = "annotation_sets"
FORM = "<QuestionFormAnswers"
FORM_QUESTION = re.compile(r"<QuestionIdentifier>([^<]*)</QuestionIdentifier>")
FORM_VALUE = re.compile(r"<(FreeText|SelectionIdentifier|OtherSelectionText)>([^<]*)</\1>")
INCEPTION = {"Document", "Layer", "Feature", "Position"}
Reader = Callable[[Values], Iterable[Values | Problem]]
TOOLS: tuple[tuple[set[str], Reader], ...] = (
    ({"_input_hash", "answer"}, _read_prodigy),
    ({"responses", "fields"}, _read_argilla),
    ({"id", "text", "annotations"}, _read_doccano),
    (MTURK, _read_mturk),
    ({"ASSIGNMENT:worker_id"}, _read_toloka),
    ({"_unit_id", "_worker_id", "_tainted"}, _read_whole),
    ({"answers"}, _read_sagemaker),
    ({POTATO}, _read_potato),
    (INCEPTION, _read_inception),
    ({KIND, "label"}, _read_phoenix),
    ({KIND, "score"}, _read_phoenix),
    ({SETS}, _read_teamware),
)
LABEL_STUDIO = {"data", "annotations"}
# By what a column of a common name is told to be that of a tool.
OWN: Mapping[Reader | None, tuple[str, str]] = {
    _read_doccano: ("annotations", '"user"'),
    _read_sagemaker: ("answers", '"workerId"'),
}
# What a row lacks of which a reader takes nothing, by its column.
EMPTY: Mapping[Reader | None, tuple[str, str]] = {
    _read_argilla: ("responses", gettext_noop("It has no submitted response.")),
    _read_doccano: ("annotations", gettext_noop("It has no label of the whole text.")),
}
