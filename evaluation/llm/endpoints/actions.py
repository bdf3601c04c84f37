"""What people do to endpoints and models; every change is in the audit log, no key ever is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Organisation, Project, User
from annotation.records.actions.audit import record
from crowdqc import money
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count, parse_whole
from crowdqc.outbound import addresses
from evaluation.llm.endpoints import keys
from evaluation.models import CallUse, Endpoint, LanguageModel, LLMAttempt, Run
from evaluation.models.llm import owned_by

# field: lowest, highest, empty allowed
WHOLE: dict[str, tuple[int, int, bool]] = {
    "requests_per_minute": (1, 1_000_000, True),
    "tokens_per_minute": (1, 2_000_000_000, True),
    "parallel": (1, 64, False),
    "timeout_seconds": (1, 3600, False),
}
BUDGETS = ("soft_budget", "hard_budget")
CHANGEABLE = ("name", "base_url", *WHOLE, *BUDGETS)
PRICE_PLACES = 6
MAX_BUDGET, MAX_PRICE = Decimal("9999999999"), Decimal("999999")


@transaction.atomic
def add_endpoint(
    *,
    by: User,
    owner: Project | Organisation,
    name: str,
    base_url: str,
    key: str = "",
    key_env: str = "",
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    parallel: int = 4,
    timeout_seconds: int = 60,
    soft_budget: Decimal | None = None,
    hard_budget: Decimal | None = None,
) -> Endpoint:
    """A new endpoint of a project, or of an organisation for all its projects.

    Invalid names the field.

    ``key`` is sealed at once; ``key_env`` names an environment variable instead. Neither: the
    endpoint wants no key. Budgets are in the owner's currency.
    """
    endpoint = Endpoint(created_by=by, **owned_by(owner))
    fields = {
        "name": name,
        "base_url": base_url,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "parallel": parallel,
        "timeout_seconds": timeout_seconds,
        "soft_budget": soft_budget,
        "hard_budget": hard_budget,
    }
    _set_fields(endpoint, fields)
    _take_key(endpoint, key, key_env)
    endpoint.save()
    record(
        by=by,
        project=endpoint.project,
        action="endpoint.add",
        on=endpoint,
        key=_key_storage(endpoint),
        **_audit_values(endpoint, CHANGEABLE),
    )
    return endpoint


@transaction.atomic
def change_endpoint(*, by: User, endpoint: Endpoint, **changes: Any) -> Endpoint:
    """Change an endpoint's name, address, limits or budgets (``CHANGEABLE``); Invalid names it.

    A key is never sent to an address it was not entered for: with another host it is forgotten,
    and has to be entered again.
    """
    unknown = sorted(set(changes) - set(CHANGEABLE))
    if unknown:
        raise Invalid(
            _("%(name)s cannot be changed.") % {"name": unknown[0]},
            fields={unknown[0]: _("Not changeable.")},
        )
    locked = _open(endpoint)
    before, address = _audit_values(locked, changes), locked.base_url
    _set_fields(locked, changes)
    moved = addresses.origin(address) != addresses.origin(locked.base_url)
    if moved and (locked.key_sealed or locked.key_env):
        locked.key_sealed, locked.key_env, locked.key_set_at = None, "", None
    locked.save()
    record(
        by=by,
        project=locked.project,
        action="endpoint.change",
        on=locked,
        before=before,
        after=_audit_values(locked, changes),
        key=_key_storage(locked),
    )
    return locked


@transaction.atomic
def set_key(*, by: User, endpoint: Endpoint, key: str = "", key_env: str = "") -> Endpoint:
    """Replace the key: one to be sealed, or the name of a variable; both empty removes it."""
    locked = _open(endpoint)
    _take_key(locked, key, key_env)
    locked.save(update_fields=["key_env", "key_sealed", "key_set_at"])
    record(
        by=by,
        project=locked.project,
        action="endpoint.set_key",
        on=locked,
        key=_key_storage(locked),
    )
    return locked


@transaction.atomic
def archive_endpoint(*, by: User | None, endpoint: Endpoint) -> Endpoint:
    """Take an endpoint out of use and forget its key; its calls and figures stay."""
    locked = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    if locked.archived_at:
        return locked
    locked.archived_at = timezone.now()
    locked.key_sealed, locked.key_env, locked.key_set_at = None, "", None
    locked.save()
    record(by=by, project=locked.project, action="endpoint.archive", on=locked)
    return locked


@transaction.atomic
def add_model(
    *,
    by: User,
    endpoint: Endpoint,
    name: str,
    use: str = LanguageModel.Use.CHAT,
    price_in: Decimal | None = None,
    price_out: Decimal | None = None,
) -> LanguageModel:
    """A model of the endpoint, under the name the endpoint gives it; an archived one comes back.

    Prices are for a million tokens in the project's currency; None: not known.
    """
    locked = _open(endpoint)
    chosen = name.strip()
    if not chosen or len(chosen) > 160:
        raise Invalid(_("A model needs its name."), fields={"name": _("1 to 160 characters.")})
    if use not in LanguageModel.Use.values:
        hint = _("One of: %(names)s.") % {"names": ", ".join(LanguageModel.Use.values)}
        raise Invalid(
            _("%(use)s is no use of a model.") % {"use": f"{use!r}"}, fields={"use": hint}
        )
    prices = {"price_in": _price("price_in", price_in), "price_out": _price("price_out", price_out)}
    model = LanguageModel.objects.filter(endpoint=locked, name=chosen, use=use).first()
    if model is not None and model.archived_at is None:
        raise Conflict(
            _("%(chosen)s is there already.") % {"chosen": chosen},
            fields={"name": _("This model is there.")},
        )
    if model is None:
        model = LanguageModel.objects.create(endpoint=locked, name=chosen, use=use, **prices)
    else:
        LanguageModel.objects.filter(pk=model.pk).update(archived_at=None, **prices)
        model.refresh_from_db()
    record(
        by=by,
        project=locked.project,
        action="model.add",
        on=model,
        name=chosen,
        use=use,
        endpoint=locked.pk,
        **{k: _plain(v) for k, v in prices.items()},
    )
    return model


@transaction.atomic
def change_model(
    *, by: User, model: LanguageModel, price_in: Decimal | None, price_out: Decimal | None
) -> LanguageModel:
    """Set a model's prices for a million tokens; calls made before keep what they cost."""
    locked = LanguageModel.objects.select_for_update().get(pk=model.pk)
    before = {"price_in": _plain(locked.price_in), "price_out": _plain(locked.price_out)}
    locked.price_in = _price("price_in", price_in)
    locked.price_out = _price("price_out", price_out)
    locked.save(update_fields=["price_in", "price_out"])
    after = {"price_in": _plain(locked.price_in), "price_out": _plain(locked.price_out)}
    project = locked.endpoint.project
    record(by=by, project=project, action="model.change", on=locked, before=before, after=after)
    return locked


