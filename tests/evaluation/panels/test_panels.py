"""Screening, panels, runs on a panel's answers, and what is watched from then on."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Membership, Notice, Panel, PayoutLine, Task, User
from annotation.panels.actions import panels
from annotation.work.actions import exclusions
from crowdqc.errors import Conflict, Invalid
from evaluation.models import Run, Selection, SystemScore, WatchNote, WorkerScore
from evaluation.panels import choosing as screening
from evaluation.panels import rules as panel_choice
from evaluation.panels import watch as panel_watch
from evaluation.panels.rules import Choice, Row, RuleRequest
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories
from tests.support.factories import REJECTION
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
LIST, PAGE = 6, 13  # queries of the two pages, with the shell around them
QUICK = {"encoder": "char-svd", "resamples": 200}


@pytest.fixture(scope="module")
def answered_task(shared_rows: None) -> Task:
    return corpus.make_answered()


@pytest.fixture
def task(answered_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=answered_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return scored(task)


def scored(task: Task, **more: object) -> Run:
    made = runs.start(by=task.project.owner, task=task, params={**QUICK, **more})
    assert runs.execute(made.pk) == "done"
    made.refresh_from_db()
    return make_official(made)


def member(task: Task, name: str) -> Membership:
    return Membership.objects.get(project=task.project, external_id=name)


def of(run: Run, name: str) -> WorkerScore:
    return WorkerScore.objects.get(run=run, worker=member(run.task, name), dimension="")


def test_the_best_k_name_whom_the_border_cannot_separate_and_rank_nobody_without_an_interval(
    run: Run,
) -> None:
    found = panel_choice.choose(run, RuleRequest("top", k=3))
    assert [row.place for row in found.rows if row.sure][:4] == ["chosen"] * 3 + ["not chosen"]
    # The five good ones say the same: the run itself holds that they cannot be separated.
    good = {member(run.task, f"good-{n}").pk for n in range(5)}
    assert good <= {row.worker for row in found.border}
    assert "cannot be separated at this border" in found.sentences[0]
    assert all(row.name in found.sentences[0] for row in found.border)
    few = next(row for row in found.rows if row.worker == member(run.task, "two-answers").pk)
    assert (few.place, few.why) == ("no interval", "2 answers; an interval needs 5")
    # Eleven have an interval: all of them is a border that needs no test.
    assert not panel_choice.choose(run, RuleRequest("top", k=11)).border


def test_a_threshold_is_held_against_the_lower_end_and_names_whose_interval_holds_it(
    run: Run,
) -> None:
    best = of(run, "good-0")
    assert best.low is not None and best.high is not None
    inside = (best.low + best.high) / 2
    found = panel_choice.choose(run, RuleRequest("threshold", threshold=inside))
    row = next(row for row in found.rows if row.worker == best.worker_id)
    assert (row.place, row.border) == ("not chosen", True)
    assert row.name in found.sentences[0]
    # A lower end of one interval alone is no bound of all: it lets nobody in.
    alone = panel_choice.choose(run, RuleRequest("threshold", threshold=best.low))
    assert not next(row for row in alone.rows if row.worker == best.worker_id).chosen
    of_all = panel_choice.bounds_of_all([row for row in alone.rows if row.sure])[0]
    clear = panel_choice.choose(run, RuleRequest("threshold", threshold=min(of_all)))
    assert all(row.chosen for row in clear.rows if row.sure)


def test_a_threshold_lets_in_somebody_just_under_it_in_few_studies() -> None:
    """By each one's own interval somebody of 30 got in in more than half of them."""
    rng, wrong, studies, workers, se = np.random.default_rng(7), 0, 400, 30, 0.05
    for _ in range(studies):
        estimates = (0.699 + se * rng.standard_normal(workers)).tolist()
        board = [
            Row(at, f"w{at}", 1, x, x - 1.96 * se, x + 1.96 * se, 50, None, None, "")
            for at, x in enumerate(estimates)
        ]
        made = Choice(board, RuleRequest("threshold", threshold=0.7), False, False)
        panel_choice.apply_rule(made, board)
        wrong += bool(made.chosen)
    assert wrong / studies < 0.05


