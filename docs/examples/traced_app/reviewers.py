"""Simulated reviewers, to try a review queue alone.

    python reviewers.py INVITATION TASK TOKEN TOKEN TOKEN

INVITATION is the link as People shows it, TASK the number in the task's address, and each token of
an account of its own. Reviewers join by the invitation, read what people read, and
err in one of fifty reviews.
"""

from __future__ import annotations

import json
import random
import re
import sys
import urllib.error
import urllib.request
import uuid
from typing import Any

ERRORS = 0.02  # share of reviews that are wrong


class Reviewer:
    """An account with a token for work."""

    def __init__(self, url: str, token: str, seed: int) -> None:
        self.url, self.token = url.rstrip("/"), token
        self.rng = random.Random(seed)  # noqa: S311

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of an answer."""
        headers = {
            "Authorization": f"Token {self.token}",
            "Content-Type": "application/json",
            "Idempotency-Key": uuid.uuid4().hex,
        }
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310
            f"{self.url}/api/work/{path}", data, headers, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def join(self, invitation: str) -> None:
        """Join the project, and agree to its consent text."""
        project = self.call("POST", "join/", {"token": invitation})["project"]
        consent = f"projects/{project}/consent/"
        number = self.call("GET", consent)["number"]
        self.call("POST", consent, {"number": number, "agreed": True})

    def review(self, shown: str) -> dict[str, str]:
        """Fail where the tool failed and the assistant says that it is done, at that turn."""
        fails = '"ok": false' in shown and "Done." in shown
        if fails == (self.rng.random() < ERRORS):
            return {"l-outcome": "pass"}
        turns = re.findall(r"^\[(\d+)\] Assistant:", shown, re.MULTILINE)
        return {"l-outcome": "fail", "l-where": turns[-1]}

    def review_all(self, task: int) -> tuple[int, str]:
        """Review until nothing can be claimed; how many, and why it ended."""
        done = 0
        while True:
            try:
                lease = self.call("POST", f"tasks/{task}/claim/", {})
            except urllib.error.HTTPError as error:
                return done, read_reason(error)
            answers = {
                str(entry["item"]): self.review(entry["question"]) for entry in lease["entries"]
            }
            body = {"key": str(uuid.uuid4()), "answers": answers}
            self.call("POST", f"assignments/{lease['id']}/submit/", body)
            done += len(answers)


def read_reason(error: urllib.error.HTTPError) -> str:
    """Return what the server says about a refusal."""
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return str(error)


def main(link: str, task: int, tokens: list[str]) -> int:
    """Let everybody with one of these tokens join and review; how many reviews."""
    url, _, invitation = link.strip().strip("/").rpartition("/join/")
    done = 0
    for number, token in enumerate(tokens, 1):
        reviewer = Reviewer(url, token, number - 1)
        given = 0
        try:
            reviewer.join(invitation)
            given, reason = reviewer.review_all(task)
        except urllib.error.HTTPError as error:
            reason = read_reason(error)
        if not given:
            print(f"Token {number} gave no review: {reason}")
        done += given
    print(f"{done} reviews")
    return done


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
