"""Points that a model gave, from 0 to 100: its boards beside those of the task's own method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.core.paginator import Paginator
from django.template.defaultfilters import floatformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from annotation.templatetags.crowdqc import named, plural_noun
from annotation.work.snapshots import judgments
from crowdqc.numbers import count, interval, percent, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.free_text.messages import MESSAGES
from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.rescaling.point_scores import FEWEST, Agreement, author_means, boards_agree
from evaluation.models import AnswerScore, CandidateScore, Run, RunState, SystemScore, WorkerScore
from evaluation.results.boards import PER_PAGE, rank_words
from evaluation.results.cells import bold
from evaluation.results.columns import PLOT, RANK, Column, Format, head_column, interval_column
from evaluation.results.estimates import EstimateRow
from evaluation.results.findings import Action, Finding, arrange
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.selectors import official_run
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.recipes import model_names, recipe_pairs
from evaluation.runs.selectors.verdicts import Verdict, first_place, highest
from evaluation.runs.selectors.words import results_page

METHOD = "judge_points"
SEED = 20417  # of the resamples of an agreement, so that a page says the same twice
OFFERED = 20
AQER_MISSING = gettext_noop("AQER has not run yet; once it has, its board stands beside this one.")
PEOPLE_MISSING = gettext_noop(
    "People’s board has not run yet; once it has, it stands beside this one."
)
Told = Mapping[str, Any]
SPAN, RANKS = ("estimate", "low", "high"), ("rank_low", "rank_high")
# Whose points are ranked -> the table of their scores, and the fields of their names.
BOARDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "system": (SystemScore, ("system__name", "system__prompt_strategy")),
    "worker": (WorkerScore, ("worker__pseudonym",)),
}


@dataclass(frozen=True)
class OnBoard:
    """A worker or system with the ranks that are possible, as ``first_place`` reads them."""

    name: str
    detail: str
    component: int
    best: int | None
    worst: int | None
    told: Told

    @property
    def in_sentence(self) -> str:
        """Return the name with its detail in brackets, for a sentence."""
        return f"{self.name} ({self.detail})" if self.detail else self.name


@dataclass(frozen=True)
class Cell:
    """A score on one of the two boards; ``why`` says what is missing."""

    rank: str
    estimate: float | None
    low: float | None
    high: float | None
    why: str

    def reason(self) -> SafeString:
        """Why there is no interval."""
        return format_html("<small>{}</small>", self.why or gettext("none"))


def _missing_cell() -> Cell:
    return Cell(rank_words(None, None), None, None, None, gettext("not on its board"))


def runs_of(task: Task) -> list[Run]:
    """Return finished runs that scored with points, newest first."""
    rows = Run.objects.filter(task=task, method=METHOD, state=RunState.DONE)
    return list(rows.select_related("snapshot", "task__current").order_by("-id")[:OFFERED])


def name_models(runs: Sequence[Run]) -> list[tuple[Run, str]]:
    """Pair each run with the name of its model."""
    names = model_names(runs)
    return [(run, names.get(run.params.get("model", 0), "a model")) for run in runs]


def points(run: Run, model: str, dimension: str = "", page: Any = 1) -> dict[str, Any]:
    """Return the context of the page of a run; ``dimension`` for tasks with dimensions."""
    told, main = figures_of(run, "asked", "notes", "recipe"), official_run(run.task)
    asked = told["asked"]
    boards = [
        found
        for noun in BOARDS
        if (found := _board(noun, run, model, main, dimension=dimension, page=page)) is not None
    ]
    bins = asked["distribution"]
    # The page of one run.
    return {
        "run": run,
        "model": model,
        "main": main,
        "boards": boards,
        "sentence": _sentence(run, asked),
        "screen": arrange(_findings(run, main, boards, asked, dimension)),
        "notes": [_note(text) for text in told.get("notes", [])],
        "spread": charts.histogram(bins, 0, 100, labels=("0", "100"), what=gettext("Scores"))
        if sum(bins)
        else None,
        "spread_sentence": _spread(asked),
        "spread_table": _counts(
            gettext("Scores by range"),
            (gettext("Points"), gettext("Scores")),
            {
                gettext("%(low)s to %(high)s") % {"low": 10 * k, "high": 10 * k + 10}: n
                for k, n in enumerate(bins)
            },
        ),
        "facts": _facts(asked),
        "reasons": asked["reasons"]
        and _counts(
            gettext("Why calls brought no number"),
            (gettext("Reason"), gettext("Calls")),
            asked["reasons"],
        ),
        "recipe": recipe_pairs(run, told.get("recipe")),
    }


def _counts(title: str, heads: tuple[str, str], counts: Mapping[str, int]) -> ResultTable:
    name, number = heads
    columns = (head_column("name", name), Column.count("n", number, ""))
    rows = [EstimateRow(key, None, n=n) for key, n in counts.items()]
    return plain_table(title, columns, rows, classes="data")


def _note(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _sentence(run: Run, asked: Told) -> str:
    counts = asked["counts"]
    scores_answers = adapter_of(run.task).scores_answers
    given = plural(
        counts["answered"] + counts["defaulted"], "answer" if scores_answers else "score"
    )
    if scores_answers:
        said = (
            gettext(
                "%(given)s scored from 0 to 100; %(defaulted)s defaulted to 50, %(failed)s calls "
                "failed."
            )
            if counts["failed"]
            else gettext("%(given)s scored from 0 to 100; %(defaulted)s defaulted to 50.")
        )
    else:
        said = (
            gettext(
                "%(given)s from 0 to 100; %(defaulted)s defaulted to 50, %(failed)s calls failed."
            )
            if counts["failed"]
            else gettext("%(given)s from 0 to 100; %(defaulted)s defaulted to 50.")
        )
    told = {name: count(counts[name]) for name in ("defaulted", "failed")}
    return said % {"given": given, **told}


def _findings(
    run: Run, main: Run | None, boards: Sequence[Told], asked: Told, dimension: str
) -> list[Finding | None]:
    """Whether the model puts anybody surely above the others of its first board.

    By pairs where the run ranks its board, as the task's own method does; else one by one.
    """
    own = [run.project_id, run.task_id]
    url = reverse("task_ask", args=[*own, METHOD])
    ask = Action(gettext("Ask a model"), url, requester=True)
    if asked["different"] == 1 or not boards:
        code = "points_all_same" if asked["different"] == 1 else "points_of_nobody"
        return [MESSAGES.find(code), MESSAGES.find("ask_another_model", action=ask)]
    verdict = _first(run, boards[0]["noun"], dimension).finding()
    if main is None:
        start = Action(gettext("Start a run"), reverse("run_start", args=own))
        return [verdict, MESSAGES.find("run_own_method", action=start)]
    board = Action(gettext("Open the task’s own board"), results_page(run.task))
    return [verdict, MESSAGES.find("compare_own_board", action=board)]


def _first(run: Run, noun: str, dimension: str) -> Verdict:
    """Who is first of the first board of workers or of systems."""
    model_of, names = BOARDS[noun]
    found = model_of.objects.filter(run=run, dimension=dimension, component__gt=0)
    rows = [
        {**row, "name": row[names[0]], "detail": row[names[-1]] if len(names) > 1 else ""}
        for row in found.order_by("component").values(*names, "component", *RANKS, *SPAN)
    ]
    own = [
        OnBoard(
            row["name"],
            row["detail"],
            row["component"],
            row["rank_low"],
            row["rank_high"],
            row,
        )
        for row in rows
        if row["component"] == rows[0]["component"]
    ]
    if any(row.best is not None for row in own):
        return first_place(own, noun=noun, by=gettext("the model’s points"))
    named = [
        EstimateRow(row.in_sentence, row.told["estimate"], row.told["low"], row.told["high"])
        for row in own
    ]
    return highest(named, gettext("mean points"))


def _spread(asked: Told) -> str:
    """Say what the points' distribution shows: a judge that always says the same judges nothing."""
    different = asked["different"]
    if different == 1:
        return gettext("Every score is the same number: this model tells nothing apart.")
    return gettext("%(different)s different numbers were named.") % {"different": count(different)}


