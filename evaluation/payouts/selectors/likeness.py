"""Whom a worker resembles, and in what: each sign with how common it is. Never a verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import scipy
from django.contrib.postgres.aggregates import ArrayAgg
from django.db import connection
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray

from annotation.models import PaymentDetails, Project, WorkerOrigin
from annotation.task_types.labels.fields import UNSURE
from annotation.task_types.pairwise.sides import FIRST, SECOND
from crowdqc.numbers import count, p_value, percent, plural
from evaluation.methods.core.base import IntArray
from evaluation.methods.workers import copies
from evaluation.methods.workers.pair_fit import shared_pairs
from evaluation.models import Run, RunFigure
from evaluation.runs.official.selectors import official_runs
from evaluation.runs.results import look_alikes

MOST_TOGETHER = 10  # workers on one network, such as a campus, that are still listed as pairs
# The newest of a project, whose answers are compared.
MOST_ASSIGNMENTS, MOST_ANSWERS = 2_000, 10_000
MOST_OF_ITEM = 50  # of these, of one item
LEAST_SHARED = 3  # items that both answered with texts
MOST_CODES = 40  # different choices of a project that are told apart where chance is counted
LEAST_ITEMS = 10  # with one answer to all of them
LEAST_WRITTEN = 40  # characters of an answer that nobody writes twice by chance
FAMILY_ERROR = 0.05  # pairs of a whole project that may be named by chance
NETWORK = "network"  # the one kind that asks nobody to look: homes and offices share one
Workers = tuple[int, int]


@dataclass(frozen=True)
class Likeness:
    """Another worker whom one resembles, in what, and how common that is."""

    worker: int
    name: str
    kind: str  # device, network, reference, votes, text or choice
    evidence: str

    @property
    def look(self) -> bool:
        """Whether it asks to look at the work before it is paid."""
        return self.kind != NETWORK


Pair = tuple[Workers, str, str]  # two workers, the kind, and the evidence


def likenesses(
    project: Project,
    runs: Mapping[int, Run] | None = None,
    answers: Iterable[GivenAnswer] | None = None,
) -> dict[int, list[Likeness]]:
    """By worker, whom they resemble, the rarest kind of evidence first (six queries).

    ``runs``: the official ones of the project's tasks; ``answers``: its ``newest_answers``.
    """
    answers = newest_answers(project) if answers is None else answers
    if runs is None:
        runs = official_runs(project.tasks.values_list("pk", flat=True))
    of_runs = list(_same_votes(runs))
    named = {pair for pair, *_ in of_runs}
    pairs = [
        *_same_origins(project),
        *_same_references(project),
        *of_runs,
        *(one for one in _same_answers(answers) if one[0] not in named),
    ]
    people = {worker for both, *_ in pairs for worker in both}
    rows = project.memberships.filter(role="worker", pk__in=people)
    names = dict(rows.values_list("pk", "pseudonym")) if people else {}
    found: dict[int, list[Likeness]] = {}
    for both, kind, evidence in pairs:
        for worker, like in (both, both[::-1]):
            if worker in names and like in names:
                one = Likeness(like, names[like], kind, evidence)
                found.setdefault(worker, []).append(one)
    return {worker: sorted(own, key=_by_person(own)) for worker, own in found.items()}


def _by_person(own: Collection[Likeness]) -> Callable[[Likeness], int]:
    """Keep what is said of one person together, in the order of the first thing said of each."""
    first: dict[int, int] = {}
    for at, one in enumerate(own):
        first.setdefault(one.worker, at)
    return lambda one: first[one.worker]


def _same_votes(runs: Mapping[int, Run]) -> Iterator[Pair]:
    """Pairs whom official runs name: they agree beyond what their quality explains."""
    figures = RunFigure.objects.filter(
        run__in=[run.pk for run in runs.values()], name=look_alikes.FIGURE
    )
    for data in figures.order_by("run_id").values_list("data", flat=True):
        for row in data["rows"]:
            one, other = sorted(row["workers"])
            yield (one, other), "votes", _agreement(row)


def _agreement(row: Mapping[str, Any]) -> str:
    figures = {
        "agreement": percent(row["agreement"]),
        "n": count(int(row["shared"])),
        "expected": percent(row["expected"]),
    }
    return _("%(agreement)s same answers of %(n)s, %(expected)s expected") % figures


def _same_references(project: Project) -> Iterator[Pair]:
    """Pairs of workers who are to be paid at the same place, by keyed hashes."""
    rows = (
        PaymentDetails.objects.filter(worker__project=project, reference_hash__isnull=False)
        .order_by()
        .values_list("reference_hash")
        .annotate(workers=ArrayAgg("worker_id", order_by="worker_id"))
        .filter(workers__len__gt=1)
    )
    for _hash, own in rows:
        for other in own[1:]:
            yield (own[0], other), "reference", _("same payment reference")


def _same_origins(project: Project) -> list[Pair]:
    """Pairs of workers in one browser or network, with how many of all pairs share one.

    A browser or network of more than MOST_TOGETHER workers says nothing about two of them.
    """
    known = dict(
        WorkerOrigin.objects.filter(worker__project=project)
        .order_by()
        .values_list("kind")
        .annotate(n=Count("worker", distinct=True))
    )
    rows = (
        WorkerOrigin.objects.filter(worker__project=project)
        .order_by()
        .values_list("kind", "digest")
        .annotate(workers=ArrayAgg("worker_id", order_by="worker_id"))
        .filter(workers__len__gt=1)
    )
    together: dict[str, set[Workers]] = {}
    listed: dict[str, set[Workers]] = {}
    for kind, _digest, workers in rows:
        pairs = set(combinations(workers, 2))
        together.setdefault(kind, set()).update(pairs)
        if len(workers) <= MOST_TOGETHER:
            listed.setdefault(kind, set()).update(pairs)
    words = {
        WorkerOrigin.Kind.DEVICE: gettext_lazy("same browser (%(shared)s of %(pairs)s of workers)"),
        WorkerOrigin.Kind.NETWORK: gettext_lazy(
            "same network (%(shared)s of %(pairs)s of workers)"
        ),
    }
    rates = {
        kind: {"shared": count(len(found)), "pairs": plural(comb(known[kind], 2), "pair")}
        for kind, found in together.items()
    }
    return [
        (both, str(kind), words[kind] % rates[kind])
        for kind in words
        for both in sorted(listed.get(kind, ()))
    ]


# Two answers are the same where all their texts are, apart from case and spaces; where nothing was
# written, where all their choices and marked stretches are. Short texts are taken as choices.
# ``shown`` is all of an answer as its worker saw it: left and right, where sides were swapped.
NEWEST_ANSWERS = """
WITH newest AS MATERIALIZED (
    SELECT a.id FROM annotation_assignment a JOIN annotation_task t ON t.id = a.task_id
    WHERE t.project_id = %(project)s AND a.state = 'submitted' AND a.quiz IS NULL
    ORDER BY a.id DESC LIMIT %(assignments)s),
