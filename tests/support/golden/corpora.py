"""Small studies of each kind of result that the demo lacks, each with an owner who looks at it."""

from __future__ import annotations

import io
import random
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Membership, Project, Role, Task, User
from annotation.panels.actions import panels
from evaluation.checklists.filled.text_scores import JUDGE
from evaluation.checklists.making import actions as list_actions
from evaluation.checklists.making import comparison, pipeline, stages
from evaluation.grading import actions as grading
from evaluation.live import actions as live
from evaluation.models import LanguageModel, Run, RunState
from evaluation.panels import choosing as screening
from evaluation.panels import watch as panel_watch
from evaluation.runs import engine, run_types
from evaluation.runs.official.selectors import official_run
from evaluation.runs.sharing import actions as sharing
from tests.evaluation.corpora import checks as check_corpus
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora import pair_checked
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import rescaling as rescaling_corpus
from tests.evaluation.corpora import texts as text_corpus
from tests.evaluation.corpora import thinking as think_corpus
from tests.evaluation.corpora import writing as writing_corpus
from tests.evaluation.corpora.official_runs import make_official, use_recipe
from tests.evaluation.corpora.pair_study import published
from tests.evaluation.score_table import test_pages as tables
from tests.support import factories
from tests.support.everything import everything
from tests.support.golden.fixed import fixed
from tests.support.servers.llm import Answer as Says
from tests.support.servers.llm import make_model, serving
from tests.support.studies import live as live_studies
from tests.support.studies.crowdrag_study import make_folder

QUICK = {"encoder": "char-svd", "resamples": 100, "draws": 100, "restarts": 2}
# Where models seem to be: their calls are told apart, and sorted, by a digest of the address.
MODEL_AT = ("127.0.0.1", 9)


@dataclass(frozen=True)
class Study:
    """What was made, who looks at it, and where they start."""

    name: str
    owner: User
    starts: tuple[str, ...]


def _of(name: str, task: Task) -> Study:
    where = [task.project_id, task.pk]
    return Study(
        name,
        task.project.owner,
        (
            reverse("project", args=where[:1]),
            reverse("task", args=where),
            reverse("task_results", args=where),
        ),
    )


def _run(task: Task, method: str = "", *, lane: str = "", **params: Any) -> Run:
    """A run that is done; official where the task had none."""
    kind = run_types.type_of(method or engine.main_method(task) or "")
    quick = {name: QUICK[name] for name in QUICK if name in kind.options.defaults}
    by = task.project.owner
    run = engine.start(by=by, task=task, method=kind.slug, params={**quick, **params}, lane=lane)
    fixed.jobs.work()
    run.refresh_from_db()
    assert run.state == RunState.DONE, (kind.slug, run.error)
    if kind.slug == engine.main_method(task) and official_run(task) is None:
        make_official(run)
        fixed.jobs.work()
    return run


@contextmanager
def _model(project: Project, says: Says, **can: Any) -> Iterator[LanguageModel]:
    """Serve a model that answers one call after another, at the same address in every record."""
    connect = socket.socket.connect

    with serving(says) as stub, fixed.clock.stopped(), pytest.MonkeyPatch.context() as patch:
        port = stub.server.server_port

        def reach(self: socket.socket, address: Any) -> None:
            connect(self, ("127.0.0.1", port) if address == MODEL_AT else address)

        patch.setattr(socket.socket, "connect", reach)
        yield make_model(project, "http://{}:{}/v1".format(*MODEL_AT), can=can, parallel=1)


def _shared(run: Run, slug: str) -> tuple[str, ...]:
    """A link to the run's results and a public board of it, with its files."""
    by = run.project.owner
    _, secret = sharing.share(by=by, run=run)
    bundle = run_types.type_of(run.method).public_bundle
    sharing.publish(by=by, run=run, slug=slug, files=True, bundle=bundle)
    fixed.jobs.work()
    files = [
        reverse("public_board_file", args=[slug, form]) for form in ("csv", "json", "svg", "zip")
    ]
    return (
        reverse("shared_results", args=[secret]),
        reverse("public_board", args=[slug]),
        *files,
    )


def _with(study: Study, *starts: str) -> Study:
    return Study(study.name, study.owner, (*study.starts, *starts))


def labels() -> Study:
    """Labels by all methods, with known answers; ordered ones beside; a model that is a copy."""
    task = label_corpus.make_labelled()
    label_corpus.add_model(task, "Alder", right=0.9)
    label_corpus.add_copy(task)
    run = _run(task)
    _run(task, posterior="plug-in")
    return _with(_of("labels", task), *_shared(run, "labels-of-claims"))


