"""A practice platform: what a study on Prolific does, on this machine and without money.

    python practice_prolific.py [--port 8200] [--reward 1.00] [--currency EUR]

It has one study, whose page shows what to enter in crowdqc, sends invented participants to the
study's address and takes their completion codes. It answers the calls by which crowdqc approves,
rejects and pays a bonus. What it did is forgotten when it stops.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

STUDY, TOKEN = "practice-study", "practice-token"
Answer = tuple[int, dict[str, Any]]  # of the API: status and body
MOVES = {
    "APPROVE": ("AWAITING REVIEW", "APPROVED"),
    "REJECT": ("AWAITING REVIEW", "REJECTED"),
    "UNREJECT": ("REJECTED", "AWAITING REVIEW"),
}
STYLE = """body{font:1rem/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem .3rem 0}
input[name=address]{width:100%}dl{display:grid;grid-template-columns:10rem 1fr}dd{margin:0}"""


@dataclass
class Submission:
    participant: str
    status: str = "ACTIVE"
    code: str = ""
    bonuses: list[int] = field(default_factory=list)  # in hundredths, as the API tells them


@dataclass
class Platform:
    """The study, its submissions by id, and bonuses that were set up."""

    reward: int
    currency: str
    url: str = ""
    address: str = ""
    submissions: dict[str, Submission] = field(default_factory=dict)
    bonuses: dict[str, tuple[str, int]] = field(default_factory=dict)

    def take_part(self) -> str:
        """A new participant, and where they go."""
        session, participant = secrets.token_hex(12), secrets.token_hex(12)
        self.submissions[session] = Submission(participant)
        values = {"PROLIFIC_PID": participant, "STUDY_ID": STUDY, "SESSION_ID": session}
        where = self.address
        for name, value in values.items():
            where = where.replace("{{%" + name + "%}}", value)
        return where

    def complete(self, session: str, code: str) -> None:
        """The participant came back with a code."""
        one = self.submissions.get(session)
        if one is not None and one.status == "ACTIVE" and code:
            one.status, one.code = "AWAITING REVIEW", code

    def call(self, path: str, body: dict[str, Any]) -> Answer:
        """One call of the API: its status and its answer."""
        if path == f"studies/{STUDY}/":
            told = {"id": STUDY, "reward": self.reward}
            return 200, {**told, "presentment_currency_code": self.currency}
        if path == "submissions/bonus-payments/":
            return self._set_up_bonus(body)
        if found := re.fullmatch(r"bulk-bonus-payments/([^/]+)/pay/", path):
            return self._pay_bonus(found[1])
        if found := re.fullmatch(r"submissions/([^/]+)/(transition/)?", path):
            return self._submission(found[1], body if found[2] else None)
        return 404, _error("Not found.")

    def _set_up_bonus(self, body: dict[str, Any]) -> Answer:
        session, _, amount = str(body["csv_bonuses"]).strip().partition(",")
        if session not in self.submissions:
            return 400, _error("There is no such submission.")
        key = f"bonus-{len(self.bonuses) + 1}"
        self.bonuses[key] = session, round(float(amount) * 100)
        return 201, {"id": key, "amount": self.bonuses[key][1]}

    def _pay_bonus(self, key: str) -> Answer:
        if key not in self.bonuses:
            return 404, _error("There is no such bonus.")
        session, pence = self.bonuses[key]
        self.submissions[session].bonuses.append(pence)
        return 202, {}

    def _submission(self, key: str, move: dict[str, Any] | None) -> Answer:
        one = self.submissions.get(key)
        if one is None:
            return 404, _error("Not found.")
        if move is not None:
            start, end = MOVES[move["action"]]
            if one.status not in (start, end):
                return 400, _error(f"A submission that is {one.status} cannot do this.")
            one.status = end
        told = {"id": key, "participant": one.participant, "study_id": STUDY}
        return 200, {**told, "status": one.status, "bonus_payments": one.bonuses}

    def page(self) -> str:
        """The study as its researcher sees it."""
        rows = "".join(
            f"<tr><td><code>{session}</code><td>{one.status}<td>{escape(one.code) or _ask(session)}"
            f"<td>{self._paid(one)}"
            for session, one in self.submissions.items()
        )
        part = '<form method="post" action="/take-part" target="_blank"><button>Take part</button>'
        return f"""<!doctype html><html lang="en"><title>Practice platform</title>
