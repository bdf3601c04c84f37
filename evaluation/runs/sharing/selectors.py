"""The links and public boards of a run, and what one of them opens."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from annotation.accounts.tokens.actions import digest_token
from crowdqc.errors import Missing
from evaluation.models import BoardBundle, OfficialRun, Run, RunShare, RunState

DAYS = 90  # that a link is good for
NOTHING = gettext_noop("There is nothing at this address. It may have expired or been withdrawn.")


def _live() -> QuerySet[RunShare]:
    lasting = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return RunShare.objects.filter(lasting, stopped_at=None)


def live_shares(run: Run) -> list[RunShare]:
    """The links that open a run now, the newest first, with who made them."""
    return list(_live().filter(run=run, slug="").select_related("created_by"))


def boards_of(run: Run) -> list[RunShare]:
    """The public boards of runs of the same task and method, the newest first."""
    return list(_boards(_live(), run).select_related("run"))


def _boards(rows: QuerySet[RunShare], run: Run) -> QuerySet[RunShare]:
    return rows.filter(~Q(slug=""), run__task=run.task_id, run__method=run.method)


def menu_of(run: Run | None) -> dict[str, Any]:
    """Return what the sharing menu shows of a run (one query)."""
    # Here, as the landing page finds its board without what knows all types of runs.
    from evaluation.runs.run_types import can_list_items, shared_page_of, type_of

    if run is None or run.state != RunState.DONE or shared_page_of(run.method) is None:
        return {"shares": None}
    live = _live().select_related("created_by", "run", "bundle")
    rows = list(live.filter(run=run, slug="") | _boards(live, run))
    return {
        "shares": [one for one in rows if not one.slug],
        "public_boards": [one for one in rows if one.slug],
        "share_count": len(rows),
        "share_days": DAYS,
        "offers_items": can_list_items(run.method),
        "offers_bundle": type_of(run.method).public_bundle,
    }


def get_shared(secret: str) -> RunShare:
    """The link with this secret, and its run.

    Missing, in the same words, for one that never was, has expired or was stopped. It is found by
    the digest, so that no comparison takes longer for a better guess.
    """
    return _require_share(_live().filter(digest=digest_token(secret)))


def get_board(slug: str) -> RunShare:
    """The public board at this address, and its run (one query); Missing as ``get_shared``.

    ``newer`` is the number of the task's official run where that is a later one, else None.
    """
    official = OfficialRun.objects.filter(
        task=OuterRef("run__task"),
        method=OuterRef("run__method"),
        until=None,
        run__gt=OuterRef("run"),
    )
    newer = Subquery(official.values("run__number")[:1])
    made = BoardBundle.objects.filter(
        share=OuterRef("pk"), run=OuterRef("run"), made_at__isnull=False
    )
    rows = _live().filter(slug=slug).exclude(slug="")
    return _require_share(rows.annotate(newer=newer, bundled=Exists(made)))


def find_board(slug: str) -> dict[str, str] | None:
    """Return title and addresses of a public board, without its run's rows; None where none is."""
    rows = _live().filter(slug=slug, run__state=RunState.DONE).exclude(slug="")
    row = rows.select_related("run__task__current").first()
    if row is None:
        return None
    return {
        "title": row.run.task.published_title,
        "url": reverse("public_board", args=[slug]),
        "image": reverse("public_board_file", args=[slug, "svg"]),
    }


def bundle_of(share: RunShare) -> BoardBundle | None:
    """The bundle of a public board; None where none is offered or can be had.

    Of a run whose answers were erased since there is none any more.
    """
    if share.run.spoiled:
        return None
    rows = BoardBundle.objects.filter(share=share.pk, run=share.run_id, made_at__isnull=False)
    return rows.select_related("stored").first()


def _require_share(found: QuerySet[RunShare]) -> RunShare:
    related = found.select_related("run__task__current", "run__snapshot")
    # Ids of answers are long, and no page without an account needs them.
    row = related.filter(run__state=RunState.DONE).defer("run__snapshot__answer_ids").first()
    if row is None:
        raise Missing(gettext(NOTHING))
    return row
