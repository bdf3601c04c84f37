"""Which texts a consent was given to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from annotation.accounts.projects.consent_words import depends_on_type, fill_consent
from annotation.models import Consent
from annotation.task_types import TYPES


@dataclass(frozen=True)
class Agreement:
    """One text that a worker agreed to.

    ``task_types``: whose recording it names; none: that of all types. Not ``is_exact`` where texts
    were not stored one by one: ``text`` is then that of all these types, from the first agreement
    on.
    """

    task_types: Collection[str]
    text: str
    given_at: dt.datetime
    is_exact: bool = True

    @property
    def type_names(self) -> list[str]:
        """Names of the types, as workers read them."""
        return type_names(self.task_types)


def type_names(task_types: Collection[str]) -> list[str]:
    """Return the names of types; a plug-in's that is gone goes by its slug."""
    return [str(TYPES[one].label) if one in TYPES else one for one in task_types]


def list_agreements(consent: Consent) -> list[Agreement]:
    """Return the texts in the order in which they were agreed to.

    What has no stored text was agreed to in an earlier version of the app; its text is known by
    version and types.
    """
    stored = list(consent.agreed_texts.all())
    found = [Agreement(one.task_types, one.words, one.given_at) for one in stored]
    if any(not one.task_types for one in stored):
        return found
    known = {name for one in stored for name in one.task_types}
    missing = [name for name in consent.task_types if name not in known]
    if stored and consent.task_types and not missing:
        return found
    text = consent.text.text
    is_exact = not depends_on_type(text) or (not stored and len(missing) <= 1)
    joint = Agreement(missing, fill_consent(text, missing), consent.given_at, is_exact)
    return [*found, joint]
