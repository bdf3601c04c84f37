"""The client package: as the API's schema says, in both halves, on the command line, as a wheel."""

from __future__ import annotations

import ast
import json
import re
import socket
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from drf_spectacular.generators import SchemaGenerator

import crowdqc_client
from crowdqc_client import AsyncClient, Client, ConnectionFailed, Invalid, ServerError, cli
from tests.support import factories as make
from tests.support.asynchronous import run_alone
from tests.support.import_graph import ROOT
from tests.support.source import parse_source
from tests.support.studies.by_client import make_labelled

FOLDER = ROOT / "client"
PACKAGE = FOLDER / "crowdqc_client"


@pytest.fixture(scope="module")
def generator() -> Any:
    """The program that generates the client."""
    sys.path.insert(0, str(FOLDER / "tools"))
    import generate

    yield generate
    sys.path.remove(str(FOLDER / "tools"))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The API's schema now, as JSON."""
    made = SchemaGenerator().get_schema(request=None, public=True)
    return dict(json.loads(json.dumps(made, default=str)))


def test_models_are_those_of_the_schema(generator: Any, schema: dict[str, Any]) -> None:
    """Where this fails, say ``make client`` and look at the difference."""
    stored = json.loads(generator.DIGESTS.read_text())
    now = generator.schema_digests(schema)
    assert {name for name in stored | now if stored.get(name) != now.get(name)} == set()


def test_the_synchronous_half_mirrors_the_asynchronous_one(generator: Any, tmp_path: Path) -> None:
    made = tmp_path / "synchronous.py"
    made.write_text(generator.mirror((PACKAGE / "asynchronous.py").read_text()))
    generator.format_files(made)
    assert made.read_text() == (PACKAGE / "synchronous.py").read_text()


