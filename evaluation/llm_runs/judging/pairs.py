"""Runs in which a language model judges pairs, both ways round (CrowdRAG, sections 3.2.5 and 5.4).

Its votes are stored as imported ones are: canonical, with the way round that was shown, two calls a
replicate. They stand beside people's and never enter what is said of people.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop, ngettext

from annotation.formats.actions.judgments import choices_of
from annotation.formats.actions.system_answers import (
    SystemAnswer,
    answered_items,
    store_system_answers,
)
from annotation.models import Answer, Item, Task
from annotation.task_types import Values
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT, call_of, to_displayed
from crowdqc.numbers import count, plural
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.own import selectors as own
from evaluation.llm.prompting import Rendered
from evaluation.llm_runs import examples
from evaluation.llm_runs.judging.prompts import (
    COMBINED,
    INDIVIDUAL,
    PURPOSES,
    WINNER,
    field_of,
    forms_of,
    name_of,
    pair_prompt,
    refs_of,
    template_of,
)
from evaluation.llm_runs.parts import (
    MODEL,
    NOTHING_NEW,
    PROMPT,
    ask_model,
    asked_items,
    chat_model,
    failures,
    most_tokens,
    prompts_told,
    reasons,
    replicates,
    sampling,
    temperature,
    temperature_label,
)
from evaluation.methods.core.params import Params, choice, flag
from evaluation.models import LanguageModel, Run
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG = "judge_pairs"
PREPARE, ASK, STORE = gettext_noop("Pairs"), gettext_noop("Asking the model"), gettext_noop("Votes")
SIDES = {"A": LEFT, "N": NEUTRAL, "B": RIGHT}
LETTERS = {side: letter for letter, side in SIDES.items()}
ORDERS = (False, True)  # as stored, and the other way round
OPTIONS = Params(
    SLUG,
    (
        MODEL,
        choice(
            "mode",
            COMBINED,
            (COMBINED, INDIVIDUAL),
            label=gettext_noop("Dimensions"),
            words=(gettext_noop("All in one call"), gettext_noop("A call for each")),
            help=gettext_noop(
                "The two are two judges. One call is cheaper; a call for each keeps what is said "
                "of one dimension from colouring the others."
            ),
        ),
        PROMPT,
        *examples.OPTIONS,
        flag("only_judged", False, label=gettext_noop("Only pairs that people have judged")),
        temperature(),
        most_tokens(400, gettext_noop("A letter for each dimension needs few.")),
        replicates(
            gettext_noop("Times each order is asked"),
            gettext_noop(
                "Only the first time counts for agreement; the others show how steady it is."
            ),
        ),
    ),
)
DEFAULTS = OPTIONS.defaults
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class PairRequest:
    """A pair to be judged the one way round, and the names of what each of its calls asks for."""

    item: Item
    flipped: bool
    replicate: int
    parts: tuple[str, ...]  # "" for all dimensions in one call
    examples: tuple[int, ...] = ()  # pairs judged by people that stand in the prompt

    @property
    def call(self) -> int:
        """Number of this call among the judge's calls on the pair."""
        return call_of(self.replicate, flipped=self.flipped)

    def subject(self, part: str) -> str:
        """Return the key under which the model's call on this pair is stored."""
        own = f"pair:{self.item.pk}/{self.call}{f'/{part}' if part else ''}"
        return examples.subject_with(own, "pair", self.examples)


def system_of(task: Task, params: Mapping[str, Any]) -> tuple[str, str]:
    """Name and prompt strategy of the judge; combined and individual are two judges."""
    return name_of_judge(task, chat_model(task, params["model"]), params)


def name_of_judge(task: Task, model: LanguageModel, params: Mapping[str, Any]) -> tuple[str, str]:
    """Return the judge's name as (model, prompt strategy), also for a model no longer in use."""
    mode = params["mode"]
    prompt = refs_of(mode, template_of(task.project_id, mode, params["prompt"]))
    how = f"{temperature_label(params['temperature'])}{examples.label_of(params)}"
    return model.name, f"judge {prompt}, {how}"


def pairs_of(task: Task, *, only_judged: bool, only: Collection[int] | None = None) -> list[Item]:
    """The pairs of the version in force, each once; ``only_judged``: on which people's votes count.

    A designed repeat is the same pair the other way round, and is asked so anyway.
    """
    found: dict[tuple[int | None, int | None], Item] = {}
    for item in asked_items(task, only=only):
        if item.first_id is not None and item.second_id is not None:
            found.setdefault((item.first_id, item.second_id), item)
    if not only_judged:
        return list(found.values())
    rows = Answer.objects.filter(item__task=task, worker__isnull=False, counts=True)
    judged = set(rows.values_list("item__first_id", "item__second_id"))
    return [item for pair, item in found.items() if pair in judged]


