"""Tables that hold something else than votes: why they cannot be scored, and what to bring."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.recognise import LABELS, MOSTLY, WORKERS, named_column
from annotation.files.reading.values import NUMBER
from crowdqc.errors import Invalid

Rows = Sequence[Mapping[str, str]]
SHOWN = 4  # columns that a sentence names
SPANS = re.compile(r"\s*\[\s*[\[{]\s*(?:\d+\s*,\s*\d+|\"(?:start|begin|start_offset)\")")
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
    called = {plain(name): name for name in names}
    results = [
        called[one]
        for one in called
        if (one in RESULTS or any(word in RESULTS for word in _words(called[one])))
        and _are_numbers(called[one], rows)
    ]
    if len(results) >= LEAST_RESULTS and not named_column(names, WORKERS):
        said = _(
            "%(columns)s are computed results, and no votes: who gave what is not in the file."
        )
        return said % {"columns": ", ".join(results[:SHOWN])}
    event, moment = (
        next((called[one] for one in words if one in called), "") for words in (EVENTS, MOMENTS)
    )
    if event and moment:
        said = _("%(event)s and %(moment)s are a log of what people did, not how they voted.")
        return said % {"event": event, "moment": moment}
    begin, end = (
        next((called[one] for one in words if one in called), "") for words in (BEGINS, ENDS)
    )
    if begin and end and _are_stretches(begin, end, rows):
        said = _("%(begin)s and %(end)s mark stretches, which people cut differently.")
        mend = _("Write a row for each stretch that several people labelled, with its id.")
        return f"{said % {'begin': begin, 'end': end}} {mend}"
    if questions := _questions_of_each(names, rows):
        said = _("Columns hold several questions for each worker: %(questions)s.")
        mend = _("Keep the columns of one.")
        return f"{said % {'questions': ', '.join(questions[:SHOWN])}} {mend}"
    tags = next((name for name in names if _are_tags(name, rows)), "")
    if tags:
        said = _("%(column)s holds a tag for each token, and no column names who gave it.")
        return said % {"column": tags}
    return ""


def _first_of(called: Mapping[str, str], words: set[str]) -> str:
    return next((name for one, name in called.items() if one in words), "")


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
