"""Arena battles: two models' texts, which one won, and who says so; JSONL, CSV or Parquet.

The answer to one question is the text under judgment, and the question is its query. Any other
conversation is kept whole, up to the judged ``turn``: then the text is all of it as plain text.
``model_a`` stood on the left. The columns and verdicts of today's files are read beside those of
older ones: one ``winner`` or a column for each outcome, conversations or ``prompt`` with two
responses, content as a text or as a list of parts. Both kinds of tie are neutral, unless battles
where both were bad are left out.

The topic of a battle is its ``question_id``, else its prompt. Where a file gives neither prompt
nor texts, nothing says that two battles were about the same texts, and each is a topic of its own.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.chats.model import dump_chat
from annotation.chats.notes import note_texts
from annotation.chats.readers.base import (
    UnreadableRecord,
    as_text,
    list_of,
    opening_of,
    question_and_answer,
)
from annotation.chats.readers.pairs import OUTCOMES, VERDICTS, plain_texts, read_side
from annotation.chats.text import plain_text
from annotation.files.reading.importer import (
    MAX_SHOWN,
    CheckedRows,
    Field,
    Importer,
    Reader,
    Times,
    refuse,
)
from annotation.files.reading.keys import text_print
from annotation.files.reading.limits import check_size
from annotation.files.reading.rows import Problem, Row
from annotation.files.reading.sources import encoding_of, lines, of_bytes
from annotation.files.reading.tables import open_table
from annotation.files.reading.times import parse_moment
from annotation.files.reading.values import NUMBER
from annotation.formats.imports.tables.base import unread
from annotation.pair_design import groups_of, tell_groups
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT
from crowdqc.files.json_input import Unreadable, read_json
from crowdqc.numbers import count, plural

BOTH_BAD = "both_bad"
WINNERS = {
    "model_a": LEFT,
    "model_b": RIGHT,
    "tie": NEUTRAL,
    BOTH_BAD: NEUTRAL,
    "tie (bothbad)": NEUTRAL,
}
SIDES = ("response", "answer", "completion", "output", "antwort", "respuesta")
# The other names of each column.
ALSO = {
    "question_id": ("id", "conversation_id", "battle_id"),
    "judge": ("judge_hash", "user", "user_id", "annotator", "evaluation_session_id", "session_id"),
    "conversation_a": (*(f"{name}_a" for name in SIDES), "output_1"),
    "conversation_b": (*(f"{name}_b" for name in SIDES), "output_2"),
    "prompt": ("query", "instruction", "question", "frage", "pregunta"),
    "tstamp": ("timestamp", "created_at", "time"),
}
NAMES = {column: (column, *others) for column, others in ALSO.items()}
OVERALL = "quality_overall"  # the dimension that battles are about, of several
TOPIC = "all"  # of texts of which nothing says what they answer
LIMITS = {"question_id": 80, "model_a": 120, "model_b": 120, "judge": 120}
MAX_BYTES = 200 * 2**20  # every battle repeats both of its texts
MAX_LINE = 2_000_000  # characters


class Battle(NamedTuple):
    """One battle; ``left`` and ``right`` are a model's name and its text."""

    line: int
    topic: str
    query: str
    left: tuple[str, str]
    right: tuple[str, str]
    winner: str  # left, neutral or right
    judge: str
    at: dt.datetime | None
    both_bad: bool = False
    meta: Mapping[str, str] | None = None  # columns of a table that no field reads
    chats: tuple[str, str] = ("", "")  # both conversations (``dump_chat``); "": the text is all
    notes: tuple[str, ...] = ()  # what of the conversations is not kept, as codes


class TaskPair(NamedTuple):
    """A pair that a task compares: its topic and query, and the system and text of each side."""

    topic: str
    query: str
    first: tuple[str, str]
    second: tuple[str, str]

    @property
    def texts(self) -> frozenset[tuple[str, str, str]]:
        """What battles about the same two texts have in common."""
        return frozenset({(self.topic, *self.first), (self.topic, *self.second)})


class KnownBattles(Counter[bytes]):
    """How often each battle is stored, by hash, and the pairs of the version in force by id.

    ``has_version``: the task is published, so that another pair needs a new version.
    """

    def __init__(
        self,
        stored: Mapping[bytes, int] | None = None,
        pairs: Mapping[str, TaskPair] | None = None,
        *,
        has_version: bool = False,
    ) -> None:
        super().__init__(stored or {})
        self.pairs, self.has_version = dict(pairs or {}), has_version