def _facts(asked: Told) -> list[tuple[str, str]]:
    counts = asked["counts"]
    given = counts["answered"] + counts["defaulted"]
    share = counts["defaulted"] / given if given else None
    return [
        (gettext("Asked"), count(counts["asked"])),
        (gettext("Known from before"), count(counts["cached"])),
        (gettext("No number, so 50"), f"{count(counts['defaulted'])}, {percent(share)}"),
        (gettext("Failed"), count(counts["failed"])),
    ]


# Boards ----------------------------------------------------------------------------------------

COLUMNS = ("component", "estimate", "low", "high", "n", "rank_low", "rank_high", "extra")


@dataclass(frozen=True)
class Line:
    """A worker or system by the model's points and, where it has run, by the task's own method."""

    name: str
    detail: str
    judge: Cell
    other: Cell | None
    n: int
    defaulted: int
    plot: SafeString

    @property
    def points(self) -> SafeString:
        """Return the judge's mean, 0 to 100, in bold."""
        return bold(floatformat(self.judge.estimate, 1))

    @property
    def span(self) -> SafeString | str:
        """Return the interval of the judge's mean as low–high, or why there is none."""
        low, high = self.judge.low, self.judge.high
        return self.judge.reason() if low is None else f"{low:.1f}–{high:.1f}"

    @property
    def other_span(self) -> SafeString | str:
        """Return the interval on the other board as low–high, or why there is none."""
        cell = self.other or _missing_cell()
        return cell.reason() if cell.low is None else interval(cell.low, cell.high)


