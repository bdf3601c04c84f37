"""How far a board holds, in words: at equal length and style, and without some of its votes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Item
from annotation.work.snapshots.answers import pseudonyms
from crowdqc.numbers import count, percent, plural
from evaluation.models import Run
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.selectors.boards import CONTROLLED, SystemRow
from evaluation.pairwise.selectors.facts import dimension_key
from evaluation.pairwise.selectors.names import cut, is_named_by_prompt, pair_name
from evaluation.results.cells import hidden, inline, link
from evaluation.results.columns import Column, head_column
from evaluation.results.findings import Action, Finding, Severity
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.results.votes_used import tally_of

FIGURES = ("controlled", "style", "length", "top", "change", "change_vote", "split", "diagnostics")
FEW_VOTES, SMALL = 10, 0.01  # votes, or a share of them, that are few
MANY_TIMES = 20  # times the votes: so many more are not worth counting
LEANS, LEAST = 0.7, 5  # of at least so many votes this share has a habit
SHOWN_VOTES = 30
Told = Mapping[str, Any]


@dataclass(frozen=True)
class ChangeRow:
    """One line of what would change who leads."""

    without: str
    beside: str
    votes: int
    share: str
    then: str
    why: str
    url: str
    link: str


def change_table(title: str, rows: Sequence[ChangeRow]) -> ResultTable | None:
    """Changes that put another first; None without any."""
    columns = [
        head_column("without", _("Without"), html=_removed_cell),
        Column.number("votes", _("Votes"), html=_votes, classes="nowrap"),
        Column.text("then", _("First place then"), _("First then"), head_classes="nowrap"),
        Column.text("why", _("Why"), _("Why"), classes="dim"),
        Column.link("link", hidden(_("Evidence")), html=_evidence),
    ]
    return plain_table(title, columns, rows) if rows else None


def _removed_cell(row: ChangeRow) -> SafeString:
    return format_html("<b>{}</b>{}", row.without, f", {row.beside}" if row.beside else "")


def _votes(row: ChangeRow) -> SafeString:
    return inline(count(row.votes) if row.votes else "", row.share)


def _evidence(row: ChangeRow) -> SafeString:
    return link(row.url, row.link, "")


@dataclass(frozen=True)
class Resistance:
    """What a page says of how far a board holds."""

    findings: list[Finding]
    rows: list[ChangeRow]
    more: list[ChangeRow]
    votes: list[dict[str, Any]]
    hidden: int
    facts: list[tuple[str, str]]
    few_topics: int  # where these keep the first two from being separated, else 0
    is_out_of_reach: bool  # whether separating the first two takes too many votes
    used: int  # judgments that the run used
    needed: int  # judgments in all that takes; 0 where it is not known, or too many

    def while_open(self) -> Resistance:
        """The same where several can be first: a lead that few votes decide is no warning then.

        Nor does the controlled score show another to be first.
        """
        rows = [row for row in self.rows if row.votes]
        return replace(self, findings=_unless_sure(self.findings), rows=rows)

    @property
    def answer(self) -> str:
        """The change that takes fewest votes, in a few words."""
        first = self.rows[0]
        if not first.votes:
            return _("at equal length and style, %(then)s is first") % {"then": first.then}
        told = {"without": first.without, "then": first.then}
        return _("without %(without)s, %(then)s is first") % told

    def table(self) -> ResultTable | None:
        return change_table(_("What would put another system first"), self.rows)

    def more_table(self) -> ResultTable | None:
        title = _("Other single workers and pairs that decide who is first")
        return change_table(title, self.more)


def resistance(
    run: Run, told: Told, rows: Sequence[SystemRow], dimension: str
) -> Resistance | None:
    """Return how firmly a board's first place holds; None for older runs (two queries).

    ``rows`` are those of the raw board, the best first.
    """
    top = _own(told, "top", dimension)
    changes = _changes(told, dimension)
    listed = _rows_of(told, "change_vote", dimension)
    if "top" not in told:
        return None
    people = pseudonyms({row["worker"] for row in [*changes, *listed] if row["worker"]})
    pairs = Item.objects.select_related("group").in_bulk(
        [row["pair"] for row in [*changes, *listed] if row["pair"]]
    )
    page = _Page(run, {row.id: row for row in rows}, people, pairs, dimension, by_one_judge(told))
    made = [page.row(row, top) for row in changes if top is not None]
    first = _first_of_each(changes, made)
    lines = [*first, *page.style(told, rows, top)]
    votes = [page.vote(row) for row in listed[:SHOWN_VOTES]]
    split = _own(told, "split", dimension)
    topics = few_topics(told, dimension) if _votes_needed(rows, top) else 0
    needed = 0.0 if topics else _votes_needed(rows, top)
    times = needed / top["votes"] if top and needed else 0.0
    tally = tally_of(told)
    used = tally.used if tally else 0
    return Resistance(
        findings=[
            *_one_judge(told),
            *page.fragile(changes, top),
            *_style_findings(told, rows, dimension),
            *_split(run, split, dimension),
        ],
        rows=lines,
        more=[row for row in made if row not in first],
        votes=votes,
        hidden=max(0, len(listed) - SHOWN_VOTES),
        facts=[
            *([(_("Votes to separate 1 and 2"), _many(needed, times))] if needed else []),
            *_controlled_for(told, dimension),
        ],
        few_topics=topics,
        is_out_of_reach=times > MANY_TIMES,
        used=used,
        needed=rounded(used * times) if times <= MANY_TIMES else 0,
    )


def votes_behind(told: Told, board: Told, dimension: str) -> int:
    """Return the number of votes behind a board."""
    top = next((r for r in told.get("top") or () if r["dimension"] == dimension), None)
    if top is not None:
        votes: int = top["votes"]
        return votes
    tally = board["tally"]
    used: int = tally.used if tally else sum(row.n for row in board["raw"]) // 2
    return used


def few_topics(told: Told, dimension: str) -> int:
    """Return the number of topics where these, not votes, are too few to separate the first two."""
    top = _own(told, "top", dimension)
    return int((top or {}).get("few_topics") or 0)


def by_one_judge(told: Told) -> bool:
    """Whether one person gave all judgments of a run: without them nothing is left."""
    counts: Told = (told.get("recipe") or {}).get("counts") or {}
    return counts.get("workers") == 1


def _one_judge(told: Told) -> list[Finding]:
    return [MESSAGES.find("one_judge")] if by_one_judge(told) else []


def _changes(told: Told, dimension: str) -> list[Told]:
    """Return what would change who is first; that all judgments go, as their one judge, is none."""
    rows = _rows_of(told, "change", dimension)
    return [row for row in rows if row["kind"] != "person" or not by_one_judge(told)]


def _rows_of(told: Told, name: str, dimension: str) -> list[Told]:
    return [row for row in told.get(name) or () if row["dimension"] == dimension]


def _own(told: Told, name: str, dimension: str) -> Told | None:
    return next(iter(_rows_of(told, name, dimension)), None)


def _first_of_each(changes: Sequence[Told], made: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Return the change that takes fewest votes, of each kind."""
    found: dict[str, ChangeRow] = {}
    for row, line in zip(changes, made, strict=True):
        found.setdefault(row["kind"], line)
    return list(found.values())