given AS MATERIALIZED (
    SELECT id, item_id, worker_id, flipped FROM annotation_answer
    WHERE assignment_id IN (SELECT id FROM newest) AND stage = 'main'
    ORDER BY id DESC LIMIT %(answers)s),
texts AS (
    SELECT answer_id, sum(length(text)) >= %(written)s AS written, md5(string_agg(
        field || ' ' || lower(btrim(regexp_replace(text, '\\s+', ' ', 'g'))),
        E'\\n' ORDER BY field, index)) AS hash
    FROM annotation_textvalue WHERE answer_id IN (SELECT id FROM given) GROUP BY answer_id),
choices AS (
    SELECT answer_id, md5(string_agg(said, E'\\n' ORDER BY said)) AS hash,
           md5(string_agg(shown, E'\\n' ORDER BY shown)) AS shown, bool_or(declined) AS declined
    FROM (
        SELECT c.answer_id, c.field || ' ' || c.code AS said,
               c.field || ' ' || CASE WHEN g.flipped AND c.code = %(first)s THEN %(second)s
               WHEN g.flipped AND c.code = %(second)s THEN %(first)s ELSE c.code END AS shown,
               c.field = 'declined' OR c.code = %(unsure)s AS declined
        FROM annotation_choicevalue c JOIN given g ON g.id = c.answer_id
        UNION ALL
        SELECT answer_id, concat_ws(' ', field, target, start, "end"),
               concat_ws(' ', field, target, start, "end"), false
        FROM annotation_spanvalue WHERE answer_id IN (SELECT id FROM given)) every
    GROUP BY answer_id)
