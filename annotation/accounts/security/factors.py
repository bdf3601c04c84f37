"""Second factors outside a browser, and whether a project requires one."""

from __future__ import annotations

from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.models import Authenticator
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.security import stepup
from annotation.accounts.security.log import Kind, log_event
from annotation.models import Project, Role, User
from annotation.notifications.actions.notices import notify, people_of
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc import limits
from crowdqc.errors import NotAllowed


def check_code(user: User, code: str, request: HttpRequest | None = None) -> bool:
    """Return whether a code proved the second factor; NotAllowed if it is wrong.

    Without a second factor there is nothing to prove, and no code is taken for one. Tries and
    used codes count together with those of the pages; TooMuch where they are too many.
    """
    if not stepup.has_second_factor(user):
        return False
    if not code.strip():
        raise stepup.SecondFactorNeeded(_("Send the code of your second factor with this."))
    about, plain = limits.require_code_try(request, user), normalize_user_code(code)
    for one in Authenticator.objects.filter(user=user).exclude(type=Authenticator.Type.WEBAUTHN):
        if one.wrap().validate_code(code.strip()):
            if not limits.accept_code(about, user, plain):
                break
            one.record_usage()
            recovery = one.type == Authenticator.Type.RECOVERY_CODES
            log_event(Kind.RECOVERY_USED if recovery else Kind.FACTOR_USED, user=user)
            return True
    log_event(Kind.FACTOR_FAILED, user=user)
    raise NotAllowed(_("The code is wrong or was used before."), code="wrong-code")


@stepup.needs_stepup(gettext_lazy("change the second factor rule"))
@transaction.atomic
def require_factor_in_project(*, by: User, project: Project, required: bool) -> Project:
    """Set whether payments of a project need a second factor.

    By its owner alone. While it is required, only with a second factor: a stolen session cannot
    switch it off. All managers are told.
    """
    project = lock_project(project.pk)
    if project.owner_id != by.pk:
        raise NotAllowed(_("Only the owner of the project may change this."))
    stepup.require_second_factor(project, by, _("change the second factor rule"))
    if stepup.is_second_factor_required(project, by) == required:
        return project
    project.second_factor = required
    project.save(update_fields=["second_factor"])
    entry = record(
        by=by,
        project=project,
        action="project.second_factor",
        on=project,
        required="on" if required else "off",
    )
    log_event(Kind.FACTOR_RULE, user=by, project=project, required=required)
    notify(
        to=[one for one in people_of(project, Role.MANAGER) if one.pk != by.pk],
        kind="project.second_factor",
        project=project,
        key=f"project.second_factor:{entry.pk}",
        text=lambda: (
            (
                _("Approving and sending payments in %(project)s now needs a second factor.")
                if required
                else _(
                    "Approving and sending payments in %(project)s no longer needs a second factor."
                )
            )
            % {"project": project.name}
        ),
    )
    return project
