"""Links to a run's results and public boards: made, moved to a newer run, and ended."""

from __future__ import annotations

import datetime as dt
import re
import secrets

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.accounts.tokens.actions import digest_token
from annotation.files.stored.actions import forget
from annotation.models import User
from annotation.records.actions.audit import record
from annotation.records.installation_state import require_feature
from crowdqc import queue
from crowdqc.errors import Conflict, Invalid, Missing
from evaluation.models import BoardBundle, Run, RunShare, RunState
from evaluation.runs.run_types import can_list_items, shared_page_of, type_of
from evaluation.runs.sharing.selectors import DAYS, boards_of, live_shares

MOST = 20  # live links of one run, public boards of one task
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TAKEN = gettext_noop("This address is taken.")
WRITE = "evaluation.jobs.write_board_bundle"


@transaction.atomic
def share(*, by: User, run: Run, items: bool = False) -> tuple[RunShare, str]:
    """A link to the run's results for DAYS days, and its secret, which is kept nowhere.

    ``items``: it also shows the items with their labels, where runs of this kind have a list.
    Raises Conflict for a run that is not finished, whose kind is not shared, or that has MOST.
    """
    _lock(run)
    if len(live_shares(run)) >= MOST:
        raise Conflict(
            _("Run %(run)s has %(most)s links. Stop sharing one that is not needed.")
            % {"run": run.number, "most": MOST}
        )
    secret = secrets.token_urlsafe(32)
    made = RunShare.objects.create(
        run=run,
        digest=digest_token(secret),
        files=items and can_list_items(run.method),
        created_by=by,
        expires_at=timezone.now() + dt.timedelta(days=DAYS),
    )
    more = {"items": True} if made.files else {}
    record(
        by=by,
        project=run.project,
        action="run.share",
        on=made,
        number=run.number,
        expires=DAYS,
        **more,
    )
    return made, secret


@transaction.atomic
def publish(
    *, by: User, run: Run, slug: str, files: bool = False, bundle: bool = False
) -> RunShare:
    """A public board of the run at ``/boards/<slug>/``, until it is withdrawn.

    ``files``: its rows can be downloaded. ``bundle``: so can what computes it again, with every
    vote under codes drawn for that file; a job writes it. An address that was once another
    project's stays theirs, so that nobody takes over what was cited. Raises Invalid for the
    address, Conflict as ``share``, and where runs of this kind have no public bundle.
    """
    require_feature("boards")
    _lock(run)
    if not 3 <= len(slug) <= 60 or not SLUG.fullmatch(slug):
        said = _("Use 3 to 60 small letters, digits and single hyphens, such as “rag-study-2026”.")
        raise Invalid(said, fields={"slug": said})
    if len(boards_of(run)) >= MOST:
        raise Conflict(
            _("This task has %(most)s public boards. Withdraw one that is not needed.")
            % {"most": MOST}
        )
    if RunShare.objects.filter(slug=slug).exclude(run__project=run.project_id).exists():
        raise Invalid(_(TAKEN), fields={"slug": _(TAKEN)})
    try:
        with transaction.atomic():
            made = RunShare.objects.create(run=run, slug=slug, files=files, created_by=by)
    except IntegrityError as error:
        raise Invalid(_(TAKEN), fields={"slug": _(TAKEN)}) from error
    if bundle:
        if not type_of(run.method).public_bundle:
            raise Conflict(_("Runs of this kind have no public bundle."))
        BoardBundle.objects.create(share=made, run=run, asked_at=timezone.now())
        queue.enqueue(WRITE, made.pk)
    record(
        by=by,
        project=run.project,
        action="run.publish",
        on=made,
        number=run.number,
        address=slug,
        bundle=bundle,
    )
    return made


@transaction.atomic
def move_board(*, by: User, run: Run, share_id: int) -> None:
    """Let a public board of the same task show this run. Raises Missing where it has none such."""
    _lock(run)
    row = next((one for one in boards_of(run) if one.pk == share_id), None)
    if row is None:
        raise Missing(_("No public board of this task can show run %(run)s.") % {"run": run.number})
    if row.run_id != run.pk:
        RunShare.objects.filter(pk=row.pk).update(run=run)
        again = {"stored": None, "sha256": "", "error": "", "made_at": None}
        rows = BoardBundle.objects.filter(share=row.pk)
        stored = list(rows.values_list("stored", flat=True))
        if rows.update(run=run, asked_at=timezone.now(), **again):
            forget(stored)
            queue.enqueue(WRITE, row.pk)
        told = {"number": run.number, "address": row.slug}
        record(by=by, project=run.project, action="run.move_board", on=row, **told)


def _lock(run: Run) -> None:
    """Lock the run's shares, so that caps hold. Raises Conflict for a run that cannot be shared."""
    Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if run.state != RunState.DONE:
        raise Conflict(
            _("Run %(run)s has not finished, so there are no results to share.")
            % {"run": run.number}
        )
    if shared_page_of(run.method) is None:
        raise Conflict(_("Results of this kind cannot be shared by a link."))


@transaction.atomic
def stop_sharing(*, by: User, run: Run, share_id: int) -> None:
    """End a link or public board of the run at once; a second call changes nothing.

    Raises Missing where the run has no such link.
    """
    row = RunShare.objects.select_for_update().filter(pk=share_id, run=run).first()
    if row is None:
        raise Missing(_("Run %(run)s has no such link.") % {"run": run.number})
    if row.stopped_at is None:
        RunShare.objects.filter(pk=row.pk).update(stopped_at=timezone.now())
        bundles = BoardBundle.objects.filter(share=row.pk)
        stored = list(bundles.values_list("stored", flat=True))
        bundles.delete()
        forget(stored)
        action = "run.withdraw" if row.slug else "run.stop_sharing"
        told = {"number": run.number} | ({"address": row.slug} if row.slug else {})
        record(by=by, project=run.project, action=action, on=row, **told)
