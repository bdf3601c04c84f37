"""Label Studio as its documentation starts it: its own server, SQLite, a text area, overlap 3."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.bench.peers import tools
from tests.bench.peers.environments import command_of

CONFIGURATION = """<View><Text name="text" value="$text"/>
<TextArea name="answer" toName="text"/></View>"""
TOKEN_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]*)"')
PASSWORD = "a-bench-password-1"


def sign_in(person: tools.Person) -> None:
    """A new account, and its first look, before anybody works.

    The first look of all makes a row of its organization: of ten at once, nine are answered by 500.
    """
    _, page = person.ask("sign in", "GET", "/user/signup/")
    found = TOKEN_FIELD.search(str(page))
    form = {
        "csrfmiddlewaretoken": found[1] if found else "",
        "email": f"{person.name}@example.org",
        "password": PASSWORD,
    }
    person.ask("sign in", "POST", "/user/signup/", form=form)
    person.ask("sign in", "GET", "/api/current-user/whoami")


def turn(project: int, person: tools.Person) -> None:
    """What its page sends: the next task, and the annotation of it."""
    _, task = person.ask("next", "GET", f"/api/projects/{project}/next")
    value = {"text": [tools.ANSWER]}
    result = {"from_name": "answer", "to_name": "text", "type": "textarea", "value": value}
    body = {"result": [result], "lead_time": 1.0}
    token = {"X-CSRFToken": person.cookies.get("csrftoken", "")}
    path = f"/api/tasks/{task['id']}/annotations/?project={project}"
    person.ask("submit", "POST", path, body=body, headers=token)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tools.Tool]:
    """A server with ``tools.QUESTIONS`` tasks. Raises NotHere."""
    command, port = command_of("label-studio"), tools.free_port()
    token = secrets.token_hex(20)
    environment = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "LABEL_STUDIO_USERNAME": "owner@example.org",
        "LABEL_STUDIO_PASSWORD": PASSWORD,
        "LABEL_STUDIO_USER_TOKEN": token,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "0",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "0",
    }
    arguments = [
        *(command, "start", "--no-browser", "--port", str(port)),
        *("--internal-host", "127.0.0.1", "--log-level", "ERROR"),
    ]
    with tools.started(arguments, folder, environment, port, "/health") as pid:
        owner = tools.Person("owner", port)
        program = {"Authorization": f"Token {token}"}
        project = {
            "title": "bench",
            "label_config": CONFIGURATION,
            "maximum_annotations": 3,
        }
        _, made = owner.ask("set up", "POST", "/api/projects/", body=project, headers=program)
        rows = [{"text": f"What is meant by term number {n}?"} for n in range(tools.QUESTIONS)]
        path = f"/api/projects/{made['id']}/import"
        owner.ask("set up", "POST", path, body=rows, headers=program)
        yield tools.Tool("Label Studio 1.23.2", port, [pid], sign_in, partial(turn, made["id"]))
