"""``manage.py crowdqc_owner``: projects and accounts of an installation, for whoever runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from annotation.accounts.signing.selectors import find_proven_user
from annotation.installation import actions, merging, selectors
from annotation.models import Project, User
from annotation.records.installation_state import FEATURES, SECONDS
from crowdqc.errors import DomainError
from crowdqc.numbers import parse_whole
from evaluation.deletion import actions as deletion
from evaluation.deletion.books import write_books
from evaluation.installation.demo import remove_demo
from evaluation.installation.listing import project_rows
from evaluation.organisations import verbs as organisation_verbs
from evaluation.retention.actions import NAMES, set_retention
from evaluation.retention.growth import growth
from evaluation.retention.kinds import SETTABLE


class Command(BaseCommand):
    """Lists projects and accounts, and acts on them; every act stands in the audit log."""

    help = (
        "List projects (with tasks, answers, files and model costs) and accounts; transfer or "
        "close a project; close, open or unlock an account; write to everybody; export the audit "
        "log as JSON Lines; make the installation read-only, or show a banner."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare one verb each, with what it is about."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        _add_project_verbs(verbs)
        _add_account_verbs(verbs)
        _add_installation_verbs(verbs)
        organisation_verbs.add_arguments(verbs)

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the verb says."""
        verbs: dict[str, Callable[[dict[str, Any]], None]] = {
            "projects": self._projects,
            "accounts": self._accounts,
            "transfer": self._transfer,
            "close-project": self._close_project,
            "close-account": self._account,
            "reopen-account": self._account,
            "reset-factor": self._account,
            "broadcast": self._broadcast,
            "audit": self._audit,
            "read-only": self._read_only,
            "writable": self._writable,
            "banner": self._banner,
            "archive-project": self._archive,
            "reopen-project": self._archive,
            "delete-project": self._delete,
            "keep-project": self._keep,
            "books": self._books,
            "merge": self._merge,
            "switch-off": self._switch_off,
            "remove-demo": self._remove_demo,
            "growth": self._growth,
            "retention": self._retention,
            "organisation": lambda options: organisation_verbs.handle(options, self.stdout),
        }
        try:
            verbs[options["verb"]](options)
        except DomainError as error:
            raise CommandError(" ".join([error.message, *error.fields.values()])) from error

    def _projects(self, options: dict[str, Any]) -> None:
        spent = dict(project_rows().values_list("pk", "spent"))
        self.stdout.write("id\tname\towner\tmembers\ttasks\tanswers\tMB\tmodels\tlast active")
        for one in selectors.project_uses():
            seen = f"{one.last_activity:%Y-%m-%d}" if one.last_activity else "never"
            self.stdout.write(
                f"{one.id}\t{one.name}\t{one.owner}\t{one.members}\t{one.tasks}\t{one.answers}\t"
                f"{one.bytes / 1e6:.1f}\t{spent.get(one.id, 0):.2f} {one.currency}\t{seen}"
            )

    def _accounts(self, options: dict[str, Any]) -> None:
        self.stdout.write("user\te-mail\tstate\towns\tbelongs to\tsecond factor\tlast sign-in")
        for one in selectors.account_uses():
            state = "active" if one.is_active else "closed"
            seen = f"{one.last_sign_in:%Y-%m-%d}" if one.last_sign_in else "never"
            factor = "yes" if one.has_second_factor else "no"
            self.stdout.write(
                f"{one.username}\t{one.email}\t{state}\t{one.owned}\t{one.memberships}\t"
                f"{factor}\t{seen}"
            )

    def _transfer(self, options: dict[str, Any]) -> None:
        project = actions.transfer_project(
            by=None,
            project=_project(options["project"]),
            to=_user(options["to"]),
            why=options["why"],
        )
        self.stdout.write(f"{project.name} belongs to {project.owner.username}.")

    def _close_project(self, options: dict[str, Any]) -> None:
        count = actions.close_project(
            by=None, project=_project(options["project"]), why=options["why"]
        )
        self.stdout.write(f"{count} task(s) closed.")

    def _account(self, options: dict[str, Any]) -> None:
        user, why = _user(options["user"]), options["why"]
        if options["verb"] == "reset-factor":
            count = actions.reset_second_factor(by=None, user=user, proof=why)
            self.stdout.write(f"{count} second factor(s) removed; all sessions ended.")
        elif options["verb"] == "close-account":
            actions.close_account(by=None, user=user, why=why)
            self.stdout.write("The account is closed.")
        else:
            actions.reopen_account(by=None, user=user, why=why)
            self.stdout.write("The account is open again.")

    def _broadcast(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"{actions.broadcast(by=None, text=options['text'])} people notified.")

    def _read_only(self, options: dict[str, Any]) -> None:
        actions.set_read_only(by=None, why=options["why"])
        self.stdout.write(f"Read-only: all processes know it within {SECONDS:.0f} s.")

    def _writable(self, options: dict[str, Any]) -> None:
        count = actions.end_read_only(by=None)
        self.stdout.write(f"Changes are taken again; {count} assignment(s) got their time back.")

    def _banner(self, options: dict[str, Any]) -> None:
        banner = actions.set_banner(by=None, text=options["text"]).banner
        self.stdout.write("The banner is shown." if banner else "The banner is removed.")

    def _archive(self, options: dict[str, Any]) -> None:
        project, why = _project(options["project"]), options["why"]
        if options["verb"] == "archive-project":
            count = actions.archive_project(by=None, project=project, why=why)
            self.stdout.write(f"The project is archived; {count} task(s) closed.")
        else:
            actions.reopen_project(by=None, project=project, why=why)
            self.stdout.write("The project can be changed again.")

    def _delete(self, options: dict[str, Any]) -> None:
        found = deletion.request_deletion(
            by=None,
            project=_project(options["project"]),
            name=options["name"],
            why=options["why"],
            at_once=options["now"],
        )
        if found.state == found.State.DONE:
            raise CommandError("The project is deleted.")
        if not options["now"]:
            self.stdout.write(
                f"The project is archived, and deleted on {found.due_at:%Y-%m-%d %H:%M} UTC."
            )
            return
        if deletion.carry_out(found.pk, say=self.stdout.write):
            self.stdout.write("The project is deleted; its books are kept.")
            return
        found.refresh_from_db()
        raise CommandError(found.problem or "Another process is deleting it.")

    def _keep(self, options: dict[str, Any]) -> None:
        project = _project(options["project"])
        deletion.cancel_deletion(by=None, project=project, why=options["why"])
        self.stdout.write("The project is kept; it stays archived until you reopen it.")

    def _books(self, options: dict[str, Any]) -> None:
        path = Path(options["file"])
        try:
            with path.open("xb") as file:
                write_books(_project(options["project"]), file)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        self.stdout.write(f"{path} written.")

    def _merge(self, options: dict[str, Any]) -> None:
        into = merging.merge_accounts(
            by=None, user=_user(options["user"]), into=_user(options["into"]), why=options["why"]
        )
        self.stdout.write(f"All of it belongs to {into.username}; the other account is closed.")

    def _switch_off(self, options: dict[str, Any]) -> None:
        off = actions.switch_features(by=None, switched_off=options["feature"]).switched_off
        self.stdout.write(f"Switched off: {', '.join(off) or 'nothing'}.")

    def _remove_demo(self, options: dict[str, Any]) -> None:
        count = remove_demo(by=None)
        self.stdout.write(f"{count} account(s) of the demo closed; its project is archived.")

    def _growth(self, options: dict[str, Any]) -> None:
        self.stdout.write("kind\trows\tMB\trows in 30 days\tMB in 30 days\tMB a year\tkept")
        for one in growth():
            recent, year = (
                "" if value is None else f"{value / 1e6:.1f}"
                for value in (one.recent_bytes, one.year_bytes)
            )
            rows, recent_rows = ("" if n is None else n for n in (one.rows, one.recent_rows))
            self.stdout.write(
                f"{one.kind}\t{rows}\t{one.bytes / 1e6:.1f}\t{recent_rows}\t{recent}\t{year}\t"
                f"{one.kept}"
            )

    def _retention(self, options: dict[str, Any]) -> None:
        if options["kind"] and options["keeps"]:
            keeps = None if options["keeps"] == "kept" else parse_whole(options["keeps"])
            if keeps is None and options["keeps"] != "kept":
                raise CommandError("Give a whole number, or: kept")
            set_retention(by=None, name=options["kind"], keeps=keeps)
        self.stdout.write("kind\tkept\tusual\tleast\tunit")
        for kind in SETTABLE:
            number = "kept" if kind.keeps is None else kind.keeps
            self.stdout.write(f"{kind.name}\t{number}\t{kind.usual}\t{kind.least}\t{kind.unit}")

    def _audit(self, options: dict[str, Any]) -> None:
        since = timezone.now() - timedelta(days=options["days"]) if options["days"] else None
        project = _project(options["project"]) if options["project"] else None
        path, count = Path(options["file"]), 0
        try:
            with path.open("x", encoding="utf-8") as file:
                for row in selectors.audit_rows(since, project):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    count += 1
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        self.stdout.write(f"{count} entries written.")


