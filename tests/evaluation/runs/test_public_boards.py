"""Public boards: what they show in every form, that nobody is named, and how they end."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.accounts.signing.middleware import SEEN
from annotation.formats.actions import export_files
from annotation.models import Answer, AuditEntry, Membership, Role, TextValue
from crowdqc import limits
from crowdqc.errors import Conflict, Invalid, Missing
from evaluation.bundles import public
from evaluation.bundles.checking import verify
from evaluation.labels.selectors import workers as worker_reads
from evaluation.models import BoardBundle, Run, RunShare, SystemScore, WorkerScore
from evaluation.registry import RUN_TYPES
from evaluation.runs.recipe import main_method
from evaluation.runs.run_types import shared_page_of
from evaluation.runs.sharing import actions
from tests.evaluation.bundles.test_bundles import run_of
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import client_of, scored, text_of
from tests.evaluation.labels.test_runs import scored as scored_labels
from tests.evaluation.traces.conftest import make_source
from tests.evaluation.traces.test_queue import run_on
from tests.evaluation.traces.test_runs import reviewed
from tests.evaluation.turns.test_turns import scored as turns_scored
from tests.support import factories
from tests.support.access_finished import FINISHED, FINISHED_POST, QUERIES
from tests.support.everything import ROUTES
from tests.support.pages import html_of
from tests.test_access import ROLES, VIEWED_LATER, fits, met, row_of

pytestmark = pytest.mark.django_db

FIRST_ID = 7_000_000
FORMS = ("html", "svg", "csv", "json")


@pytest.fixture(scope="module")
def made(shared_rows: None) -> dict[str, int]:
    """A finished run of every kind that can be shared; ids of rows are told from other numbers."""
    with connection.cursor() as cursor:
        ours = "^(annotation|evaluation)_.*_id_seq$"
        cursor.execute("SELECT sequencename FROM pg_sequences WHERE sequencename ~ %s", [ours])
        for at, (name,) in enumerate(cursor.fetchall()):
            cursor.execute(f"ALTER SEQUENCE {name} RESTART {FIRST_ID + at * 1000}")
    labelled = label_corpus.make_labelled(items=30, known=6, workers=6, guessing=1)
    runs = (scored(pair_corpus.make_judged(topics=2, workers=8)), scored_labels(labelled))
    names = ("aqer", "ratings", "replacement", "replacement_texts")
    others = [run_of(method) for method in names]
    others.append(turns_scored())
    others.append(run_on(reviewed(make_source(factories.make_project()), 40, workers=7)))
    return {run.method: run.pk for run in (*runs, *others)}


@pytest.fixture(autouse=True)
def empty_cache(db: None) -> None:
    cache.clear()


@pytest.fixture
def run(made: dict[str, int]) -> Run:
    return get(made["pairwise"])


def get(pk: int) -> Run:
    return Run.objects.select_related("project__owner", "task__project").get(pk=pk)


def address(slug: str, form: str = "html") -> str:
    if form == "html":
        return reverse("public_board", args=[slug])
    return reverse("public_board_file", args=[slug, form])


def publish(run: Run, slug: str = "our-study", *, files: bool = True) -> RunShare:
    return actions.publish(by=run.project.owner, run=run, slug=slug, files=files)


def test_no_form_of_any_kind_names_a_worker_or_shows_an_item_or_answer(
    made: dict[str, int],
) -> None:
    assert set(made) == {slug for slug in RUN_TYPES if shared_page_of(slug)}
    for method, pk in made.items():
        run = get(pk)
        publish(run, slug_of(method))
        people = Membership.objects.filter(project=run.project).select_related("user")
        names = {one.pseudonym for one in people} | {one.external_id for one in people}
        for user in [run.project.owner, *(one.user for one in people if one.user)]:
            names |= {user.username, user.email}
        assert len(names) > 6
        items = run.task.items.all()
        secret = {*names, *(one.question for one in items), *answers_of(run)} - {""}
        for form in FORMS:
            response = Client().get(address(slug_of(method), form))
            assert response.status_code == 200
            content = response.content.decode()
            found = [one for one in secret if one in content]
            assert not found, (method, form, found)
            assert not response.cookies and "Cookie" not in response.headers.get("Vary", "")


def slug_of(method: str) -> str:
    return f"of-{method}".replace("_", "-")


def answers_of(run: Run) -> list[str]:
    texts = TextValue.objects.filter(answer__in=Answer.objects.filter(item__task=run.task))
    return list(texts.values_list("text", flat=True))


def test_the_page_says_verdict_board_method_recipe_and_counts(run: Run) -> None:
    publish(run, files=False)
    response = Client().get(address("our-study"))
    html = html_of(response)
    assert "two whose lines do not touch differ" in html
    text = text_of(html)
    assert run.task.current is not None and run.task.current.title in text
    assert "The Bradley-Terry model turns" in text and "method Pairwise" in text
    assert "judgments of" in text and "Possible ranks on every dimension" in text
    assert "Board as an image" in text and "CSV" not in text and "<form" not in html
    assert response["X-Frame-Options"] == "DENY" and "noindex" not in html
    assert Client().get(address("our-study", "csv")).status_code == 404
    signed_in = client_of(run.task).get(address("our-study"))
    assert signed_in.content == response.content
    assert signed_in["Cache-Control"] == "public, max-age=60"


def test_a_secret_link_shows_the_same_results_without_a_public_address(run: Run) -> None:
    _, secret = actions.share(by=run.project.owner, run=run)
    response = Client().get(reverse("shared_results", args=[secret]))
    text = text_of(html_of(response))
    assert "The Bradley-Terry model turns" in text and "Shared read-only until" in text
    assert "Use this board" not in text and "no-store" in response["Cache-Control"]


def test_the_image_is_accessible_and_can_be_embedded_but_runs_nothing(run: Run) -> None:
    publish(run)
    response = Client().get(address("our-study", "svg"))
    assert response["Content-Type"].startswith("image/svg+xml")
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    content = response.content.decode()
    root = ET.fromstring(content)  # noqa: S314 - our own
    name = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img" and root.find(f"{name}title") is not None
    told = " ".join(root.itertext())
    assert f"Run {run.number}" in told and "Pairwise" in told and "interval for comparison" in told
    assert "prefers-color-scheme:dark" in content and "<script" not in content


def test_tables_hold_every_row_of_every_dimension(run: Run) -> None:
    publish(run)
    rows = list(csv.DictReader(io.StringIO(Client().get(address("our-study", "csv")).text)))
    told = json.loads(Client().get(address("our-study", "json")).content)
    assert len(rows) == len(told["rows"]) == SystemScore.objects.filter(run=run).count()
    assert told["run"] == run.number and told["recipe"]["method"].startswith("Pairwise")
    assert Client().get(address("our-study", "zip")).status_code == 404


def test_a_second_look_costs_two_queries_and_an_unchanged_board_nothing_to_send(run: Run) -> None:
    publish(run)
    for form in FORMS:
        first = Client().get(address("our-study", form))
        with CaptureQueriesContext(connection) as seen:
            second = Client().get(address("our-study", form) + "?utm=x")
        assert len(seen) <= 2 and second.content == first.content
        again = Client().get(address("our-study", form), headers={"If-None-Match": first["ETag"]})
        assert again.status_code == 304 and not again.content


def test_pages_that_there_are_not_are_made_and_kept_once(
    made: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_reads, "PER_PAGE", 3)  # six workers: two pages
    publish(get(made["labels"]))
    bodies = [Client().get(f"{address('our-study')}?page={page}").content for page in (1, 2, 99)]
    assert bodies[0] != bodies[1] == bodies[2]
    with CaptureQueriesContext(connection) as queries:
        for page in range(100, 110):
            assert Client().get(f"{address('our-study')}?page={page}").content == bodies[1]
        assert Client().get(f"{address('our-study', 'svg')}?page=7").status_code == 200
        first = len(queries)
        assert Client().get(f"{address('our-study', 'svg')}?page=8").status_code == 200
    assert len(queries) - first == 2


def test_a_board_reads_no_session_and_sets_no_cookie(run: Run) -> None:
    publish(run)
    client = client_of(run.task)
    session = client.session
    session[SEEN] = int(time.time()) - 3600  # any page would note that it is used
    session.save()
    for form in FORMS:
        response = client.get(address("our-study", form))
        assert not response.cookies and "Cookie" not in response.headers.get("Vary", "")
        assert response["Cache-Control"] == "public, max-age=60"


def test_withdrawn_and_unknown_addresses_are_404_in_the_same_words_at_once(run: Run) -> None:
    share = publish(run)
    assert Client().get(address("our-study")).status_code == 200
    actions.stop_sharing(by=run.project.owner, run=run, share_id=share.pk)
    gone = [Client().get(address(slug, form)) for slug in ("our-study", "x") for form in FORMS]
    assert {one.status_code for one in gone} == {404}
    assert len({text_of(html_of(one)) for one in gone}) == 1
    publish(run)  # the same project may use its address again
    assert Client().get(address("our-study")).status_code == 200
    done = AuditEntry.objects.filter(project=run.project, object_type="runshare").order_by("pk")
    assert [one.action for one in done] == ["run.publish", "run.withdraw", "run.publish"]


def test_a_board_keeps_to_its_run_until_it_is_moved(run: Run) -> None:
    share = publish(run)
    before = text_of(html_of(Client().get(address("our-study"))))
    newer = scored(run.task, resamples=120)
    assert text_of(html_of(Client().get(address("our-study")))) == before
    make_official(newer)
    said = text_of(html_of(Client().get(address("our-study"))))
    assert "A newer run exists" in said and f"the official run is now run {newer.number}" in said
    client, page = client_of(run.task), reverse("run_share", args=[run.project_id, newer.number])
    assert f"Show run {newer.number} instead" in text_of(html_of(client.get(page)))
    move = reverse("run_move_board", args=[run.project_id, newer.number, share.pk])
    assert client.post(move).status_code == 302
    said = text_of(html_of(Client().get(address("our-study"))))
    assert "A newer run exists" not in said and f"Run {newer.number} finished" in said


def test_a_board_moves_only_to_runs_of_its_own_task(made: dict[str, int], run: Run) -> None:
    share, other = publish(run), get(made["labels"])
    with pytest.raises(Missing):
        actions.move_board(by=other.project.owner, run=other, share_id=share.pk)
    manager = Client()
    manager.force_login(factories.make_member(run.project, Role.MANAGER).user)
    args = [run.project_id, run.number, share.pk]
    assert manager.post(reverse("run_move_board", args=args)).status_code == 403


@pytest.mark.parametrize("slug", ["", "ab", "-abc", "a--b", "ünder", "a/b", "x" * 61, "a b c"])
def test_an_address_is_checked(run: Run, slug: str) -> None:
    with pytest.raises(Invalid):
        publish(run, slug)


def test_an_address_is_one_board_and_stays_with_its_project(made: dict[str, int], run: Run) -> None:
    share, other = publish(run), get(made["labels"])
    with pytest.raises(Invalid, match="taken"):
        publish(run)
    actions.stop_sharing(by=run.project.owner, run=run, share_id=share.pk)
    with pytest.raises(Invalid, match="taken"):
        publish(other)
    with pytest.raises(IntegrityError), transaction.atomic():
        RunShare.objects.create(run=run, created_by=run.project.owner)


def test_a_refused_address_stays_in_the_form_and_says_why(run: Run) -> None:
    page = reverse("run_share", args=[run.project_id, run.number])
    response = client_of(run.task).post(page, {"slug": "No such!"})
    assert response.status_code == 422 and "small letters" in text_of(html_of(response))
    assert 'value="No such!"' in html_of(response)
    response = client_of(run.task).post(page, {"slug": "Good-One", "files": "1"})
    assert response.status_code == 201 and "/boards/good-one/" in text_of(html_of(response))


def test_only_a_finished_run_of_a_shared_kind_is_published_and_only_so_often(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Conflict):
        publish(Run.objects.select_related("project__owner").get(source=run))
    publish(run)
    monkeypatch.setattr(actions, "MOST", 1)
    with pytest.raises(Conflict, match="1 public boards"):
        publish(run, "another-one")
    monkeypatch.setattr(limits, "SHARED", limits.Limit("boards-test", 2, limits.MINUTE))
    codes = [Client().get(address("our-study")).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


def test_a_free_text_board_numbers_workers_and_shows_models_beside(made: dict[str, int]) -> None:
    run = get(made["aqer"])
    publish(run)
    page = html_of(Client().get(address("our-study")))
    assert "<h2>Workers</h2>" in page and "<h2>Language models</h2>" in page
    text = text_of(page)
    assert "AQER compares what people wrote" in text and "Worker 1" in text
    assert "Language models" in text and "Tern-2" in text
    table = Client().get(address("our-study", "csv")).content.decode()
    found = [row["estimate"] for row in csv.DictReader(io.StringIO(table)) if row["estimate"]]
    scores = WorkerScore.objects.filter(run=run, estimate__isnull=False)
    assert {*scores.values_list("estimate", flat=True)} <= {float(one) for one in found}
    where = reverse("task_results", args=[run.project_id, run.task_id])
    page = html_of(client_of(run.task).get(where))
    assert "Publish board" in page


def test_a_board_of_ratings_shows_the_mean_of_every_source(made: dict[str, int]) -> None:
    run = get(made["ratings"])
    publish(run)
    text = text_of(html_of(Client().get(address("our-study"))))
    assert "People rated single texts on a scale" in text and "has the highest mean on" in text
    for score in SystemScore.objects.filter(run=run).select_related("system"):
        assert score.system.name in text
    where = reverse("rating_results", args=[run.project_id, run.task_id])
    page = html_of(client_of(run.task).get(where))
    assert "Publish board" in page


def bundled(run: Run, slug: str = "our-study") -> RunShare:
    """A public board of the run whose bundle was written."""
    made = actions.publish(by=run.project.owner, run=run, slug=slug, bundle=True)
    assert Client().get(address(slug, "zip")).status_code == 404  # not written yet
    assert public.write_bundle(made.pk) == "done"
    assert public.write_bundle(made.pk) == "not mine"
    return made


def test_the_bundle_of_a_board_verifies_and_links_nobody_to_another_export(
    made: dict[str, int], tmp_path: Path
) -> None:
    assert {"labels", "pairwise", "ratings"} == {m for m in made if RUN_TYPES[m].public_bundle}
    for method, pk in made.items():
        run = get(pk)
        if not RUN_TYPES[method].public_bundle:  # AQER's vectors would say what people wrote
            with pytest.raises(Conflict, match="no public bundle"):
                bundled(run, slug_of(method))
            continue
        share = bundled(run, slug_of(method))
        response = Client().get(address(slug_of(method), "zip"))
        assert response.status_code == 200 and response["Content-Type"] == "application/zip"
        path = tmp_path / f"{method}.zip"
        path.write_bytes(response.content)
        report = verify(path)
        assert report.good and "byte for byte the same" in report.lines[-1][1], report.lines
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        text = "".join(files.values())
        assert not re.findall(r"(?<![\w.])7\d{6}(?!\w)", text)  # ids of rows of the installation
        people = Membership.objects.filter(project=run.project)
        items = run.task.items.all()
        secret = {*(one.pseudonym for one in people), *(one.external_id for one in people)}
        secret = {*secret, *(one.key for one in items), *(one.question for one in items)} - {""}
        assert len(secret) > 6
        words = [rf"(?<![\w-]){re.escape(one)}(?![\w-])" for one in secret]
        assert not [one for one in words if re.search(one, text)]
        rows = [json.loads(line) for line in files["data/answers.jsonl"].splitlines()]
        codes = {row["worker_id"] for row in rows} - {None}
        assert codes == set(range(1, len(codes) + 1))
        assert all(row["answered_at"].startswith("2000-01-0") for row in rows)
        told = json.loads(files["manifest.json"])
        assert told["board"]["largest_difference_of_scores"] <= 1e-6
        assert not {"project", "task", "task_versions"} & set(told)
        page = html_of(Client().get(address(slug_of(method))))
        assert "Bundle that computes the board again" in page
        BoardBundle.objects.filter(share=share).update(stored=None, made_at=None)
        public.write_bundle(share.pk)
        cache.clear()
        second = Client().get(address(slug_of(method), "zip"))
        with zipfile.ZipFile(io.BytesIO(second.content)) as archive:
            assert archive.read("data/answers.jsonl").decode() != files["data/answers.jsonl"]


def test_a_bundle_goes_with_its_board_and_follows_it_to_another_run(run: Run) -> None:
    share = bundled(run)
    first = Client().get(address("our-study", "zip"))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        again = Client().get(address("our-study", "zip"), headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304 and len(queries) == 3
    assert "crowdqc_file_piece" not in "".join(one["sql"] for one in queries.captured_queries)
    assert "access-control-allow-origin" in first.headers
    BoardBundle.objects.filter(share=share).update(error="", made_at=None, stored=None)
    assert Client().get(address("our-study", "zip")).status_code == 404
    assert "Bundle that" not in html_of(Client().get(address("our-study")))
    public.write_bundle(share.pk)
    Run.objects.filter(pk=run.pk).update(spoiled="Answers it saw were erased.")
    assert Client().get(address("our-study", "zip")).status_code == 404
    Run.objects.filter(pk=run.pk).update(spoiled="")
    assert Client().get(address("our-study", "zip")).status_code == 200
    actions.stop_sharing(by=run.project.owner, run=run, share_id=share.pk)
    assert Client().get(address("our-study", "zip")).status_code == 404
    assert not BoardBundle.objects.exists()


def test_a_requester_asks_for_a_bundle_where_the_board_is_published(run: Run) -> None:
    client = client_of(run.task)
    url = reverse("run_share", args=[run.project_id, run.number])
    assert "Offer a bundle that computes the board again" in html_of(client.get(url))
    page = html_of(client.post(url, {"slug": "our-study", "bundle": "1"}))
    assert "the bundle is being written" in page
    BoardBundle.objects.update(error="A public bundle holds 200,000 answers at most.")
    assert "no bundle: A public bundle holds" in html_of(client.get(url))


# -- who may open what a finished run has ----------------------------------------------------------


def finished(run: Run) -> tuple[dict[str, Any], dict[str, Client]]:
    """Values and clients of the project of a run, which is official, shared and exported."""
    project, owner = run.project, run.project.owner
    of_task = {"project": project, "task": run.task}
    file = export_files.request_export(by=owner, **of_task, what="all", form="csv")
    export_files.write(file.pk)
    worker = Membership.objects.filter(project=project, answers__item__task=run.task)[0]
    board = publish(run, slug_of(run.method))
    values = {
        "project_id": project.pk, "task_id": run.task_id, "number": run.number, "run_id": run.pk,
        "worker_id": worker.pk, "file_id": file.pk, "slug": board.slug, "share_id": board.pk,
        "secret": actions.share(by=owner, run=run)[1], "form": "svg",
    }  # fmt: skip
    if run.method == main_method(run.task):
        make_official(run)
    people = {
        "outsider": factories.make_user(),
        "worker": factories.make_worker(project).user,
        "requester": owner,
        "manager": factories.make_member(project, Role.MANAGER).user,
        "viewer": factories.make_member(project, Role.VIEWER).user,
    }
    clients = {role: Client() for role in ROLES}
    for role, user in people.items():
        assert user is not None
        clients[role].force_login(user)
    return values, clients


def test_what_a_finished_run_has_opens_to_whom_it_may_and_nobody_else(
    made: dict[str, int],
) -> None:
    wrong = []
    for method in {method for method, _ in FINISHED.values()}:
        values, clients = finished(get(made[method]))
        for verb, table in (("get", FINISHED), ("post", FINISHED_POST)):
            for name, (of, row) in table.items():
                parts = re.split(r"<(?:\w+:)?(\w+)>", f"/{ROUTES[name]}")
                if of != method:
                    continue
                path = "".join(str(values[one]) if at % 2 else one for at, one in enumerate(parts))
                viewed = VIEWED_LATER if verb == "get" else set()
                for role, wanted in zip(ROLES, row_of(name, row, viewed), strict=True):
                    point = transaction.savepoint()
                    response = getattr(clients[role], verb)(path + QUERIES.get(name, ""))
                    transaction.savepoint_rollback(point)
                    if not fits(met(response), wanted):
                        wrong.append(f"{verb} {name} as {role}: {response.status_code}")
    assert not wrong, "\n".join(wrong)
