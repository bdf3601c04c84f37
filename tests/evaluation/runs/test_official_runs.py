"""A task's official run is what everything reads; a trial changes nothing but its own pages."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.forms import ChoiceField
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.models import AuditEntry, Membership, Notice, PayoutBatch, Task, User
from annotation.payouts.actions.bonus_rule import set_rule
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.bundles import makers as export_makers
from evaluation.checklists.filled import text_scores
from evaluation.models import OfficialRun, Run, RunState, WatchNote
from evaluation.pairwise.selectors import runs as pair_runs
from evaluation.panels import choosing as panels
from evaluation.panels import watch as panel_watch
from evaluation.panels.rules import RuleRequest
from evaluation.payouts.selectors.evidence import task_evidence
from evaluation.runs import engine as runs
from evaluation.runs import recipe, schedules
from evaluation.runs.official import actions as official
from evaluation.runs.official.selectors import official_run
from evaluation.runs.official.standing import run_standing
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import pair_study
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import QUICK, finish, use_recipe
from tests.support import factories
from tests.support.kept import kept

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("word_vectors")]
# Another encoder and another similarity: the scores are on another scale and in another order.
TRIAL = {**QUICK, "encoder": "minilm", "similarity": "neg_euclidean"}
STEPS = [{"at": 0.5, "bonus": "1.00"}, {"at": 0.1, "bonus": "0.40"}]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()


@pytest.fixture
@kept
def task() -> Task:
    """Eleven workers' answers that wait for their pay, two systems, and a quick default recipe."""
    made = factories.make_task(
        None,
        len(corpus.QUESTIONS),
        title="Gull Rock",
        passage=corpus.PASSAGE,
        questions=list(corpus.QUESTIONS),
        redundancy=15,
        items_per_assignment=8,
    )
    for name, given in corpus.people():
        worker = factories.make_worker(made.project)
        Membership.objects.filter(pk=worker.pk).update(external_id=name)
        factories.claim_and_submit(made, worker, given)
    good, wrong = corpus.answers([corpus.GOOD], turn=2), corpus.answers([corpus.WRONG])
    factories.make_system_answers(made, {("Tern-2", "plain"): good, ("Auk-1", "plain"): wrong})
    use_recipe(made, **QUICK)
    return made


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def body(client: Client, name: str, *args: object, query: str = "") -> str:
    answer = client.get(reverse(name, args=args) + query)
    assert answer.status_code == 200, (name, answer.status_code)
    text = answer.content.decode()
    text = text[text.index("<main") : text.index("</main>")]
    for changing in (
        r'name="csrfmiddlewaretoken" value="[^"]*"',
        r'name="key" value="[^"]*"',
        r"\b\d+\ss ago\b",
        r"\bnow\b",
        r"nonce-\w+",
    ):
        text = re.sub(changing, "", text)
    return text


def worker_of(task: Task, name: str) -> Membership:
    return Membership.objects.get(project=task.project, external_id=name)


def propose(task: Task, *names: str) -> PayoutBatch:
    """The work of these people proposed as the browser does it, with the rule's bonus."""
    client = client_of(task.project.owner)
    work = [str(worker_of(task, name).assignments.get().pk) for name in names]
    page = client.get(
        reverse("payout_new", args=[task.project_id, task.pk]), {"assignment": work}
    ).context
    sent: dict[str, Any] = {"key": str(uuid.uuid4()), "do": "propose", "assignment": work}
    for line in page["lines"]:
        pk = line.evidence.assignment.pk
        sent |= {f"decision_{pk}": "approve", f"base_{pk}": line.base, f"bonus_{pk}": line.bonus}
    answer = client.post(reverse("payout_new", args=[task.project_id, task.pk]), sent)
    assert answer.status_code == 302, answer.content.decode()[:2000]
    return PayoutBatch.objects.latest("pk")


@pytest.fixture
def study(task: Task) -> Task:
    """All that reads a run: rule, domain, panel with a watch, proposal, shown scores."""
    owner = task.project.owner
    tasks.set_domain(by=owner, task=task, domain="lights")
    set_rule(by=owner, task=task, bonus_by="score", steps=STEPS)
    people.change_project(
        by=owner,
        project=task.project,
        name=task.project.name,
        budget=None,
        hourly_floor=None,
        single_approval=False,
        show_scores=True,
    )
    factories.make_member(task.project)
    first = finish(task, **QUICK)
    assert official_run(task) == first
    made, _ = panels.select(by=owner, run=first, wanted=RuleRequest("top", k=4), panel_name="Best")
    panel_watch.watch(
        by=owner, panel=made.panel, task=task, threshold=0.7, ranks=3, incentive=Decimal("0.50")
    )
    panel_watch.note_run(first)
    propose(task, "good-0", "thin-0")
    factories.make_task(task.project, 1)  # with one task alone the results are that task's
    return task