@dataclass(frozen=True)
class _Page:
    """What words and links are made of."""

    run: Run
    systems: Mapping[int, SystemRow]
    people: Mapping[int, str]
    pairs: Mapping[int, Item]
    dimension: str
    one_judge: bool

    def _url(self, name: str, *args: int) -> str:
        path = reverse(name, args=[self.run.project_id, self.run.task_id, *args])
        return f"{path}?{urlencode(self._query())}"

    def _query(self) -> dict[str, str]:
        return {"dimension": self.dimension, "run": str(self.run.number)}

    def name(self, system: int) -> str:
        """Return a system's name for a sentence; "" if it is on no board."""
        row = self.systems.get(system)
        return row.in_sentence if row else ""

    def _pair(self, pk: int) -> str:
        return pair_name(self.pairs[pk]) if pk in self.pairs else _("A pair")

    def row(self, row: Told, top: Told) -> ChangeRow:
        without, beside, url, link = self._removed_part(row)
        return ChangeRow(
            without=without,
            beside=beside,
            votes=row["votes"],
            share=percent(row["votes"] / row["of"], 1),
            then=self.name(row["system"]),
            why=self._common_trait(row, top),
            url=url,
            link=link,
        )

    def _removed_part(self, row: Told) -> tuple[str, str, str, str]:
        """Return what is left out, its kind, and the page on it."""
        if row["kind"] == "person":
            name = self.people.get(row["worker"], _("A worker"))
            return (
                name,
                _("one worker"),
                self._url("pair_worker", row["worker"]),
                _("Show the votes"),
            )
        if row["kind"] == "item":
            return (
                self._pair(row["pair"]),
                _("one pair"),
                self._url("pair", row["pair"]),
                _("Show the pair"),
            )
        said = (
            _("the ones with most influence")
            if row["votes"] > 1
            else _("the one with most influence")
        )
        return plural(row["votes"], "vote"), said, "#change-votes", _("Show the votes")

    def _common_trait(self, row: Told, top: Told) -> str:
        """Say what the votes have in common."""
        if row["kind"] == "item" and row["pair"] in self.pairs:
            question = self.pairs[row["pair"]].question
            return "" if is_named_by_prompt(self.pairs[row["pair"]]) else f"“{cut(question)}”"
        if row["kind"] == "votes" and row["pair"] in self.pairs:
            return _("all on one pair: %(pair)s") % {"pair": self._pair(row["pair"])}
        if row["kind"] == "votes" and row["worker"] in self.people and not self.one_judge:
            return _("all by worker %(worker)s") % {"worker": self.people[row["worker"]]}
        return self._habit(row, top)

    def _habit(self, row: Told, top: Told) -> str:
        """Whether the votes are for longer texts, or for who is first."""
        longer, of = row["longer"], row["longer_of"]
        if of >= LEAST and longer / of >= LEANS:
            return _("chose the longer text in %(longer)s of %(votes)s") % {
                "longer": count(longer),
                "votes": plural(of, "vote"),
            }
        if of >= LEAST and longer / of <= 1 - LEANS:
            return _("chose the shorter text in %(shorter)s of %(votes)s") % {
                "shorter": count(of - longer),
                "votes": plural(of, "vote"),
            }
        if row["met_first"]:
            name = self.name(top["system_a"])
            return _("%(for_first)s of %(votes)s preferred %(name)s") % {
                "for_first": count(row["for_first"]),
                "votes": count(row["votes"]),
                "name": name,
            }
        return _("on %(pairs)s") % {"pairs": plural(row["pairs"], "pair")}

    def style(self, told: Told, rows: Sequence[SystemRow], top: Told | None) -> list[ChangeRow]:
        """The line on length and style, where another is first without them."""
        best = _best(rows)
        if best is None or top is None or best.id == top["system_a"]:
            return []
        first = self.systems.get(top["system_a"])
        why = ""
        if first is not None and first.words is not None and best.words is not None:
            more = round(first.words - best.words)
            writes = {"system": first.in_sentence, "n": count(abs(more))}
            if more > 0:
                why = _("%(system)s writes %(n)s words more, at the median") % writes
            elif more:
                why = _("%(system)s writes %(n)s words fewer, at the median") % writes
        query = self._query() | {"score": CONTROLLED}
        return [
            ChangeRow(
                without=_("The effect of length and style"),
                beside="",
                votes=0,
                share=_("none"),
                then=best.in_sentence,
                why=why,
                url=f"?{urlencode(query)}",
                link=_("Controlled board"),
            )
        ]

    def vote(self, row: Told) -> dict[str, Any]:
        """Return a vote that changes the top, with the pages on its worker and its pair."""
        return {
            "worker": self.people.get(row["worker"], ""),
            "worker_url": self._url("pair_worker", row["worker"]) if row["worker"] else "",
            "pair": self._pair(row["pair"]),
            "pair_url": self._url("pair", row["pair"]) if row["pair"] else "",
        }

    def fragile(self, changes: Sequence[Told], top: Told | None) -> list[Finding]:
        """Say whether a small change of votes would put another system first."""
        if top is None:
            return []
        worker = next((row["worker"] for row in changes if row["kind"] == "person"), None)
        pair = next((row["pair"] for row in changes if row["kind"] == "item"), None)
        people = {"worker": self.people.get(worker or 0, "")}
        return _fragile(
            changes,
            _("worker %(worker)s") % people if worker else "",
            self._pair(pair) if pair else "",
            Action(_("See what would"), "#change-top"),
            one_judge=self.one_judge,
        )


