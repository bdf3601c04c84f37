"""The MCP server of the client, by the official client over standard input and over HTTP."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
import uvicorn
from django.core.cache import caches
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import crowdqc_client
from annotation.models import ApiToken, Project, TaskVersion, User
from crowdqc_client.mcp_server import make_server
from tests.support import factories as make
from tests.support.asynchronous import run_alone
from tests.support.import_graph import ROOT
from tests.support.studies.by_client import make_labelled

pytestmark = [pytest.mark.django_db(transaction=True)]
READ = {
    "list_projects", "list_tasks", "list_items", "list_answers", "list_import_kinds",
    "list_methods", "list_runs", "get_run", "read_results",
}  # fmt: skip
WRITE = {"create_draft", "edit_draft", "add_items", "queue_items"}
Talk = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def owner(live_server: Any) -> User:
    caches["shared"].clear()
    return make.make_user(first_name="Ottilie", last_name="Secretive")


def over_stdio(url: str, token: str, talk: Talk) -> Any:
    """What is said with a server that was started for it."""
    env = {"CROWDQC_URL": url, "CROWDQC_TOKEN": token, "PYTHONPATH": str(ROOT / "client")}
    env["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "crowdqc_client.mcp_server"], env=env
    )

    async def run() -> Any:
        async with Client(server) as client:
            return await talk(client)

    return run_alone(run())


@pytest.fixture
def address(live_server: Any) -> Iterator[str]:
    """Where the server is reached over HTTP."""
    mcp = make_server(live_server.url, address="http://127.0.0.1")
    app = mcp.streamable_http_app(stateless_http=True, transport_security=None)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()


def over_http(address: str, token: str, talk: Talk) -> Any:
    """What is said over HTTP with this token."""

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return await talk(client)

    return run_alone(run())


async def names(client: Client) -> set[str]:
    """The tools that are listed."""
    return {tool.name for tool in (await client.list_tools()).tools}


async def use(client: Client, name: str, /, **values: Any) -> Any:
    """What a tool returns; its refusal as text."""
    result = await client.call_tool(name, values)
    if result.is_error:
        return result.content[0].text
    made = result.structured_content
    return made["result"] if set(made) == {"result"} else made


def test_an_assistant_reads_results_over_stdio_without_money_and_names(
    live_server: Any, owner: User
) -> None:
    with crowdqc_client.Client(live_server.url, make.api_token(owner)) as client:
        project, task, run = make_labelled(client)
    Project.objects.update(budget=100)
    token = make.api_token(owner, ["read"])

    async def talk(client: Client) -> dict[str, Any]:
        assert await names(client) == READ
        return {
            "projects": await use(client, "list_projects"),
            "tasks": await use(client, "list_tasks", project=project),
            "answers": await use(client, "list_answers", task=task, limit=4),
            "run": await use(client, "get_run", project=project, number=run),
            "labels": await use(client, "read_results", task=task, kind="labels", run=run),
            "refused": await use(client, "start_run", task=task),
            "missing": await use(client, "list_tasks", project=project + 1),
        }

    seen = over_stdio(live_server.url, token, talk)
    assert [row["id"] for row in seen["projects"]["rows"]] == [project]
    assert [row["id"] for row in seen["tasks"]["rows"]] == [task]
    assert len(seen["answers"]["rows"]) == 4 and seen["answers"]["cursor"]
    assert seen["run"]["state"] == "done" and "verdict" in seen["run"]
    assert seen["labels"]["run"]["number"] == run
    assert {"label", "posterior", "n"} <= set(seen["labels"]["rows"][0])
    assert "lacks the scope run" in seen["refused"] and "404" in seen["missing"]
    text = json.dumps(seen)
    for secret in ("Ottilie", "Secretive", owner.username, '"pay"', '"budget"', token):
        assert secret not in text


def test_an_assistant_drafts_and_runs_over_http_as_its_token_allows(
    address: str, owner: User
) -> None:
    project = make.make_project(owner=owner)
    task = make.make_task(project, 2, redundancy=3)
    for _ in range(3):
        make.claim_and_submit(task, make.make_worker(project), "The moon pulls.")
    token = make.api_token(owner, ["read", "write", "run"])

    async def talk(client: Client) -> int:
        assert await names(client) == READ | WRITE | {"start_run"}
        draft = await use(client, "create_draft", project=project.pk, title="Tides")
        changes = {"instructions": "Answer in one sentence.", "redundancy": 3}
        await use(client, "edit_draft", task=draft["id"], changes=changes)
        rows = [{"item_id": "t1", "question": "Why are there tides?"}]
        assert (await use(client, "add_items", task=draft["id"], rows=rows))["new"] == 1
        started = await use(client, "start_run", task=task.pk, params={"encoder": "char-svd"})
        assert started["number"] == 1
        return int(draft["id"])

    version = TaskVersion.objects.get(task_id=over_http(address, token, talk))
    assert version.redundancy == 3 and version.published_at is None


def test_a_token_gets_the_tools_of_its_scopes_and_none_gets_nothing(
    live_server: Any, address: str, owner: User
) -> None:
    def refused(token: str) -> bool:
        with pytest.raises(BaseException) as error:
            over_http(address, token, names)
        return isinstance(error.value, Exception)

    work = make.api_token(owner, ["work"])
    ended = make.api_token(owner, ["read"])
    ApiToken.objects.filter(scopes=["read"]).delete()
    assert refused(work) and refused(ended) and refused("")

    async def talk(client: Client) -> Any:
        return await names(client), await use(client, "list_projects")

    tools, answer = over_stdio(live_server.url, work, talk)
    assert tools == set() and "lacks the scope" in answer
