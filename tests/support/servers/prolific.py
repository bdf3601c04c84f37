"""A Prolific for tests: its API on loopback, with books of its own, and with faults.

Like the real one it pays a bonus again when asked again, and shows what was paid only a while
later. What it did is read from ``books`` afterwards, never from what it answered.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from annotation.models import Assignment, Recruitment, Task, Visit
from annotation.recruitment.platforms.prolific import PURPOSE
from crowdqc.sealing import sealed
from tests.support import factories

TOKEN, STUDY = "a-token", "study-1"
JWKS, ISSUER, SITE = (
    "/.well-known/study/jwks.json",
    "https://www.prolific.com",
    "https://testserver",
)
MOVES = {
    "APPROVE": ("AWAITING REVIEW", "APPROVED"),
    "REJECT": ("AWAITING REVIEW", "REJECTED"),
    "UNREJECT": ("REJECTED", "AWAITING REVIEW"),
}
# What may go wrong with a request: said before acting, or done and then not said.
FAULTS = ("500-before", "429", "500-after", "cut-after", "silent-after")


@dataclass
class Submission:
    """One participant's submission, with the bonuses it was paid: (pence, visible from)."""

    participant: str
    status: str = "AWAITING REVIEW"
    bonuses: list[tuple[int, float]] = field(default_factory=list)
    approvals: int = 0
    message: str = ""