def all_that_reads(task: Task) -> dict[str, Any]:
    """What everything that is not a page of one run's own results shows and gives."""
    project, owner = task.project, task.project.owner
    manager = project.memberships.filter(role="manager").latest("pk").user
    panel, batch = project.panels.get(), PayoutBatch.objects.get()
    good, thin = worker_of(task, "good-1"), worker_of(task, "thin-1")
    client = client_of(manager)
    both = f"?assignment={good.assignments.get().pk}&assignment={thin.assignments.get().pk}"
    here = (project.pk, task.pk)
    found: dict[str, Any] = {
        "card": body(client, "worker_card", project.pk, good.pk),
        "own card": body(client_of(good.user), "work_card", project.pk),
        "leaderboard": body(client, "task_results", *here),
        "models": body(client, "task_results_systems", *here),
        "results": body(client, "results", project.pk),
        "overview": body(client, "project", project.pk),
        "domains": body(client, "domain_list", project.pk),
        "domain": body(client, "domain_board", project.pk, "lights"),
        "panel": body(client, "panel", project.pk, panel.pk),
        "review": body(client, "review", *here),
        "new proposal": body(client, "payout_new", *here, query=both),
        "rule": body(client, "payout_rule", *here),
        "proposal": body(client, "payout", project.pk, batch.number),
        "lines": list(batch.lines.order_by("pk").values("decision", "base", "bonus", "bonus_note")),
        "notes": list(WatchNote.objects.order_by("pk").values("run", "worker", "kind", "done")),
        "again": schedules.last_run(task),
        "export": export_makers.run_of(project, task, {}),
    }
    for kind in ("workers", "systems", "answers", "items"):
        found[f"scores of {kind}"] = client.get(
            reverse(f"api_task_scores_{kind}", args=[task.pk])
        ).json()
    addresses: dict[str, list[Any]] = {
        "card": [project.pk, good.pk],
        "waiting": [task.pk],
        "domain": [project.pk, "lights"],
        "watch_notes": [project.pk, panel.pk],
    }
    for name, args in addresses.items():
        found[f"api {name}"] = client.get(reverse(f"api_{name}", args=args)).json()
    with transaction.atomic():  # only looked at: it would stand on the panel's page
        found["on the panel"] = {**panels.evaluate(by=owner, panel=panel, task=task).params}
        transaction.set_rollback(True)
    return found


def test_a_trial_with_another_encoder_and_similarity_changes_nothing_that_is_no_page_of_its_own(
    study: Task,
) -> None:
    before = all_that_reads(study)
    assert before["notes"], "the watch must have something to say"
    trial = finish(study, **TRIAL)
    scores = {
        run.number: list(run.workerscore_rows.order_by("worker").values_list("estimate", flat=True))
        for run in (official_run(study), trial)
        if run is not None
    }
    assert len(scores) == 2 and scores[trial.number] != scores[min(scores)]
    after = all_that_reads(study)
    # The leaderboards name the runs there are, in the choice of one.
    for page in ("leaderboard", "models"):
        before[page], after[page] = (
            re.sub(r"<form class=\"filters\".*?</form>", "", side[page], flags=re.S)
            for side in (before, after)
        )
    assert [name for name in before if before[name] != after[name]] == []
    assert "Official run" in after["leaderboard"]
    client = client_of(study.project.owner)
    own = body(client, "task_results", study.project_id, study.pk, query=f"?run={trial.number}")
    assert "<b>Trial.</b>" in own
    assert reverse("run_official", args=[study.project_id, trial.number]) in own
    assert f"/panels/choose/{trial.number}" not in own
    with pytest.raises(Conflict, match="not the official run"):
        panels.select(
            by=study.project.owner, run=trial, wanted=RuleRequest("top", k=2), panel_name="Best"
        )


def test_the_first_run_of_the_default_recipe_is_official_by_itself_and_no_other(task: Task) -> None:
    manager = factories.make_member(task.project).user
    trial = finish(task, **{**QUICK, "leave_one_out": False})
    assert official_run(task) is None and run_standing(trial).is_trial  # type: ignore[union-attr]
    assert finish(task, seed=7, **QUICK) != official_run(task)
    first = finish(task, **QUICK)
    row = OfficialRun.objects.get()
    assert (row.run, row.by, row.how, row.until) == (first, None, "first", None)
    [entry] = AuditEntry.objects.filter(action__startswith="run.official")
    assert entry.detail["number"] == first.number and entry.actor is None
    assert Notice.objects.filter(user=manager, kind="run.official").count() == 1
    finish(task, **{**QUICK, "leave_one_out": False})
    assert official_run(task) == first