<style>{STYLE}</style><h1>Practice platform</h1>
<p>It stands in for Prolific on this machine. No real people, no real money.</p>
<h2>Enter in crowdqc</h2><dl><dt>Study<dd><code>{STUDY}</code>
<dt>API token<dd><code>{TOKEN}</code><dt>Address of the API<dd><code>{self.url}</code>
<dt>Reward<dd>{self.reward / 100:.2f} {self.currency}</dl>
<h2>Study address</h2><form method="post" action="/address">
<label>Paste the study address of crowdqc<br>
<input name="address" value="{escape(self.address)}"></label> <button>Save</button></form>
<h2>Submissions</h2>{part + "</form>" if self.address else "<p>Save the study address first.</p>"}
<table><tr><th>Submission<th>Status<th>Completion code<th>Paid{rows}</table>
<p><a href="/">Reload</a> · <a href="/statement.csv">Statement</a></p></html>"""

    def _paid(self, one: Submission) -> str:
        base = self.reward * (one.status == "APPROVED")
        bonus = f", bonus {sum(one.bonuses) / 100:.2f}" if one.bonuses else ""
        return f"{base / 100:.2f}{bonus}"

    def statement(self) -> str:
        """What was paid, a row each."""
        paid = [
            (session, kind, pence)
            for session, one in self.submissions.items()
            for kind, pence in [("base", self.reward * (one.status == "APPROVED"))]
            + [("bonus", pence) for pence in one.bonuses]
            if pence
        ]
        rows = [f"{key},{kind},{pence / 100:.2f},{self.currency}" for key, kind, pence in paid]
        return "\n".join(["submission,kind,amount,currency", *rows, ""])


def _ask(session: str) -> str:
    return (
        f'<form method="post" action="/complete"><input type="hidden" name="session" '
        f'value="{session}"><input name="code" aria-label="Completion code"> '
        f"<button>Complete</button></form>"
    )


def _error(words: str) -> dict[str, Any]:
    return {"error": {"title": "Error", "detail": words}}


def handler(platform: Platform) -> type[BaseHTTPRequestHandler]:
    """Requests of browsers to the pages, and of crowdqc to the API."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            if self.path.startswith("/api/v1/"):
                self.call({})
            elif self.path == "/statement.csv":
                self.tell(200, platform.statement(), "text/csv; charset=utf-8")
            elif self.path == "/":
                self.tell(200, platform.page(), "text/html; charset=utf-8")
            else:
                self.tell(404, "Not found", "text/plain")

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            if self.path.startswith("/api/v1/"):
                return self.call(json.loads(raw or "{}"))
            form = {name: values[0].strip() for name, values in parse_qs(raw).items()}
            where = "/"
            if self.path == "/address":
                platform.address = form.get("address", "")
            elif self.path == "/take-part" and platform.address:
                where = platform.take_part()
            elif self.path == "/complete":
                platform.complete(form.get("session", ""), form.get("code", ""))
            self.send_response(303)
            self.send_header("Location", where)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None

        def call(self, body: dict[str, Any]) -> None:
            if self.headers.get("Authorization") != f"Token {TOKEN}":
                status, told = 401, _error("Invalid token.")
            else:
                path = self.path.removeprefix("/api/v1/")
                status, told = platform.call(path, body)
            self.tell(status, json.dumps(told), "application/json")

        def tell(self, status: int, text: str, kind: str) -> None:
            raw = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler


def serve(port: int, reward: float, currency: str) -> ThreadingHTTPServer:
    """The platform on this machine; ``serve_forever`` runs it."""
    platform = Platform(round(reward * 100), currency)
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(platform))
    platform.url = f"http://127.0.0.1:{server.server_port}"
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8200)
    parser.add_argument("--reward", type=float, default=1.00, help="of one submission")
    parser.add_argument("--currency", default="EUR")
    given = parser.parse_args()
    server = serve(given.port, given.reward, given.currency)
    print(
        f"practice platform at http://127.0.0.1:{server.server_port} (Ctrl-C stops it)", flush=True
    )
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