def _fragile(
    changes: Sequence[Told],
    person: str,
    pair: str,
    action: Action | None = None,
    *,
    one_judge: bool,
) -> list[Finding]:
    if not _is_fragile(changes):
        code = "top_steady_of_one_judge" if one_judge else "top_steady"
        return [MESSAGES.find(code, n=FEW_VOTES)]
    votes = next((row for row in changes if row["kind"] == "votes" and _is_small(row)), None)
    parts = [_votes_of(votes)] if votes else []
    parts += [part for part in (person, pair) if part]
    return [MESSAGES.find("top_fragile", action=action, changes=join_with_or(parts))]


def _votes_of(change: Told) -> str:
    told = {"n": count(change["votes"]), "votes": plural(change["of"], "vote")}
    return _("%(n)s of %(votes)s") % told


def join_with_or(parts: Sequence[str]) -> str:
    """``a, b or c``."""
    if len(parts) < 2:
        return "".join(parts)
    return _("%(listed)s or %(last)s") % {"listed": ", ".join(parts[:-1]), "last": parts[-1]}


def public_findings(told: Told, dimension: str, *, is_open: bool) -> list[Finding]:
    """Say how little would change the first place, without naming workers or pairs.

    ``is_open``: several can be first.
    """
    top, changes = _own(told, "top", dimension), _changes(told, dimension)
    if top is None:
        return _one_judge(told)
    kinds = {row["kind"] for row in changes}
    found = _fragile(
        changes,
        _("one person") if "person" in kinds else "",
        _("one pair") if "item" in kinds else "",
        one_judge=by_one_judge(told),
    )
    return [*_one_judge(told), *(_unless_sure(found) if is_open else found)]


