"""Findings: what a result page says first. One catalogue of messages a package; one order.

A package lists its messages (code -> one sentence) in ``messages.py``. A page makes findings of
them, and ``arrange`` decides which are shown, in which order, and which exclude each other.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

from crowdqc.web.terms import Words
from evaluation.methods.core.inference import Claim

logger = logging.getLogger(__name__)
SHOWN_WARNINGS = 3


class Severity(IntEnum):
    """What a finding is on the page, the first first."""

    VERDICT = 0
    ACTION = 1
    WARNING = 2
    NOTE = 3


@dataclass(frozen=True)
class Action:
    """A button: its label, where it leads, and whether only requesters may open it.

    ``posts``: it sends a form. ``template``: of a form that confirms in place, instead of a link.
    """

    label: Words
    url: str
    requester: bool = False
    posts: bool = False
    template: str = ""


@dataclass(frozen=True)
class Message:
    """One sentence of a catalogue with named values; ``detail`` stands below it.

    Parameters
    ----------
    text, detail
        Translatable, with ``%(name)s`` for values; a lazy ``ngettext`` takes its number of ``n``.
    severity
        Where it stands.
    needs_sure
        Whether it needs a claim that is simultaneous, meets its minimum and excludes the null.
    excludes
        Codes that it contradicts: whichever is less important is left out.
    """

    text: Words
    severity: Severity
    detail: Words = ""
    needs_sure: bool = False
    excludes: tuple[str, ...] = ()


class UnsureClaimError(ValueError):
    """A message that says "surely" was given a claim that is not sure."""


@dataclass(frozen=True)
class Finding:
    """A message and the values in it: what a page shows of it."""

    code: str
    severity: Severity
    text: str
    detail: str = ""
    action: Action | None = None
    claim: Claim | None = None
    is_minor: bool = False  # a warning that may be folded before others
    excludes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Catalogue:
    """The messages of a package by code.

    Parameters
    ----------
    messages
        Code -> message. Codes are unique over all catalogues, which a test checks.
    """

    def __init__(self, messages: Mapping[str, Message]) -> None:
        self.messages = dict(messages)

    def find(
        self,
        code: str,
        *,
        claim: Claim | None = None,
        action: Action | None = None,
        detail: str = "",
        **values: Any,
    ) -> Finding:
        """Make a finding; ``detail`` instead of the message's own.

        Raises KeyError for an unknown code, UnsureClaimError as it says.
        """
        message = self.messages[code]
        if message.needs_sure and (claim is None or not claim.is_sure):
            raise UnsureClaimError(code)
        return Finding(
            code,
            message.severity,
            self.text(code, **values),
            detail or _write(message.detail, values),
            action,
            claim,
            excludes=message.excludes,
            values=values,
        )

    def text(self, code: str, **values: Any) -> str:
        """Write the sentence of a message."""
        return _write(self.messages[code].text, values)


def _write(text: Words, values: Mapping[str, Any]) -> str:
    """Fill a text with its values; a text without any stands as it is."""
    return str(text % values if text and values else text)


@dataclass(frozen=True)
class Screen:
    """What a page shows above a result: verdict, one action, a few warnings; the rest is folded."""

    verdict: Finding | None = None
    action: Finding | None = None
    warnings: tuple[Finding, ...] = ()
    folded: tuple[Finding, ...] = ()

    @property
    def findings(self) -> list[Finding]:
        """All findings in order."""
        head = [one for one in (self.verdict, self.action) if one is not None]
        return [*head, *self.warnings, *self.folded]


def contradict(one: Finding, other: Finding) -> bool:
    """Whether two findings cannot both hold."""
    return other.code in one.excludes or one.code in other.excludes


def arrange(findings: Iterable[Finding | None]) -> Screen:
    """Order findings by severity; within one, as given, minor warnings last.

    A finding that contradicts a more important one is left out and logged. The first verdict and
    the first action are shown, and up to three warnings. Further verdicts and warnings are folded.
    """
    given = [one for one in findings if one is not None and one.text]
    kept: list[Finding] = []
    for one in sorted(given, key=lambda one: (one.severity, one.is_minor)):
        if one in kept:
            continue
        against = next((other for other in kept if contradict(one, other)), None)
        if against is not None:
            logger.warning("finding %s left out: contradicts %s", one.code, against.code)
        else:
            kept.append(one)
    by = {level: [one for one in kept if one.severity == level] for level in Severity}
    verdicts, actions = by[Severity.VERDICT], by[Severity.ACTION]
    warnings = by[Severity.WARNING]
    return Screen(
        verdict=next(iter(verdicts), None),
        action=next(iter(actions), None),
        warnings=tuple(warnings[:SHOWN_WARNINGS]),
        folded=(*verdicts[1:], *actions[1:], *warnings[SHOWN_WARNINGS:], *by[Severity.NOTE]),
    )


def minor(finding: Finding) -> Finding:
    """Mark a warning as minor, so that it is folded before others."""
    return replace(finding, is_minor=True)