def test_one_button_pressed_twice_is_one_selection_and_lets_nobody_in_again(run: Run) -> None:
    by = run.project.owner
    member_user = factories.make_user(email="w@example.org")
    Membership.objects.filter(pk=member(run.task, "good-1").pk).update(user=member_user)
    asked = RuleRequest("hand", workers=(of(run, "good-0").worker_id, of(run, "good-1").worker_id))
    made, new = screening.select(by=by, run=run, wanted=asked, panel_name="Keepers", words="Come.")
    again, twice = screening.select(by=by, run=run, wanted=asked, panel_name="Keepers")
    assert (new, twice, made.pk, Selection.objects.count()) == (True, False, again.pk, 1)
    assert [row["place"] for row in made.rows].count("chosen") == 2
    one = made.panel.members.get(worker=member(run.task, "good-1"))
    assert (one.run_number, one.why) == (run.number, f"chosen by hand from run {run.number}")
    told = Notice.objects.get(user=member_user)
    assert (told.kind, told.text) == ("panel.admitted", "Come.")
    with pytest.raises(Invalid, match="Say why"):
        panels.end(by=by, member=one, why=" ")
    panels.end(by=by, member=one, why="Asked to leave.")
    screening.select(by=by, run=run, wanted=asked, panel_name="Keepers")
    assert made.panel.members.filter(until__isnull=True).count() == 1
    panels.admit(by=by, panel=made.panel, workers=[one.worker])
    assert made.panel.members.filter(worker=one.worker).count() == 2  # history stays
    with pytest.raises(Invalid, match="chooses nobody"):
        screening.select(
            by=by, run=run, wanted=RuleRequest("threshold", threshold=5), panel_name="No"
        )


def test_who_left_the_project_or_is_left_out_of_results_is_named_and_not_chosen(run: Run) -> None:
    gone, out = member(run.task, "good-0"), member(run.task, "good-1")
    Membership.objects.filter(pk=gone.pk).update(removed_at=timezone.now())
    exclusions.exclude(by=run.project.owner, task=run.task, worker=out, reason="a test")
    found = panel_choice.choose(run, RuleRequest("top", k=11))
    why = {row.worker: row.why for row in found.rows if row.place == "cannot be let in"}
    assert why == {gone.pk: "no longer in the project", out.pk: "left out of results: a test"}
    assert len(found.chosen) == 9


def test_models_are_scored_on_the_answers_of_the_panel_alone_of_one_task_or_of_two(
    task: Task,
) -> None:
    run = scored(task, resamples=0)
    by = run.project.owner
    panel = panels.create(by=by, project=task.project, name="Keepers")
    chosen = [member(task, f"good-{n}") for n in range(4)]
    panels.admit(by=by, panel=panel, workers=chosen)
    made = screening.evaluate(by=by, panel=panel, task=task)
    assert runs.execute(made.pk) == "done"
    scores = WorkerScore.objects.filter(run=made)
    assert set(scores.values_list("worker_id", flat=True)) == {one.pk for one in chosen}
    assert SystemScore.objects.filter(run=made).count() == 3
    made.refresh_from_db()
    assert made.snapshot is not None
    assert made.snapshot.counts["left_out"]["not_on_panel"] == 58
    assert reads.shown_run(task).pk == run.pk  # the board of everybody stays
    # Scenario 4: later answers of the chosen to other questions, with those of the screening.
    later = factories.make_task(
        task.project, 2, title="More", questions=["Who rings the bell?", "Who counts the terns?"]
    )
    given = {"q-001": "A keeper rings it.", "q-002": "The warden counts them."}
    factories.make_answers(later, {f"good-{n}": given for n in range(5)})
    both = screening.evaluate(by=by, panel=panel, task=later, also=task.pk)
    assert runs.execute(both.pk) == "done"
    both.refresh_from_db()
    assert both.snapshot is not None
    assert (both.snapshot.counts["questions"], both.snapshot.counts["answers"]) == (10, 40)
    with pytest.raises(Invalid):
        screening.evaluate(by=by, panel=panel, task=task, also=task.pk)


