"""Which columns of a table of labels say who labelled what how: one label a row, or a matrix.

By the names of columns where these are usual ones, else by their values. What was told from values
alone is said (``by_values``), so that a person can check it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import is_id, last_part, plain, same_name
from annotation.files.reading.rows import Row
from annotation.files.reading.values import NUMBER, plain_value
from crowdqc.errors import Invalid

LONG, WIDE = "long", "wide"
NAMELESS = "column %s"  # of a file without a header
WORKERS = (
    "worker", "worker_id", "annotator", "annotator_id", "rater", "rater_id", "coder", "coder_id",
    "performer", "user", "user_id", "labeler", "labeller", "judge", "!amt_worker_ids",
    "participant", "participant.code", "participant_id", "respondent", "respondent_id",
    "prolific_id",
    "prolific_pid", "username", "user_name", "rater_name", "annotator_name", "coder_name",
    "submitter", "submitted_by", "email", "email_address", "author_user_id", "evaluator",
    "voter", "voted_by", "who", "created_by", "annotated_by", "labeled_by", "annotator_index",
    "annotator_idx", "judge_model", "judge_name", "judge_id", "rated_by", "coded_by", "assigned_to",
    "assignee", "extractor", "abstractor", "initials", "rater_initials", "coder_initials",
    "extractor_initials", "reviewer_initials", "entered_by", "scored_by", "graded_by",
    "reviewed_by", "completed_by", "sys_respnum", "resp_num", "resp_id", "respondent_no",
    # German and Spanish
    "teacher", "lehrer", "lehrerin", "profesor", "profesora", "professor", "professora", "critic",
    "bewerter", "bewerterin", "kodierer", "kodiererin", "juror", "jurorin", "jury", "person",
    "teilnehmer", "teilnehmerin", "nutzer", "schüler", "schülerin", "student", "pupil",
    "anotador", "anotadora", "evaluador", "evaluadora",
    "juez", "jueza", "participante", "usuario",
    # French, and the columns of forms
    "annotateur", "annotatrice", "codeur", "codeuse", "évaluateur", "évaluatrice", "juge",
    "adresse e-mail", "e-mail-adresse", "nom d'utilisateur", "dirección de correo electrónico",
    "nombre de usuario", "benutzername",
    # Others of studies, medicine and schools
    "reviewer", "reviewer_id", "grader", "grader_id", "marker", "examiner", "assessor",
    "assessor_id", "labeler_id", "labeller_id", "observer", "observer_id", "turker", "turker_id",
    "crowd_worker", "contributor", "contributor_id", "volunteer", "expert", "expert_id", "reader",
    "reader_id", "tagger", "tester", "subject_id", "participant_code", "gutachter", "gutachterin",
    "prüfer", "prüferin", "codierer", "codiererin", "revisor", "revisora", "codificador",
    "codificadora", "juré", "participant.e", "evaluateur", "annotatore", "valutatore", "avaliador",
    "avaliadora", "juiz", "beoordelaar", "anotator", "koder",
    # Russian, Chinese, Japanese, Korean
    "аннотатор", "разметчик", "асессор", "эксперт", "оценщик", "исполнитель", "участник",
    "标注员", "标注者", "标注人", "标注人员", "评审", "评委", "评审员", "評価者", "アノテーター",
    "作業者", "評価者id", "평가자", "주석자", "작업자", "라벨러",
)  # fmt: skip
ITEMS = (
    "item", "item_id", "task", "task_id", "question", "question_id", "example", "example_id",
    "unit", "unit_id", "document", "document_id", "orig_id", "instance_id", "text_id", "doc_id",
    "image_id", "sentence_id", "claim_id", "tweet_id", "post_id", "comment_id", "hit_id",
    "trace_id", "prompt_id", "query_id", "review_id", "article_id", "abstract_id", "ticket_id",
    "essay", "movie", "film", "song", "product", "paper", "abstract", "article", "poem", "story",
    "poster", "meme", "exam", "aufsatz", "ensayo", "producto", "película", "produkt", "projekt",
    "proyecto", "plakat", "clip", "clip_id", "video_id", "audio_id", "photo_id", "doc", "sample_id",
    "sample", "study_id",
    "identifier", "id", "key", "record_id", "subject_ids", "image",
    "image_url", "source_ref",
    "objekt", "element", "aufgabe", "frage", "elemento", "pregunta", "tarea",
    "stimulus", "stimulus_id", "snippet", "snippet_id", "utterance_id", "segment", "segment_id",
    "seg_id", "case_number", "patient", "patient_id", "beispiel", "ejemplo", "exemple", "exemplo",
    "пример", "объект", "элемент", "задание", "样本", "样本编号", "编号", "文本编号", "項目",
    "番号", "画像番号", "問題番号", "文番号", "文書番号", "設問", "句子编号", "图片编号", "题号",
    "题目", "문항", "항목", "번호",
)  # fmt: skip
# Who answers in psychology, and who is judged in medicine: the other columns tell.
SUBJECTS = (
    "subject",
    "subj",
    "subject_nr",
    "subject_number",
    "pid",
    "ppt",
    "vp",
    "vpn",
    "proband",
    "probandin",
    "sujet",
    "sujeto",
    "soggetto",
    "被试",
)
# Numbers of rows, cases or pairs: an item where the values repeat as those of items do.
NUMBERED = (
    "nr", "no", "num", "number", "#", "nummer", "zeile", "row", "fall", "fall_nr", "case",
    "case_id", "case_no", "item_nr", "item_no", "item_number", "pair", "pair_id", "pair_no",
    "paar", "lfd_nr",
)  # fmt: skip
LABELS = (
    "label", "response", "answer", "annotation", "vote", "choice", "category", "rating", "class",
    "verdict", "string_value", "result",
    "etikett", "kategorie", "antwort", "urteil", "bewertung", "etiqueta", "categoria",
    "respuesta", "catégorie", "réponse", "étiquette", "decision", "entscheidung", "décision",
    "decisión", "code", "kode", "kodierung", "etichetta", "rótulo",
    "метка", "класс", "категория", "ответ", "оценка", "标签", "类别", "标注", "标注结果", "ラベル",
    "評価", "라벨", "레이블", "분류",
)  # fmt: skip
# What an id beside a vote may be of that is no item.
VOTES = (
    *LABELS, "judgment", "judgement", "result", "submission", "assignment", "session", "batch",
    "worker", "hit", "run", "survey", "project", "form", "log", "record", "uu", "system", "model",
)  # fmt: skip
GOLD = ("gold", "gold_label", "truth", "true_label", "ground_truth", "correct", "known_answer")
HOLDS_VOTES = re.compile(
    rf'\[\{{.*"(?:{"|".join((*LABELS, "judgment", "judgement", "preference", "score"))})"\s*:',
    re.IGNORECASE | re.DOTALL,
)  # a list of objects in a cell
WORDS_OF_NAME = 4
LEAST_ROWS = 5  # from which values that all differ are no labels
NUMBERS = "0"  # stands for all of them, which one scale may have
REPEATS = 1.5  # rows of a worker or item, on average, from which its column says something
MOSTLY = 0.9  # share of rows that have to fit
OVERLAP = 0.8  # share of the cells of a matrix whose column shares a label with another one
LOOKED_AT = 2_000  # rows that tell what a column without a usual name holds
NA = {"NA", "<NA>", "nan", "NaN", "\\N"}  # empty cells as R, Python and Hive write them
MOST_LABELS = 50  # different labels that a column told by its values may hold
MEND = gettext_lazy("Name the columns worker, item, label and, where answers are known, gold.")


@dataclass(frozen=True)
class Layout:
    """How a table of labels is laid out.

    ``kind`` LONG: a row a label, with ``worker``, ``item`` and ``label`` columns; WIDE: a row an
    item, a column a worker (``workers``), ``worker`` and ``label`` being "". ``item`` is "" where
    the rows of a matrix have no names. ``gold`` is the column of known answers or "". ``by_values``
    names the columns that were told by what they hold.
    """

    kind: str
    worker: str
    item: str
    label: str
    gold: str
    workers: tuple[str, ...] = ()
    by_values: tuple[str, ...] = ()


def recognise(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Layout:
    """The layout of a table with these columns, from some or all of its rows.

    Raises Invalid, saying how columns should be named, where it cannot be told.
    """
    found = {
        part: named_column(columns, names)
        for part, names in (("worker", WORKERS), ("item", ITEMS), ("label", LABELS), ("gold", GOLD))
    }
    unclear = next(_called(columns, SUBJECTS), "")
    if unclear and bool(found["worker"]) != bool(found["item"]):
        found["item" if found["worker"] else "worker"] = unclear
    judged = [name for name in columns if f"{name}_gold" in columns]
    if len(judged) == 1 and not found["label"] and not found["gold"]:
        found |= {"label": judged[0], "gold": f"{judged[0]}_gold"}
    if found["worker"] or found["label"]:
        found = dict.fromkeys(found, "") | told_by_rows(found, columns, rows)
    taken = set(filter(None, found.values()))
    found["item"] = found["item"] or _numbered(columns, rows, found["worker"], taken)
    if found["worker"] and found["item"] and found["label"]:
        return Layout(LONG, found["worker"], found["item"], found["label"], found["gold"])
    left = [name for name in columns if name not in found.values()]
    held = {name: {row.get(name, "") for row in rows} - {""} for name in columns}
    if not found["worker"] and not found["label"]:
        wide = _wide(found["item"], found["gold"], left, held, rows)
        if wide is not None:
            return wide
    missing = [part for part in ("worker", "item", "label") if not found[part]]
    if missing == ["label"]:  # beside comments, times and ids only labels repeat
        left = [name for name in left if 2 <= len(held[name]) <= min(MOST_LABELS, len(rows) // 2)]
        if len(left) > 1:  # an item's own columns say the same in each of its rows
            left = _differ_within(found["item"], left, rows) or left
    if len(left) == len(missing):
        return _by_values(found, missing, left, held, len(rows))
    raise Invalid(_("The columns do not say who gave which label to what."), fields={"file": MEND})


_USUAL = {same_name(name) for name in (*WORKERS, *ITEMS, *LABELS, *GOLD)}


def is_usual(name: str) -> bool:
    """Whether a table of votes usually calls a column so."""
    return same_name(name) in _USUAL


def named_column(columns: Collection[str], names: Sequence[str]) -> str:
    """The first column with one of these names, the most usual name first; "" without."""
    return next(_called(columns, names), "")


def _called(columns: Collection[str], names: Sequence[str]) -> Iterator[str]:
    """Columns with one of these names, the most usual first; those within a group come last."""
    for bare in (str, last_part):
        by_name = {same_name(bare(column)): column for column in reversed([*columns])}
        yield from (by_name[same_name(name)] for name in names if same_name(name) in by_name)


def told_by_rows(
    named: Mapping[str, str],
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    who: str = "worker",
    item: str = "item",
) -> dict[str, str]:
    """Other columns called so where the values of ``who`` or item are not those of a vote a row.

    A worker repeats, varies and is seldom empty; an item is not new in every row.
    """
    cells = {name: [row.get(name, "") for row in rows] for name in columns}
    told = dict(named)
    if told.get(who) and not _tells_workers(cells[told[who]]):
        left = [name for name in columns if name not in told.values()]
        others = [name for name in _called(left, WORKERS) if repeats(cells[name])]
        told[who] = max([told[who], *others], key=lambda name: _rank_worker(cells[name]))
        if are_objects(cells[told[who]]):
            del told[who]
    if told.get(item) and len(rows) > 1 and share_of_new(cells[told[item]]) == 1:
        left = [name for name in columns if name not in told.values()]
        ids = [name for name in left if is_numbered(name)]
        people = cells.get(told.get(who, ""), [str(at) for at in range(len(rows))])
        for name in (*_called(left, ITEMS), *ids):
            if repeats(cells[name]) and share_of_new(cells[name], people) >= MOSTLY:
                return told | {item: name}
    return told


def repeats(values: Sequence[str]) -> bool:
    """Whether values are several that stand in several rows each."""
    filled = [value for value in values if value]
    return len(set(filled)) > 1 and REPEATS * len(set(filled)) <= len(filled)


def _tells_workers(values: Sequence[str]) -> bool:
    return (
        not are_objects(values)
        and repeats(values)
        and values.count("") <= (1 - MOSTLY) * len(values)
    )


def _rank_worker(values: Sequence[str]) -> tuple[bool, bool, int]:
    return not are_objects(values), repeats(values), -values.count("")


def are_objects(values: Sequence[str]) -> bool:
    """Whether most values are JSON objects, which are no names or labels."""
    filled = [value for value in values if value]
    return sum(value.startswith(("{", "[{")) for value in filled) > len(filled) / 2


def is_numbered(name: str) -> bool:
    """Whether a column is called as ids of items are; its values have to bear that out."""
    return plain(name) in _NUMBERED or (is_id(name) and plain(name) not in _OF_VOTES)


_NUMBERED = {plain(name) for name in NUMBERED}
_OF_VOTES = {plain(name) for name in (*WORKERS, *(f"{one}_id" for one in VOTES))}


def item_by_id(
    columns: Sequence[str], rows: Iterable[Row], named: Mapping[str, str], worker: str
) -> str:
    """The column of item ids by name and values, for a table that names none; "" without."""
    looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
    return _numbered(columns, looked, named.get(worker, ""), set(named.values()))


def share_of_new(*columns: Sequence[str]) -> float:
    """Return the share of rows whose values in these columns stand together in no other row."""
    rows = list(zip(*columns, strict=True))
    return len(set(rows)) / len(rows) if rows else 0.0


def _numbered(
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    worker: str,
    taken: Collection[str],
) -> str:
    """The column that numbers the items: each once, or once for each value of another column."""
    cells = {name: [row.get(name, "") for row in rows] for name in columns}
    several = {name for name in columns if 1 < len(set(cells[name])) < len(rows)}
    people = [worker] if worker else sorted(several - set(taken))
    for name in columns:
        if not is_numbered(name) or name in taken or "" in cells[name] or not rows:
            continue
        if share_of_new(cells[name]) == 1 or (
            name in several
            and any(
                share_of_new(cells[name], cells[other]) >= MOSTLY
                for other in people
                if other != name
            )
        ):
            return name
    return ""


def _wide(
    item: str,
    gold: str,
    left: Sequence[str],
    held: Mapping[str, set[str]],
    rows: Sequence[Mapping[str, str]],
) -> Layout | None:
    """A matrix: columns that share a few labels, and at most one more that names the rows."""
    workers = list(left)
    by_values: tuple[str, ...] = ()
    others = set[str]().union(*(held[name] for name in workers[1:]))
    names_rows = workers[:1] != [NAMELESS % 1] or held[workers[0]].isdisjoint(others)
    if not item and workers and names_rows and len(held[workers[0]]) == len(rows) > 1:
        item, workers = workers[0], workers[1:]
        by_values = (item,)
    if len(workers) < 2:
        return None
    users = Counter(label for name in workers for label in held[name])
    if len(rows) >= LEAST_ROWS:  # other values in each row, which no other column has, describe it
        told = [
            name
            for name in workers
            if len(held[name]) < len(rows) or any(users[label] > 1 for label in held[name])
        ]
        workers = told if 2 * len(workers) <= 3 * len(told) else workers
    if len(workers) < 2 or _are_apart([held[name] for name in workers]):
        return None
    alike = [name for name in workers if any(users[label] > 1 for label in held[name])]
    labels = set[str]().union(*(held[name] for name in alike))
    single = {part for label in labels for part in re.split(r"\s*[,;|#]\s*", label)}
    labels = min(labels, single, key=len)  # several in a cell, as “A, C”
    given = Counter(name for row in rows for name in workers if row.get(name))
    shared = sum(given[name] for name in alike)
    repeated = 2 <= len(labels) <= min(MOST_LABELS, max(2, given.total() // 4))
    # Three columns of a list of labels can look like a matrix of three workers, but share nothing.
    if not repeated or shared < OVERLAP * given.total():
        return None
    return Layout(WIDE, "", item, "", gold, tuple(workers), by_values)


def _are_apart(columns: Sequence[set[str]]) -> bool:
    """Whether two groups of columns share values each, and none with each other."""
    groups: list[tuple[int, set[str]]] = []
    for values in columns:
        mine = {NUMBERS if NUMBER.fullmatch(value) else value for value in values}
        count, rest = 1, []
        for n, others in groups:
            if mine.isdisjoint(others):
                rest.append((n, others))
            else:
                count, mine = count + n, mine | others
        groups = [*rest, (count, mine)]
    return sum(count > 1 for count, _values in groups) > 1


def _differ_within(item: str, names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Those of the columns that hold different values for an item, as labels do."""
    items = [row.get(item, "") for row in rows]
    few = len(set(items))
    return [
        name
        for name in names
        if len(set(zip(items, (row.get(name, "") for row in rows), strict=True))) > few
    ]


