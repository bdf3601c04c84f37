"""What requesters say of a way into a task; the actions decide. Secrets are never filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from annotation.accounts.projects.forms import CURRENCIES, TitleField
from annotation.models import Recruitment
from annotation.recruitment.platforms import entry_params as coming
from annotation.recruitment.platforms.entry_params import OUTCOMES
from crowdqc.web.edits import EditForm
from crowdqc.web.fields import MoneyField

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

WORDS = {
    "completed": (gettext_lazy("Completed"), gettext_lazy("Handed in.")),
    "failed_attention": (
        gettext_lazy("Attention failed"),
        gettext_lazy("Handed in with known answers missed. It rejects nobody here."),
    ),
    "no_consent": (gettext_lazy("No consent"), gettext_lazy("Did not agree to what is recorded.")),
    "incompatible_device": (
        gettext_lazy("Incompatible device"),
        gettext_lazy("Cannot do it on this device."),
    ),
    "other": (gettext_lazy("Other"), gettext_lazy("Left for another reason.")),
}
SECRET = {"autocomplete": "off", "spellcheck": "false"}


def _code(**more: Any) -> forms.TextInput:
    return forms.TextInput(attrs={"class": "code", "autocomplete": "off", **more})


def _secret(label: StrPromise, help_text: StrPromise) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        strip=True,
        max_length=600,
        help_text=help_text,
        widget=forms.PasswordInput(attrs=SECRET),
    )


class RecruitmentForm(EditForm):
    """What both kinds have."""

    name = TitleField(
        max_length=80,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("For people of this project."),
    )
    entry = forms.ChoiceField(
        label=gettext_lazy("How people prove who they are"), widget=forms.RadioSelect
    )
    audience = forms.CharField(
        label=gettext_lazy("Audience"),
        required=False,
        max_length=200,
        widget=_code(),
        help_text=gettext_lazy("Whom the signature is for: the address or domain of this site."),
    )
    jwks_url = forms.CharField(
        label=gettext_lazy("Address of the keys (JWKS)"),
        required=False,
        max_length=300,
        widget=_code(),
        help_text=gettext_lazy("Empty: Prolific’s own."),
    )
    issuer = forms.CharField(
        label=gettext_lazy("Issuer"),
        required=False,
        max_length=200,
        widget=_code(),
        help_text=gettext_lazy("Empty: Prolific’s own, or any on a panel of your own."),
    )
    active = forms.BooleanField(
        label=gettext_lazy("Takes people now"),
        required=False,
        initial=True,
        help_text=gettext_lazy("Off: nobody new comes in. Who is at work may finish."),
    )
    kind = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["entry"].choices = Recruitment.Entry.choices  # type: ignore[attr-defined]
        for name in OUTCOMES:
            label, help_text = WORDS[name]
            self.fields[f"code_{name}"] = forms.CharField(
                label=label,
                required=False,
                max_length=60,
                help_text=help_text,
                widget=_code(),
            )

    def codes(self) -> list[Any]:
        """The fields of the codes."""
        return [self[f"code_{name}"] for name in OUTCOMES]

    @classmethod
    def of(cls, row: Recruitment, sent: QueryDict | None = None) -> RecruitmentForm:
        """The form as the way in stands, without its secrets."""
        initial = {name: getattr(row, name, None) for name in cls.base_fields}
        initial |= {f"code_{name}": row.codes.get(name, "") for name in OUTCOMES}
        initial |= {f"parameter_{word}": name for word, name in row.parameters.items()}
        initial |= {"token": "", "webhook": ""}
        return cls(sent, initial=initial)


class ProlificForm(RecruitmentForm):
    """A study on Prolific."""

    kind = Recruitment.Kind.PROLIFIC
    study_id = forms.CharField(
        label=gettext_lazy("Study"),
        max_length=80,
        widget=_code(),
        help_text=gettext_lazy("Its id, as in its address on Prolific."),
    )
    token = _secret(
        gettext_lazy("API token"),
        gettext_lazy(
            "Approvals, rejections and bonuses then leave automatically. Kept sealed, "
            "shown nowhere."
        ),
    )
    webhook = _secret(
        gettext_lazy("Webhook secret"),
        gettext_lazy("Prolific then tells who returned or ran out of time. Kept sealed."),
    )
    api_url = forms.CharField(
        label=gettext_lazy("Address of the API"),
        required=False,
        max_length=200,
        widget=_code(),
        help_text=gettext_lazy("Empty: Prolific’s own."),
    )
    study_currency = forms.ChoiceField(
        label=gettext_lazy("Currency"),
        required=False,
        choices=[("", gettext_lazy("As Prolific says")), *CURRENCIES],
        help_text=gettext_lazy("Of the study. It must be the project’s, or nothing is sent."),
    )
    fee_percent = MoneyField(
        label=gettext_lazy("Fee"),
        required=False,
        min_value=0,
        max_value=100,
        decimal_places=2,
        initial=0,
        help_text=gettext_lazy(
            "What Prolific takes of each amount, to be held against its statements."
        ),
        css="short num",
    )

    def clean_fee_percent(self) -> Any:
        return self.cleaned_data.get("fee_percent") or 0


class PanelForm(RecruitmentForm):
    """A panel of one's own, or a marketplace with MTurk's parameters."""

    kind = Recruitment.Kind.PANEL
    parameter_participant = forms.CharField(
        label=gettext_lazy("Person"),
        initial="participant",
        max_length=40,
        widget=_code(),
        help_text=format_lazy(gettext_lazy("As {mturk}."), mturk=coming.MTURK["participant"]),
    )
    parameter_session = forms.CharField(
        label=gettext_lazy("Session"),
        required=False,
        max_length=40,
        widget=_code(),
        help_text=format_lazy(
            gettext_lazy("As {mturk}; may be empty."), mturk=coming.MTURK["session"]
        ),
    )
    parameter_study = forms.CharField(
        label=gettext_lazy("Study"),
        required=False,
        max_length=40,
        widget=_code(),
        help_text=format_lazy(
            gettext_lazy("As {mturk}; may be empty."), mturk=coming.MTURK["study"]
        ),
    )
    parameter_submit_to = forms.CharField(
        label=gettext_lazy("Submission URL"),
        required=False,
        max_length=40,
        widget=_code(),
        help_text=format_lazy(
            gettext_lazy("As {mturk}, for MTurk’s way; else empty."),
            mturk=coming.MTURK["submit_to"],
        ),
    )
    return_url = forms.CharField(
        label=gettext_lazy("Return URL"),
        required=False,
        max_length=400,
        widget=_code(),
        help_text=gettext_lazy(
            "https://…, with {code}, {participant} or {session} in it; or, for MTurk’s way, "
            "the addresses that work may be handed in at, with spaces between."
        ),
    )


FORMS: dict[str, type[RecruitmentForm]] = {form.kind: form for form in (ProlificForm, PanelForm)}


class LinksForm(forms.Form):
    """For whom signed links are wanted."""

    people = forms.CharField(
        label=gettext_lazy("Ids"),
        required=False,
        help_text=gettext_lazy("One a line; the same id gets the same link again."),
        widget=forms.Textarea(attrs={"rows": 4, "class": "code"}),
    )
    count = forms.IntegerField(
        label=gettext_lazy("And new ones"),
        required=False,
        min_value=0,
        max_value=5000,
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )


class LetInForm(forms.Form):
    """Whom to let in from another browser."""

    participant = forms.CharField(label=gettext_lazy("Their id"), max_length=80, widget=_code())