def labels_of_few() -> Study:
    """Labels of two people: agreement and no competence."""
    task = label_corpus.make_labelled(items=24, known=0, workers=2, guessing=0)
    _run(task)
    return _of("labels of two", task)


def replacement() -> Study:
    """Models beside annotators: one that may replace them, one that may not, one undecided."""
    task = label_corpus.make_compared()
    _run(task)
    run = _run(task, "replacement")
    return _with(_of("replacement", task), *_shared(run, "may-models-replace"))


def pairs() -> Study:
    """Pairwise judgments on two dimensions, with a model as a judge and checks."""
    task = pair_corpus.make_judged(varied=True)
    pair_checked.judge(task)
    run = _run(task)
    _run(task, "replacement")
    published(task, run)
    return _with(_of("pairs", task), *_shared(run, "which-tea-text"))


def fragile_pairs() -> Study:
    """An order that rests on one worker; nobody is shown a pair turned."""
    task, _ = pair_corpus.make_fragile()
    _run(task)
    return _of("fragile pairs", task)


def ratings() -> Study:
    """Single texts rated from 1 to 5."""
    task = pair_corpus.make_rated()
    run = _run(task)
    return _with(_of("ratings", task), *_shared(run, "how-good"))


def rescaled() -> Study:
    """Explained ratings, rescaled by a model in two ways."""
    task = rescaling_corpus.make_rated()
    _run(task)
    for variant, score in (("article", 40), ("answer", 60)):
        with _model(task.project, lambda body, score=score: f'{{"score": {score}}}') as model:  # type: ignore[misc]
            _run(task, "rescaling", lane=variant, model=model.pk, variant=variant, draws=2)
    where = [task.project_id, task.pk]
    pages = ("rescaling", "rescaling_scores", "audit_list")
    return _with(_of("rescaling", task), *(reverse(name, args=where) for name in pages))


def checklists() -> Study:
    """A checklist filled by people and a model, a rating by form, human scores and a judge."""
    task = check_corpus.make_study()
    with _model(task.project, check_corpus.answers_with_chances, logprobs=True) as model:
        _run(task, "checklist_answers", model=model.pk)
        _run(task, "g_eval", model=model.pk, definition="What helps to make the tea.")
    check_corpus.score_by_people(task, role=JUDGE, name="a published judge")
    _run(task, "checklist")
    return _of("checklists", task)


def thinking() -> Study:
    """Attributes of two people and a model, made into a checklist stage by stage."""
    task = think_corpus.make_thought()
    by, item = task.project.owner, think_corpus.item_of(task)
    with _model(task.project, think_corpus.answer) as model:
        _run(task, "think_aloud", model=model.pk)
        made = list_actions.create(
            by=by, task=task, item=item, name="Order", whose=pipeline.EVERYBODY
        )
        for kind in stages.ORDER[1:]:
            _run(task, "checklist_stage", model=model.pk, checklist=made.pk, stage=kind)
    version = list_actions.freeze(by=by, checklist=made)
    list_actions.make_task(by=by, version=version, title="Is it in order?", texts=[])
    comparison.begin(by=by, task=task, item=item, first="author:owl-01", second="author:reed-02")
    _run(task, "attribute_diversity")
    return _of("thinking aloud", task)


def writing() -> Study:
    """Responses with sources and their logs, of people and a model."""
    task = writing_corpus.make_written()
    _run(task)
    return _of("writing", task)


def texts() -> Study:
    """Free text by AQER and other methods, a grading, a panel that is watched and an evaluation."""
    task = text_corpus.make_answered()
    by = task.project.owner
    other = factories.make_member(task.project, Role.MANAGER).user
    use_recipe(task, encoder="char-svd", resamples=200)
    run = _run(task, resamples=200)
    for mode in ("together", "systems"):
        _run(task, "aqer_joint", mode=mode)
    for of in ("systems", "workers"):
        more = {} if of == "systems" else {"of": of}
        opened = grading.open_grading(by=by, task=task, first=by, second=other, **more)
        for number, pk in enumerate(opened.answer_ids):
            for user in (by, other):
                grading.grade(by=user, grading=opened, answer_id=pk, value=(37 * number) % 90)
        grading.close(by=by, grading=opened)
        if of == "systems":
            sizes = {"sizes": [3, 6], "repetitions": 3, "methods": ["aqer", "f1", "majority"]}
            _run(task, "aqer_study", grading=opened.pk, **sizes)
    _run(task, "text_methods")
    panel = panels.create(by=by, project=task.project, name="Keepers")
    good = list(Membership.objects.filter(project=task.project, external_id__startswith="good"))
    panels.admit(by=by, panel=panel, workers=sorted(good, key=lambda one: one.pk))
    panel_watch.watch(
        by=by, panel=panel, task=task, threshold=0.6, ranks=3, incentive=Decimal("2.50")
    )
    screening.evaluate(by=by, panel=panel, task=task)
    fixed.jobs.work()
    _run(task, resamples=200)
    _run(task, "replacement_texts")
    return _with(_of("texts", task), *_shared(run, "lighthouse"))