class Platform:
    """The running fake. ``faults``: fault -> probability a request; ``script`` overrides it:
    the faults of the next requests whose path holds a word, in order ("" is none).
    """

    def __init__(
        self, *, reward: int = 180, currency: str = "EUR", delay: float = 0.0, seed: int = 1
    ) -> None:
        self.reward, self.delay, self.silence = reward, delay, 1.0
        self.currency = currency  # "": the study does not say
        self.submissions: dict[str, Submission] = {}
        self.bulks: dict[str, tuple[str, int]] = {}
        self.pays: Counter[str] = Counter()
        self.asked: list[str] = []
        self.faults: Mapping[str, float] = {}
        self.script: dict[str, list[str]] = {}
        self.keys: list[dict[str, Any]] = []
        self.lock, self._random = threading.Lock(), random.Random(seed)
        self._ids = itertools.count(1)
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def books(self) -> dict[str, tuple[int, list[int]]]:
        """What was really done: by submission, how often approved, and each bonus in pence."""
        return {
            key: (one.approvals, [amount for amount, _ in one.bonuses])
            for key, one in self.submissions.items()
        }

    def fault(self, path: str) -> str:
        for word, coming in self.script.items():
            if word in path and coming:
                return coming.pop(0)
        drawn = self._random.random()
        for name, chance in self.faults.items():
            drawn -= chance
            if drawn < 0:
                return name
        return ""

    def act(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Do what is asked, and what to answer."""
        if method == "GET" and (found := re.fullmatch(r"submissions/([^/]+)/", path)):
            return self._submission(found[1])
        if re.fullmatch(r"studies/[^/]+/", path):
            told = {"presentment_currency_code": self.currency} if self.currency else {}
            return 200, {"id": STUDY, "reward": self.reward, **told}
        if found := re.fullmatch(r"submissions/([^/]+)/transition/", path):
            return self._move(found[1], body)
        if path == "submissions/bonus-payments/":
            session, _, amount = body["csv_bonuses"].strip().partition(",")
            key = f"bulk-{next(self._ids)}"
            self.bulks[key] = (session, round(float(amount) * 100))
            return 201, {"id": key, "amount": self.bulks[key][1], "total_amount": 0}
        if found := re.fullmatch(r"bulk-bonus-payments/([^/]+)/pay/", path):
            session, pence = self.bulks[found[1]]
            self.pays[found[1]] += 1
            self.submissions[session].bonuses.append((pence, time.monotonic() + self.delay))
            return 202, "accepted"
        return 404, _error("Not found")

    def _submission(self, key: str) -> tuple[int, Any]:
        one = self.submissions.get(key)
        if one is None:
            return 404, _error("Not found")
        now = time.monotonic()
        seen = [float(amount) for amount, since in one.bonuses if since <= now]
        return 200, {
            "id": key,
            "participant": one.participant,
            "study_id": STUDY,
            "status": one.status,
            "started_at": "2026-01-01T00:00:00Z",
            "bonus_payments": seen,
        }

    def _move(self, key: str, body: dict[str, Any]) -> tuple[int, Any]:
        one = self.submissions[key]
        start, end = MOVES[body["action"]]
        if body["action"] == "REJECT" and len(body.get("message", "")) < 100:
            return 400, _error("The message is too short.")
        if one.status == start:
            one.status, one.message = end, body.get("message", "")
            one.approvals += end == "APPROVED"
        elif one.status != end:
            return 400, _error(f"A submission that is {one.status} cannot do this.")
        return 200, {"id": key, "status": one.status, "study_id": STUDY}


def _error(words: str) -> dict[str, Any]:
    return {"error": {"status": 400, "error_code": 1, "title": "Error", "detail": words}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(platform: Platform) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            if self.path == JWKS:
                platform.asked.append("GET jwks")
                return self._tell(200, {"keys": platform.keys})
            return self._answer({})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(json.loads(raw) if raw else {})

        def _answer(self, body: dict[str, Any]) -> None:
            path = self.path.removeprefix("/api/v1/")
            if self.headers.get("Authorization") != f"Token {TOKEN}":
                return self._tell(401, _error("Invalid token."))
            with platform.lock:
                platform.asked.append(f"{self.command} {path}")
                fault = platform.fault(path)
                if fault == "500-before":
                    status, told = 500, _error("scripted")
                elif fault == "429":
                    status, told = 429, _error("slow down")
                else:
                    status, told = platform.act(self.command, path, body)
            if fault == "500-after":
                status, told = 500, _error("scripted")
            if fault in ("cut-after", "silent-after"):
                if fault == "silent-after":
                    time.sleep(platform.silence)
                self.close_connection = True
                return None
            return self._tell(status, told)

        def _tell(self, status: int, told: Any) -> None:
            raw = json.dumps(told).encode()
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(raw)

    return Handler


@contextmanager
def serving(**options: Any) -> Iterator[Platform]:
    """The fake for the time of the block."""
    platform = Platform(**options)
    thread = threading.Thread(
        target=platform.server.serve_forever, args=(0.05,), name="prolific", daemon=True
    )
    thread.start()
    try:
        yield platform
    finally:
        platform.server.shutdown()
        platform.server.server_close()
        thread.join()


def make_recruitment(task: Task, platform: Platform | None = None, **fields: Any) -> Recruitment:
    """A study of the task; with the fake its decisions leave by the API."""
    api = {"api_url": platform.url, "token_sealed": sealed.seal(TOKEN, PURPOSE)} if platform else {}
    names = {
        "participant": "PROLIFIC_PID",
        "study": "STUDY_ID",
        "session": "SESSION_ID",
        "token": "prolific_token",
    }
    values = {
        "kind": "prolific",
        "name": "Study 1",
        "study_id": STUDY,
        "parameters": names,
        "currency": task.project.currency,
        "created_by": task.project.owner,
        "codes": {"completed": "DONE1", "no_consent": "NOPE1"},
        **api,
        **fields,
    }
    return Recruitment.objects.create(task=task, **values)


_people = itertools.count(1)


def make_visit(
    recruitment: Recruitment, assignment: Assignment, platform: Platform | None = None
) -> Visit:
    """The assignment's worker came through the recruitment, and waits for review there."""
    number = next(_people)
    person, session = f"person{number}", f"session{number}"
    if platform is not None:
        platform.submissions[session] = Submission(person)
    return Visit.objects.create(
        recruitment=recruitment,
        participant=person,
        study=recruitment.study_id,
        session=session,
        worker=assignment.worker,
        assignment=assignment,
        bound="x",
        outcome="completed",
    )


def make_visited(
    recruitment: Recruitment, platform: Platform | None = None, n: int = 1
) -> list[Visit]:
    """So many people who came and submitted."""
    task = recruitment.task
    return [make_visit(recruitment, factories.claim_and_submit(task), platform) for _ in range(n)]


class Key:
    """A key of the platform (or of somebody who would like to be it), and what it signs."""

    def __init__(self, kid: str = "key-1") -> None:
        self.kid = kid
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def public(self) -> dict[str, Any]:
        """As it stands in the published set."""
        jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key()))
        return {**jwk, "kid": self.kid, "alg": "RS256", "use": "sig"}

    def claims(self, participant: str, session: str = "s1", **more: Any) -> dict[str, Any]:
        """What Prolific says of one entry."""
        told = {
            "PROLIFIC_PID": participant,
            "STUDY_ID": STUDY,
            "SESSION_ID": session,
            "workspace_id": "w1",
        }
        now = int(time.time())
        return {
            "iss": ISSUER,
            "aud": f"{SITE}/enter/",
            "sub": session,
            "iat": now,
            "exp": now + 300,
            "prolific": told,
            **more,
        }

    def sign(self, claims: dict[str, Any], kid: str = "") -> str:
        """The token over these claims."""
        return jwt.encode(claims, self.private, "RS256", headers={"kid": kid or self.kid})
