"""Lists of the projects and the people of an installation, with what can be done about them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.installation import actions, merging
from annotation.installation.selectors import accounts_with_use, projects_with_use
from annotation.lists.definition import (
    Bulk,
    Choice,
    Column,
    Filter,
    Listing,
    Reasons,
    apply_to_each,
)
from annotation.models import Project, User
from crowdqc.errors import Conflict
from evaluation.installation.inputs import MergeForm, ProofForm, ReasonForm, TransferForm
from evaluation.models import Endpoint, LLMCall

IDLE = dt.timedelta(days=90)
ZERO = Decimal("0.00")
PROJECT_COLUMNS = (
    Column("project", gettext_lazy("Project and owner"), sort=("name",), fixed=True),
    Column("state", gettext_lazy("State")),
    Column("members", gettext_lazy("People"), sort=("members",), number=True, down=True),
    Column("answers", gettext_lazy("Answers"), sort=("answers",), number=True, down=True),
    Column("storage", gettext_lazy("Storage"), sort=("bytes",), number=True, down=True),
    Column("models", gettext_lazy("Models"), sort=("spent",), number=True, down=True),
    Column("paid", gettext_lazy("Paid out"), sort=("paid",), number=True, down=True),
    Column("last", gettext_lazy("Last activity"), sort=("active",), down=True),
    Column("limits", gettext_lazy("Manage"), fixed=True),
)
ACCOUNT_COLUMNS = (
    Column("account", gettext_lazy("Account"), sort=("username",), fixed=True),
    Column("state", gettext_lazy("State"), sort=("is_active",)),
    Column("owned", gettext_lazy("Owns"), sort=("owned",), number=True, down=True),
    Column("belongs", gettext_lazy("Projects"), sort=("belongs",), number=True, down=True),
    Column("submitted", gettext_lazy("Submitted"), sort=("submitted",), number=True, down=True),
    Column("factor", gettext_lazy("Second factor"), sort=("has_factor",), down=True),
    Column("last", gettext_lazy("Last sign-in"), sort=("last_login",), down=True),
    Column("joined", gettext_lazy("Joined"), sort=("date_joined",), down=True, shown=False),
    Column("limits", gettext_lazy("Manage"), fixed=True),
)


@dataclass(frozen=True)
class OwnerReader:
    """An owner of the installation as the reader of a list."""

    user: User
    project: Project | None = None
    is_staff: bool = True


def idle_since() -> dt.datetime:
    """Return the time before which a project that nothing happened in is idle."""
    return timezone.now() - IDLE


def project_rows() -> Any:
    """Return all projects with their use and what their models cost."""
    endpoints = Endpoint.objects.filter(project=OuterRef("pk")).order_by().values("project")
    spent = Subquery(endpoints.annotate(total=Sum("spent")).values("total"))
    shared_model = Q(model__endpoint__organisation__isnull=False)
    calls = LLMCall.objects.filter(shared_model, project=OuterRef("pk"))
    shared = calls.order_by().values("project").annotate(total=Sum("cost")).values("total")
    rows = projects_with_use().select_related("owner", "deletion")
    return rows.annotate(spent=Coalesce(spent, ZERO) + Coalesce(Subquery(shared), ZERO))


def project_listing(by: User) -> Listing:
    """List the projects, the last active first."""
    is_used = Q(archived_at=None, active__gte=idle_since())
    return Listing(
        slug="installation-projects",
        nouns="project,projects",
        caption=_("Projects of this installation"),
        rows=project_rows(),
        columns=PROJECT_COLUMNS,
        template="evaluation/installation/_project.html",
        order="-last",
        search=(
            "name",
            "organisation__name",
            "owner__username",
            "owner__display_name",
            "owner__email",
        ),
        search_label=_("Project, person or address"),
        filters=(
            Filter(
                "use",
                _("Use"),
                (
                    Choice("used", _("In use"), is_used),
                    Choice(
                        "idle",
                        _("Idle"),
                        Q(archived_at=None) & (Q(active=None) | Q(active__lt=idle_since())),
                    ),
                    Choice(
                        "archived", _("Archived"), Q(archived_at__isnull=False, deleted_at=None)
                    ),
                    Choice("deleted", _("Deleted"), Q(deleted_at__isnull=False)),
                ),
                tabs=True,
            ),
        ),
        bulk=_project_bulk(by),
        name_of=lambda project: project.name,
        extra={"idle_since": idle_since()},
    )


def _project_bulk(by: User) -> tuple[Bulk, ...]:
    return (
        Bulk(
            slug="transfer",
            label=_("Transfer"),
            done=_("Transferred"),
            act=apply_to_each(
                lambda row, to, why: actions.transfer_project(by=by, project=row, to=to, why=why)
            ),
            sentence=_("The owner before stays a member. Managers are notified."),
            form=TransferForm,
        ),
        Bulk(
            slug="archive",
            label=_("Archive"),
            done=_("Archived"),
            act=apply_to_each(
                lambda row, why: actions.archive_project(by=by, project=row, why=why)
            ),
            sentence=_("Its tasks close and nobody changes it. Answers and books stay readable."),
            effect=_archive_effect,
            why_not=_archived(True, _("It is archived.")),
            form=ReasonForm,
        ),
        Bulk(
            slug="reopen",
            label=_("Reopen"),
            done=_("Reopened"),
            act=apply_to_each(lambda row, why: actions.reopen_project(by=by, project=row, why=why)),
            sentence=_("Its people change it again. Tasks stay closed until they open them."),
            why_not=_archived(False, _("It is not archived.")),
            form=ReasonForm,
        ),
    )


def _archive_effect(rows: Sequence[Any]) -> list[str]:
    open_tasks = sum(row.open_tasks + row.paused_tasks for row in rows)
    return [_("Open tasks that close: %(tasks)s") % {"tasks": open_tasks}] if open_tasks else []


def _archived(state: bool, reason: str) -> Callable[[Sequence[Any]], Reasons]:
    """Leave out rows that are archived, or are not."""
    return lambda rows: {row.pk: reason for row in rows if (row.archived_at is not None) is state}


def account_listing(by: User) -> Listing:
    """List the accounts, the last used first."""
    return Listing(
        slug="installation-people",
        nouns="account,accounts",
        caption=_("People of this installation"),
        rows=accounts_with_use(),
        columns=ACCOUNT_COLUMNS,
        template="evaluation/installation/_account.html",
        order="-last",
        search=("username", "display_name", "email"),
        search_label=_("Name or address"),
        filters=(
            Filter(
                "state",
                _("State"),
                (
                    Choice("active", _("Active"), Q(is_active=True)),
                    Choice("closed", _("Closed"), Q(is_active=False)),
                    Choice("owners", _("Owners"), Q(is_superuser=True)),
                ),
                tabs=True,
            ),
        ),
        bulk=_account_bulk(by),
        name_of=str,
        extra={"self": by},
    )


def _account_bulk(by: User) -> tuple[Bulk, ...]:
    return (
        Bulk(
            slug="close",
            label=_("Close account"),
            done=_("Closed"),
            act=apply_to_each(lambda row, why: actions.close_account(by=by, user=row, why=why)),
            sentence=_("Nobody signs in with it any more. Work, roles and money stay."),
            why_not=lambda rows: {one.pk: _("It is closed.") for one in rows if not one.is_active},
            form=ReasonForm,
            danger=True,
        ),
        Bulk(
            slug="reopen",
            label=_("Reopen account"),
            done=_("Reopened"),
            act=apply_to_each(lambda row, why: actions.reopen_account(by=by, user=row, why=why)),
            sentence=_("The person can sign in again."),
            why_not=lambda rows: {one.pk: _("It is open.") for one in rows if one.is_active},
            form=ReasonForm,
        ),
        Bulk(
            slug="reset_factor",
            label=_("Reset second factor"),
            done=_("Reset"),
            act=apply_to_each(
                lambda row, proof: actions.reset_second_factor(by=by, user=row, proof=proof)
            ),
            sentence=_("All sessions and tokens of the account end. The person is notified."),
            why_not=lambda rows: {
                one.pk: _("It has no second factor.") for one in rows if not one.has_factor
            },
            form=ProofForm,
            danger=True,
        ),
        Bulk(
            slug="merge",
            label=_("Merge"),
            done=_("Merged"),
            act=lambda rows, values: _merge(by, rows, values),
            sentence=_("Roles, work and addresses move to the other account; this one is closed."),
            form=MergeForm,
            danger=True,
        ),
    )


def _merge(by: User, rows: Sequence[Any], values: Mapping[str, Any]) -> Reasons:
    """Merge one account at a time: two at once were hardly meant."""
    if len(rows) > 1:
        return {row.pk: _("Merge one account at a time.") for row in rows}
    try:
        merging.merge_accounts(by=by, user=rows[0], into=values["into"], why=values["why"])
    except Conflict as error:
        return {rows[0].pk: error.message}
    return {}
