"""Which tables belong to a project, how their rows are found, and in which order they go in.

A table belongs to a project where a chain of foreign keys leads from it to ``Project``. What is
left out stands in ``LEFT_OUT`` with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Q, QuerySet

from annotation.models import Project, StoredFile, User

Model = type[models.Model]
INSTALLATION = "of the installation, not of a project"
PERSON = "of a person's account"
KEPT = "a secret of the installation that made it"

LEFT_OUT: dict[str, str] = {
    "auth.Permission": INSTALLATION,
    "auth.Group": INSTALLATION,
    "auth.Group_permissions": INSTALLATION,
    "contenttypes.ContentType": INSTALLATION,
    "sessions.Session": PERSON,
    "evaluation.DeletedRows": INSTALLATION,
    "account.EmailAddress": PERSON,
    "account.EmailConfirmation": PERSON,
    "mfa.Authenticator": PERSON,
    "socialaccount.SocialApp": INSTALLATION,
    "socialaccount.SocialAccount": PERSON,
    "socialaccount.SocialToken": PERSON,
    "usersessions.UserSession": PERSON,
    "annotation.User": "people go as pseudonyms or as accounts (people.py)",
    "annotation.User_groups": PERSON,
    "annotation.User_user_permissions": PERSON,
    "annotation.ProjectPlugin": "the target has plug-ins of its own",
    "annotation.QuotaOverride": "the target has quotas of its own",
    "annotation.Organisation": "the project joins one of the target, if any",
    "annotation.OrganisationMember": "the project joins one of the target, if any",
    "annotation.Invitation": KEPT,
    "annotation.WorkerOrigin": "digests by a key of the installation, kept for some days",
    "annotation.ApiToken": KEPT,
    "annotation.KeptReply": KEPT,
    "annotation.Hook": KEPT,
    "annotation.HookDelivery": KEPT,
    "annotation.AccountMail": KEPT,
    "annotation.SavedView": PERSON,
    "annotation.JudgmentCount": "counted by triggers as answers come in",
    "annotation.AnswerCount": "counted by triggers as answers come in",
    "annotation.Heartbeat": INSTALLATION,
    "annotation.KeySet": "read anew from the platform",
    "annotation.UsedEntry": "links that were signed by the installation",
    "annotation.PaymentDetails": KEPT,
    "annotation.ExportFile": "made again on request",
    "annotation.ColumnChoice": PERSON,
    "annotation.InstallationState": INSTALLATION,
    "annotation.Notice": PERSON,
    "annotation.SecurityEvent": "addresses and devices of people",
    "evaluation.RunShare": KEPT,
    "evaluation.BoardBundle": "the file of a public board, which stays where it is",
    "evaluation.Embedding": "kept for all projects; those of its texts go as vectors.jsonl",
    "evaluation.EncodingShard": "parts of a run that is being computed",
    "evaluation.Sample": INSTALLATION,
    "evaluation.JobFailure": INSTALLATION,
    "evaluation.DiscardedFailure": INSTALLATION,
    "evaluation.ProjectMove": "the log of moves is the installation's",
    "evaluation.ProjectArchive": "the log of moves is the installation's",
    "evaluation.ArchivePart": "bytes of an archive that is exported or imported",
    "evaluation.ProjectDeletion": "the log of deletions is the installation's",
}

# Fields that are written empty: sealed by a key of the installation, or a token of it.
CLEARED: dict[str, Any] = {
    "annotation.Recruitment.token_sealed": b"",
    "annotation.Recruitment.webhook_sealed": b"",
    "annotation.TraceSource.key_sealed": b"",
    "annotation.TraceSource.digest": "",
    "evaluation.Endpoint.key_sealed": b"",
}

# Fields that are filled when all rows are there, and what they hold until then: they close a
# circle of tables, or a job would act on a row that is not whole yet.
DEFERRED: dict[str, Any] = {
    "annotation.Task.current": None,
    "annotation.Task.state": "draft",
    "annotation.Task.source": None,
    "annotation.Candidate.source_answer": None,
    "evaluation.Run.source": None,
    "evaluation.ChecklistStage.made_from": None,
}


def label(model: Model) -> str:
    """Return a model's name as it stands in an archive: app and class."""
    return str(model._meta.label)


def field_label(field: Any) -> str:
    """Return a field's name with that of its model."""
    return f"{label(field.model)}.{field.name}"


