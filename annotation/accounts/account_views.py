"""Pages of one's own account and API tokens."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.accounts.projects.forms import TitleField, add_errors
from annotation.accounts.signing.forms import EmailForm, NameForm
from annotation.accounts.signing.selectors import account_page
from annotation.accounts.signing.sso import allow_provider_forms
from annotation.accounts.tokens import actions as tokens
from annotation.accounts.tokens.selectors import list_bindable_projects, list_tokens
from annotation.models import ApiToken, User
from annotation.notifications.actions.notices import DAILY_HOUR
from annotation.notifications.selectors import kinds_for
from crowdqc.errors import Conflict, Invalid


class TokenForm(forms.Form):
    """A new token with as few rights as the program needs."""

    name = TitleField(label=gettext_lazy("Token name"), max_length=80)
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        choices=ApiToken.Scope.choices,
        initial=[ApiToken.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("A token never has more rights than you."),
    )
    project = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    days = forms.IntegerField(
        label=gettext_lazy("Expires after"), initial=90, min_value=1, max_value=tokens.MOST_DAYS
    )
    per_minute = forms.IntegerField(
        label=gettext_lazy("Rate limit"), initial=600, min_value=1, max_value=6000
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not user.is_superuser:
            self.fields["scopes"].choices = [  # type: ignore[attr-defined]
                one for one in ApiToken.Scope.choices if one[0] != ApiToken.Scope.INSTALLATION
            ]
        self.projects = {str(project.pk): project for project in list_bindable_projects(user)}
        self.fields["project"].choices = [  # type: ignore[attr-defined]
            ("", _("All my projects")),
            *((pk, one.name) for pk, one in self.projects.items()),
        ]

    def clean_project(self) -> Any:
        return self.projects.get(self.cleaned_data["project"])


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Show the account and tokens; a new token's text appears in this response only."""
    user = cast(User, request.user)
    form = TokenForm(request.POST or None, user=user)
    made, text, status = None, "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                made, text = tokens.create_token(by=user, **form.cleaned_data)
            except (Invalid, Conflict) as error:
                add_errors(form, error)
            else:
                status, form = 201, TokenForm(user=user)
    context = {
        "form": form,
        "rows": list_tokens(user),
        "made": made,
        "text": text,
        "page": account_page(request, user),
        "kinds": kinds_for(user),
        "themes": User.Theme.choices,
        "daily_hour": DAILY_HOUR,
        "name_form": NameForm(initial={"display_name": user.display_name}),
        "email_form": EmailForm(user=user),
    }
    response = render(request, "annotation/accounts/projects/account.html", context, status=status)
    allow_provider_forms(response)
    return response


@login_required
@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one token."""
    row = tokens.revoke_token(by=cast(User, request.user), token_id=token_id)
    messages.success(
        request, _("The token “%(row_name)s” opens nothing any more.") % {"row_name": row.name}
    )
    return redirect("account")
