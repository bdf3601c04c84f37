"""Database sessions, read by one prepared statement per request."""

from __future__ import annotations

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from crowdqc.database.compiled import CompiledQuery, Placeholder

LIVE = CompiledQuery(
    lambda: Session.objects.filter(
        session_key=Placeholder("key"), expire_date__gt=Placeholder("now")
    )
)


class SessionStore(db.SessionStore):
    """Django's session store with a compiled look-up."""

    def _get_session_from_db(self) -> Session | None:
        found = LIVE.first(key=self.session_key, now=timezone.now())
        if found is None:
            self._session_key = None
        return found