SELECT item.task_id, given.item_id, given.worker_id, coalesce(texts.written, false),
       coalesce(texts.hash, choices.hash), concat_ws(' ', texts.hash, choices.shown),
       coalesce(choices.declined, false)
FROM given JOIN annotation_item item ON item.id = given.item_id
LEFT JOIN texts ON texts.answer_id = given.id
LEFT JOIN choices ON choices.answer_id = given.id
WHERE texts.hash IS NOT NULL OR choices.hash IS NOT NULL
ORDER BY given.id DESC
"""
Items = Mapping[int, Mapping[int, str]]  # item -> worker -> a hash of the answer
Shares = dict[Workers, list[int]]  # of two workers: the items that both answered, and the same


class GivenAnswer(NamedTuple):
    """An answer as it is compared with others."""

    task: int
    item: int
    worker: int
    is_written: bool
    content: str  # a hash
    shown: str  # a hash of it as the worker saw it
    declined: bool


def newest_answers(project: Project) -> list[GivenAnswer]:
    """Return the answers of the project's newest assignments, the newest first; one query."""
    limits = {"assignments": MOST_ASSIGNMENTS, "answers": MOST_ANSWERS, "written": LEAST_WRITTEN}
    codes = {"first": FIRST, "second": SECOND, "unsure": UNSURE}
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_ANSWERS, {"project": project.pk, **limits, **codes})
        return [GivenAnswer(*row) for row in cursor.fetchall()]


def _same_answers(answers: Iterable[GivenAnswer]) -> list[Pair]:
    """Pairs of workers who gave the same texts or choices more often than chance explains.

    Texts are held against how often any two of them are the same. Choices are not: two good
    workers agree more than others do. They are held against what their quality explains.
    """
    texts: dict[int, dict[int, str]] = defaultdict(dict)
    choices: dict[int, dict[int, str]] = defaultdict(dict)
    for one in answers:
        given = (texts if one.is_written else choices)[one.item]
        if len(given) < MOST_OF_ITEM:
            given[one.worker] = one.content
    return [*_same_texts(_shares(texts.values())), *_same_choices(choices)]


def _shares(items: Iterable[Mapping[int, str]]) -> Shares:
    shares: Shares = defaultdict(lambda: [0, 0])
    for given in items:
        for both in combinations(sorted(given), 2):
            own = shares[both]
            own[0] += 1
            own[1] += given[both[0]] == given[both[1]]
    return shares


def _are_rare(counts: Sequence[tuple[int, int, float]], pairs: int) -> NDArray[np.bool_]:
    """Whether fewer than FAMILY_ERROR of so many pairs would share as much by chance.

    ``counts``: of each pair the items shared, the same ones, and the chance of one.
    """
    shared, same, chance = np.array(counts, dtype=float).reshape(-1, 3).T
    tail = scipy.stats.binom.sf(same - 1, shared, chance)
    return np.asarray(tail * pairs < FAMILY_ERROR)


