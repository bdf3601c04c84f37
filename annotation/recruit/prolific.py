"""Prolific's API, as far as paying needs it: what stands there, and the few calls that change it.

Amounts: a bonus is set up in whole currency ("1.50"), and what was paid is read in pence (150).
Approving and rejecting are idempotent there; paying a bonus is not, so each outcome of a request
is told apart: refused (nothing happened), never sent, or without an answer (nobody knows).
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Self
from urllib.parse import quote

import httpx2
from django.conf import settings

from crowdqc import addresses

API = "https://api.prolific.com"
MOST_BYTES = 1_000_000
APPROVED, REJECTED, WAITING = "APPROVED", "REJECTED", "AWAITING REVIEW"
# Told of every request that changes something before it leaves, and of every one after it ended.
Note = Callable[[str, int | None, str], None]


class PlatformError(Exception):
    """What went wrong with one request, in words for a person."""


class NotSent(PlatformError):
    """The request never reached the platform, or was turned away unread: nothing happened."""

    def __init__(self, words: str, *, wait: float | None = None) -> None:
        super().__init__(words)
        self.wait = wait


class Refused(PlatformError):
    """The platform says no: nothing happened, and asking again says the same."""


class NoAnswer(PlatformError):
    """The request left, and nobody knows what came of it."""


def pence(amount: Decimal) -> int:
    """An amount in hundredths, as the API tells what was paid."""
    return int(amount * 100)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Loaded once a process: it takes longer than a request."""
    return httpx2.create_ssl_context()


class Prolific:
    """The API under one address with one token; used as a context."""

    def __init__(self, api_url: str, token: str, note: Note) -> None:
        addresses.check(api_url)
        self.note = note
        headers = {"Authorization": f"Token {token}", "User-Agent": "crowdqc"}
        secure = api_url.startswith("https:")
        self._http = httpx2.Client(
            base_url=f"{api_url.rstrip('/')}/api/v1/", headers=headers, follow_redirects=False,
            timeout=settings.CROWDQC_PAYMENT_TIMEOUT, trust_env=False,
            verify=_certificates() if secure else False,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    # What stands there ---------------------------------------------------------------------------

    def submission(self, session: str) -> dict[str, Any]:
        """One submission: ``status``, ``participant``, ``study_id``, ``bonus_payments`` (pence)."""
        return self._ask("GET", f"submissions/{quote(session, safe='')}/")

    def reward(self, study: str) -> int | None:
        """What an approval in this study pays, in pence; None where the study does not say."""
        told = self._ask("GET", f"studies/{quote(study, safe='')}/").get("reward")
        return int(told) if isinstance(told, int | float) else None

    # What changes it -----------------------------------------------------------------------------

    def transition(self, session: str, action: str, **more: str) -> str:
        """Approve, reject or take back (APPROVE, REJECT, UNREJECT); gives the new status."""
        path = f"submissions/{quote(session, safe='')}/transition/"
        told = self._ask("POST", path, {"action": action, **more}, say=action)
        return str(told.get("status", ""))

    def set_up_bonus(self, study: str, session: str, amount: Decimal) -> tuple[str, int | None]:
        """Set up a bonus, which pays nothing yet; gives its id and its pence as understood."""
        body = {"study_id": study, "csv_bonuses": f"{session},{amount:.2f}"}
        told = self._ask("POST", "submissions/bonus-payments/", body)
        reference, understood = told.get("id"), told.get("amount")
        if not isinstance(reference, str) or not reference:
            raise Refused("The platform set up a bonus without naming it.")
        return reference, int(understood) if isinstance(understood, int | float) else None

    def pay_bonus(self, reference: str) -> None:
        """Pay a bonus that was set up. A second call pays it a second time."""
        self._ask("POST", f"bulk-bonus-payments/{quote(reference, safe='')}/pay/")

    def _ask(
        self, method: str, path: str, body: dict[str, str] | None = None, *, say: str = ""
    ) -> dict[str, Any]:
        label = f"{method} {path} {say}".strip()
        if method != "GET":
            self.note(label, None, "")
        try:
            status, text, wait = self._exchange(method, path, body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            self.note(label, None, "not reached")
            raise NotSent(f"The platform was not reached ({type(error).__name__}).") from None
        except httpx2.HTTPError as error:
            self.note(label, None, f"no answer: {type(error).__name__}")
            raise NoAnswer(f"No answer came ({type(error).__name__}).") from None
        words = "" if status < 300 else _words(text)
        self.note(label, status, words)
        if status == 429:
            raise NotSent("The platform asks for a pause.", wait=wait)
        if status >= 500 or status in (408, 409):
            raise NoAnswer(f"The platform failed ({status}).")
        if status >= 300:
            raise Refused(f"The platform refuses ({status}): {words or 'without a reason'}")
        return _json(text)

    def _exchange(
        self, method: str, path: str, body: dict[str, str] | None
    ) -> tuple[int, bytes, float | None]:
        with self._http.stream(method, path, json=body) as answer:
            text = b""
            for part in answer.iter_bytes():
                text += part
                if len(text) > MOST_BYTES:
                    raise httpx2.DecodingError("too long")
            return answer.status_code, text, _seconds(answer.headers.get("Retry-After"))


def _seconds(header: str | None) -> float | None:
    """How long to wait, of a header in seconds; a date is left to our own pace."""
    try:
        return min(3600.0, max(0.0, float(header or "")))
    except ValueError:
        return None


def _json(text: bytes) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}  # an accepted payment is answered with a plain word
    return told if isinstance(told, dict) else {}


def _words(text: bytes) -> str:
    """The platform's own words for an error, cut to what a page shows."""
    error = _json(text).get("error")
    found: Any = error.get("detail") or error.get("title") if isinstance(error, dict) else error
    plain = found if isinstance(found, str) else json.dumps(found) if found else ""
    return plain[:200]
