"""Whom a worker resembles, and in what: each sign with how common it is. Never a verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import scipy
from django.contrib.postgres.aggregates import ArrayAgg
from django.db import connection
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray

from annotation.models import PaymentDetails, Project, WorkerOrigin
from crowdqc.numbers import count, percent, plural
from evaluation.models import Run, RunFigure
from evaluation.runs.official.selectors import official_runs
from evaluation.runs.results import look_alikes

MOST_TOGETHER = 10  # workers on one network, such as a campus, that are still listed as pairs
# The newest of a project, whose answers are compared.
MOST_ASSIGNMENTS, MOST_ANSWERS = 2_000, 10_000
MOST_OF_ITEM = 50  # of these, of one item
LEAST_SHARED = 3  # items that both answered
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
    project: Project, runs: Mapping[int, Run] | None = None
) -> dict[int, list[Likeness]]:
    """By worker, whom they resemble, the rarest kind of evidence first (six queries).

    ``runs``: the official ones of the project's tasks, where they are known.
    """
    if runs is None:
        runs = official_runs(project.tasks.values_list("pk", flat=True))
    of_runs = list(_same_votes(runs))
    named = {pair for pair, *_ in of_runs}
    pairs = [
        *_same_origins(project),
        *_same_references(project),
        *of_runs,
        *(one for one in _same_answers(project) if one[0] not in named),
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
            told = {
                "agreement": percent(row["agreement"]),
                "n": count(int(row["shared"])),
                "expected": percent(row["expected"]),
            }
            text = _("%(agreement)s same answers of %(n)s, %(expected)s expected")
            yield (one, other), "votes", text % told


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
SAME_ANSWERS = """
WITH newest AS MATERIALIZED (
    SELECT a.id FROM annotation_assignment a JOIN annotation_task t ON t.id = a.task_id
    WHERE t.project_id = %(project)s AND a.state = 'submitted' AND a.quiz IS NULL
    ORDER BY a.id DESC LIMIT %(assignments)s),
given AS MATERIALIZED (
    SELECT id, item_id, worker_id FROM annotation_answer
    WHERE assignment_id IN (SELECT id FROM newest) AND stage = 'main'
    ORDER BY id DESC LIMIT %(answers)s),
texts AS (
    SELECT answer_id, sum(length(text)) >= %(written)s AS written, md5(string_agg(
        field || ' ' || lower(btrim(regexp_replace(text, '\\s+', ' ', 'g'))),
        E'\\n' ORDER BY field, index)) AS hash
    FROM annotation_textvalue WHERE answer_id IN (SELECT id FROM given) GROUP BY answer_id),
choices AS (
    SELECT answer_id, md5(string_agg(said, E'\\n' ORDER BY said)) AS hash FROM (
        SELECT answer_id, field || ' ' || code AS said FROM annotation_choicevalue
        WHERE answer_id IN (SELECT id FROM given)
        UNION ALL
        SELECT answer_id, concat_ws(' ', field, target, start, "end") FROM annotation_spanvalue
        WHERE answer_id IN (SELECT id FROM given)) every
    GROUP BY answer_id)
SELECT given.item_id, given.worker_id, coalesce(texts.written, false),
       coalesce(texts.hash, choices.hash)
FROM given LEFT JOIN texts ON texts.answer_id = given.id
LEFT JOIN choices ON choices.answer_id = given.id
WHERE texts.hash IS NOT NULL OR choices.hash IS NOT NULL
ORDER BY given.id DESC
"""
Shares = dict[Workers, list[int]]  # of two workers: the items that both answered, and the same


def _same_answers(project: Project) -> list[Pair]:
    """Pairs of workers who gave the same texts or choices more often than chance explains.

    Texts are held against how often any two of them are the same. Choices are not: two good
    workers agree more than others do. They are held against whom either of the two is most like
    otherwise. Of quality beyond that only runs know (``_same_votes``).
    """
    with connection.cursor() as cursor:
        limits = {"assignments": MOST_ASSIGNMENTS, "answers": MOST_ANSWERS}
        limits["written"] = LEAST_WRITTEN
        cursor.execute(SAME_ANSWERS, {"project": project.pk, **limits})
        rows = cursor.fetchall()
    texts: dict[int, dict[int, str]] = defaultdict(dict)
    choices: dict[int, dict[int, str]] = defaultdict(dict)
    for item, worker, written, said in rows:
        given = (texts if written else choices)[item]
        if len(given) < MOST_OF_ITEM:
            given[worker] = said
    return [*_same_texts(_shares(texts.values())), *same_choices(_shares(choices.values()))]


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


def same_choices(shares: Shares) -> Iterator[Pair]:
    """Yield pairs who agree more than either does with anybody else, and not by chance."""
    best: dict[int, list[tuple[float, int, int, int]]] = defaultdict(list)
    for (one, other), (shared, same) in shares.items():
        if shared >= LEAST_SHARED:
            chance = (same + 1) / (shared + 2)
            best[one].append((chance, same, shared, other))
            best[other].append((chance, same, shared, one))
    nearest = {worker: sorted(own, reverse=True)[:2] for worker, own in best.items()}
    found = []
    for (one, other), (shared, same) in sorted(shares.items()):
        beside = [
            row
            for worker, like in ((one, other), (other, one))
            for row in nearest.get(worker, ())
            if row[3] != like
        ]
        if beside and shared >= LEAST_SHARED:
            found.append(((one, other), shared, same, max(beside)))
    chances = [(shared, same, beside[0]) for _both, shared, same, beside in found]
    rare = _are_rare(chances, len(shares))
    for (both, shared, same, (_chance, alike, of, _who)), is_rare in zip(found, rare, strict=True):
        if is_rare:
            told = {"same": count(same), "shared": count(shared)}
            told |= {"alike": count(alike), "of": count(of)}
            text = _(
                "same answers on %(same)s of %(shared)s items (with anybody else at most %(alike)s "
                "of %(of)s)"
            )
            yield both, "choice", text % told