def test_watching_writes_notes_that_a_person_decides_and_an_incentive_is_paid_once(
    run: Run,
) -> None:
    task, by = run.task, run.project.owner
    panel = panels.create(by=by, project=task.project, name="Keepers")
    workers = list(
        Membership.objects.filter(pk__in=WorkerScore.objects.filter(run=run).values("worker"))
    )
    panels.admit(by=by, panel=panel, workers=workers)
    limit = of(run, "good-0").low
    panel_watch.watch(
        by=by, panel=panel, task=task, threshold=limit, ranks=9, incentive=Decimal("2.50")
    )
    second = scored(task)
    low = WatchNote.objects.filter(kind="below", worker=member(task, "wrong-0")).get()
    assert low.run_id == second.pk and low.detail["high"] < limit
    top = set(WatchNote.objects.filter(kind="incentive").values_list("worker_id", flat=True))
    assert member(task, "good-0").pk in top and low.worker_id not in top
    assert Notice.objects.filter(kind="panel.watch", user=by).count() == 1
    panel_watch.settle_note(by=by, note=low, what="ended", why="Answers that do not fit the texts.")
    assert not panel.members.filter(worker=low.worker, until__isnull=True).exists()
    with pytest.raises(Conflict):
        panel_watch.settle_note(by=by, note=low, what="kept")
    note = WatchNote.objects.get(kind="incentive", worker=member(task, "good-0"))
    panel_watch.settle_note(by=by, note=note, what="proposed")
    scored(task)  # nothing new was answered: what was decided is not asked again
    assert WatchNote.objects.filter(worker__in=[low.worker, note.worker]).count() == 2
    assert panel_watch.incentives_for(task, workers)[note.worker_id][0] == Decimal("2.50")
    line = _line(task, note.worker, Decimal("2.50"))
    assert panel_watch.take_incentives(line.batch) == 1
    assert panel_watch.incentives_for(task, workers) == {}
    PayoutLine.objects.filter(pk=line.pk).update(live=False)  # sent back
    assert note.worker_id in panel_watch.incentives_for(task, workers)
    # A line that is held for a look may still be approved: it holds the incentive until then.
    WatchNote.objects.update(line=None)
    PayoutLine.objects.filter(pk=line.pk).update(live=True, decision="hold")
    assert panel_watch.take_incentives(line.batch) == 1
    assert panel_watch.incentives_for(task, workers) == {}
    refused = {"decision": "reject", "bonus": 0, "reason_code": "other", "reason": REJECTION}
    PayoutLine.objects.filter(pk=line.pk).update(**refused)
    assert note.worker_id in panel_watch.incentives_for(task, workers)


def _line(task: Task, worker: Membership, bonus: Decimal) -> PayoutLine:
    from uuid import uuid4

    from annotation.models import PayoutBatch

    batch = PayoutBatch.objects.create(
        project=task.project, task=task, number=1, key=uuid4(), proposed_by=task.project.owner
    )
    return PayoutLine.objects.create(
        batch=batch,
        assignment=worker.assignments.filter(task=task).get(),
        decision="approve",
        base=0,
        bonus=bonus,
    )


def test_a_panel_is_named_once_and_renamed(task: Task) -> None:
    by = task.project.owner
    panel = panels.create(by=by, project=task.project, name=" Keepers ")
    with pytest.raises(Conflict):
        panels.create(by=by, project=task.project, name="Keepers")
    panels.rename(by=by, panel=panel, name="Wardens")
    assert Panel.objects.get().name == "Wardens"
    assert panels.get_or_create_panel(by=by, project=task.project, name="Wardens").pk == panel.pk
    stranger = factories.make_worker(factories.make_project())
    with pytest.raises(Invalid, match="not a worker of this project"):
        panels.admit(by=by, panel=panel, workers=[stranger])


# Pages ----------------------------------------------------------------------------------------


@pytest.fixture
def client(task: Task) -> Client:
    client = Client()
    client.force_login(task.project.owner)
    return client


def test_a_program_settles_a_note_of_its_own_panel_once(run: Run) -> None:
    task, by = run.task, run.project.owner
    panel = panels.create(by=by, project=task.project, name="Keepers")
    watched = panel_watch.watch(
        by=by, panel=panel, task=task, threshold=0.5, ranks=None, incentive=None
    )
    worker = member(task, "good-0")
    note = WatchNote.objects.create(watch=watched, run=run, worker=worker, kind="below")
    other = panels.create(by=by, project=task.project, name="Others")
    outsider, program = factories.make_user(), Client()

    def settle(who: User, panel: Panel, what: str) -> int:
        program.defaults["HTTP_AUTHORIZATION"] = f"Token {factories.api_token(who)}"
        place = [task.project_id, panel.pk, note.pk]
        url = reverse("api_watch_note_settle", args=place)
        return program.post(url, {"what": what}, "application/json").status_code

    assert [settle(outsider, panel, "kept"), settle(by, other, "kept")] == [404, 404]
    assert settle(by, panel, "proposed") == 422  # pays nobody for answers that lie below
    assert not WatchNote.objects.exclude(done="").exists()
    assert [settle(by, panel, "kept"), settle(by, panel, "kept")] == [200, 409]
    note.refresh_from_db()
    assert (note.done, note.seen_by) == ("kept", by)