def _project(number: int) -> Project:
    found = Project.objects.filter(pk=number).first()
    if found is None:
        raise CommandError("There is no such project.")
    return found


def _user(name: str) -> User:
    found = find_proven_user(name)
    if found is None:
        raise CommandError("There is no such account.")
    return found


def _add_project_verbs(verbs: Any) -> None:
    verbs.add_parser("projects", help="all projects with their use, last active first")
    one = verbs.add_parser("transfer", help="give a project another owner")
    one.add_argument("project", type=int, help="the number in the project's address")
    one.add_argument("to", help="a user name or e-mail address")
    one.add_argument("--why", required=True, help="the reason, for the audit log")
    one = verbs.add_parser("close-project", help="close all tasks of a project")
    one.add_argument("project", type=int, help="the number in the project's address")
    one.add_argument("--why", required=True, help="the reason, for the audit log")
    for verb, text in (
        ("archive-project", "close its tasks and let nobody but owners change it"),
        ("reopen-project", "let the people of an archived project change it again"),
    ):
        one = verbs.add_parser(verb, help=text)
        one.add_argument("project", type=int, help="the number in the project's address")
        one.add_argument("--why", required=True, help="the reason, for the audit log")
    one = verbs.add_parser("delete-project", help="delete all of a project but its books")
    one.add_argument("project", type=int, help="the number in the project's address")
    one.add_argument("--name", required=True, help="the name of the project")
    one.add_argument("--why", required=True, help="the reason, for the audit log")
    one.add_argument("--now", action="store_true", help=f"not in {deletion.DAYS} days but now")
    one = verbs.add_parser("keep-project", help="take a deletion back before it is due")
    one.add_argument("project", type=int, help="the number in the project's address")
    one.add_argument("--why", required=True, help="the reason, for the audit log")
    one = verbs.add_parser("books", help="the books of a project as a ZIP")
    one.add_argument("project", type=int, help="the number in the project's address")
    one.add_argument("file", help="where to write it; it must not be there yet")


