"""Prolific's API, as far as paying needs it: what stands there, and the few calls that change it.

Amounts: a bonus is set up in whole currency ("1.50"), and what was paid is read in pence (150).
Approving and rejecting are idempotent there; paying a bonus is not, so each outcome of a request
is told apart: refused (nothing happened), never sent, or without an answer (nobody knows).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from django.conf import settings
from django.utils.translation import gettext as _

from crowdqc import outbound
from crowdqc.currencies import DIGITS
from crowdqc.files.json_input import Unreadable, read_json
from crowdqc.outbound import addresses

API = "https://api.prolific.com"
PURPOSE = "platform tokens"  # of what is sealed
MOST_BYTES = 1_000_000
LONGEST_ID = 120
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


class Study(NamedTuple):
    """What a study says of its pay: the reward in pence (None) and the currency ("": unsaid)."""

    reward: int | None
    currency: str


def to_pence(amount: Decimal) -> int:
    """Convert an amount of money to hundredths, as the platform's API counts."""
    return int(amount * 100)


class Prolific:
    """The API under one address with one token; used as a context."""

    def __init__(self, api_url: str, token: str, note: Note) -> None:
        addresses.check(api_url)
        self.note = note
        self._client = outbound.Client(
            base_url=f"{api_url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Token {token}"},
            seconds=settings.CROWDQC_PAYMENT_TIMEOUT,
            most_bytes=MOST_BYTES,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    # What stands there ---------------------------------------------------------------------------

    def submission(self, session: str) -> dict[str, Any]:
        """Return a submission.

        ``status``, ``participant``, ``study_id``, ``bonus_payments`` (pence).
        """
        return self._request("GET", f"submissions/{quote(session, safe='')}/")

    def study(self, study: str) -> Study:
        """Return the reward of an approval in this study, and its currency."""
        told = self._request("GET", f"studies/{quote(study, safe='')}/")
        reward, currency = told.get("reward"), str(told.get("presentment_currency_code")).upper()
        return Study(
            int(reward) if isinstance(reward, int | float) else None,
            currency if currency in DIGITS else "",
        )

    # What changes it -----------------------------------------------------------------------------

    def transition(self, session: str, action: str, **more: str) -> str:
        """Approve, reject or take back (APPROVE, REJECT, UNREJECT); gives the new status."""
        path = f"submissions/{quote(session, safe='')}/transition/"
        told = self._request("POST", path, {"action": action, **more}, say=action)
        return str(told.get("status", ""))

    def set_up_bonus(self, study: str, session: str, amount: Decimal) -> tuple[str, int | None]:
        """Set up a bonus, which pays nothing yet; gives its id and its pence as understood."""
        body = {"study_id": study, "csv_bonuses": f"{session},{amount:.2f}"}
        told = self._request("POST", "submissions/bonus-payments/", body)
        reference, understood = told.get("id"), told.get("amount")
        if not isinstance(reference, str) or not 0 < len(reference) <= LONGEST_ID:
            raise Refused(_("The platform set up a bonus without naming it."))
        return reference, int(understood) if isinstance(understood, int | float) else None

    def pay_bonus(self, reference: str) -> None:
        """Pay a bonus that was set up. A second call pays it a second time."""
        self._request("POST", f"bulk-bonus-payments/{quote(reference, safe='')}/pay/")

    def _request(
        self, method: str, path: str, body: dict[str, str] | None = None, *, say: str = ""
    ) -> dict[str, Any]:
        label = f"{method} {path} {say}".strip()
        if method != "GET":
            self.note(label, None, "")
        try:
            answer = self._client.send(method, path, json=body)
        except outbound.NotReached as error:
            self.note(label, None, _("not reached"))
            if isinstance(error, outbound.NotAllowedThere):
                raise Refused(str(error)) from None
            raise NotSent(_("The platform was not reached. %(error)s") % {"error": error}) from None
        except outbound.NoAnswer as error:
            self.note(label, None, _("no answer: %(error)s") % {"error": error})
            raise NoAnswer(_("No answer came. %(error)s") % {"error": error}) from None
        status, text = answer.status, answer.body
        words = "" if status < 300 else _words(text)
        self.note(label, status, words)
        if status == 429:
            wait = _seconds(answer.headers.get("retry-after"))
            raise NotSent(_("The platform asks for a pause."), wait=wait)
        if status >= 500 or status in (408, 409):
            raise NoAnswer(_("The platform failed (%(status)s).") % {"status": status})
        if status >= 300:
            raise Refused(
                _("The platform refuses (%(status)s): %(words)s")
                % {"status": status, "words": words or _("without a reason")}
            )
        found = _object(text)
        if found is None and method == "GET":
            # Else "no bonus yet" would be read from a page of nonsense, and one paid twice.
            raise NoAnswer(_("The platform's answer cannot be read."))
        return found or {}  # an accepted payment is answered with a plain word


def _seconds(header: str | None) -> float | None:
    """Return the seconds to wait by a header; a date in it is ignored."""
    try:
        return min(3600.0, max(0.0, float(header or "")))
    except ValueError:
        return None


def _object(text: bytes) -> dict[str, Any] | None:
    """The JSON object that a body is; None where it is none."""
    try:
        told = read_json(text)
    except Unreadable:
        return None
    return told if isinstance(told, dict) else None


def _words(text: bytes) -> str:
    """The platform's own words for an error, cut to what a page shows."""
    error = (_object(text) or {}).get("error")
    found: Any = error.get("detail") or error.get("title") if isinstance(error, dict) else error
    plain = found if isinstance(found, str) else json.dumps(found) if found else ""
    return plain[:200]
