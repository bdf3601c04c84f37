"""Files that are fetched by address: from a server, a data set or a bucket, by a job."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.test import Client
from django.urls import reverse

from annotation.formats.uploads.addresses import parse_address
from annotation.models import ImportFile
from crowdqc.errors import Invalid
from crowdqc.files.places import imports_storage
from tests.support import factories
from tests.support.servers.s3 import bucket_settings, s3_server
from tests.support.uploads import work

pytestmark = pytest.mark.django_db

VOTES = "worker,item,label\n" + "".join(f"w{k},i{n},{n % 2}\n" for n in range(6) for k in range(3))
State = ImportFile.State


@contextmanager
def server(**files: str) -> Iterator[str]:
    """Serve files by name; one whose text begins with -> is elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = files.get(self.path.strip("/").partition(".")[0])
            if text is None:
                self.send_error(404)
            elif text.startswith("->"):
                self.send_response(302)
                self.send_header("Location", text[2:])
                self.end_headers()
            else:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        made.server_close()


@pytest.fixture
def client() -> Client:
    found = Client()
    found.force_login(factories.make_world(n=1).requester)
    return found


def fetched(client: Client, address: str) -> ImportFile:
    page = client.post(reverse("score_table"), {"address": address})
    assert page.status_code == 302
    assert ImportFile.objects.get().state == State.FETCHING
    assert client.get(page["Location"]).context["active"]
    work()
    return ImportFile.objects.get()


def test_a_file_is_fetched_by_a_job_and_read_like_an_upload(client: Client) -> None:
    with server(votes=VOTES, moved="->/votes.csv") as address:
        file = fetched(client, f"{address}/moved.csv")
    assert (file.state, file.name, file.size) == (State.READY, "moved.csv", len(VOTES))
    assert file.found["new"] == 18


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.csv", "answered 404"),
        ("again.csv", "leads on and on"),
        ("page.csv", "a web page"),
        ("large.csv", "MB is the most"),
    ],
)
def test_what_cannot_be_fetched_says_why(
    name: str, reason: str, client: Client, settings: Any
) -> None:
    settings.CROWDQC_IMPORT_MAX_BYTES = 2**20
    files = {"again": "->/again.csv", "page": "<html><p>No", "large": "a" * (2**20 + 1)}
    with server(**files) as address:
        file = fetched(client, f"{address}/{name}")
    assert file.state == State.FAILED and reason in file.error["message"]
    assert file.stored_id is None


def test_no_address_leads_into_a_private_network(client: Client, settings: Any) -> None:
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    for address in ("https://127.0.0.1/a.csv", "https://db.internal/a.csv", "http://a.example/b"):
        page = client.post(reverse("score_table"), {"address": address})
        assert (page.status_code, ImportFile.objects.count()) == (422, 0)
    with server(votes=VOTES) as inside:
        settings.CROWDQC_LOCAL_ENDPOINTS = True
        file = client.post(reverse("score_table"), {"address": f"{inside}/votes.csv"})
        settings.CROWDQC_LOCAL_ENDPOINTS = False
        assert file.status_code == 302
        work()
    assert ImportFile.objects.get().state == State.FAILED


@pytest.mark.parametrize(
    ("typed", "file"),
    [
        (
            "hf://datasets/org/set/data/train.parquet",
            "https://huggingface.co/datasets/org/set/resolve/main/data/train.parquet",
        ),
        (
            "https://huggingface.co/datasets/org/set/blob/v1/a.csv",
            "https://huggingface.co/datasets/org/set/resolve/v1/a.csv",
        ),
        (
            "https://github.com/org/code/blob/main/data/a.csv",
            "https://raw.githubusercontent.com/org/code/main/data/a.csv",
        ),
        (
            "https://docs.google.com/spreadsheets/d/1aB-c/edit?gid=0#gid=0",
            "https://docs.google.com/spreadsheets/d/1aB-c/export?format=csv",
        ),
    ],
)
def test_the_address_of_a_page_stands_for_the_file_that_it_shows(typed: str, file: str) -> None:
    assert parse_address(typed).address == file


def test_a_task_takes_a_file_by_address(client: Client) -> None:
    world = factories.make_world(n=1)
    client.force_login(world.requester)
    where = reverse("task_import", args=[world.project.pk, world.task.pk, "items"])
    with server(items="item_id,question\nq-1,Why?\nq-2,How?\n") as address:
        page = client.post(where, {"address": f"{address}/items.csv"})
        assert page.status_code == 302
        work()
    assert ImportFile.objects.get().found["new"] == 2
    assert client.get(page["Location"]).status_code == 200


def test_a_file_of_the_bucket_for_imports_is_read(client: Client, settings: Any) -> None:
    with pytest.raises(Invalid, match="no bucket"):
        parse_address("bucket:votes.csv")
    with s3_server() as address:
        told = bucket_settings(address, "studies")
        s3 = {
            "endpoint_url": address,
            "region_name": told["CROWDQC_S3_REGION"],
            "access_key": told["CROWDQC_S3_ACCESS_KEY"],
            "secret_key": told["CROWDQC_S3_SECRET_KEY"],
        }
        settings.STORAGES = settings.STORAGES | imports_storage("studies/in", {}, s3)
        storages["imports"].save("may/votes.csv", ContentFile(VOTES.encode()))
        file = fetched(client, "bucket:may/votes.csv")
        assert (file.state, file.found["new"]) == (State.READY, 18)
        with pytest.raises(Invalid, match="Name a file"):
            parse_address("bucket:../secret.csv")


@pytest.mark.parametrize(
    ("name", "folder"),
    [("files", ""), ("files/in", ""), ("files", "kept"), ("files/kept/a", "kept")],
)
def test_the_bucket_for_imports_is_not_where_files_are_kept(name: str, folder: str) -> None:
    own = {"s3": {"OPTIONS": {"bucket_name": "files", "location": folder}}}
    with pytest.raises(ImproperlyConfigured):
        imports_storage(name, own, {})
    assert imports_storage(
        "files/in", {"s3": {"OPTIONS": {"bucket_name": "files", "location": "kept"}}}, {}
    )