@transaction.atomic
def archive_model(*, by: User, model: LanguageModel) -> LanguageModel:
    """Take a model out of use; its calls and figures stay."""
    locked = LanguageModel.objects.select_for_update().get(pk=model.pk)
    if locked.archived_at is None:
        locked.archived_at = timezone.now()
        locked.save(update_fields=["archived_at"])
        record(by=by, project=locked.endpoint.project, action="model.archive", on=locked)
    return locked


# -- what was spent --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """Money in the project's currency: all in all, in flight at most, since midnight; and left.

    ``left`` is None where there is no hard budget. ``over_soft``: the soft budget is passed.
    """

    total: Decimal
    reserved: Decimal
    today: Decimal
    left: Decimal | None
    over_soft: bool


def spent(endpoint: Endpoint) -> Spent:
    """Return what the endpoint has cost in total and today, with its budgets."""
    now = Endpoint.objects.only("spent", "reserved", "soft_budget", "hard_budget").get(
        pk=endpoint.pk
    )
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    left = None
    if now.hard_budget is not None:
        left = max(Decimal(), now.hard_budget - now.spent - now.reserved)
    over = now.soft_budget is not None and now.spent > now.soft_budget
    today = _cost_since(endpoint, midnight)
    return Spent(
        now.spent, now.reserved, today, None if left is None else max(left, Decimal()), over
    )


def _cost_since(endpoint: Endpoint, moment: dt.datetime) -> Decimal:
    rows = LLMAttempt.objects.filter(call__model__endpoint=endpoint, ended_at__gte=moment)
    return rows.aggregate(n=Sum("cost"))["n"] or Decimal()


def spent_by(run: Run) -> Decimal:
    """Return the cost of requests sent for this run while it was in work.

    Calls that were answered before it began cost it nothing.
    """
    if run.started_at is None:
        return Decimal()
    rows = LLMAttempt.objects.filter(
        call__in=CallUse.objects.filter(run=run).values("call"), sent_at__gte=run.created_at
    )
    if run.finished_at is not None:
        rows = rows.filter(sent_at__lte=run.finished_at)
    return rows.aggregate(n=Sum("cost"))["n"] or Decimal()


# -- fields ----------------------------------------------------------------------------------------


def _open(endpoint: Endpoint) -> Endpoint:
    locked = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    if locked.archived_at:
        raise Conflict(_("%(locked)s is archived.") % {"locked": locked.name})
    return locked


def _set_fields(endpoint: Endpoint, fields: Mapping[str, Any]) -> None:
    """Set checked fields; Invalid names the bad one."""
    for name, value in fields.items():
        setattr(endpoint, name, _clean(name, value))
    low, high = endpoint.soft_budget, endpoint.hard_budget
    if low is not None and high is not None and low > high:
        hint = _("Not above the hard budget.")
        raise Invalid(_("The soft budget is above the hard one."), fields={"soft_budget": hint})
    same = Endpoint.objects.filter(
        **owned_by(endpoint.owner), name=endpoint.name, archived_at__isnull=True
    )
    if same.exclude(pk=endpoint.pk).exists():
        raise Invalid(_("An endpoint of this name is there."), fields={"name": _("Taken already.")})


def _clean(name: str, value: Any) -> Any:
    if name == "name":
        chosen = str(value).strip()
        if not chosen or len(chosen) > 80:
            raise Invalid(_("An endpoint needs a name."), fields={"name": _("1 to 80 characters.")})
        return chosen
    if name == "base_url":
        return addresses.clean(str(value))
    if name in WHOLE:
        return _parse_number(name, value)
    return _money(name, value, MAX_BUDGET)


def _parse_number(name: str, value: Any) -> int | None:
    low, high, empty = WHOLE[name]
    if value in (None, "") and empty:
        return None
    number = parse_whole(value, low, high)
    if number is None:
        hint = (
            _("A whole number from %(low)s to %(high)s, or empty.")
            if empty
            else _("A whole number from %(low)s to %(high)s.")
        ) % {"low": count(low), "high": count(high)}
        raise Invalid(_("%(name)s is out of range.") % {"name": name}, fields={name: hint})
    return number


def _money(name: str, value: Any, most: Decimal, places: int = money.CENTS) -> Decimal | None:
    if value in (None, ""):
        return None
    return money.parse_amount(value, field=name, places=places, high=most)


def _price(name: str, value: Any) -> Decimal | None:
    return _money(name, value, MAX_PRICE, PRICE_PLACES)


def _take_key(endpoint: Endpoint, key: str, key_env: str) -> None:
    if key.strip() and key_env.strip():
        hint = _("Either a key or a variable, not both.")
        raise Invalid(_("There are two keys."), fields={"key": hint, "key_env": hint})
    secret = keys.clean_key(key)
    endpoint.key_env = keys.clean_variable(key_env, endpoint.base_url)
    endpoint.key_sealed = keys.seal(secret) if secret else None
    endpoint.key_set_at = timezone.now() if secret or endpoint.key_env else None


def _key_storage(endpoint: Endpoint) -> str:
    """Say how a key is stored, for the audit log: never the key."""
    if endpoint.key_env:
        return f"variable {endpoint.key_env}"  # English, as the audit log keeps it
    return "sealed" if endpoint.key_sealed else "none"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def _audit_values(endpoint: Endpoint, names: Any) -> dict[str, Any]:
    return {name: _plain(getattr(endpoint, name)) for name in names}