def live_evaluations() -> Study:
    """A live evaluation that has ended and one that goes on, of one project."""
    task = live_studies.make_task()
    rng = random.Random(1)
    for number in range(2):
        one = task if number == 0 else live_studies.make_task(task.project)
        live_studies.make_live(one, systems=("ash", "birch", "cedar"))
        live.add_outputs(
            by=task.project.owner,
            task=one,
            key="a",
            rows=live_studies.outputs(12, ("ash", "birch", "cedar")),
        )
        for _ in range(5):
            live_studies.judge(one, factories.make_worker(task.project), rng)
        live.check_all()
        if number == 0:
            live.end(by=task.project.owner, task=one)
    fixed.jobs.work()
    return _of("live", task)


SCORED: Mapping[str, Callable[[], str]] = {
    "comparisons": tables.comparisons,
    "answers": tables.answers,
    "ratings": tables.ratings,
    "matrix": tables.matrix,
    "labels": tables.votes,
    "label studio": tables.label_studio,
}


def scored_table(kind: str) -> Study:
    """A table that somebody dropped, scored."""
    user = factories.make_user()
    client = Client()
    client.force_login(user)
    name = "export.json" if kind == "label studio" else f"{kind}.csv"
    content = SimpleUploadedFile(name, SCORED[kind]().encode())
    page = client.post(reverse("score_table"), {"file": content})["Location"]
    fixed.jobs.work()
    client.post(page, {"do": "score"})
    fixed.jobs.work()
    task = Task.objects.filter(project__owner=user).get()
    return _with(_of(f"table of {kind}", task), page, reverse("score_table"))


def read_table() -> Study:
    """A table with bad rows that is read and not scored yet."""
    user = factories.make_user()
    client = Client()
    client.force_login(user)
    content = SimpleUploadedFile(
        "votes.csv", tables.votes("w9,i1,\nw9,,yes\nw1,i1,maybe\n").encode()
    )
    page = client.post(reverse("score_table"), {"file": content})["Location"]
    fixed.jobs.work()
    return Study("table with bad rows", user, (page,))


def crowdrag() -> Study:
    """A published study, as its authors' files bring it, with its tables."""
    user = factories.make_user()
    with tempfile.TemporaryDirectory() as folder:
        call_command(
            "crowdqc_import",
            "crowdrag",
            str(make_folder(Path(folder))),
            "--new-project",
            "Storks",
            "--by",
            user.username,
            stdout=io.StringIO(),
            stderr=io.StringIO(),
        )
    fixed.jobs.work()
    task = Run.objects.get(method="published", project__owner=user).task
    _run(task)
    return _of("published", task)


def everything_once() -> list[Study]:
    """A project with one of each thing: payouts, rejections, statements, corrections, notices."""
    values, _ = everything()
    fixed.jobs.work()
    project = Project.objects.get(pk=values["project_id"])
    start = (reverse("project", args=[project.pk]),)
    manager = (
        project.memberships.filter(role=Role.MANAGER).exclude(user=project.owner).earliest("pk")
    )
    worker = Membership.objects.get(pk=values["membership_id"])
    return [
        Study("one of each", project.owner, start),
        Study("one of each, manager", manager.user, start),
        Study("one of each, worker", worker.user, ("/work/",)),
    ]


SINGLE: tuple[Callable[[], Study], ...] = (
    labels,
    labels_of_few,
    replacement,
    pairs,
    fragile_pairs,
    ratings,
    rescaled,
    checklists,
    thinking,
    writing,
    texts,
    live_evaluations,
    read_table,
    crowdrag,
)


def studies() -> Iterator[Study]:
    """Make them all, one after another."""
    for make in SINGLE:
        yield make()
    for kind in SCORED:
        yield scored_table(kind)
    yield from everything_once()