def all_models() -> list[Model]:
    """Return every model with a table, those between two models included."""
    return list(apps.get_models(include_auto_created=True))


def foreign_keys(model: Model) -> list[Any]:
    """Return the foreign keys of a model, in the order of its fields."""
    return [one for one in model._meta.concrete_fields if one.remote_field is not None]


@cache
def paths() -> dict[Model, tuple[str, ...]]:
    """Map each model of a project to the chains that lead from its rows to the project.

    One chain where it can be done by keys that are never empty; else each that may be filled.
    """
    waiting = [
        one for one in all_models() if label(one) not in LEFT_OUT and one not in (Project, User)
    ]
    return extend_paths({Project: ("pk",)}, waiting)


def extend_paths(
    known: dict[Model, tuple[str, ...]], waiting: list[Model]
) -> dict[Model, tuple[str, ...]]:
    """Return the chains that are known, and those of the models that lead to one of them."""
    found = dict(known)
    while waiting:
        layer = _layer(waiting, found, sure=True) or _layer(waiting, found, sure=False)
        if not layer:
            break
        found |= layer
        waiting = [one for one in waiting if one not in found]
    return found


def _layer(
    waiting: list[Model], found: dict[Model, tuple[str, ...]], *, sure: bool
) -> dict[Model, tuple[str, ...]]:
    """Return the models that point to those found: by a key that is never empty, or by several."""
    layer: dict[Model, tuple[str, ...]] = {}
    for model in waiting:
        keys = [one for one in foreign_keys(model) if one.remote_field.model in found]
        if sure:
            keys = [one for one in keys if not one.null][:1]
        ends = tuple(
            _joined(one.name, end) for one in keys for end in found[one.remote_field.model]
        )
        if ends:
            layer[model] = ends
    return layer


def _joined(name: str, end: str) -> str:
    return name if end == "pk" else f"{name}__{end}"


@cache
def ordered() -> tuple[Model, ...]:
    """Return the models of a project so that each comes after those it points to.

    Raises RuntimeError where a circle of keys is not opened by ``DEFERRED``.
    """
    order: list[Model] = []
    waiting: list[Model] = [*paths(), StoredFile]
    while waiting:
        free = [one for one in waiting if not (_needed(one) & set(waiting) - {one})]
        free = [one for one in free if one not in _needed(one)]
        if not free:
            raise RuntimeError(f"circle of keys: {', '.join(sorted(map(label, waiting)))}")
        order += free
        waiting = [one for one in waiting if one not in free]
    return tuple(order)


def _needed(model: Model) -> set[Model]:
    return {
        one.remote_field.model
        for one in foreign_keys(model)
        if field_label(one) not in DEFERRED and one.db_constraint
    } | {one.remote_field.model for one in foreign_keys(model) if not one.db_constraint}


def rows_of(model: Model, project: Project | int) -> QuerySet[Any]:
    """Return a project's rows of a table in the order of their keys."""
    pk = project if isinstance(project, int) else project.pk
    if model is StoredFile:
        return model._base_manager.order_by("pk").filter(pk__in=_stored_ids(pk))
    return rows_by(paths()[model], model, pk)


def rows_by(chains: tuple[str, ...], model: Model, project: int) -> QuerySet[Any]:
    """Return the rows from which one of the chains leads to the project."""
    wanted = Q()
    for path in chains:
        wanted |= Q(**{path: project})
    return model._base_manager.order_by("pk").filter(wanted)


def _stored_ids(project: int) -> list[int]:
    found: set[int] = set()
    for model in paths():
        for key in foreign_keys(model):
            if key.remote_field.model is StoredFile:
                held = rows_of(model, project).filter(**{f"{key.name}__isnull": False})
                found |= set(held.values_list(key.attname, flat=True))
    return sorted(found)


def kept_keys(model: Model) -> Iterator[Any]:
    """Yield the foreign keys whose rows go with the project."""
    for key in foreign_keys(model):
        if key.remote_field.model in paths() or key.remote_field.model is StoredFile:
            yield key


def user_keys(model: Model) -> list[Any]:
    """Return the keys that point to accounts."""
    return [one for one in foreign_keys(model) if one.remote_field.model is User]


def lost_keys(model: Model) -> list[Any]:
    """Return the keys whose rows are left out; each is empty in an archive."""
    gone = (User, StoredFile, *paths())
    return [one for one in foreign_keys(model) if one.remote_field.model not in gone]