def test_the_preview_follows_the_rule_and_the_button_lets_in(client: Client, run: Run) -> None:
    url = reverse("panel_choose", args=[run.project_id, run.number])
    text = html_of(client.get(url))
    assert (
        "5 workers</b> of 12 would be let in" in text and "2 answers; an interval needs 5" in text
    )
    live = client.get(url, {"rule": "top", "k": "3"}, headers={"HX-Request": "true"})
    assert "<html" not in html_of(live) and "cannot be separated at this border" in html_of(live)
    assert "Say how many" in html_of(client.get(url, {"rule": "top", "k": "0"}))
    assert "is no number" in html_of(client.get(url, {"rule": "threshold", "threshold": "much"}))
    assert client.post(url, {"rule": "top", "k": "3", "panel_name": " "}).status_code == 422
    asked = {"rule": "top", "k": "3", "panel_name": "Keepers"}
    done = html_of(client.post(url, asked, follow=True))
    assert "Let in: 3 chosen of 12" in done and "among the best 3 of run" in done
    assert "This choice was made already" in html_of(client.post(url, asked, follow=True))
    panel = Panel.objects.get()
    one = panel.members.first()
    assert one is not None
    end = reverse("panel_end", args=[run.project_id, panel.pk, one.pk])
    gone = html_of(client.post(end, {"why": "Asked to leave."}, follow=True))
    assert "Asked to leave." in gone and "2 members" in gone
    admit = reverse("panel_admit", args=[run.project_id, panel.pk])
    back = html_of(client.post(admit, {"worker": one.worker.pseudonym}, follow=True))
    assert "1 worker let in" in back and "3 members" in back
    watch = reverse("panel_watch", args=[run.project_id, panel.pk])
    bad = html_of(client.post(watch, {"task": run.task_id, "incentive": "1"}, follow=True))
    assert "Both or neither" in bad
    saved = {"task": run.task_id, "threshold": "0.99", "incentive": "1.50", "incentive_ranks": "9"}
    assert "Notes are written" in html_of(client.post(watch, saved, follow=True))
    scored(run.task, resamples=200)
    text = html_of(client.get(reverse("panel", args=[run.project_id, panel.pk])))
    assert "lies below .990" in text
    assert "about members of the panel “Keepers”" in html_of(
        client.get(reverse("project", args=[run.project_id]))
    )
    note = WatchNote.objects.filter(done="").first()
    assert note is not None
    settle = reverse("panel_note", args=[run.project_id, panel.pk, note.pk])
    assert "kept on the panel" in html_of(client.post(settle, {"what": "kept"}, follow=True))


@pytest.mark.parametrize("n", [2, 8])
def test_lists_and_pages_take_as_many_queries_for_many_as_for_few(
    client: Client, task: Task, n: int, django_assert_num_queries: Any
) -> None:
    by, project = task.project.owner, task.project
    for number in range(n):
        panel = panels.create(by=by, project=project, name=f"Panel {number}")
        panels.admit(by=by, panel=panel, workers=[factories.make_worker(project)])
    panels.admit(by=by, panel=panel, workers=[factories.make_worker(project) for _ in range(n)])
    with django_assert_num_queries(LIST):
        client.get(reverse("panel_list", args=[project.pk]))
    with django_assert_num_queries(PAGE):
        client.get(reverse("panel", args=[project.pk, panel.pk]))


def test_a_task_of_any_kind_asks_for_a_panel_on_its_page(client: Client, task: Task) -> None:
    url = reverse("task_panels", args=[task.project_id, task.pk])
    work = task.assignments.filter(pk__in=task.assignments.values("pk")[:1])
    work.update(state="leased")
    assert "Pause the task first" in html_of(client.post(url, {"panel": "Keepers"}, follow=True))
    task.assignments.filter(state="leased").update(state="submitted")  # nobody works any more
    text = html_of(client.post(url, {"panel": "Keepers"}, follow=True))
    assert "only the panel" in text and "Keepers" in text
    assert "every worker of the project" in html_of(client.post(url, {"panel": ""}, follow=True))
