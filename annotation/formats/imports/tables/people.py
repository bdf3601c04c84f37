"""Who answered a survey: the column that tells people apart, and what survey tools add."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from annotation.files.reading.importer import MAX_ID, Row, same_name
from annotation.files.reading.recognise import ITEMS, WORDS_OF_NAME, WORKERS, named_column
from annotation.files.reading.values import NUMBER
from annotation.task_types.scales import MAX_LABEL

MOMENT = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T]\d{1,2}:\d{2}")
# What LimeSurvey and Qualtrics keep of a response besides the answers, and its ids.
RESPONSE_IDS = (
    *("id", "token", "responseid", "response id", "antwort id", "id de la réponse"),
    *("id de respuesta", "id da resposta", "id risposta", "antwoord id"),
)
ADMIN = {
    *RESPONSE_IDS[2:],
    *("submitdate", "lastpage", "startlanguage", "seed", "startdate", "datestamp", "ipaddr"),
    *("refurl", "token", "interviewtime", "grouptime"),
    *("date submitted", "last page", "start language", "date started", "date last action"),
    *("datum abgeschickt", "letzte seite", "start-sprache", "zufallsstartwert"),
    *("datum gestartet", "datum letzte aktivität"),
    *("date de soumission", "dernière page", "langue de départ", "tête de série"),
    *("date de lancement", "date de la dernière action"),
    *("fecha de envío", "última página", "lenguaje inicial", "semilla", "fecha de inicio"),
    *("enddate", "recordeddate", "distributionchannel", "userlanguage", "ipaddress"),
    *("ip address", "recorded date", "distribution channel", "user language", "start date"),
    *("end date", "duration (in seconds)", "recipientlastname", "recipientfirstname"),
    *("recipientemail", "externalreference", "externaldatareference", "locationlatitude"),
    "locationlongitude",
}
ADMIN_BESIDE = {"status", "progress", "finished", "response type"}  # among these
# What asks people for their name: the same one twice is one person.
OWN_NAME = re.compile(
    r"\b(?:(?:\w+ )?names?|initials?|nickname|e-?mail(?: address)?|code ?name)\b|"
    r"\b\w*(?:name|kürzel|initialen)\b|\b(?:nombre|iniciales|correo(?: electrónico)?)\b|"
    r"\b(?:nom|prénom|pseudo|nome|naam)\b|姓名|名前|이름|имя",
    re.IGNORECASE,
)
MAX_NAME_WORDS = 6  # of a column that asks for a name
LEAST_PERSONS = 0.6  # share of different names among the rows of a form
# What forms of Microsoft and Google call the times that they add.
FORM_TIMES = {
    *("starttime", "completiontime", "startzeit", "fertigstellungszeit", "abschlusszeit"),
    *("horadeinicio", "horadefinalización", "heurededébut", "heuredefin"),
    *("timestamp", "zeitstempel", "marcatemporal", "horodateur"),
}
QUESTION = re.compile(r"\?|\[|\S\s+\S+\s+\S")  # in a name: a question, or three words


def person_of_survey(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The column of a survey that tells people apart, a row being all that one said; "" elsewhere.

    It has times of beginning and end, and columns that share a few labels, more than rows; or it
    has columns that LimeSurvey or a form of Microsoft or Google adds.
    """
    cells = {name: [row.values.get(name, "").strip() for row in rows] for name in columns if name}
    times = [name for name, given in cells.items() if are_times(given)]
    admin, begun = admin_columns(columns), _form_times(columns, times)
    ids = [name for one in RESPONSE_IDS for name in columns if _code_of(name) == one]
    names = [named_column(columns, WORKERS)] if begun else []
    names += ids if admin else [named_column(columns, ITEMS)]
    if begun and not named_column(columns, WORKERS):
        names += [name for name in columns if _are_codes(cells.get(name, ()))]
    person = next((name for name in names if name and are_new(cells[name])), "")
    if begun and not person:
        person = next((name for name in columns if _are_own_names(name, cells.get(name, ()))), "")
    person = person or next((name for name in begun[:1] if are_new(cells[name])), "")
    if not person or not (admin or begun or len(times) > 1):
        return ""
    aside = {person, *times, *admin}
    held = {name: _options_in(cells[name]) for name in cells if name not in aside}
    count = Counter(label for mine in held.values() for label in mine)
    asked = [name for name, mine in held.items() if mine and all(count[one] > 1 for one in mine)]
    labels = set[str]().union(*(held[name] for name in asked))
    filled = sum(map(bool, itertools.chain.from_iterable(cells[name] for name in asked)))
    least = 1 if admin or begun else len(rows)
    is_survey = len(asked) > least and len(rows) > 1 and 2 <= len(labels) <= filled // 4
    return person if is_survey else ""


def _options_in(cells: Iterable[str]) -> set[str]:
    """The different answers of a question; several of a form in one cell end in semicolons each."""
    given = set(cells) - {""}
    if any(";" in cell for cell in given) and all(len(cell) < MAX_LABEL for cell in given):
        return {part.strip() for cell in given for part in cell.split(";")} - {""}
    return given


def _are_own_names(name: str, cells: Sequence[str]) -> bool:
    """Whether a column asks people for their name, and most gave one that nobody else gave."""
    given = [cell.casefold() for cell in cells if cell]
    return (
        bool(OWN_NAME.search(name))
        and len(name.split()) <= MAX_NAME_WORDS
        and len(given) == len(cells)
        and len(set(given)) >= LEAST_PERSONS * len(given)
    )


def _are_codes(cells: Sequence[str]) -> bool:
    """Whether cells are names or initials of people: short, no numbers, all different."""
    return (
        are_new(cells)
        and not are_times(cells)
        and all(len(cell.split()) <= WORDS_OF_NAME and len(cell) <= MAX_ID for cell in cells)
        and not all(NUMBER.fullmatch(cell) for cell in cells)
    )


def _form_times(columns: Sequence[str], times: Sequence[str]) -> list[str]:
    """The times that a form adds: of beginning and end, or first that of a row of questions."""
    named = [name for name in times if same_name(name) in FORM_TIMES]
    asked = [name for name in columns if name and name not in times]
    questions = [name for name in asked if QUESTION.search(name)]
    is_asked = columns[:1] == named[:1] != [] and len(questions) > len(asked) / 2
    return named if len(named) > 1 or is_asked else []


def _code_of(name: str) -> str:
    """The code before the text of a question in LimeSurvey: ``q1`` of ``Q1. How was it?``."""
    return name.partition(". ")[0].strip().casefold()


def admin_columns(columns: Iterable[str]) -> list[str]:
    """The columns that a survey tool adds to those of the questions; [] in other files."""
    names = list(columns)
    found = [name for name in names if _code_of(name) in ADMIN]
    beside = [name for name in names if _code_of(name) in ADMIN_BESIDE]
    return [*found, *beside] if len(found) > 1 else []


def are_times(cells: Iterable[str]) -> bool:
    """Whether a column holds dates with the time of day, and nothing else."""
    given = [cell for cell in map(str.strip, cells) if cell]
    return bool(given) and all(map(MOMENT.match, given))


def are_new(values: Iterable[str]) -> bool:
    """Whether each value is there and stands in no other row."""
    given = [value.strip() for value in values]
    return all(given) and len(set(given)) == len(given)