def find_pair(battle: Battle, pairs: Mapping[str, TaskPair]) -> Battle:
    """Return a battle as one about the pair that its ``topic`` is the id of.

    Its models are those of the pair, and it brings no other texts; else it stays as it is.
    """
    pair = pairs.get(battle.topic)
    if pair is None:
        return battle
    texts = dict((pair.first, pair.second))
    models = (battle.left[0], battle.right[0])
    same = all(text in ("", texts.get(model)) for model, text in (battle.left, battle.right))
    if not same or len(texts) < 2 or set(models) != texts.keys():
        return battle
    left, right = ((model, texts[model]) for model in models)
    return battle._replace(
        topic=pair.topic, query=pair.query, left=left, right=right, chats=("", "")
    )


def read_battles(content: bytes, name: str, *, judge: str = "") -> list[Battle]:
    """The battles of a file, in its order; ``judge`` stands in for judges that are not named.

    Raises Invalid whose ``rows`` name line, column, value, wrong and mend of each bad battle.
    """
    check_size(len(content), MAX_BYTES)
    problems: list[Problem] = []
    battles: list[Battle] = []
    alike: Counter[str] = Counter()
    for number, raw in _rows(content, name, problems):
        found = _battle(_Line(number, problems), raw, judge)
        if found is not None:
            battles.append(_with_topic(found, alike))
    refuse(name, problems, len(battles), "battles")
    return battles


