"""crowdqc with one item an assignment, by its pages or by its API, on the stack's web server."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.bench import harness
from tests.bench.peers import tools

ITEM = re.compile(r'data-item="(\d+)"')


def sign_in(sessions: list[str], person: tools.Person) -> None:
    """With a session that was made beforehand."""
    session = sessions.pop()
    person.cookies.update(sessionid=session, csrftoken=harness.CSRF)


def turn_of_pages(paths: dict[str, Any], person: tools.Person) -> None:
    """What its page sends: claim, the page of the question, the answer."""
    csrf = {"X-CSRFToken": harness.CSRF}
    _, url = person.ask("claim", "POST", paths["claim"], body={}, headers=csrf)
    found = re.search(r"/assignments/(\d+)/", str(url))
    if found is None:
        raise RuntimeError(f"claim led to {url!r}")
    base = f"/work/assignments/{found[1]}"
    _, page = person.ask("next", "GET", f"{base}/items/1/")
    item = ITEM.search(str(page))
    if item is None:
        raise RuntimeError("the page of a question names no item")
    drafts = {item[1]: {"draft": {"text": tools.ANSWER}, "seq": 1}}
    body = {"key": str(uuid.uuid4()), "drafts": drafts}
    as_script = {**csrf, "Accept": "application/json"}
    person.ask("submit", "POST", f"{base}/submit/", body=body, headers=as_script)


def turn_of_programs(claim: str, person: tools.Person) -> None:
    """By the API: claim, submit."""
    token = {"Authorization": f"Token {person.state['token']}"}
    _, found = person.ask("next", "POST", claim, body={}, headers=token)
    answers = {str(entry["item"]): {"text": tools.ANSWER} for entry in found["entries"]}
    path = f"/api/work/assignments/{found['id']}/submit/"
    body = {"key": str(uuid.uuid4()), "answers": answers}
    person.ask("submit", "POST", path, body=body, headers=token)


def take_token(tokens: list[str], person: tools.Person) -> None:
    """With a token that was made beforehand."""
    person.state["token"] = tokens.pop()


@contextlib.contextmanager
def served(people: int) -> Iterator[tuple[tools.Tool, tools.Tool]]:
    """The pages and the API of one server; ``people`` sessions and tokens."""
    with contextlib.ExitStack() as stack:
        environment = stack.enter_context(harness.scratch_database())
        sizes = {"items": tools.QUESTIONS, "people": 2 * people, "answered": 0, "bundle": 1}
        paths = harness.fill(environment, **sizes)
        port = stack.enter_context(harness.served(environment, "crowdqc.wsgi", workers=2))
        sessions, tokens = list(paths["sessions"][:people]), list(paths["tokens"][people:])
        yield (
            tools.Tool(
                "crowdqc, pages",
                port,
                [],
                partial(sign_in, sessions),
                partial(turn_of_pages, paths),
            ),
            tools.Tool(
                "crowdqc, API",
                port,
                [],
                partial(take_token, tokens),
                partial(turn_of_programs, paths["api_claim"]),
            ),
        )