def vote_requests(
    task: Task, params: Mapping[str, Any], only: Collection[int] | None = None
) -> list[PairRequest]:
    """List all votes that a judge with these options gives, or those on items of these ids."""
    items = pairs_of(task, only_judged=params["only_judged"], only=only)
    names = [row["name"] for row in _dimensions(task)] if items else []
    parts = ("",) if params["mode"] == COMBINED else tuple(names)
    return [
        PairRequest(item, flipped, number, parts)
        for item in items
        for number in range(params["replicates"])
        for flipped in ORDERS
    ]


def wanted_of(
    task: Task, params: Mapping[str, Any], only: Collection[int] | None = None
) -> tuple[list[PairRequest], int]:
    """Return the votes that the judge has not given yet, and the number it has."""
    there = answered_items(task, system_of(task, params))
    every = vote_requests(task, params, only)
    new = [one for one in every if (one.item.pk, one.call) not in there]
    return new, len(every) - len(new)


def _dimensions(task: Task) -> list[Row]:
    assert task.current is not None  # noqa: S101 (a task with items asked was published)
    found: list[Row] = task.current.settings["dimensions"]
    return found


def _codes_needed(task: Task) -> dict[str, bool]:
    """Return every dimension; none of them may be left open."""
    return {row["name"]: False for row in _dimensions(task)}


def _shown(item: Item) -> examples.Shown:
    """A pair as its examples are drawn: its question and both texts, whichever is first."""
    assert item.first is not None and item.second is not None  # noqa: S101 (pairs have both)
    texts = sorted((item.first.text, item.second.text))
    words = "\n".join((item.question or item.first.query, *texts))
    return examples.Shown(item.pk, words, (item.first_id, item.second_id))


def _with_examples(
    task: Task, params: Mapping[str, Any], wanted: Sequence[PairRequest], *, encode: bool
) -> tuple[list[PairRequest], examples.Examples, dict[int, Item]]:
    """The requests with their examples, what people say of these, and the pairs by id."""
    if not params.get("examples") or not wanted:
        return list(wanted), examples.NONE, {}
    pool = pairs_of(task, only_judged=True)
    asked = {one.item.pk: _shown(one.item) for one in wanted}
    found = examples.choose_examples(
        task,
        params,
        list(asked.values()),
        [_shown(item) for item in pool],
        _codes_needed(task),
        encode=encode,
    )
    made = [replace(one, examples=found.of[one.item.pk]) for one in wanted]
    return made, found, {item.pk: item for item in pool}


def _answer(codes: examples.Codes, part: str, *, flipped: bool) -> str:
    """Write what most people said of a pair as a model is to say it: A is the text on the left."""
    letters = {
        name: LETTERS[to_displayed(code, flipped=flipped)]
        for name, code in codes.items()
        if code is not None
    }
    said = {WINNER: letters[part]} if part else {field_of(k): v for k, v in letters.items()}
    return json.dumps(said)


def plan(task: Task, params: Mapping[str, Any], only: Collection[int] | None = None) -> Plan:
    """Plan a run: its pairs and cost. Raises Invalid and Conflict if something is missing.

    ``only``: about the items of these ids.
    """
    return _plan(task, params, *wanted_of(task, params, only))


def _plan(
    task: Task,
    params: Mapping[str, Any],
    wanted: Sequence[PairRequest],
    there: int,
    *,
    encode: bool = False,
) -> Plan:
    model = chat_model(task, params["model"])
    template = template_of(task.project_id, params["mode"], params["prompt"])
    forms = forms_of(_dimensions(task), params["mode"], template) if wanted else {}
    wanted, shown, pool = _with_examples(task, params, wanted, encode=encode)

    def prompt(one: PairRequest, part: str) -> Rendered:
        # Every second example is turned, and all of them with the pair, so that no side is
        # better for where it stands.
        turned = [(pk, bool(at % 2) != one.flipped) for at, pk in enumerate(one.examples)]
        return examples.with_examples(
            pair_prompt(task, one.item, forms[part], flipped=one.flipped),
            [
                (
                    pair_prompt(task, pool[pk], forms[part], flipped=flipped),
                    _answer(shown.codes[pk], part, flipped=flipped),
                )
                for pk, flipped in turned
            ],
        )

    asks = [
        ModelQuestion(
            one.subject(part),
            prompt(one, part),
            forms[part].schema,
            sampling(params),
            replicate=one.replicate,
        )
        for one in wanted
        for part in one.parts
    ]
    sentence = (
        gettext("%(model)s judges %(pairs)s in both orders, all dimensions in one call.")
        if params["mode"] == COMBINED
        else gettext("%(model)s judges %(pairs)s in both orders, a call a dimension.")
    ) % {"model": model.name, "pairs": plural(len({one.item.pk for one in wanted}), "pair")}
    if shown.pool:
        more = gettext("Each prompt shows up to %(n)s of %(pool)s judged by most people alike.")
        told = {"n": params["examples"], "pool": plural(shown.pool, "pair")}
        sentence = f"{sentence} {more % told}"
    if there:
        more = ngettext("%(n)s vote is there already.", "%(n)s votes are there already.", there)
        sentence = f"{sentence} {more % {'n': count(there)}}"
    return Plan(model, asks, sentence)


