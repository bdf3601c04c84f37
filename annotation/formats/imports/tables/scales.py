"""Surveys in which people answer on a scale, a row each, as a row for each rating.

Words of an agreement or frequency in order, in six languages, or whole numbers of a few points.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from annotation.files.reading.importer import MAX_ID, plain
from annotation.files.reading.recognise import NA, WORKERS, named_column
from annotation.files.reading.rows import Row
from annotation.files.reading.tables import Event, Table
from annotation.formats.imports.tables.labels import MAX_NAMED, PEOPLE, short_id
from annotation.formats.imports.tables.nested import peek
from annotation.formats.imports.tables.people import person_of_survey

Rows = Sequence[Mapping[str, str]]
LEAST_ITEMS = 3  # questions of one scale
LEAST_POINTS = 4  # different numbers, from which they are a scale rather than classes
HIGHEST = 10
PART = re.compile(r"^(.*?)\s*(?:\[([^\]]+)\]|\s[-–:]\s+([^-–:]{1,80}))\s*$", re.DOTALL)
NUMBERED = re.compile(r"\d+")
POINT = re.compile(r"\s*(\d{1,2})\s*(?:$|[-–—=:.)(]\s*\D|\s+\D)")  # 5, “5 - very”, “1 (not at all)”
ASKS_RATING = re.compile(
    r"\b(?:rat(?:e|ed|ing)s?|scor(?:e|es|ing)|scale|stars?|how\s+\w+|bewert\w*|note[ns]?|skala|"
    r"wie\s+\w+|punkte|califi\w*|puntúa\w*|puntuaci\w*|valor[ae]\w*|escala|cuán|notez|évalu\w*|échelle|avali\w*|"
    r"nota|valut\w*|voto|beoordeel\w*)\b|评分|打分|評価|평가|оцен",
    re.IGNORECASE,
)
# Words from the lowest point (<) to the highest; those with | between them are in one place.
SCALES = """
strongly disagree|completely disagree|totally disagree < disagree
 < neutral|neither agree nor disagree|undecided|neither < agree
 < strongly agree|completely agree|totally agree

stimme überhaupt nicht zu|stimme gar nicht zu < stimme nicht zu
 < teils teils|weder noch|neutral|unentschieden < stimme zu
 < stimme voll und ganz zu|stimme völlig zu|stimme voll zu

trifft überhaupt nicht zu|trifft gar nicht zu|trifft nicht zu|stimme nicht zu
 < trifft eher nicht zu|stimme eher nicht zu < teils teils|weder noch|neutral|unentschieden
 < trifft eher zu|stimme eher zu < trifft voll und ganz zu|trifft völlig zu|trifft zu|stimme zu

totalmente en desacuerdo|muy en desacuerdo < en desacuerdo
 < neutral|ni de acuerdo ni en desacuerdo|indiferente < de acuerdo
 < totalmente de acuerdo|muy de acuerdo

strongly disagree|completely disagree|totally disagree < disagree
 < somewhat disagree|slightly disagree|rather disagree
 < neutral|neither agree nor disagree|undecided|neither
 < somewhat agree|slightly agree|rather agree < agree
 < strongly agree|completely agree|totally agree

never < rarely|seldom < sometimes|occasionally < often|frequently < always|very often

very poor|very bad|terrible < poor|bad < fair|average|okay|ok|acceptable < good < very good
 < excellent

not at all < slightly|a little|hardly < somewhat|moderately < very|quite a bit|quite
 < extremely|very much|completely

very dissatisfied < dissatisfied < neutral|neither < satisfied < very satisfied

very unlikely < unlikely < neutral|neither < likely < very likely

none < low < medium|moderate < high < very high

stimme überhaupt nicht zu|stimme gar nicht zu|trifft überhaupt nicht zu|trifft gar nicht zu
 < stimme nicht zu|trifft nicht zu < stimme eher nicht zu|trifft eher nicht zu
 < teils teils|weder noch|neutral|unentschieden < stimme eher zu|trifft eher zu
 < stimme zu|trifft zu
 < stimme voll und ganz zu|stimme völlig zu|stimme voll zu|trifft voll und ganz zu|trifft völlig zu

