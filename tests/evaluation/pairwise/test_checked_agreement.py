"""Agreement once the checks are done, and hard pairs, as pages show them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import krippendorff
import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import (
    Answer,
    Assignment,
    ChoiceValue,
    Item,
    Membership,
    Task,
)
from crowdqc.numbers import percent, score
from evaluation.models import Run, RunFigure
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_checked import (
    check,
    core,
    figure,
    page,
    reliability,
    signed_in,
    words,
)
from tests.support import factories
from tests.support.pages import findings_in, html_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def judged_task(shared_rows: None) -> Task:
    """A study with its core run and their checks."""
    task = pair_corpus.make_judged()
    check(core(task))
    return task


@pytest.fixture
def task(judged_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=judged_task.pk)


@pytest.fixture
def checks(task: Task) -> Run:
    return Run.objects.select_related("source").get(task=task, source__isnull=False)


def core_of(checks: Run) -> Run:
    assert checks.source is not None
    return checks.source


def test_a_corrected_alpha_without_what_it_must_be_read_against_is_not_shown(
    task: Task, checks: Run
) -> None:
    rows = figure(checks, "corrected")
    for row in rows:
        row |= {"corrected": 0.777, "cross_fitted": None, "reason": "a fold has no company"}
    RunFigure.objects.filter(run=checks, name="corrected").update(data=rows)
    text = page(task, "pair_agreement")
    assert ".78" not in text and "A fold has no company" in text
    assert "Nothing can be said of a correction." in text


def test_who_lowers_agreement_most_stands_first_and_is_one_of_those_who_do_not_look(
    task: Task,
) -> None:
    text = page(task, "pair_agreement")
    careless = [
        one.pseudonym
        for one in Membership.objects.filter(project=task.project_id, role="worker").order_by("-pk")
    ][:2]
    lower = text[text.index("Agreement without one worker") :]
    assert min(lower.index(name) for name in careless if name in lower) < 600
    assert " 25 " in lower and " 48 s " in lower  # 20 minutes for 25 pairs


def change_figures(checks: Run, *, low: float | None) -> None:
    """Let everybody lower raw agreement, and the cross-fitted one where ``low`` is above 0."""
    rows = [{**row, "lowers": True} for row in figure(checks, "without")]
    RunFigure.objects.filter(run=checks, name="without").update(data=rows)
    told = {"cross_change": 0.03, "cross_low": low, "cross_high": 0.05, "reason": "too few topics"}
    worst = [{**row, **told} for row in figure(checks, "worst")]
    RunFigure.objects.filter(run=checks, name="worst").update(data=worst)


def advised_votes(task: Task) -> list[str]:
    """The findings that send to the votes of a worker."""
    response = signed_in(task).get(reverse("pair_agreement", args=[task.project_id, task.pk]))
    return [code for code in findings_in(html_of(response)) if code.startswith("read_votes")]


def test_a_worker_without_whom_the_cross_fit_figure_may_be_the_same_is_not_named(
    task: Task, checks: Run
) -> None:
    """A layperson found a worker named as one to look at whose figure was 0."""
    make_official(core_of(checks))
    change_figures(checks, low=-0.01)
    text = page(task, "pair_agreement")
    assert not advised_votes(task)
    assert "the raw figure rises by more than chance. The cross-fit figure is not shown" in text
    change_figures(checks, low=None)
    unknown = page(task, "pair_agreement")
    assert "Whether a single worker lowers agreement is not known: too few topics." in unknown
    assert "No single worker" not in unknown and not advised_votes(task)


def test_agreement_without_a_worker_starts_from_the_cross_fit_figure_of_the_page(
    task: Task, checks: Run
) -> None:
    make_official(core_of(checks))
    change_figures(checks, low=0.01)
    start = next(row for row in figure(checks, "corrected") if not row["dimension"])["cross_fitted"]
    text = page(task, "pair_agreement")
    raw = next(row for row in figure(checks, "corrected") if not row["dimension"])["uncorrected"]
    assert f"Read the raw figure: {score(raw, 2)}." in text  # the other has no interval
    assert f"{score(start + 0.03, 3)} + .030 .010–.050" in text


def test_whoever_chose_one_side_every_time_is_named_with_that_reason(
    task: Task, checks: Run
) -> None:
    make_official(core_of(checks))
    change_figures(checks, low=0.01)
    assert advised_votes(task) == ["read_votes_left"]


# Hard pairs ------------------------------------------------------------------------------------


def sent(task: Task, experts: list[Membership], pairs: int = 6, key: str = "") -> Any:
    return signed_in(task).post(
        reverse("pair_panel", args=[task.project_id, task.pk]),
        {
            "pairs": pairs,
            "title": "Hard ones",
            "panel_name": "Tea masters",
            "key": key,
            "workers": "\n".join(one.pseudonym for one in experts),
        },
    )


def test_the_hardest_pairs_go_to_a_panel_whose_alpha_then_stands_beside_the_crowds(
    task: Task, checks: Run
) -> None:
    told = [row for row in figure(checks, "pair") if not row["differentiable"]]
    assert f"Minimally differentiable pairs {len(told)} of {task.items.count()}" in page(
        task, "pair_agreement"
    )
    experts = [factories.make_worker(task.project) for _ in range(3)]
    there = {sent(task, experts, key=str(UUID(int=7)))["Location"] for _ in "12"}  # two clicks
    assert len(there) == 1
    panel = Task.objects.get(source=task)
    assert panel.panel is not None and panel.panel.name == "Tea masters"
    hardest = sorted(told, key=lambda row: (row["agreeing"], -row["n"], row["pair"]))[:6]
    assert {(i.first_id, i.second_id) for i in panel.items.all()} == {
        (i.first_id, i.second_id)
        for i in Item.objects.filter(pk__in=[row["pair"] for row in hardest])
    }
    tasks.publish(by=task.project.owner, task=panel)
    panel.refresh_from_db()
    assert "6 pairs; nobody has judged yet" in page(task, "pair_agreement")
    pair_corpus.make_judged(workers=3, task=panel)
    make_official(core(panel))
    text = page(task, "pair_agreement")
    both = [
        krippendorff.alpha(reliability(one, "overall")[:, cols], level_of_measurement="ordinal")
        for one, cols in ((task, _columns(task, panel)), (panel, slice(None)))
    ]
    line = text[text.index("Overall", text.index("Crowd (C), 6")) :]
    assert line.split()[6:8] == [score(value, 2) for value in both]
    given = [reliability(task, "overall")[:, _columns(task, panel)], reliability(panel, "overall")]
    shares = [float(np.mean(one[np.isfinite(one)] == 0)) for one in given]
    assert line.split()[8:10] == [percent(value) for value in shares]


def _columns(task: Task, panel: Task) -> list[int]:
    """Places of the panel's pairs among the items of the task."""
    wanted = {(i.first_id, i.second_id) for i in panel.items.all()}
    items = task.items.order_by("pk")
    return [k for k, i in enumerate(items) if (i.first_id, i.second_id) in wanted]