def _add_account_verbs(verbs: Any) -> None:
    verbs.add_parser("accounts", help="all accounts with what they belong to")
    one = verbs.add_parser("merge", help="move all of an account to another, and close it")
    one.add_argument("user", help="the account that is closed: a user name or e-mail address")
    one.add_argument("into", help="the account that stays")
    one.add_argument("--why", required=True, help="the reason, for the audit log")
    for verb, text in (
        ("close-account", "keep an account from signing in"),
        ("reopen-account", "let a closed account sign in again"),
        ("reset-factor", "remove the second factors of an account and end its sessions"),
    ):
        one = verbs.add_parser(verb, help=text)
        one.add_argument("user", help="a user name or e-mail address")
        one.add_argument("--why", required=True, help="reason, or how it was made sure who asks")


def _add_installation_verbs(verbs: Any) -> None:
    one = verbs.add_parser("switch-off", help="switch these features off and all others on")
    one.add_argument("feature", nargs="*", help=", ".join(FEATURES))
    verbs.add_parser("remove-demo", help="close the demo's accounts and archive its project")
    one = verbs.add_parser("broadcast", help="notify everybody")
    one.add_argument("text", help="the message, up to 400 characters")
    one = verbs.add_parser("read-only", help="keep everybody but owners from changing anything")
    one.add_argument("--why", required=True, help="the reason, which every page shows")
    verbs.add_parser("writable", help="take changes again")
    one = verbs.add_parser("banner", help="show a sentence above every page")
    one.add_argument("text", help="up to 300 characters; an empty one removes the banner")
    verbs.add_parser("growth", help="what each kind of rows takes now, and what a year adds")
    one = verbs.add_parser("retention", help="for how long kinds of rows are kept; set one")
    one.add_argument("kind", nargs="?", choices=sorted(NAMES))
    one.add_argument("keeps", nargs="?", help="days or years, or: kept")
    one = verbs.add_parser("audit", help="the audit log as JSON Lines")
    one.add_argument("file", help="where to write it; it must not be there yet")
    one.add_argument("--days", type=int, help="only of the last days")
    one.add_argument("--project", type=int, help="only of this project")
