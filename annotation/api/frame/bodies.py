"""The bodies of requests: their shapes only, what they mean is decided by the actions."""

from __future__ import annotations

from rest_framework import serializers

from annotation.accounts.tokens import actions as tokens
from annotation.api.frame.base import Body
from annotation.authoring.actions.tasks import MOVES, Wording
from annotation.models import ApiToken, TaskVersion
from crowdqc.web.fields import PlainMoneyField


class ProjectIn(Body):
    name = serializers.CharField(max_length=120)
    currency = serializers.RegexField(r"^[A-Z]{3}$", default="EUR")
    organisation = serializers.IntegerField(
        required=False, help_text="One of yours; its currency and settings hold"
    )


class TaskIn(Body):
    type = serializers.CharField(default="free_text")
    title = serializers.CharField(max_length=160)


class DraftIn(Body):
    """Any of a draft's fields; those left out stay."""

    title = serializers.CharField(required=False)
    instructions = serializers.CharField(required=False, allow_blank=True)
    order = serializers.ChoiceField(TaskVersion.Order.choices, required=False)
    redundancy = serializers.IntegerField(required=False)
    items_per_assignment = serializers.IntegerField(required=False)
    lease_minutes = serializers.IntegerField(required=False)
    min_seconds = serializers.IntegerField(required=False)
    expected_minutes = serializers.IntegerField(
        required=False, help_text="What you expect an assignment to take; 0: no estimate"
    )
    pay = PlainMoneyField(max_digits=8, decimal_places=2, required=False)
    bonus_note = serializers.CharField(required=False, allow_blank=True)
    settings = serializers.DictField(required=False)


class MoveIn(Body):
    to = serializers.ChoiceField(list(MOVES))


class PublishIn(Body):
    wording = serializers.ChoiceField(
        Wording.values,
        default="",
        help_text="What new wordings mean: spelling keeps earlier answers, meaning does not. Left "
        "out, reworded items are asked anew; reworded fields only in checklists",
    )


class RowsIn(Body):
    """Rows of one format, as objects with its column names."""

    rows = serializers.ListField(child=serializers.DictField(), min_length=1, max_length=20_000)


class CountsIn(Body):
    counts = serializers.BooleanField()
    reason = serializers.CharField(required=False, allow_blank=True, max_length=200)


class JoinIn(Body):
    token = serializers.CharField(help_text="The part of the invitation's link after /join/")


class ConsentIn(Body):
    number = serializers.IntegerField(help_text="The version of the text that was read")
    agreed = serializers.BooleanField()


class DraftSave(Body):
    draft = serializers.DictField(help_text='{"text": "...", "declined": false, "skipped": false}')
    seq = serializers.IntegerField(
        min_value=0, help_text="Grows with every save; an older one changes nothing"
    )


class SubmitIn(Body):
    key = serializers.UUIDField(help_text="The client's key: sent again, it submits once")
    answers = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        help_text="item -> draft; they take the place of what was saved",
    )


class StreamIn(Body):
    key = serializers.UUIDField(help_text="The client's key: sent again, it is the same stream")


class EventsIn(Body):
    stream = serializers.UUIDField()
    first_seq = serializers.IntegerField(min_value=0)
    events = serializers.ListField(child=serializers.DictField())


class SignIn(Body):
    username = serializers.CharField()
    password = serializers.CharField(trim_whitespace=False)
    code = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=20,
        help_text="Of your authenticator app, or a recovery code; where you have a second factor",
    )
    scopes = serializers.ListField(
        child=serializers.ChoiceField(ApiToken.Scope.choices),
        default=tokens.LEAST,
        help_text="Left out: read and work. pay needs a second factor",
    )