def _by_values(
    found: Mapping[str, str],
    missing: Sequence[str],
    left: Sequence[str],
    held: Mapping[str, set[str]],
    rows: int,
) -> Layout:
    """The columns without a usual name: fewest values are labels, most are items."""
    most_first = sorted(left, key=lambda name: -len(held[name]))
    order = [part for part in ("item", "worker", "label") if part in missing]
    told = {**found, **dict(zip(order, most_first, strict=True))}
    if "worker" in missing and are_sentences(held[told["worker"]]):
        raise Invalid(_("No column names workers."), fields={"file": MEND})
    if "label" in missing and len(held[told["label"]]) == rows > 1:
        raise Invalid(_("No value of a column repeats, as labels do."), fields={"file": MEND})
    if len(held[told["label"]]) > MOST_LABELS:
        raise Invalid(
            _("No column looks like labels: %(told)s has more than %(most_labels)s values.")
            % {"told": repr(told["label"]), "most_labels": MOST_LABELS},
            fields={"file": MEND},
        )
    return Layout(LONG, told["worker"], told["item"], told["label"], told["gold"], (), tuple(left))


def are_sentences(values: Collection[str]) -> bool:
    """Whether most values have more words than a name of a person."""
    return sum(len(value.split()) > WORDS_OF_NAME for value in values) > len(values) / 2


