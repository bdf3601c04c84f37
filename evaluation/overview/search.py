"""One search over a project: its tasks, items, people and runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.access import Access
from annotation.accounts.projects.selectors import list_workers, worker_places
from annotation.authoring.selectors.tasks import with_work
from annotation.lists.state import MOST_WORDS, matching, words_of
from annotation.models import Item, Role
from crowdqc.numbers import plural
from evaluation.runs.selectors.lists import all_runs, named
from evaluation.runs.selectors.recipes import method_title

MOST = 10  # of each kind
Hit = tuple[str, str, str]  # what it is called, what it is, its address


@dataclass(frozen=True)
class SearchGroup:
    """What was found of one kind; ``url`` is where all of it is listed."""

    title: str
    hits: list[Hit]
    more: bool
    url: str


def search(access: Access, asked: str) -> list[SearchGroup]:
    """Find what in the project contains every word, by kind (five queries); [] without words.

    Workers are found by pseudonym, and by other ids where the person may see them; those who were
    removed as well.
    """
    words = words_of(asked)[:MOST_WORDS]
    if not words:
        return []
    q = urlencode({"q": " ".join(words)})
    kinds = (_tasks, _items, _workers, _staff, _runs)
    found = (kind(access, words, q) for kind in kinds)
    return [one for one in found if one.hits]


def _search_group(
    title: str, rows: QuerySet[Any], hit: Callable[[Any], Hit], url: str = ""
) -> SearchGroup:
    first = list(rows[: MOST + 1])
    return SearchGroup(title, [hit(row) for row in first[:MOST]], len(first) > MOST, url)


def _tasks(access: Access, words: Sequence[str], q: str) -> SearchGroup:
    pk = access.project.pk
    every = with_work(access.project.tasks.all())
    rows = matching(every, words, ("title", "domain")).order_by("-pk")

    def hit(task: Any) -> Hit:
        return task.title, task.get_state_display(), reverse("task", args=[pk, task.pk])

    return _search_group(_("Tasks"), rows, hit, f"{reverse('task_list', args=[pk])}?{q}")


def _items(access: Access, words: Sequence[str], q: str) -> SearchGroup:
    pk = access.project.pk
    every = Item.objects.filter(task__project=access.project, until=None)
    rows = matching(every, words, ("question", "key", "group__title"))
    rows = rows.select_related("task__current")

    def hit(item: Item) -> Hit:
        url = reverse("task_item", args=[pk, item.task_id, item.pk])
        task = item.task.published_title or "draft"
        return item.question[:140] or item.key, f"{item.key}, {task}", url

    return _search_group(_("Items"), rows.order_by("-task", "position", "pk"), hit)


def _workers(access: Access, words: Sequence[str], q: str) -> SearchGroup:
    pk = access.project.pk

    def hit(worker: Any) -> Hit:
        work = {"assignments": plural(worker.submitted, "assignment")}
        said = _("%(assignments)s submitted") % work
        if worker.removed_at:
            said = _("removed; %(assignments)s submitted") % work
        return worker.pseudonym, said, reverse("worker_card", args=[pk, worker.pk])

    rows = matching(list_workers(access.project, removed=None), words, worker_places(access))
    return _search_group(_("Workers"), rows, hit, f"{reverse('people', args=[pk])}?{q}")


def _staff(access: Access, words: Sequence[str], q: str) -> SearchGroup:
    url = reverse("people", args=[access.project.pk]) + "#roles"
    rows = access.project.memberships.filter(removed_at=None).exclude(role=Role.WORKER)
    rows = matching(rows, words, ("user__display_name", "user__username")).select_related("user")

    def hit(member: Any) -> Hit:
        return str(member.user), member.get_role_display(), url

    return _search_group(_("Requesters and managers"), rows.order_by("pk"), hit)


def _runs(access: Access, words: Sequence[str], q: str) -> SearchGroup:
    pk = access.project.pk
    rows = matching(all_runs(access.project), words, (named,))

    def hit(run: Any) -> Hit:
        task = run.task.published_title
        url = reverse("run", args=[pk, run.number])
        return _("Run %(number)s") % {"number": run.number}, f"{method_title(run)}, {task}", url

    return _search_group(_("Runs"), rows, hit, f"{reverse('run_list', args=[pk])}?{q}")