def _columns(
    noun: str, model: str, main: Run | None, *, ranked: bool, answers: bool
) -> list[Column]:
    judge = gettext("Points of %(model)s") % {"model": model} if main else ""
    units = (
        (gettext("Answers"), gettext("answers"))
        if answers
        else (gettext("Topics"), gettext("topics"))
    )
    columns = [
        head_column("name", named(noun).capitalize(), format=Format.NAME),
        *([replace(RANK, key="judge.rank", group=judge)] if ranked else []),
        replace(PLOT, group=judge),
        Column.number("points", gettext("Points"), "", classes="l1r", group=judge),
        replace(interval_column(html=lambda row: row.span), group=judge),
        Column.count("n", units[0], units[1], group=judge),
        Column.count("defaulted", gettext("No number"), group=judge),
    ]
    if main is None:
        return columns
    own = gettext("AQER, run %(number)s") if answers else gettext("People, run %(number)s")
    own %= {"number": main.number}
    rank = gettext("AQER, rank") if answers else gettext("people, rank")
    return [
        *columns,
        replace(RANK, key="other.rank", short=rank, group=own),
        Column.score("other.estimate", gettext("Score"), digits=3, group=own),
        replace(interval_column(html=lambda row: row.other_span), group=own),
    ]


def _board(
    noun: str, run: Run, judge: str, main: Run | None, *, dimension: str, page: Any
) -> dict[str, Any] | None:
    model, names = BOARDS[noun]
    rows = model.objects.filter(run=run, dimension=dimension).order_by("component", "-estimate")
    shown = Paginator(rows.values_list(f"{noun}_id", *names, *COLUMNS), PER_PAGE).get_page(page)
    if not shown.paginator.count:
        return None
    others: dict[int, tuple[Any, ...]] = {}
    if main is not None:
        ids = [row[0] for row in shown]
        beside = model.objects.filter(run=main, dimension=dimension, **{f"{noun}__in": ids})
        others = {row[0]: row[1:] for row in beside.values_list(f"{noun}_id", *COLUMNS)}
    parts = [(row[0], row[1 : 1 + len(names)], row[1 + len(names) :]) for row in shown]
    scale = charts.Scale.around(
        [value for _, _, rest in parts for value in rest[1:4]], width=180.0, count=4
    )
    shown.object_list = [
        _line(named, rest, others.get(pk), main, scale) for pk, named, rest in parts
    ]
    ranked = any(line.judge.rank != rank_words(None, None) for line in shown.object_list)
    title = gettext("%(nouns)s by the points of %(model)s")
    if main is not None:
        title = gettext("%(nouns)s by the points of %(model)s, and on the task’s own board")
    answers = adapter_of(run.task).scores_answers
    # The workers or the systems; ``sentence`` says how far the two judges agree.
    return {
        "noun": noun,
        "lines": shown,
        "table": plain_table(
            title % {"nouns": plural_noun(noun).capitalize(), "model": judge},
            _columns(noun, judge, main, ranked=ranked, answers=answers),
            shown.object_list,
            axis=charts.forest_axis(scale),
            classes="data board two-line",
        ),
        "sentence": _agreement_words(noun, run, main, dimension),
    }


def _line(
    names: Sequence[str],
    rest: Sequence[Any],
    other: Sequence[Any] | None,
    main: Run | None,
    scale: charts.Scale,
) -> Line:
    own, extra = _cell(rest), rest[-1]
    name, detail = names[0], names[1] if len(names) > 1 else ""
    estimate = None if own.estimate is None else Estimate(own.estimate, own.low, own.high)
    beside = None if main is None else _cell(other) if other else _missing_cell()
    plot = charts.forest_cell(scale, estimate, name=name)
    return Line(name, detail, own, beside, rest[4], extra.get("defaulted", 0), plot)