def _same_texts(shares: Shares) -> Iterator[Pair]:
    all_shared, all_same = (sum(own[at] for own in shares.values()) for at in (0, 1))
    found = [
        (both, shared, same, all_shared - shared, all_same - same)
        for both, (shared, same) in sorted(shares.items())
        # Less than half: phrases that a crowd shares, and no second account.
        if shared >= LEAST_SHARED and 2 * same >= shared
    ]
    chances = [
        (shared, same, (alike + 1) / (others + 2)) for _both, shared, same, others, alike in found
    ]
    rare = _are_rare(chances, len(shares))
    for (both, shared, same, others, alike), is_rare in zip(found, rare, strict=True):
        if is_rare:
            told = {"same": count(same), "shared": count(shared)}
            told |= {"alike": count(alike), "others": plural(others, "pair")}
            text = _(
                "same texts on %(same)s of %(shared)s items (of other workers %(alike)s of "
                "%(others)s)"
            )
            yield both, "text", text % told


def _same_choices(items: Items) -> Iterator[Pair]:
    """Yield pairs who agree more than their quality explains, held against the others."""
    rows = [(worker, item, said) for item, given in items.items() for worker, said in given.items()]
    if not rows:
        return
    people, worker = np.unique([row[0] for row in rows], return_inverse=True)
    item = np.unique([row[1] for row in rows], return_inverse=True)[1]
    code = np.unique([row[2] for row in rows], return_inverse=True)[1]
    by_item = partial(shared_pairs, worker, item, workers=len(people), least=copies.LEAST_SHARED)
    pairs = replace(by_item(_within(item, code)), chance=by_item(_few_codes(code)).chance)
    for row in copies.alike_pairs(pairs, len(people)).pair.rows():
        both = sorted(int(people[row[name]]) for name in ("worker_a", "worker_b"))
        yield (both[0], both[1]), "choice", _agreement(row)


def _within(item: IntArray, code: IntArray) -> IntArray:
    """Number the codes of each item from 0, which keeps apart what differs on one item."""
    found, place = np.unique(np.stack([item, code]), axis=1, return_inverse=True)
    first = np.searchsorted(found[0], found[0])
    own: IntArray = (np.arange(found.shape[1]) - first)[place.ravel()]
    return own


def _few_codes(code: IntArray) -> IntArray:
    """Keep the most frequent codes apart, and spread the rare ones over as many."""
    order = np.argsort(-np.bincount(code), kind="stable")
    rank = np.argsort(order, kind="stable")[code]
    own: IntArray = np.where(rank < MOST_CODES, rank, MOST_CODES + rank % MOST_CODES)
    return own


# Always one answer -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SameOption:
    """One answer that a worker gave to all items of a task, and how common it is with others."""

    items: int
    share: float  # of what others answered to these items
    chance: float  # of giving it to all of them with that share

    def __str__(self) -> str:
        values = {"items": plural(self.items, "item"), "share": percent(self.share)}
        text = _("same answer to all %(items)s; others gave it in %(share)s, by chance %(chance)s")
        return text % {**values, "chance": p_value(self.chance)}


def same_options(answers: Iterable[GivenAnswer]) -> dict[tuple[int, int], SameOption]:
    """By task and worker, who always gives one answer where others rarely do.

    Answers that say "I don't know" are none. Nobody is compared with fewer answers of others than
    there are items, so that whoever is the first is not flagged.
    """
    tasks: dict[int, dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for one in answers:
        if not one.declined:
            tasks[one.task][one.item].setdefault(one.worker, one.shown)
    found = {}
    for task, items in tasks.items():
        own: dict[int, list[int]] = defaultdict(list)
        said: dict[int, set[str]] = defaultdict(set)
        for item, given in items.items():
            for worker, answer in given.items():
                own[worker].append(item)
                said[worker].add(answer)
        for worker, mine in own.items():
            if len(said[worker]) > 1 or len(mine) < LEAST_ITEMS:
                continue
            others = [
                answer in said[worker]
                for item in mine
                for other, answer in items[item].items()
                if other != worker
            ]
            share = (sum(others) + 1) / (len(others) + 2)
            chance = share ** len(mine)
            if len(others) >= len(mine) and chance * len(own) < FAMILY_ERROR:
                found[task, worker] = SameOption(len(mine), sum(others) / len(others), chance)
    return found