def _unless_sure(findings: Sequence[Finding]) -> list[Finding]:
    """Turn the warning that few votes decide who leads into a note."""
    return [
        replace(one, severity=Severity.NOTE) if one.code == "top_fragile" else one
        for one in findings
    ]


def _split(run: Run, split: Told | None, dimension: str) -> list[Finding]:
    """Say on how many pairs judges are divided."""
    if split is None or not split["pairs"]:
        return []
    page = reverse("pair_list", args=[run.project_id, run.task_id])
    query = urlencode({"dimension": dimension, "run": str(run.number)})
    return [
        MESSAGES.find(
            "split_pairs",
            action=Action(_("Show the hardest pairs"), f"{page}?{query}"),
            n=split["even"],
            pairs=plural(split["pairs"], "pair"),
        )
    ]


def _is_fragile(changes: Sequence[Told]) -> bool:
    return any(row["kind"] != "votes" or _is_small(row) for row in changes)


def _is_small(row: Told) -> bool:
    return bool(row["votes"] <= max(FEW_VOTES, SMALL * row["of"]))


def _best(rows: Sequence[SystemRow]) -> SystemRow | None:
    """Who is first of the largest board at equal length and style."""
    own = [row for row in rows if row.component == 1 and row.controlled is not None]
    return max(own, key=lambda row: row.controlled or 0.0, default=None)


def _votes_needed(rows: Sequence[SystemRow], top: Told | None) -> float:
    """Votes that would separate the first two: without end where they score the same.

    0 where that is not known, or where they are separated.
    """
    if top is None:
        return 0.0
    group = {row.id: row.group for row in rows}
    if group.get(top["system_a"]) != group.get(top["system_b"]):
        return 0.0
    needed = math.inf if top["needed"] is None and top["error"] else top["needed"] or 0.0
    return float(needed) if needed > top["votes"] else 0.0


def _many(needed: float, times: float) -> str:
    """So many votes in words; of too many only that they are."""
    if times > MANY_TIMES:
        return _("more than %(times)s times as many") % {"times": MANY_TIMES}
    return _("about %(n)s") % {"n": count(rounded(needed))}


def rounded(value: float) -> int:
    """Two digits, upwards: it is extrapolated. 0 stays 0."""
    step = 10 ** max(0, int(math.log10(max(1.0, value))) - 1)
    return int(math.ceil(value / step) * step)


def _controlled_for(told: Told, dimension: str) -> list[tuple[str, str]]:
    """List what differs between texts and is taken out of the controlled score."""
    names = [row["name"] for row in _rows_of(told, "style", dimension)]
    own = ", ".join(translate_stored(name) for name in names if name not in {"side", "tie"})
    return [(_("Controlled for"), own)] if own else []


def _style_findings(told: Told, rows: Sequence[SystemRow], dimension: str) -> list[Finding]:
    """Whether longer texts win, or why that is not known."""
    keyed = f"{dimension_key(dimension)}: "
    notes = told.get("diagnostics", {}).get("style_notes") or ()
    own = [translate_stored(one.removeprefix(keyed)) for one in notes if one.startswith(keyed)]
    found = [MESSAGES.find("pair_style_note", text=f"{note[:1].upper()}{note[1:]}") for note in own]
    words = next((r for r in _rows_of(told, "style", dimension) if r["name"] == "words"), None)
    if words is None or _best(rows) is None or words["low"] is None or words["high"] is None:
        return found
    code = "length_unclear"
    if words["low"] > 0:
        code = "length_helps"
    elif words["high"] < 0:
        code = "length_hurts"
    return [MESSAGES.find(code), *found]