def test_the_same_recipe_on_newer_answers_follows_by_itself_and_is_said(task: Task) -> None:
    first = finish(task, **QUICK)
    answer = factories.claim_and_submit(task, texts=corpus.answers([corpus.GOOD])).answers.first()
    other = finish(task, **{**QUICK, "leave_one_out": False})  # what a trial saw is not seen
    last = schedules.last_run(task)
    assert last == first and schedules.count_new_answers(task, last).new == 8
    again = finish(task, **QUICK)
    assert official_run(task) == again and answer is not None
    assert run_standing(first).state == "earlier"  # type: ignore[union-attr]
    assert run_standing(other).is_trial  # type: ignore[union-attr]
    entry = AuditEntry.objects.get(action="run.official_followed")
    assert entry.detail | {"number": again.number, "before": first.number} == entry.detail
    page = body(client_of(task.project.owner), "task_results", task.project_id, task.pk)
    assert "as the newest run with the recipe of the official run before it" in page
    # Another version of the method is another recipe: somebody has to look.
    Run.objects.filter(pk=again.pk).update(version="0")
    by_itself = runs.start(by=None, task=task, params=QUICK, trigger="schedule")
    assert runs.execute(by_itself.pk) == RunState.DONE
    assert official_run(task) == again
    assert Notice.objects.filter(key__startswith="run.waits:").count() == 1


def test_making_a_run_official_shows_what_changes_first_and_then_everything_reads_it(
    study: Task,
) -> None:
    first, trial = official_run(study), finish(study, **TRIAL)
    assert first is not None
    batch = PayoutBatch.objects.get()
    assert batch.evidence_run == first.number
    manager = study.project.memberships.filter(role="manager").latest("pk").user
    client, url = client_of(manager), reverse("run_official", args=[study.project_id, trial.number])
    shown = client.get(url).context["effect"]
    assert shown.now == first and "of workers" in shown.sentence
    by_hand = {}
    for run in (first, trial):
        rows = run.workerscore_rows.filter(estimate__isnull=False).order_by("-estimate")
        values = [row.estimate for row in rows]
        by_hand[run.pk] = {row.worker.pseudonym: 1 + values.index(row.estimate) for row in rows}
    moved = {name for name, rank in by_hand[first.pk].items() if by_hand[trial.pk][name] != rank}
    [table] = [one for one in shown.tables if one.title == "Workers"]
    assert moved == {row.name for row in table.rows} and table.moved == len(moved) > 0
    for row in table.rows:
        assert row.steps == by_hand[first.pk][row.name] - by_hand[trial.pk][row.name]
    # No score reaches .1 where all are negative: the rule would give nobody anything.
    assert shown.bonuses.before > 0 == shown.bonuses.after
    assert shown.pending[0].bonus > 0 == shown.pending[0].gives
    assert {row.rule for row in shown.panels} >= {"whole interval below 0.7"}
    assert WatchNote.objects.filter(run=trial).count() == 0
    before = body(client, "payout", study.project_id, batch.number)
    assert client.post(url, {"instead_of": "0"}).status_code == 409
    assert official_run(study) == first
    assert client.post(url, {"instead_of": str(first.number)}).status_code == 302
    row = OfficialRun.objects.get(until=None)
    assert (row.run, row.by, row.how) == (trial, manager, "chosen")
    assert AuditEntry.objects.get(action="run.official").actor == manager
    assert Notice.objects.filter(kind="run.official", user=study.project.owner).count() == 2
    body(client, "project", study.project_id)  # where the message of what was done is shown
    # Money that stands proposed keeps its run and its amounts; what is proposed next does not.
    assert body(client, "payout", study.project_id, batch.number) == before
    assert task_evidence(study).run == trial
    assert propose(study, "good-2").evidence_run == trial.number
    below = WatchNote.objects.filter(run=trial, kind="below", done="")
    assert below.count() == study.project.panels.get().members.count()
    assert client.post(url, {"instead_of": str(first.number)}).status_code == 302  # twice is once
    assert OfficialRun.objects.count() == 2
    # From now on the task's own runs are computed by this recipe.
    assert schedules.recipe_in_force(study).params == trial.params
    assert official.make_official(by=manager, run=first).run == first
    assert run_standing(trial).state == "earlier"  # type: ignore[union-attr]