def requests_in(path: Path) -> Iterator[tuple[str, str, str]]:
    """Verb, address and model of each request in the client's code."""
    for function in ast.walk(parse_source(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr not in ("fetch", "rows") or len(node.args) < 2:
                continue
            model, *rest = node.args
            verb = ast.literal_eval(rest.pop(0)) if node.func.attr == "fetch" else "ROWS"
            address = rest[0]
            if isinstance(address, ast.Name):  # path = f"..." above
                [address] = [
                    step.value
                    for step in ast.walk(function)
                    if isinstance(step, ast.Assign) and ast.unparse(step.targets[0]) == "path"
                ]
            if isinstance(model, ast.Attribute) and isinstance(verb, str):
                text = ast.unparse(address).lstrip("f").strip("'\"")
                yield verb, re.sub(r"{[^}]*}", "{}", text), model.attr


def test_every_method_asks_for_an_address_of_the_schema_and_reads_its_model(
    schema: dict[str, Any],
) -> None:
    operations = {
        (verb.upper(), re.sub(r"{[^}]*}", "{}", path)): json.dumps(about["responses"])
        for path, verbs in schema["paths"].items()
        for verb, about in verbs.items()
    }
    calls = list(requests_in(PACKAGE / "synchronous.py"))
    wrong = []
    for verb, path, model in calls:
        known = operations.get(("GET" if verb == "ROWS" else verb, path), "")
        name = f"Paginated{model}List" if verb == "ROWS" else model
        if f'schemas/{name}"' not in known:
            wrong.append((verb, path, model))
    assert len(calls) > 40 and wrong == []


@pytest.fixture
def client(live_server: Any) -> Iterator[Client]:
    caches["shared"].clear()
    token = make.api_token(make.make_user(), ["read", "write", "run"])
    with Client(live_server.url, token) as client:
        yield client


@pytest.mark.django_db(transaction=True)
def test_results_are_read_as_records_and_tables_in_both_halves(client: Client) -> None:
    _, task, number = make_labelled(client)
    labels = client.results.labels(task, run=number)
    records = labels.to_records()
    assert {row["item_id"]: row["label"] for row in records} == {
        "t0": "bad", "t1": "good", "t2": "bad", "t3": "good",
    }  # fmt: skip
    assert labels.run is not None and labels.run.number == number
    assert {"posterior.good", "posterior.bad"} <= set(records[0])
    assert list(labels.to_pandas()["label"]) == [row["label"] for row in records]
    assert labels.to_polars()["posterior.good"].to_list() == labels.to_pandas()[
        "posterior.good"
    ].tolist()  # fmt: skip
    assert client.results.systems(task, run=number).to_pandas().empty

    async def read() -> list[str]:
        async with AsyncClient(client.server.url, client.server.token) as other:
            pages = other.rows(labels._model, labels._path, {"run": number, "page_size": 1})
            return [row.item_id async for row in pages]

    assert run_alone(read()) == [row["item_id"] for row in records]


@pytest.mark.django_db(transaction=True)
def test_the_command_line_creates_imports_and_reads(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("CROWDQC_URL", client.server.url)
    monkeypatch.setenv("CROWDQC_TOKEN", client.server.token)

    def run(*words: str) -> Any:
        assert cli.main(words) == 0
        return json.loads(capsys.readouterr().out)

    project = run("projects", "create", "Tides")["id"]
    task = run("tasks", "create", str(project), "Questions", "--type", "free_text")["id"]
    changed = run("tasks", "update", str(task), "--pay", "1.50", "--redundancy", "2")
    assert changed["draft"]["pay"] == "1.50"
    (tmp_path / "items.csv").write_text("item_id,question\nq1,Why are there tides?\n")
    assert run("items", "add", str(task), str(tmp_path / "items.csv"))["new"] == 1
    assert [row["item_id"] for row in run("items", "list", str(task))] == ["q1"]
    assert cli.main(["projects", "create", ""]) == cli.REFUSED
    assert "name" in capsys.readouterr().err


class Unsteady(BaseHTTPRequestHandler):
    """Answers the third time a request comes, and notes the keys."""

    keys: list[str] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers["Idempotency-Key"])
        if len(self.keys) == 1:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = b'{"code": "down"}' if len(self.keys) == 2 else b'{"name": "Tides"}'
        self.send_response(503 if len(self.keys) == 2 else 200)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PATCH = do_POST

    def log_message(self, *words: Any) -> None:
        """Print nothing."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on this machine; its address."""
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def unsteady() -> Iterator[str]:
    Unsteady.keys = []
    with serving(Unsteady) as address:
        yield address


def test_a_request_without_an_answer_is_repeated_under_one_key(unsteady: str) -> None:
    with Client(unsteady, "t") as client:
        assert client.request("POST", "/api/projects/", body={})["name"] == "Tides"
    assert len(Unsteady.keys) == 3 and len(set(Unsteady.keys)) == 1


def test_a_change_is_not_repeated_and_patience_ends(unsteady: str) -> None:
    with Client(unsteady, "t", attempts=2) as client:
        with pytest.raises(ConnectionFailed):
            client.request("PATCH", "/api/projects/1/", body={})
        assert len(Unsteady.keys) == 1
        Unsteady.keys = ["first"]
        with pytest.raises(ServerError, match="down"), Client(unsteady, "t", attempts=1) as hasty:
            hasty.request("POST", "/api/projects/", body={})


class Backend(BaseHTTPRequestHandler):
    """An ML backend as Label Studio has it: what ends in an even number is good."""

    def do_GET(self) -> None:
        self.reply({"status": "UP", "model_class": "EvenOrOdd"} if self.path == "/health" else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/predict" and "Authorization" not in self.headers
        assert '<Choices name="mood" toName="text"' in body["label_config"]
        labels = [
            "bad" if task["data"]["text"][-1] in "13579" else "good" for task in body["tasks"]
        ]
        regions = [
            {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [one]}}
            for one in labels
        ]
        results = [{"result": [region], "score": 0.9} for region in regions]
        self.reply({"results": results})

    def reply(self, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words: Any) -> None:
        """Print nothing."""


@pytest.mark.django_db(transaction=True)
def test_a_backend_of_label_studio_labels_a_task_as_a_system(client: Client) -> None:
    _, task, _ = make_labelled(client)
    with serving(Backend) as address:
        assert client.answers.predict(task, address) == 4
        assert client.answers.predict(task, address) == 0  # they are there
    answers = client.answers.list(task, author="system").to_list()
    assert {answer.system for answer in answers} == {"EvenOrOdd"}
    assert {answer.item_id: answer.choices["mood"] for answer in answers} == {
        "t0": "good", "t1": "bad", "t2": "good", "t3": "bad",
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_refusal_is_an_error_of_its_kind_with_its_fields(client: Client) -> None:
    with pytest.raises(Invalid) as refused:
        client.projects.create("")
    assert refused.value.status == 422 and set(refused.value.fields) == {"name"}
    assert client.server.token not in repr(client.server)


@pytest.mark.long
def test_the_wheel_holds_the_client_alone_and_needs_nothing_of_the_server(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=FOLDER, check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.glob("crowdqc_client-*.whl")
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True, capture_output=True)
    code = "import crowdqc_client, sys; assert not {'django', 'crowdqc'} & set(sys.modules)"
    subprocess.run([python, "-c", code], check=True, cwd=tmp_path)
    command = tmp_path / "fresh" / "bin" / "crowdqc-client"
    done = subprocess.run([command, "--help"], check=True, capture_output=True, text=True)
    assert "payouts" in done.stdout
    assert (PACKAGE / "py.typed").exists() and crowdqc_client.__all__