def layout_of(columns: Sequence[str], rows: Iterable[Row], others: set[str]) -> Layout | None:
    """The layout of the first rows without columns that say nothing; None where it is not told."""
    looked = [
        {
            name: "" if value.strip() in NA else plain_value(value)
            for name, value in row.values.items()
        }
        for row in itertools.islice(rows, LOOKED_AT)
    ]
    if any(HOLDS_VOTES.match(value) for row in looked for value in row.values()):
        others = {*others, *(name for name in columns if not is_usual(name))}
    left = [name for name in columns if name and name not in others and _varies(name, looked)]
    try:
        found = recognise(left, looked)
    except Invalid:
        return None
    by_values = [name for name in (found.worker, found.label) if name and not is_usual(name)]
    cells = ([row.get(name, "") for row in looked] for name in by_values)
    return None if any(map(are_objects, cells)) else found


def _varies(name: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether a column says different things: what is the same everywhere is no worker or item."""
    return len({row.get(name, "") for row in rows}) > 1


def is_constant(name: str, rows: Iterable[Row]) -> bool:
    """Whether a column says the same in all of several rows."""
    given = {row.values.get(name, "").strip() for row in itertools.islice(rows, LOOKED_AT)}
    return len(given) == 1 and len(list(itertools.islice(rows, 2))) > 1


def fill_by_values(
    named: Mapping[str, str],
    columns: Sequence[str],
    rows: Iterable[Row],
    vote: str,
    who: str = "worker",
) -> dict[str, str]:
    """Add ``who``, item and ``vote`` to the named fields where the values of columns tell them.

    A text stands for an item where no column names one.
    """
    looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
    named = told_by_rows(named, columns, looked, who)
    if "item" not in named and (column := item_by_id(columns, rows, named, who)):
        named = {**named, "item": column}
    item = "item" if "item" in named or "text" not in named else "text"
    fields = {who: "worker", item: "item", vote: "label"}
    parts = {named[name]: part for name, part in fields.items() if name in named}
    if len(parts) == len(fields):
        return dict(named)
    others = set(named.values()) - parts.keys()
    renamed = [
        Row(row.line, {parts.get(name, name): value for name, value in row.values.items()})
        for row in itertools.islice(rows, LOOKED_AT)
    ]
    found = layout_of([parts.get(name, name) for name in columns], renamed, others)
    if found is None or found.kind != LONG:
        return dict(named)
    people = [row.values.get(found.worker, "") for row in renamed]
    if who not in named and REPEATS * len(set(people)) > len(people):
        return dict(named)  # a column that seldom repeats names nobody
    told = {who: found.worker, item: found.item, vote: found.label}
    return {**{name: column for name, column in told.items() if name not in named}, **named}
