"""What a result page says first: one catalogue a package, one order, and no contradictions."""

from __future__ import annotations

import importlib
import itertools
import random
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.utils.functional import Promise

from annotation.models import Task
from evaluation.methods.core.inference import Claim
from evaluation.results.findings import (
    Catalogue,
    Finding,
    Message,
    Severity,
    UnsureClaimError,
    arrange,
    contradict,
)
from evaluation.runs import next_actions
from evaluation.runs.schedules import NewAnswers
from evaluation.runs.study_state import Collection, Slots, StudyState

PACKAGES = (
    *("checklists", "free_text", "labels", "live", "pairwise", "people", "replacement"),
    *("rescaling", "runs", "traces", "turns", "writing"),
)
OUTSTANDING = {"open_answers", "paused_answers", "closed_answers", "too_few_workers"}


def catalogues() -> dict[str, Catalogue]:
    return {
        name: importlib.import_module(f"evaluation.{name}.messages").MESSAGES for name in PACKAGES
    }


def messages() -> list[tuple[str, Message]]:
    return [pair for one in catalogues().values() for pair in one.messages.items()]


def test_a_code_stands_in_one_catalogue_and_excludes_codes_that_exist() -> None:
    codes = [code for code, _ in messages()]
    assert len(codes) == len(set(codes))
    named = {other for _, message in messages() for other in message.excludes}
    assert named <= set(codes)


def test_every_message_is_one_translatable_sentence() -> None:
    """The catalogue holds lazy texts; text that a method wrote is passed through as it stands."""
    for code, message in messages():
        for text in (message.text, message.detail):
            assert isinstance(text, Promise) or text in ("", "%(text)s", "%(dimensions)s."), code
            assert str(text).count(". ") <= 1, code


SURE = Catalogue({"first": Message("%(name)s is first.", Severity.VERDICT, needs_sure=True)})


@pytest.mark.parametrize(
    ("claim", "renders"),
    [
        (Claim("score", 1.0, 0.2, 1.8), True),
        (Claim("score", 1.0, 0.0, 2.0), False),  # the bound touches the null
        (Claim("score", 1.0, 0.2, 1.8, compared_with=3), False),  # not simultaneous
        (Claim("score", 1.0, 0.2, 1.8, compared_with=3, simultaneous_over=3), True),
        (Claim("score", 1.0, 0.2, 1.8, reason="3 workers; an interval needs 5"), False),
        (Claim("score", 1.0, float("nan"), float("nan")), False),
        (None, False),
    ],
)
def test_a_message_that_says_surely_needs_a_sure_claim(claim: Claim | None, renders: bool) -> None:
    if renders:
        assert SURE.find("first", claim=claim, name="aurora").text == "aurora is first."
    else:
        with pytest.raises(UnsureClaimError):
            SURE.find("first", claim=claim, name="aurora")


def test_the_page_shows_a_verdict_an_action_and_three_warnings_and_folds_the_rest() -> None:
    found = [Finding(f"w{n}", Severity.WARNING, f"{n}") for n in range(5)]
    found += [Finding("a", Severity.ACTION, "a"), Finding("note", Severity.NOTE, "n")]
    found += [Finding("v", Severity.VERDICT, "v"), Finding("a2", Severity.ACTION, "a2")]
    found.append(Finding("v2", Severity.VERDICT, "v2"))
    screen = arrange([None, *found])
    assert [one.code for one in screen.findings] == [
        *("v", "a", "w0", "w1", "w2", "v2", "a2", "w3", "w4", "note")
    ]
    assert len(screen.warnings) == 3


def test_of_two_findings_that_contradict_the_more_important_one_stays() -> None:
    steady = Finding("steady", Severity.NOTE, "s", excludes=("fragile",))
    fragile = Finding("fragile", Severity.WARNING, "f")
    assert [one.code for one in arrange([steady, fragile]).findings] == ["fragile"]


def random_state(draw: random.Random) -> StudyState:
    """Any study: every state of a task, with any slots, people, work and runs."""
    wanted = draw.choice([0, 5, 60])
    given = draw.randint(0, wanted)
    working = draw.randint(0, wanted - given)
    field = {"name": "label", "label": "Label", "kind": "choose_one", "options": []}
    version = SimpleNamespace(settings={"fields": [field]}, number=1)
    task = SimpleNamespace(
        pk=1,
        project_id=1,
        type="labels",
        current=version,
        project=SimpleNamespace(currency="EUR"),
        trace_sources=SimpleNamespace(all=tuple),
        version_or_draft=lambda: version,
    )
    run = SimpleNamespace(project_id=1, task_id=1, number=3, method="labels", snapshot=None)
    state = StudyState(
        task=cast("Task", task),
        collection=draw.choice(list(Collection)),
        slots=Slots(
            wanted=wanted,
            planned=wanted,
            given=given,
            free=wanted - given - working,
            working=working,
            assignments=min(working, 2),
            items=min(wanted, 12),
        ),
        redundancy=draw.choice([1, 5]),
        review_count=draw.choice([0, 1, 4]),
        review_pay=Decimal("1.50"),
        run=cast("Any", draw.choice([None, run])),
        active_run=cast("Any", draw.choice([None, SimpleNamespace(number=4)])),
        new_answers=draw.choice([None, NewAnswers(0, 0), NewAnswers(3, 0)]),
    )
    price = SimpleNamespace(pay=Decimal(1), terms=lambda n: f"€{n}")
    state.__dict__.update(price=price, able_workers=draw.choice([0, 1, 3, 12]))
    return state


# Code -> what must hold of the study for it to be said.
HOLDS = {
    "run_in_progress": lambda state: state.active_run is not None,
    "answers_since_run": lambda state: state.new_answers.any > 0,
    "open_answers": lambda state: state.slots.pending > 0 and state.collection == "open",
    "paused_answers": lambda state: state.slots.pending > 0 and state.collection == "paused",
    "closed_answers": lambda state: state.slots.pending > 0 and state.collection == "closed",
    "too_few_workers": lambda state: state.able_workers < state.redundancy,
    "plan_answers": lambda state: not state.slots.pending and state.slots.wanted > 0,
    "review_work": lambda state: state.review_count > 0,
}


def test_no_action_contradicts_the_study_in_4000_random_states() -> None:
    draw, seen = random.Random(36), set()
    for _ in range(4000):
        state = random_state(draw)
        settled = draw.random() < 0.5
        found = next_actions.choose_action(state, settled=settled)
        every = [next_actions.collect_action(state), next_actions.review_action(state), found]
        screen = arrange([found, *every])
        for one in screen.findings:
            seen.add(one.code)
            assert HOLDS[one.code](state), (one.code, state)
            if state.collection == Collection.UPLOADED:
                assert one.code not in OUTSTANDING | {"plan_answers", "review_work"}
        for one, other in itertools.combinations(screen.findings, 2):
            assert not contradict(one, other)
        if settled and found is not None:
            assert found.code not in OUTSTANDING | {"plan_answers"}
    assert seen == set(HOLDS)