def test_only_a_finished_run_of_the_tasks_own_is_made_official_and_only_by_its_staff(
    task: Task,
) -> None:
    run, owner = finish(task, **QUICK), task.project.owner
    with pytest.raises(NotAllowed):
        official.make_official(by=worker_of(task, "good-0").user, run=run)
    waits = runs.start(by=owner, task=task, params=TRIAL)
    with pytest.raises(Conflict, match="not finished"):
        official.make_official(by=owner, run=waits)
    Run.objects.filter(pk=waits.pk).update(method="aqer_panel", state=RunState.DONE)
    waits.refresh_from_db()
    with pytest.raises(Invalid, match="own method"):
        official.make_official(by=owner, run=waits)


def test_the_api_gives_the_official_scores_and_names_them_and_a_trial_by_its_number(
    task: Task,
) -> None:
    client = client_of(task.project.owner)
    url = reverse("api_task_scores_workers", args=[task.pk])
    trial = finish(task, **{**QUICK, "leave_one_out": False})
    assert client.get(url).status_code == 404
    first = finish(task, **QUICK)
    told = client.get(url).json()
    assert (told["run"]["number"], told["run"]["standing"]) == (first.number, "official")
    assert told["run"]["params"] == first.params and told["run"]["version"] == first.version
    assert len(told["results"]) == first.workerscore_rows.count() > 0
    named = client.get(url, {"run": trial.number}).json()
    assert (named["run"]["number"], named["run"]["standing"]) == (trial.number, "trial")
    assert client.get(url, {"run": "x"}).status_code == 422
    assert client.get(url, {"run": "99"}).status_code == 404
    listed = client.get(reverse("api_runs", args=[task.pk])).json()["results"]
    assert {row["number"]: row["official"] for row in listed} == {
        trial.number: False,
        first.number: True,
    }
    effect = client.get(reverse("api_official", args=[trial.pk])).json()
    assert (effect["now"], effect["run"]) == (first.number, trial.number)
    sent = client.post(
        reverse("api_official", args=[trial.pk]),
        {"instead_of": first.number},
        content_type="application/json",
    )
    assert sent.status_code == 200 and sent.json()["official"] is True
    assert client.get(url).json()["run"]["number"] == trial.number


def test_the_checks_of_a_pairwise_study_belong_to_its_official_run() -> None:
    judged = pair_corpus.make_judged(topics=2, workers=8)
    use_recipe(judged, **pair_study.QUICK)
    core = pair_study.scored(judged)
    checks = pair_study.checked(core)
    trial = pair_study.scored(judged, draws=200)
    other = pair_study.checked(trial)
    shown = pair_runs.shown_run(judged)
    assert (shown.core, shown.checks) == (core, checks)
    assert (pair_runs.shown_run(judged, trial.number).checks) == other
    assert reads.shown_run(judged) == core
    page = pair_study.page(judged, "pair_agreement", query=f"?run={trial.number}")
    assert "<b>Trial.</b>" in page


def test_human_scores_of_texts_are_those_of_the_official_rating_run() -> None:
    rated = pair_corpus.make_rated()
    use_recipe(rated, resamples=200)
    trial = finish(rated, resamples=100)
    rows = trial.candidatescore_rows.filter(estimate__isnull=False)
    dimension, texts = rows[0].dimension, [row.candidate_id for row in rows]
    assert text_scores.human_scores(rated.project_id, dimension, texts).run is None
    first = finish(rated, resamples=200)
    finish(rated, resamples=100)
    assert text_scores.human_scores(rated.project_id, dimension, texts).run == first


@pytest.mark.parametrize(
    "make", [corpus.make_task, pair_corpus.make_judged, pair_corpus.make_rated]
)
def test_the_form_as_it_opens_starts_a_run_of_the_default_recipe(make: Any) -> None:
    made = make()
    client, url = (
        client_of(made.project.owner),
        reverse("run_start", args=[made.project_id, made.pk]),
    )
    form = client.get(url).context["form"]
    values = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    for name, field in form.fields.items():  # a browser sends the first of the choices
        if values[name] is None and isinstance(field, ChoiceField):
            values[name] = field.choices[0][0]
    sent = {name: value for name, value in values.items() if value not in (None, False)}
    assert client.post(url, sent).status_code == 302
    run = Run.objects.get()
    assert (run.params, run.seed) == recipe.default_recipe(made)