def test_a_pilot_that_rates_the_same_texts_stands_beside_with_its_own_alpha(task: Task) -> None:
    scale = {
        "name": "overall",
        "label": "Overall",
        "question": "How good?",
        "points": [{"value": k, "label": f"point {k}"} for k in (1, 2, 3)],
    }
    pilot = tasks.create_task(
        by=task.project.owner, project=task.project, type="rating", title="One at a time"
    )
    tasks.edit_draft(
        by=task.project.owner, task=pilot, fields={"redundancy": 4, "settings": {"scales": [scale]}}
    )
    group = tasks.save_group(by=task.project.owner, task=pilot, key="all", title="Tea", passage="")
    texts = {item.first_id: item.first for item in task.items.select_related("first")}
    for pk, text in texts.items():
        Item.objects.create(
            task=pilot,
            group=group,
            key=f"r-{pk}",
            position=pk,
            question="How good?",
            since=1,
            first=text,
        )
    tasks.publish(by=task.project.owner, task=pilot)
    pilot.refresh_from_db()
    rng = np.random.default_rng(5)
    for _ in range(4):
        rate(pilot, factories.make_worker(task.project), rng)
    alpha = krippendorff.alpha(reliability(pilot, "overall"), level_of_measurement="ordinal")
    text = page(task, "pair_agreement")
    hard = text[text.index("Pointwise pilot") :]
    assert hard[hard.index("Overall") :].split()[6] == score(alpha, 2)
    assert hard[hard.index("Clarity") :].split()[6:8] == ["not", "asked"]


def rate(pilot: Task, worker: Membership, rng: np.random.Generator) -> None:
    """Somebody rates every text, the ones of better merit mostly higher."""
    now = timezone.now()
    assignment = Assignment.objects.create(
        task=pilot,
        version=pilot.current,
        worker=worker,
        state="submitted",
        pay="0.00",
        leased_at=now,
        opened_at=now,
        expires_at=now,
        submitted_at=now,
    )
    for item in pilot.items.select_related("first"):
        answer = Answer.objects.create(
            version=pilot.current, item=item, assignment=assignment, worker=worker, answered_at=now
        )
        value = int(np.clip(round(2 + pair_corpus.merit(item.first) + rng.normal(0, 0.7)), 1, 3))
        ChoiceValue.objects.create(answer=answer, field="overall", code=str(value), ordinal=value)


def test_a_panel_of_somebody_unknown_is_refused_beside_the_field(task: Task) -> None:
    response = signed_in(task).post(
        reverse("pair_panel", args=[task.project_id, task.pk]),
        {"pairs": 3, "title": "Hard", "panel_name": "Experts", "workers": "nobody-at-all"},
    )
    assert response.status_code == 422
    assert "Nobody here is called nobody-at-all." in words(response)
    assert not Task.objects.filter(source=task).exists()
