"""The one way of telling people something: in the application, and by mail where they want it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from annotation.models import Membership, Notice, Project, Role, User
from annotation.notifications.kinds import KINDS
from annotation.records.actions.audit import record
from crowdqc.errors import Invalid, Missing
from crowdqc.queue import enqueue
from crowdqc.web.language import language_of

# A function is called once a language.
Text = str | Callable[[], str]
SALT = "crowdqc.no-more-mail"
DAILY_HOUR = 7  # of the server's time zone: when the one mail a day leaves


def notify(
    *,
    to: Iterable[User | None],
    kind: str,
    text: Text,
    key: str,
    url: str = "",
    project: Project | None = None,
    mail: bool = True,
) -> int:
    """Notify each of these people once; return how many were notified now.

    ``key`` says what it is about: the same key tells the same person nothing a second time.
    ``text`` is kept in each language of the pages, and mailed in the person's; it names no other
    person, since it may leave by mail. ``mail=False`` keeps it inside.
    Part of the caller's transaction; a mail leaves after its commit, by a job.
    """
    known = KINDS.get(kind)
    always = known is None or known.always
    people = {
        person.pk: person
        for person in to
        if person is not None and person.is_active and (always or kind not in person.muted)
    }
    before = set(Notice.objects.filter(user__in=people, key=key).values_list("user", flat=True))
    mail = mail and (known is None or known.mailed)
    now = timezone.now()
    languages = () if isinstance(text, str) or not people else dict(settings.LANGUAGES)
    texts = {code: _in_words(text, code) for code in languages}
    fresh = [
        Notice(
            user=person,
            project=project,
            kind=kind,
            text=_in_words(text, language_of(person)),
            texts=texts,
            url=url,
            key=key,
            mail_at=_mail_time(person, now, at_once=always)
            if mail and person.wants_mail and person.email
            else None,
        )
        for person in people.values()
        if person.pk not in before
    ]
    Notice.objects.bulk_create(fresh, ignore_conflicts=True)
    if any(notice.mail_at for notice in fresh):
        send_mail_soon()
    return len(fresh)


def _in_words(text: Text, language: str) -> str:
    if isinstance(text, str):
        return text[:400]
    with translation.override(language):
        return text()[:400]


def _mail_time(person: User, now: dt.datetime, *, at_once: bool) -> dt.datetime:
    """Return when a notice is mailed: now, or with the person's next mail of the day."""
    if at_once or not person.mail_daily:
        return now
    here = timezone.localtime(now)
    due = here.replace(hour=DAILY_HOUR, minute=0, second=0, microsecond=0)
    return due if due > here else due + dt.timedelta(days=1)


def send_mail_soon() -> None:
    """Queue the sending of mail for after this transaction's commit."""
    enqueue("annotation.jobs.send_mail")


def people_of(project: Project, *roles: str) -> list[User]:
    """List the people who hold one of these roles in the project (default: its staff)."""
    rows = Membership.objects.filter(
        project=project, role__in=roles or (Role.REQUESTER, Role.MANAGER), removed_at__isnull=True
    ).select_related("user")
    return list({row.user_id: row.user for row in rows if row.user is not None}.values())


def mark_read(*, by: User, notice: Notice) -> None:
    """Mark a person's notice as read, which cancels its mail."""
    Notice.objects.filter(pk=notice.pk, user=by, read_at=None).update(
        read_at=timezone.now(), mail_at=None
    )


def mark_all_read(*, by: User, upto: int, only: int | None = None) -> int:
    """Mark all notices up to this id as read, of one project if given; return how many."""
    unread = Notice.objects.filter(user=by, read_at=None, pk__lte=upto)
    if only is not None:
        unread = unread.filter(project=only)
    return unread.update(read_at=timezone.now(), mail_at=None)


def mark_read_at(*, by: User, url: str) -> None:
    """Mark all of the person's notices that lead to this page as read."""
    Notice.objects.filter(user=by, url=url, read_at=None).update(
        read_at=timezone.now(), mail_at=None
    )


@transaction.atomic
def set_mail(*, by: User, wanted: bool, daily: bool = False) -> None:
    """Choose whether notices are also mailed: at once, daily, or not at all.

    Without mail, nothing that is still owed leaves; at once, it leaves now.
    """
    person = User.objects.select_for_update(no_key=True).get(pk=by.pk)
    owed = Notice.objects.filter(user=person, mail_at__isnull=False)
    if not wanted:
        owed.update(mail_at=None)
    elif person.mail_daily and not daily and owed.update(mail_at=timezone.now()):
        send_mail_soon()
    if person.wants_mail != wanted:
        person.wants_mail = wanted
        person.save(update_fields=["wants_mail"])
        record(by=by, project=None, action="mail.on" if wanted else "mail.off", on=person)
    if wanted and person.mail_daily != daily:
        person.mail_daily = daily
        person.save(update_fields=["mail_daily"])
        record(by=by, project=None, action="mail.daily", on=person, daily=daily)


@transaction.atomic
def set_muted(*, by: User, kinds: Iterable[str]) -> list[str]:
    """Switch these kinds of notices off, and every other one on.

    Raises Invalid for a kind that there is not, or that everybody gets.
    """
    wanted = sorted(set(kinds))
    for kind in wanted:
        if kind not in KINDS or KINDS[kind].always:
            raise Invalid(
                _("This notice cannot be switched off."),
                fields={"kind": _("Not %(kind)s.") % {"kind": kind[:40]}},
            )
    person = User.objects.select_for_update(no_key=True).get(pk=by.pk)
    if person.muted != wanted:
        person.muted = wanted
        person.save(update_fields=["muted"])
        record(by=by, project=None, action="notices.mute", on=person, kinds=wanted)
    return wanted


def stop_token(person: User) -> str:
    """Return the token of the link in each mail that unsubscribes; it does not expire."""
    return signing.dumps(person.pk, salt=SALT, compress=False)


def person_of(token: str) -> User:
    """Return the person whose mails an unsubscribe link ends; Missing if the link is invalid."""
    try:
        found = User.objects.filter(pk=signing.loads(token, salt=SALT)).first()
    except signing.BadSignature:
        found = None
    if found is None:
        raise Missing(_("This link is not one of ours, or it is incomplete."))
    return found
