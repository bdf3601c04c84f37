"""Writing a project's own prompts: a version that was used stays as it is."""

from __future__ import annotations

import re

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Project, User
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.errors import Invalid
from evaluation.llm import prompting
from evaluation.llm.own import selectors
from evaluation.llm.own.purposes import PURPOSES
from evaluation.llm.own.text import check_texts
from evaluation.models import OwnPrompt

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MOST = 500  # versions of all prompts of a project; each is offered where a run is started


@transaction.atomic
def save_prompt(
    *, by: User, project: Project, name: str, purpose: str, system: str, user: str, title: str = ""
) -> OwnPrompt:
    """Store a prompt: a new one, or the next version of the one of this name.

    The newest version is changed in place as long as no run and no call has used it, so that a
    prompt can be tried out without a version for every word. ``title`` is that of all its versions;
    "" leaves it as it is. Raises Invalid, which names the field.
    """
    # Starting a run takes the same lock, so no run begins with what is changed here.
    lock_project(project.pk)
    system, user = (text.replace("\r\n", "\n").strip() for text in (system, user))
    versions = OwnPrompt.objects.filter(project=project, name=name)
    newest = versions.order_by("-version").first()
    _check(project, name, purpose, newest)
    check_texts(PURPOSES[purpose], system, user)
    title = title or (newest.title if newest is not None else "")
    if newest is not None and (newest.title, newest.system, newest.user) == (title, system, user):
        return newest
    versions.update(title=title)
    same = newest is not None and (newest.system, newest.user) == (system, user)
    if newest is not None and (same or not selectors.used(newest)):
        newest.title, newest.system, newest.user, newest.created_by = title, system, user, by
        newest.save()
        action, found = "prompt.change", newest
    else:
        found = OwnPrompt.objects.create(
            project=project,
            name=name,
            title=title,
            version=newest.version + 1 if newest is not None else 1,
            purpose=purpose,
            system=system,
            user=user,
            created_by=by,
        )
        action = "prompt.add"
    told = {"name": name, "title": title, "version": found.version, "purpose": purpose}
    digest = selectors.template_of(found).digest
    record(by=by, project=project, action=action, on=found, digest=digest, **told)
    return found


def _check(project: Project, name: str, purpose: str, newest: OwnPrompt | None) -> None:
    """Raise Invalid on a name or a purpose that cannot be."""
    if not NAME.fullmatch(name):
        raise Invalid(
            _("The prompt cannot be saved."),
            fields={"name": _("Small letters, digits and _, beginning with a letter; at most 40.")},
        )
    if name in prompting.versions():
        raise Invalid(
            _("The prompt cannot be saved."), fields={"name": _("A built-in prompt has this name.")}
        )
    if purpose not in PURPOSES:
        raise Invalid(
            _("The prompt cannot be saved."), fields={"purpose": _("There is no such use.")}
        )
    if newest is not None and newest.purpose != purpose:
        raise Invalid(
            _("The prompt cannot be saved."),
            fields={
                "name": _("Used already: %(title)s.") % {"title": _(PURPOSES[newest.purpose].title)}
            },
        )
    if OwnPrompt.objects.filter(project=project).count() >= MOST:
        raise Invalid(_("A project has at most %(most)s versions of prompts.") % {"most": MOST})