nie < selten < manchmal|gelegentlich < oft|häufig < immer|sehr oft

sehr schlecht < schlecht < mittel|mittelmäßig|befriedigend < gut < sehr gut

gar nicht|überhaupt nicht < kaum|wenig < etwas|mittelmäßig|teilweise < ziemlich|eher < sehr|stark

totalmente en desacuerdo|muy en desacuerdo < en desacuerdo < algo en desacuerdo
 < neutral|ni de acuerdo ni en desacuerdo|indiferente < algo de acuerdo < de acuerdo
 < totalmente de acuerdo|muy de acuerdo

nunca < raramente|rara vez|casi nunca < a veces < a menudo|frecuentemente|casi siempre < siempre

muy malo|muy mal|pésimo < malo|mal < regular < bueno|bien < muy bueno|muy bien|excelente

nada < poco < algo|moderadamente < bastante < mucho|muy

pas du tout d'accord|pas d'accord du tout < plutôt pas d'accord|pas d'accord
 < ni d'accord ni pas d'accord|neutre|sans opinion < plutôt d'accord|d'accord
 < tout à fait d'accord

jamais < rarement < parfois|quelquefois < souvent < toujours

pas du tout < un peu|plutôt pas < moyennement < plutôt|assez < tout à fait|beaucoup

discordo totalmente < discordo|discordo parcialmente
 < neutro|não concordo nem discordo|indiferente < concordo|concordo parcialmente
 < concordo totalmente

nunca < raramente < às vezes < frequentemente < sempre

fortemente in disaccordo|per niente d'accordo < in disaccordo|poco d'accordo
 < neutrale|indeciso < d'accordo|abbastanza d'accordo < fortemente d'accordo|molto d'accordo

helemaal mee oneens|helemaal oneens|zeer mee oneens < mee oneens|oneens < neutraal
 < mee eens|eens < helemaal mee eens|helemaal eens|zeer mee eens

非常不同意|完全不同意 < 不同意|比较不同意 < 一般|中立 < 同意|比较同意 < 非常同意|完全同意

全く同意しない|全くそう思わない < 同意しない|そう思わない < どちらともいえない
 < 同意する|そう思う < 強く同意する|とてもそう思う

전혀 그렇지 않다|매우 그렇지 않다 < 그렇지 않다 < 보통이다|보통 < 그렇다 < 매우 그렇다

полностью не согласен|совершенно не согласен < не согласен|скорее не согласен
 < затрудняюсь ответить|нейтрально < согласен|скорее согласен
 < полностью согласен|совершенно согласен