def _next_step(run: Run, new: int) -> tuple[str, str, str]:
    if not new:
        return NOTHING_NEW
    said = gettext("The votes show beside people’s once the board is run again.")
    return (
        said,
        reverse("run_start", args=[run.project_id, run.task_id]),
        gettext("Run the board again"),
    )


JUDGE_PAIRS = LLMRunSpec(
    SLUG,
    "1.0",
    gettext_noop("Pairs judged by a language model"),
    plan,
    OPTIONS,
    on_task=lambda task: {
        "prompt": {"choices": own.choices(task.project_id, list(PURPOSES.values()))}
    },
    noun="vote",
    next_step=_next_step,
    whole=lambda task, params: _plan(task, params, vote_requests(task, params), 0),
    answers_items=lambda task: True,
)


@dataclass(frozen=True, eq=False)
class JudgingResult:
    """What a run has been told, before anything is written."""

    system: tuple[str, str]
    given: list[SystemAnswer]
    told: Row


def compute(run: Run, steps: Recorder) -> JudgingResult:
    """Ask the judge, and convert its answers on A and B into votes on the stored pairs."""
    task, params = run.task, run.params
    steps.begin(PREPARE)
    only = run.limits.get("items")
    wanted, there = wanted_of(task, params, None if only is None else frozenset(only))
    asked = _plan(task, params, wanted, there, encode=True)
    steps.set_words(count=asked.sentence)
    steps.begin(ASK, total=len(asked.asks))
    replies = ask_model(run, asked.model, asked.asks, steps)
    steps.begin(STORE)
    parts, given = iter(replies), []  # a reply a part, in the order of the requests
    for one in wanted:
        values = vote_of(one, list(islice(parts, len(one.parts))))
        if values is not None:
            given.append(SystemAnswer(one.item.pk, values, one.call, one.flipped))
    told = {**_summary(task, replies, given, wanted, there), **prompts_told(asked.asks)}
    counts = told["counts"]
    steps.set_words(count=f"{plural(counts['answered'], 'vote')}, {counts['failed']:,} failed")
    return JudgingResult(system_of(task, params), given, told)


def vote_of(one: PairRequest, replies: Sequence[Reply]) -> Values | None:
    """Combine a judge's calls into a vote on the stored pair; None if one of them failed.

    A vote on some dimensions only would keep the others from ever being asked again.
    """
    shown: dict[str, str] = {}
    for part, reply in zip(one.parts, replies, strict=True):
        if reply.value is None:
            return None
        said = {part: reply.value[WINNER]} if part else reply.value
        shown |= {name_of(field): SIDES[letter] for field, letter in said.items()}
    return Values(choices=list(choices_of(shown, flipped=one.flipped)))


def _summary(
    task: Task,
    replies: Sequence[Reply],
    given: Sequence[SystemAnswer],
    wanted: Sequence[PairRequest],
    there: int,
) -> Row:
    """The figure of the run: counts, what failed and why, and how often the orders agree."""
    votes = {
        (row.item, row.replicate): {field: code for field, code, _ in row.values.choices}
        for row in given
    }
    both = [
        (votes[at], votes[at[0], at[1] + 1])
        for at in votes
        if at[1] % 2 == 0 and (at[0], at[1] + 1) in votes
    ]
    return {
        "counts": {
            "asked": len(replies),
            "cached": sum(reply.cached for reply in replies),
            "answered": len(given),
            "failed": len(wanted) - len(given),
            "there": there,
            "failed_calls": sum(reply.value is None for reply in replies),
        },
        "same": [
            {
                "dimension": row["name"],
                "pairs": len(both),
                "same": sum(one[row["name"]] == two[row["name"]] for one, two in both),
            }
            for row in (_dimensions(task) if both else [])
        ],
        "reasons": reasons(replies),
        "failed": failures(replies),
    }


def write(run: Run, done: JudgingResult) -> Outcome:
    """Store the votes of the judge; part of the transaction that closes the run."""
    told = {
        "asked": done.told,
        "recipe": {
            "method": SLUG,
            "version": run.version,
            "params": dict(run.params),
            "system": ", ".join(done.system),
        },
    }
    store_system_answers(by=run.started_by, task=run.task, system=done.system, rows=done.given)
    return Outcome({}, told)


RUNS = RunType(
    JUDGE_PAIRS,
    ("pairs",),
    gettext_noop("pairwise judgments"),
    (PREPARE, ASK, STORE),
    compute,
    write,
    place=lambda run: reverse("pair_judges", args=[run.project_id, run.task_id]),
)