def _cell(values: Sequence[Any]) -> Cell:
    _, estimate, low, high, _, best, worst, extra = values
    return Cell(
        rank_words(best, worst), estimate, low, high, translate_stored(extra.get("no_interval", ""))
    )


# Agreement -------------------------------------------------------------------------------------


def _agreement_words(noun: str, run: Run, main: Run | None, dimension: str) -> str:
    """Say how far the judge agrees with the task's own method."""
    if adapter_of(run.task).scores_answers:
        return _agree(noun, run, main) if main is not None else gettext(AQER_MISSING)
    return _texts_agree(run, main, dimension) if main is not None else gettext(PEOPLE_MISSING)


def _agree(noun: str, run: Run, main: Run) -> str:
    """Say how far the judge and AQER put the workers (or systems) in the same order."""
    author = f"answer__{noun}_id"
    rows = AnswerScore.objects.filter(run=run, **{f"{author}__isnull": False})
    mine = list(
        rows.order_by("answer_id").values_list("answer_id", author, "answer__item_id", "estimate")
    )
    theirs = dict(
        AnswerScore.objects.filter(run=main, estimate__isnull=False).values_list(
            "answer_id", "estimate"
        )
    )
    both = [row for row in mine if row[0] in theirs]
    if not both:
        return (
            gettext("No worker’s answers were scored by both.")
            if noun == "worker"
            else gettext("No system’s answers were scored by both.")
        )
    authors, items = (
        {pk: k for k, pk in enumerate(sorted({row[at] for row in both}))} for at in (1, 2)
    )
    found = boards_agree(
        np.array([authors[row[1]] for row in both]),
        np.array([items[row[2]] for row in both]),
        np.array([row[3] for row in both]),
        np.array([theirs[row[0]] for row in both]),
        rng=np.random.default_rng(SEED),
        authors=len(authors),
        questions=len(items),
    )
    return _agreement(found, noun)


def _agreement(found: Agreement, noun: str) -> str:
    if found.rho is None:
        return gettext("No rank correlation with AQER: %(reason)s.") % {"reason": found.reason}
    told = {"rho": score(found.rho, 2), "authors": plural(found.authors, noun)}
    if found.low is None:
        return gettext(
            "Spearman’s ρ with AQER %(rho)s, over %(authors)s; no interval: %(reason)s."
        ) % {
            **told,
            "reason": found.reason,
        }
    return gettext(
        "Spearman’s ρ with AQER %(rho)s (95%%: %(bounds)s), over %(authors)s with %(fewest)s "
        "answers or more; %(questions)s resampled."
    ) % {
        **told,
        "bounds": interval(found.low, found.high, 2),
        "fewest": FEWEST,
        "questions": plural(found.questions, "question"),
    }


def _texts_agree(run: Run, main: Run, dimension: str) -> str:
    """Mean of Spearman's rho within topics, between points and what people's judgments give."""
    mine, theirs = (
        dict(
            CandidateScore.objects.filter(
                run=one, dimension=dimension, estimate__isnull=False
            ).values_list("candidate_id", "estimate")
        )
        for one in (run, main)
    )
    topics = {row.candidate_id: row.topic for row in judgments.texts(run.task)}
    both = [pk for pk in sorted(mine) if pk in theirs and pk in topics]
    if not both:
        return gettext("No text has both points and a score from people on this dimension.")
    names = sorted({topics[pk] for pk in both})
    group = np.array([names.index(topics[pk]) for pk in both])
    found = spearman(
        [mine[pk] for pk in both], [theirs[pk] for pk in both], group, groups=len(names)
    )
    good = np.flatnonzero(found.defined)
    if not len(good):
        return gettext("No topic has texts that both tell apart.")
    mean = author_means(np.zeros(len(good), dtype=np.int64), good, found.value[good])[0]
    counted = plural(len(good), "topic")
    if len(good) < len(names):
        counted = gettext("%(topics)s; %(n)s undefined") % {
            "topics": counted,
            "n": len(names) - len(good),
        }
    told = {"estimate": score(mean.estimate, 2), "topics": counted}
    if mean.low is None or mean.high is None:
        return gettext(
            "Within topics, points and people’s scores have a mean ρ of %(estimate)s, over "
            "%(topics)s; an interval needs %(fewest)s."
        ) % {**told, "fewest": FEWEST}
    return gettext(
        "Within topics, points and people’s scores have a mean ρ of %(estimate)s (95%%: "
        "%(bounds)s), over %(topics)s."
    ) % {**told, "bounds": interval(max(-1.0, mean.low), min(1.0, mean.high), 2)}