"""
PLACES = tuple(
    {
        plain(word): place
        for place, words in enumerate(scale.split("<"), 1)
        for word in words.split("|")
    }
    for scale in SCALES.strip().split("\n\n")
)
NONE = {plain(word) for word in ("n/a", "na", "no answer", "don't know", "keine angabe", "k.a.",
                                 "weiß nicht", "no sabe", "ns/nc", "ne sait pas", "sans réponse",
                                 "not applicable", "prefer not to say")}  # fmt: skip


@dataclass(frozen=True)
class Survey:
    """The column of people, the questions of one scale, and the points that answers stand for."""

    person: str
    questions: dict[str, str]  # column -> item
    points: dict[str, str]  # plain answer -> point
    are_words: bool


def fold(table: Table) -> Table:
    """A survey on a scale with a row for each rating; others stay as they are."""
    table, rows = peek(table)
    found = _survey(list(table.columns), rows)
    if found is None:
        return table
    note = _("%(n)s questions are answered on one scale: they are read as ratings by %(person)s.")
    table.notes.append(note % {"n": len(found.questions), "person": found.person})
    if found.are_words:
        given = {
            said: None
            for row in rows
            for name in found.questions
            if (said := row.get(name, "").strip())
        }
        order = sorted(
            (one for one in given if plain(one) in found.points),
            key=lambda one: int(found.points[plain(one)]),
        )
        note = _("From the lowest to the highest point: %(words)s.")
        table.notes.append(note % {"words": ", ".join(f"“{one}”" for one in order)})
    gone = {found.person, *found.questions}
    left = [name for name in table.columns if name not in gone]
    if left:
        note = _("Not read as ratings: %(columns)s.")
        table.notes.append(note % {"columns": ", ".join(left[:MAX_NAMED])})
    columns = dict.fromkeys(["worker", "item", "score", "item_text", *left])
    return replace(table, columns=[*columns], events=_ratings(table.events, found, left))


def _ratings(events: Iterable[Event], found: Survey, left: Sequence[str]) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Row):
            yield event
            continue
        worker = event.values.get(found.person, "").strip()
        kept = {name: event.values.get(name, "") for name in left}
        for name, item in found.questions.items():
            said = event.values.get(name, "").strip()
            if said and said not in NA and plain(said) not in NONE:
                score = found.points.get(plain(said), said)
                own = {"worker": worker, "item": item, "score": score}
                if len(item) > MAX_ID:
                    own |= {"item": short_id(item), "item_text": item}
                yield Row(event.line, {**kept, **own})


def _survey(names: Sequence[str], rows: Rows) -> Survey | None:
    """The survey that a table is; None for any other."""
    person = _person(names, rows)
    if not person or len(rows) < 2:
        return None
    best: Survey | None = None
    for columns in _groups(names, rows, person):
        told = _points(columns, rows)
        if told is None or (best is not None and len(columns) <= len(best.questions)):
            continue
        points, are_words = told
        best = Survey(person, _items(columns), points, are_words)
    return best


def _person(names: Sequence[str], rows: Rows) -> str:
    """The column whose values tell the people of a survey apart, a row each."""
    looked = [Row(at, row) for at, row in enumerate(rows, 1)]
    if person := person_of_survey(names, looked):
        return person
    worker = named_column(names, WORKERS)
    values = [row.get(worker, "").strip() for row in rows] if worker else []
    return worker if values and all(values) and len(set(values)) == len(values) else ""


def _groups(names: Sequence[str], rows: Rows, person: str) -> list[list[str]]:
    """Columns that are parts of one question: by what stands before their brackets, or numbers."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name != person and not PEOPLE.fullmatch(name.strip()):
            part = PART.fullmatch(name)
            stem = part[1] if part else NUMBERED.sub("#", name)
            found.setdefault(plain(stem) or stem, []).append(name)
    groups = [columns for columns in found.values() if len(columns) >= LEAST_ITEMS]
    asked = [name for name in names if name != person and _points([name], rows, least=2)]
    return [*groups, asked] if len(asked) >= LEAST_ITEMS else groups


def _items(columns: Sequence[str]) -> dict[str, str]:
    """What each question is about: what its bracket holds, where that tells them apart."""
    parts = {name: PART.fullmatch(name) for name in columns}
    inner = {name: (part[2] or part[3]).strip() for name, part in parts.items() if part}
    is_told = len(inner) == len(columns) == len(set(inner.values()))
    return inner if is_told else {name: name for name in columns}


def _points(
    columns: Sequence[str], rows: Rows, least: int = 3
) -> tuple[dict[str, str], bool] | None:
    """The point of each answer, and whether answers are words; None where they are no scale."""
    given = {said for row in rows for name in columns if (said := row.get(name, "").strip())}
    given = {one for one in given if one not in NA and plain(one) not in NONE}
    words = {plain(one) for one in given}
    for places in PLACES:
        if len(words) >= least and words <= places.keys():
            return {word: str(places[word]) for word in words}, True
    numbers = {one: point[1] for one in given if (point := POINT.match(one))}
    if len(numbers) < len(given) or len(set(numbers.values())) < LEAST_POINTS:
        return None
    asks = any(ASKS_RATING.search(name) or PART.fullmatch(name) for name in columns)
    worded = any(not one.isdecimal() for one in given)
    if max(map(int, numbers.values())) > HIGHEST or not (asks or worded):
        return None
    return {plain(one): point for one, point in numbers.items()}, worded
