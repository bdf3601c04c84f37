"""What ``manage.py crowdqc_owner organisation`` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, OutputWrapper
from django.db.models import Count

from annotation.accounts.organisations import actions as organisations
from annotation.accounts.organisations.selectors import list_members
from annotation.models import Organisation, OrganisationRole, Project
from crowdqc.money import parse_amount
from crowdqc.numbers import parse_whole
from evaluation.llm.organisation import use_of
from evaluation.organisations.actions import close_organisation, set_organisation

NONE = "none"
ONE = "the organisation’s number or name"


def add_arguments(verbs: Any) -> None:
    """Declare the verb with what it does to which organisation."""
    acts = verbs.add_parser("organisation", help="groups of projects").add_subparsers(
        dest="act", required=True
    )
    acts.add_parser("list", help="all organisations with people, projects and model costs")
    one = acts.add_parser("create", help="found one with its first owner")
    one.add_argument("name")
    one.add_argument("owner", help="a user name or e-mail address")
    one.add_argument("--currency", default="EUR", help="of all its projects")
    one = acts.add_parser("rename", help="give it another name")
    one.add_argument("organisation", help=ONE)
    one.add_argument("name")
    one = acts.add_parser("people", help="who belongs to it")
    one.add_argument("organisation", help=ONE)
    one = acts.add_parser("member", help="give, change or end somebody's role")
    one.add_argument("organisation", help=ONE)
    one.add_argument("person", help="a user name or e-mail address")
    one.add_argument("role", choices=[*OrganisationRole.values, NONE])
    one = acts.add_parser("project", help="let a project join it")
    one.add_argument("organisation", help=f"{ONE}, or: {NONE}, to let it leave")
    one.add_argument("project", type=int, help="the number in the project's address")
    one = acts.add_parser("set", help="the budget of models, or what new projects begin with")
    one.add_argument("organisation", help=ONE)
    one.add_argument("setting", choices=organisations.SETTINGS)
    one.add_argument("value", help=f"a number, or: {NONE}")
    one = acts.add_parser("close", help="close one that no project belongs to")
    one.add_argument("organisation", help=ONE)


def handle(options: dict[str, Any], out: OutputWrapper) -> None:
    """Do what the verb says."""
    acts: dict[str, Callable[[dict[str, Any], OutputWrapper], None]] = {
        "list": _list,
        "create": _create,
        "rename": _rename,
        "people": _people,
        "member": _member,
        "project": _project,
        "set": _set,
        "close": _close,
    }
    acts[options["act"]](options, out)


def find_organisation(said: str) -> Organisation:
    """Return an open organisation by number or name; CommandError if there is none."""
    rows = Organisation.objects.filter(closed_at=None)
    found = rows.filter(pk=said).first() if said.isdecimal() and len(said) < 19 else None
    found = found or rows.filter(name__iexact=said).first()
    if found is None:
        raise CommandError("There is no such organisation.")
    return found


def _list(options: dict[str, Any], out: OutputWrapper) -> None:
    rows = Organisation.objects.filter(closed_at=None).annotate(
        people=Count("members", distinct=True), project_count=Count("projects", distinct=True)
    )
    out.write("id\tname\tpeople\tprojects\tmodels\tbudget")
    for row in rows.order_by("name", "pk"):
        most = "none" if row.model_budget is None else f"{row.model_budget}"
        out.write(
            f"{row.pk}\t{row.name}\t{row.people}\t{row.project_count}\t"
            f"{use_of(row).spent:.2f} {row.currency}\t{most}"
        )


def _create(options: dict[str, Any], out: OutputWrapper) -> None:
    made = organisations.create_organisation(
        by=None,
        name=options["name"],
        currency=options["currency"],
        owner=organisations.find_person(None, options["owner"]),
    )
    out.write(f"{made.name} is organisation {made.pk}.")


def _rename(options: dict[str, Any], out: OutputWrapper) -> None:
    found = find_organisation(options["organisation"])
    row = organisations.rename_organisation(by=None, organisation=found, name=options["name"])
    out.write(f"It is called {row.name} now.")


def _people(options: dict[str, Any], out: OutputWrapper) -> None:
    out.write("user\trole\tby")
    for row in list_members(find_organisation(options["organisation"])):
        out.write(f"{row.user.username}\t{row.role}\t{'group' if row.by_group else 'owner'}")


def _member(options: dict[str, Any], out: OutputWrapper) -> None:
    found = find_organisation(options["organisation"])
    person = organisations.find_person(None, options["person"])
    role = "" if options["role"] == NONE else options["role"]
    organisations.change_member(by=None, organisation=found, user=person, role=role)
    out.write(f"{person.username}: {options['role']}.")


def _project(options: dict[str, Any], out: OutputWrapper) -> None:
    said = options["organisation"]
    organisation = None if said == NONE else find_organisation(said)
    project = Project.objects.filter(pk=options["project"]).first()
    if project is None:
        raise CommandError("There is no such project.")
    set_organisation(by=None, project=project, organisation=organisation)
    out.write(f"{project.name}: {organisation.name if organisation else 'no organisation'}.")


def _set(options: dict[str, Any], out: OutputWrapper) -> None:
    name, text = options["setting"], options["value"]
    value: Any = None
    if text != NONE and name in organisations.DAYS:
        value = parse_whole(text, *organisations.DAYS[name])
        if value is None:
            raise CommandError("Give a whole number of days.")
    elif text != NONE:
        value = parse_amount(text, field=name)
    found = find_organisation(options["organisation"])
    organisations.change_settings(by=None, organisation=found, **{name: value})
    out.write(f"{found.name}, {name}: {text}.")


def _close(options: dict[str, Any], out: OutputWrapper) -> None:
    found = find_organisation(options["organisation"])
    close_organisation(by=None, organisation=found)
    out.write(f"{found.name} is closed.")