def _with_topic(battle: Battle, alike: Counter[str]) -> Battle:
    """A battle without a topic under that of its prompt, or under one of its own.

    ``alike`` counts battles of one content, so that the same file gives the same topics again.
    """
    if battle.topic:
        return battle
    if battle.query:
        return battle._replace(topic=f"prompt-{_digest(battle.query)}")
    if battle.left[1] or battle.right[1]:
        return battle._replace(topic=TOPIC)
    content = _digest(*battle.left, *battle.right, battle.winner, battle.judge, str(battle.at))
    alike[content] += 1
    return battle._replace(topic=f"battle-{_digest(content, str(alike[content]))}")


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _rows(
    content: bytes, name: str, problems: list[Problem]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows with their lines; a row that cannot be read is noted among ``problems``."""
    source = of_bytes(content)
    as_lines = name.lower().endswith((".jsonl", ".ndjson", ".json"))
    if content.startswith(b"PAR1") or not (as_lines or content.lstrip().startswith(b"{")):
        for event in open_table(source, name).events:
            if isinstance(event, Row):
                yield event.line, event.values
            else:
                problems.append(event)
        return
    for number, text in enumerate(lines(source, encoding_of(source), MAX_LINE), 1):
        if not text.strip():
            continue
        line = _Line(number, problems)
        try:
            raw = read_json(text, any_text=True)
        except Unreadable as error:
            line.add_error("", text, error.says, _("Write one battle as an object on this line."))
            continue
        if isinstance(raw, dict):
            yield number, raw
        else:
            line.add_error(
                "", text, _("A JSON object is wanted here."), _("Write one battle on this line.")
            )


VERDICT = gettext_lazy("the verdict")
UNNAMED = "unnamed"  # who judged battles of an upload that names no judges


class Battles(Importer):
    """The same as rows of an upload."""

    slug = "arena"
    keeps_columns = True
    title = gettext_lazy("Arena battles")
    note = gettext_lazy(
        "A row is one battle: two models, their texts if you have them, and the "
        "verdict (model_a, model_b, tie or both_bad). Both_bad counts as a tie, as "
        "in the arena. Battles without question, prompt and texts are each about "
        "texts of their own. Where no judge is named, all are one judge’s."
    )
    fields: tuple[Field, ...] = (
        Field("model_a", gettext_lazy("Model A, on the left"), True),
        Field("model_b", gettext_lazy("Model B, on the right"), True),
        Field("winner", gettext_lazy("Verdict"), False, ("verdict", "outcome", "result"), VERDICT),
        Field("winner_model_a", gettext_lazy("Model A won"), False, (), VERDICT),
        Field("winner_model_b", gettext_lazy("Model B won"), False, (), VERDICT),
        Field("winner_tie", gettext_lazy("It was a tie"), False, (), VERDICT),
        Field("winner_both_bad", gettext_lazy("Both were bad")),
        Field("question_id", gettext_lazy("Question id"), False, ALSO["question_id"]),
        Field(
            "judge", gettext_lazy("Who judged it"), False, (*ALSO["judge"], "worker", "worker_id")
        ),
        Field("prompt", gettext_lazy("Prompt"), False, ALSO["prompt"]),
        Field("conversation_a", gettext_lazy("Conversation A")),
        Field("conversation_b", gettext_lazy("Conversation B")),
        Field("full_conversation", gettext_lazy("Both conversations")),
        Field("response_a", gettext_lazy("Response A"), False, ALSO["conversation_a"][1:]),
        Field("response_b", gettext_lazy("Response B"), False, ALSO["conversation_b"][1:]),
        Field("tstamp", gettext_lazy("Time of the verdict"), False, ALSO["tstamp"]),
        Field("turn", gettext_lazy("Turn")),
    )

    def raw(self, reader: Reader, row: Row) -> dict[str, str]:
        """Return a row's fields as texts."""
        return {name: reader.value(row, name) for name in reader.mapping}

    def tell_apart(self, checked: CheckedRows, apart: str) -> None:
        """Take the sentence that some models are never compared."""
        checked.notes.append(apart)

    def read(self, reader: Reader, rows: Iterable[Row], known: Mapping[Any, Any]) -> None:
        """Read battles as dicts; ``known``: how often each is stored already."""
        checked, left, alike = reader.checked, Counter(known), Counter[str]()
        task = known if isinstance(known, KnownBattles) else KnownBattles()
        there = {pair.texts for pair in task.pairs.values()}
        new: set[frozenset[tuple[str, str, str]]] = set()
        models: set[str] = set()
        met: set[tuple[str, str]] = set()
        judges: set[str] = set()
        both_bad, whole, times = 0, 0, Times(reader, "tstamp", rows)
        lost: list[str] = []
        for row in rows:
            raw = self.raw(reader, row)
            found = _battle(_Line(row.line, checked.problems, reader.mapping, times), raw, UNNAMED)
            if found is None:
                continue
            found = found._replace(meta=unread(reader, row) or None)
            battle = _with_topic(find_pair(found, task.pairs), alike)
            if left and left[print_of(battle)]:
                left[print_of(battle)] -= 1
                checked.there += 1
                continue
            weight = sum(map(len, (battle.left[1], battle.right[1], *battle.chats)))
            checked.good.append(battle._asdict(), weight)
            whole += sum(map(bool, battle.chats))
            lost += battle.notes
            new.add(frozenset({(battle.topic, *battle.left), (battle.topic, *battle.right)}))
            models |= {battle.left[0], battle.right[0]}
            met.add((battle.left[0], battle.right[0]))
            judges.add(battle.judge)
            both_bad += battle.both_bad
        times.note()
        if checked.good:
            checked.facts += [plural(len(models), "model"), plural(len(judges), "judge")]
        if task.has_version and (added := len(new - there)):
            note = _("The task does not compare these yet: %(pairs)s added, in a new version.")
            checked.notes.append(note % {"pairs": plural(added, "pair")})
        if whole:
            kept = _("%(conversations)s kept whole")
            checked.facts.append(kept % {"conversations": plural(whole, "conversation")})
        if texts := note_texts(lost):
            note = _("In the conversations: %(notes)s.")
            checked.notes.append(note % {"notes": ", ".join(texts)})
        if not known and (apart := tell_groups(groups_of(met))):
            self.tell_apart(checked, apart)
        if both_bad:
            checked.facts.append(
                _("%(both_bad)s where both were bad, counted as ties")
                % {"both_bad": count(both_bad)}
            )
        if UNNAMED in judges and "judge" not in reader.mapping:
            checked.notes.append(
                _(
                    "The file names no judges, so all battles count as one judge’s: intervals "
                    "hold for this judge only."
                )
            )


def print_of(battle: Battle) -> bytes:
    """Return a hash (16 bytes) that identifies a battle."""
    return text_print(repr((battle.judge, battle.topic, battle.left, battle.right, battle.winner)))


class Problems(Protocol):
    """What is wrong with rows, in their order."""

    def append(self, one: Problem, /) -> None: ...
    def __len__(self) -> int: ...


class _Line:
    """Where a battle stands, and the list that takes what is wrong with it.

    ``names`` are the file's own names of columns, by ours; ``times`` takes what is no time.
    """

    def __init__(
        self,
        number: int,
        problems: Problems,
        names: Mapping[str, str] | None = None,
        times: Times | None = None,
    ) -> None:
        self.number, self.problems, self.names = number, problems, names or {}
        self.times = times

    def add_error(self, column: str, value: Any, wrong: str, mend: str) -> None:
        """Note what is wrong in a column of this line and how to mend it."""
        shown, column = str(value)[:MAX_SHOWN], self.names.get(column, column)
        self.problems.append(Problem(self.number, column, shown, _(wrong), _(mend)))

    def text(self, raw: Mapping[str, Any], column: str) -> str:
        """Return the column's text; a list's texts are joined."""
        value = column_value(raw, column)
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        elif column == "judge" and (names := list_of(value)):
            value = ", ".join(map(as_text, names))
        value = "" if value is None else str(value).strip().replace("\x00", "")
        if len(value) > LIMITS[column]:
            most = LIMITS[column]
            self.add_error(
                column,
                value,
                _("%(value)s characters; %(most)s is the most.")
                % {"value": count(len(value)), "most": most},
                _("Shorten it."),
            )
        return value


def column_value(raw: Mapping[str, Any], column: str) -> Any:
    """Return a row's value in a column, under its name or an alias; None if empty."""
    for name in NAMES.get(column) or (column,):
        value = raw.get(name)
        if value is not None and value != "":
            return value
    return None


def _battle(line: _Line, raw: Mapping[str, Any], judge: str) -> Battle | None:
    before = len(line.problems)
    models = [line.text(raw, column) for column in ("model_a", "model_b")]
    for column, model in zip(("model_a", "model_b"), models, strict=True):
        if not model:
            line.add_error(column, "", _("The model is not named."), _("Write its name."))
    verdict = _verdict(line, raw)
    who = line.text(raw, "judge") or judge
    if not who:
        line.add_error(
            "judge", "", _("Nobody is named who judged it."), _("Name one, or say --judge NAME.")
        )
    number = str(raw.get("turn") or "")
    turn = int(number) if number.isdigit() and len(number) < 4 else 0
    sides = [_read_side(line, raw, side, turn) for side in ("a", "b")]
    if len(line.problems) == before and models[0] == models[1] and sides[0].text == sides[1].text:
        line.add_error("model_b", models[1], _("A text meets itself."), _("Leave the battle out."))
    at, topic = _moment(line, column_value(raw, "tstamp")), line.text(raw, "question_id")
    if topic and turn > 1:  # each turn is judged by itself
        topic = f"{topic[:70]}, turn {turn}"
    if len(line.problems) > before:
        return None
    left, right = zip(models, (one.text for one in sides), strict=True)
    return Battle(
        line.number,
        topic,
        sides[0].query or sides[1].query or _prompt_of(raw),
        left,
        right,
        WINNERS[verdict],
        who,
        at,
        verdict == BOTH_BAD,
        chats=(sides[0].chat, sides[1].chat),
        notes=(*sides[0].notes, *sides[1].notes),
    )


def _verdict(line: _Line, raw: Mapping[str, Any]) -> str:
    """Return the row's winner, one of WINNERS; any other value is noted as an error."""
    if not raw.get("winner") and OUTCOMES.keys() & raw.keys():
        came = [
            name for name in OUTCOMES if str(raw.get(name, "")).casefold() in ("1", "1.0", "true")
        ]
        if len(came) == 1:
            return OUTCOMES[came[0]]
        wrong = (
            gettext_noop("Not one outcome came out.")
            if not came
            else gettext_noop("More than one outcome came out.")
        )
        line.add_error(
            ", ".join(came or OUTCOMES), "", wrong, _("Write 1 in one of them, 0 in the others.")
        )
        return "tie"
    said = re.sub(r"[\W_]+", "", str(raw.get("winner"))).casefold()
    if said not in VERDICTS:
        known = ", ".join(WINNERS)
        line.add_error(
            "winner",
            raw.get("winner"),
            _("A number does not say who won.")
            if NUMBER.fullmatch(str(raw.get("winner")))
            else _("This is not an outcome."),
            _("One of %(known)s.") % {"known": known},
        )
    return VERDICTS.get(said, "tie")


class _Side(NamedTuple):
    """A side of a battle: its question, its text, and its conversation if it is more than these."""

    query: str = ""
    text: str = ""
    chat: str = ""
    notes: tuple[str, ...] = ()


def _read_side(line: _Line, raw: Mapping[str, Any], side: str, turn: int) -> _Side:
    """Return a side up to a turn; an empty one where the row has no conversation."""
    column = f"conversation_{side}"
    rounds = raw.get("full_conversation")
    if not rounds and (texts := plain_texts(raw.get(column))) is not None:
        return _Side(*texts)
    found = {
        "full_conversation": rounds,
        column: raw.get(column),
        f"response_{side}": column_value({**raw, column: None}, column),
        "prompt": column_value(raw, "prompt"),
    }
    try:
        chat = read_side(found, side, turn)
    except UnreadableRecord:
        shown = as_text(raw.get(column))
        line.add_error(
            column, shown, _("This is not a conversation."), _("A list of {role, content}.")
        )
        return _Side()
    plain = question_and_answer(chat)
    if plain is not None:
        return _Side(*plain, notes=chat.notes)
    return _Side(opening_of(chat), plain_text(chat), dump_chat(chat), chat.notes)


def _prompt_of(raw: Mapping[str, Any]) -> str:
    """Return the prompt, or the prompts of a list of them as one text."""
    prompt = column_value(raw, "prompt")
    rows = list_of(prompt) or [prompt]
    return "\n\n".join(as_text(one) for one in rows if one)


def _moment(line: _Line, raw: Any) -> dt.datetime | None:
    if raw is None:
        return None
    if line.times is not None:
        return line.times.read_value(str(raw), line.number)
    if at := parse_moment(str(raw)):
        return at
    line.add_error(
        "tstamp", raw, _("This is not a time."), _("Seconds since 1970, or leave it out.")
    )
    return None
