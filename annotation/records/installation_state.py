"""What the owner has switched for all, as each process knows it without a query per request.

A process reads the row again after ``SECONDS``; so long a switch takes to reach all of them.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import InstallationState
from crowdqc.errors import Conflict
from crowdqc.jobs.schedule import DEMO_HOUR
from crowdqc.outbound.web_request import is_web_request

SECONDS = 5.0
# What owners can switch off.
FEATURES = {
    "sign_ups": gettext_lazy("Sign-ups without an invitation"),
    "projects": gettext_lazy("New projects"),
    "boards": gettext_lazy("New public boards"),
    "models": gettext_lazy("Calls to language models"),
}
# What visitors of a public demo may not do; commands of its owner may.
OFF_IN_DEMO = frozenset({"sign_ups", "boards", "models"})
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """What is switched; the default is what holds until somebody switches anything."""

    read_only_since: dt.datetime | None = None
    read_only_reason: str = ""
    banner: str = ""
    quotas: Mapping[str, int] = field(default_factory=dict)
    switched_off: frozenset[str] = frozenset()
    retention: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def is_read_only(self) -> bool:
        return self.read_only_since is not None

    @property
    def demo_ends(self) -> str:
        """When a public demo begins anew; empty where this is none."""
        return f"{DEMO_HOUR:02}:00 UTC" if settings.CROWDQC_DEMO else ""


_known: tuple[State, float] = (State(), 0.0)  # until when it holds, by the monotonic clock


def current_state() -> State:
    """Return what holds, at most ``SECONDS`` old; older where the database does not answer."""
    known = _known
    state, until = known
    if time.monotonic() < until:
        return state
    try:
        state = read_state()
    except (OperationalError, InterfaceError) as error:  # nothing can be changed now either
        logger.warning("the state of the installation is not known anew: %s", error)
    if _known is known:  # else it was forgotten or read by another thread meanwhile
        keep_state(state)
    return state


def is_switched_on(feature: str) -> bool:
    """Whether people may use one of ``FEATURES``."""
    if settings.CROWDQC_DEMO and feature in OFF_IN_DEMO and is_web_request():
        return False
    return feature not in current_state().switched_off


def require_feature(feature: str) -> None:
    """Raise Conflict where the owner switched a feature off."""
    if not is_switched_on(feature):
        raise Conflict(
            _("The owner of this site switched this off: %(feature)s.")
            % {"feature": FEATURES[feature]},
            code="switched-off",
        )


def retention_of(name: str, usual: int | None) -> int | None:
    """Return for how long a kind of rows is kept; None: until deleted."""
    return current_state().retention.get(name, usual)


def is_sign_up_open() -> bool:
    """Whether anybody may make an account."""
    return settings.CROWDQC_SIGNUP == "open" and is_switched_on("sign_ups")


def read_state() -> State:
    """Return what the database says."""
    row = InstallationState.objects.filter(pk=1).first()
    if row is None:
        return State()
    return State(
        row.read_only_since,
        row.read_only_reason,
        row.banner,
        row.quotas,
        frozenset(row.switched_off),
        row.retention,
    )


def keep_state(state: State, seconds: float | None = None) -> None:
    """Let this hold in this process for ``seconds``, usually ``SECONDS``."""
    global _known  # noqa: PLW0603
    _known = (state, time.monotonic() + (SECONDS if seconds is None else seconds))


def forget_state() -> None:
    """Read the state anew the next time it is needed."""
    keep_state(_known[0], -1.0)
