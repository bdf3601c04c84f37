"""Tables that hold something else than votes: why they cannot be scored, and what to bring."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.recognise import LABELS, MOST_LABELS, MOSTLY, WORKERS, named_column
from annotation.files.reading.values import NUMBER
from crowdqc.errors import Invalid

Rows = Sequence[Mapping[str, str]]
SHOWN = 4  # columns that a sentence names
SPANS = re.compile(r"\s*\[\s*[\[{]\s*(?:\d+\s*,\s*\d+|\"(?:start|begin|start_offset)\")")
LIST = re.compile(r"\[[^\[\]{}]{1,40}(?:,[^\[\]{}]{1,40})+\]")
TAG = re.compile(r"[BILUES]-\w[\w-]*")
BEGINS = {"begin", "start", "beginms", "startms", "begintime", "starttime", "onset", "startoffset"}
ENDS = {"end", "stop", "endms", "stopms", "endtime", "stoptime", "offset", "endoffset"}
EVENTS = {"event", "eventtype", "eventname", "action", "actiontype"}
MOMENTS = {"ts", "time", "timestamp", "datetime", "clock", "elapsedms", "servertime"}
# Columns that hold what was computed from votes or texts.
RESULTS = {
    *("kappa", "cohenskappa", "cohenkappa", "fleisskappa", "krippendorffsalpha", "alpha", "icc"),
    *("agreement", "percentagreement", "agreementpercent", "disagreement", "pvalue", "stderr"),
    *("precision", "recall", "f1", "f1score", "accuracy", "auc", "mcc", "exactmatch", "em"),
    *("bleu", "sacrebleu", "rouge1", "rouge2", "rougel", "rougelsum", "meteor", "chrf", "comet"),
    *("bertscore", "bleurt", "ter", "wer", "cer", "perplexity", "loss", "faithfulness"),
    *("answerrelevancy", "answerrelevance", "contextprecision", "contextrecall"),
    *("answercorrectness", "answersimilarity", "hallucination", "toxicity"),
    *("elo", "winrate", "95ci", "ci", "cilow", "cihigh", "votes", "numvotes", "nvotes"),
    *("mean", "std", "sd", "median", "stdev", "meanscore", "averagescore", "avgscore"),
    *("übereinstimmung", "ubereinstimmung", "acuerdo", "accord"),
}
LEAST_RESULTS = 2


def refuse_spans(names: Sequence[str], rows: Rows) -> None:
    """Raise Invalid where what is called the label marks parts of a text."""
    for name in names:
        if not named_column([name], [*LABELS, "labels", "spans", "entities", "annotations"]):
            continue
        given = [said for row in rows if (said := row.get(name, "").strip()) not in ("", "[]")]
        if given and sum(bool(SPANS.match(said)) for said in given) >= MOSTLY * len(given):
            raise Invalid(
                _("%(column)s marks parts of the text: it gives no item one label.")
                % {"column": name},
                fields={"file": _("Write a row for each part with who gave it which label.")},
            )


def reason_of_kind(names: Sequence[str], rows: Rows) -> str:
    """Say what a table holds in place of votes; "" where that is not known."""
    finders = (_of_results, _of_events, _of_stretches, _of_questions, _of_lists, _of_tags)
    return next(filter(None, (find(names, rows) for find in finders)), "")


def _of_results(names: Sequence[str], rows: Rows) -> str:
    """Of columns that hold what was computed."""
    found = [
        name
        for name in names
        if not RESULTS.isdisjoint({plain(name), *_words(name)}) and _are_numbers(name, rows)
    ]
    if len(found) < LEAST_RESULTS or named_column(names, WORKERS):
        return ""
    said = _("%(columns)s are computed results: who gave what is not in the file.")
    return said % {"columns": ", ".join(found[:SHOWN])}


def _of_events(names: Sequence[str], _rows: Rows) -> str:
    """Of a log: columns of what happened, and when."""
    event, moment = _first_of(names, EVENTS), _first_of(names, MOMENTS)
    if not (event and moment):
        return ""
    said = _("%(event)s and %(moment)s are a log of what people did, not how they voted.")
    return said % {"event": event, "moment": moment}


def _of_stretches(names: Sequence[str], rows: Rows) -> str:
    """Of stretches of time or text, by their ends."""
    begin, end = _first_of(names, BEGINS), _first_of(names, ENDS)
    if not (begin and end and _are_stretches(begin, end, rows)):
        return ""
    said = _("%(begin)s and %(end)s mark stretches, which people cut differently.")
    mend = _("Write a row for each stretch that several people labelled, with its id.")
    return " ".join([said % {"begin": begin, "end": end}, mend])


def _of_questions(names: Sequence[str], rows: Rows) -> str:
    """Of columns for several questions to each of several people."""
    questions = _questions_of_each(names, rows)
    if not questions:
        return ""
    said = _("Columns hold several questions for each worker: %(questions)s.")
    told = said % {"questions": ", ".join(questions[:SHOWN])}
    return " ".join([told, _("Keep the columns of one.")])


def _of_lists(names: Sequence[str], rows: Rows) -> str:
    """Of cells that list votes of nobody."""
    column = next((name for name in names if _lists_votes(name, rows)), "")
    if not column:
        return ""
    said = _("%(column)s lists several votes, and does not say who gave them.")
    return " ".join([said % {"column": column}, _("Write a row for each vote, with its worker.")])


def _of_tags(names: Sequence[str], rows: Rows) -> str:
    """Of tags of tokens."""
    column = next((name for name in names if _are_tags(name, rows)), "")
    said = _("%(column)s holds a tag for each token, and no column names who gave it.")
    return said % {"column": column} if column else ""


def _first_of(names: Sequence[str], words: set[str]) -> str:
    return next((name for name in names if plain(name) in words), "")


def _words(name: str) -> list[str]:
    return [plain(word) for word in re.findall(r"[^\W\d_]+", name)]


def _questions_of_each(names: Sequence[str], rows: Rows) -> list[str]:
    """The questions of columns like ``anna_tone``, ``anna_topic``, ``ben_tone``, ``ben_topic``.

    [] where columns are no such product, or their questions have answers in common.
    """
    split = [re.split(r"[._:/ -]+(?=[^._:/ -]+$)", name, maxsplit=1) for name in names]
    parts = {(one[0], one[1]) for one in split if len(one) > 1}
    for first, second in ((0, 1), (1, 0)):
        of: dict[str, set[str]] = {}
        for part in parts:
            of.setdefault(part[second], set()).add(part[first])
        questions = [one for one in of if len(of[one]) > 1]
        people = set[str]().union(*(of[one] for one in questions))
        if len(questions) < 2 or any(of[one] != people for one in questions):
            continue
        held = {one: _given_to(one, names, rows) for one in questions}
        are_few = all(2 * len(one) <= len(rows) for one in held.values())
        if are_few and not any(
            held[one] & held[other] for one in held for other in held if one < other
        ):
            return [
                one for one in dict.fromkeys(part[second] for part in sorted(parts)) if one in held
            ]
    return []


def _given_to(question: str, names: Sequence[str], rows: Rows) -> set[str]:
    own = [
        name
        for name in names
        if question in re.split(r"[._:/ -]+", name) or name.endswith(question)
    ]
    return {said for row in rows for name in own if (said := row.get(name, "").strip())}


def _are_numbers(name: str, rows: Rows) -> bool:
    given = [said for row in rows if (said := row.get(name, "").strip().rstrip("%").strip())]
    numbers = [one for one in given if NUMBER.fullmatch(one.replace(",", "."))]
    return bool(given) and len(numbers) >= MOSTLY * len(given)


def _lists_votes(name: str, rows: Rows) -> bool:
    """Whether cells are lists of the same few short texts or numbers."""
    given = [said for row in rows if (said := row.get(name, "").strip())]
    lists = [said for said in given if LIST.fullmatch(said)]
    values = [one.strip(" \"'") for said in lists for one in said[1:-1].split(",")]
    few = len(set(values)) <= MOST_LABELS and 2 * len(set(values)) <= len(values)
    return bool(lists) and len(lists) >= MOSTLY * len(given) and few


def _are_stretches(begin: str, end: str, rows: Rows) -> bool:
    """Whether each row begins before it ends, in numbers."""
    pairs = [(row.get(begin, ""), row.get(end, "")) for row in rows]
    whole = [pair for pair in pairs if all(NUMBER.fullmatch(one.strip()) for one in pair)]
    return (
        bool(whole)
        and len(whole) >= MOSTLY * len(pairs)
        and all(float(first) < float(last) for first, last in whole)
    )


def _are_tags(name: str, rows: Rows) -> bool:
    """Whether a column holds tags of tokens: O, and some that begin a span."""
    given = {said for row in rows if (said := row.get(name, "").strip())}
    return "O" in given and len(given) > 1 and all(TAG.fullmatch(one) for one in given - {"O"})
