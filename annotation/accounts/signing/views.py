"""Pages of signing up and in, and of one's account. HTTP only."""

from __future__ import annotations

from typing import Any, cast

from allauth.account import views as account
from allauth.account.adapter import get_adapter
from allauth.account.internal.decorators import login_not_required
from allauth.mfa.base import views as mfa
from allauth.mfa.internal.flows.trust import trust_browser
from allauth.mfa.webauthn import views as webauthn
from allauth.mfa.webauthn.internal import auth as passkeys
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.accounts.demo import PASSWORD, offered_accounts
from annotation.accounts.projects.forms import add_errors
from annotation.accounts.signing import actions, selectors
from annotation.accounts.signing.forms import MAILS, NameForm
from annotation.accounts.signing.sso import allow_provider_forms
from annotation.models import User
from annotation.records.installation_state import is_sign_up_open
from crowdqc import limits
from crowdqc.errors import Invalid
from crowdqc.web.back import redirect_back

# What a person wanted to do who is sent to sign in: the page's address -> its first words.
WANTED = {
    "score_table": gettext_lazy("To score a table."),
    "work_home": gettext_lazy("To answer tasks."),
}


class _Says:
    """A form that is wrong answers 422, so that scripts and programs see it."""

    def form_invalid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        if response.status_code == 200:
            response.status_code = 422
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        name = settings.OIDC_NAME if settings.OIDC_SERVER_URL else ""
        wanted = context.get("redirect_field_value")
        return {
            **context,
            "sso_name": name,
            "sign_up_open": is_sign_up_open(),
            "mail_is_printed": ".console." in settings.EMAIL_BACKEND,
            "wanted": next((said for page, said in WANTED.items() if reverse(page) == wanted), ""),
        }


class _LetsOut:
    """A page whose forms may lead to the provider of single sign-on."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]
        allow_provider_forms(response)
        return response


class SignIn(_LetsOut, _Says, account.LoginView):
    """Signing in; tries over the API are counted together with these."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {
            **super().get_context_data(**kwargs),
            "has_passkeys": selectors.has_passkeys(),
            "demo": offered_accounts(),
            "demo_password": PASSWORD,
        }


class SignUp(_LetsOut, _Says, account.SignupView):
    """A new account, which nobody enters before its address is proven."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        for limit in limits.SIGN_UPS:
            limits.require_try(
                limit, limits.client_network(request), _("Too many accounts from this address.")
            )
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


class ProveAddress(_Says, account.ConfirmEmailVerificationCodeView):
    """The code from the mailbox: at sign-up, at sign-in, and of a new address."""

    def _resend_form_valid(self, form: Any) -> HttpResponse:
        limits.require_try(limits.MAILS, f"again {self._process.email}", MAILS)
        response: HttpResponse = super()._resend_form_valid(form)
        messages.success(self.request, _("We sent a new code."))
        return response


prove_address = login_not_required(never_cache(ProveAddress.as_view()))


class SetPassword(_Says, account.PasswordSetView):
    pass


class ChangePassword(_Says, account.PasswordChangeView):
    pass


class ResetPassword(_Says, account.PasswordResetView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        what = _("Too many links from this address.")
        limits.require_try(limits.RESETS, limits.client_network(request), what)
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


class ResetPasswordDone(_Says, account.PasswordResetDoneView):
    pass


class NewPassword(_Says, account.PasswordResetFromKeyView):
    """Set a new password by a mailed link; the browser then counts as a known device."""

    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        self.request.device_names = selectors.sign_in_names(self.reset_user)
        self.request.device_mailed = True
        return response


class Email(_Says, account.EmailView):
    """Ask for another address. The account page holds the form; this one only its errors."""

    success_url = reverse_lazy("account")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("account")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "action_add" not in request.POST:
            return redirect("account")
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


class Reauthenticate(_Says, account.ReauthenticateView):
    """The password once more, before something that protects the account is changed."""


sign_out = require_POST(account.LogoutView.as_view())
reauthenticate = never_cache(Reauthenticate.as_view())


@never_cache
@login_not_required
def start_over(request: HttpRequest) -> HttpResponse:
    """Leave a sign-in or sign-up that waits for a code."""
    if not request.user.is_authenticated:
        request.session.flush()
    return redirect("login")


# -- second factors --------------------------------------------------------------------------------


class SecondFactor(mfa.AuthenticateView):
    """Page of the second factor at sign-in, with the choice to trust this browser."""

    def form_valid(self, form: Any) -> HttpResponse:
        user, response = self.stage.login.user, super().form_valid(form)
        if self.request.POST.get("trust"):
            trust_browser(self.request, user, response)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form).render()
        response.status_code = 422
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        user = self.stage.login.user
        types = {one.type for one in user.authenticator_set.all()}
        return {**context, "who": user.email or user.username, "types": types}


class AddPasskey(webauthn.AddWebAuthnView):
    """A passkey that needs no password beside it."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        options = passkeys.begin_registration(cast(User, self.request.user), True)
        return {**context, "js_data": {"creation_options": options}}


@method_decorator(never_cache, name="dispatch")
class PasskeySignIn(webauthn.LoginWebAuthnView):
    """Signing in by a passkey: the challenge as JSON, and its answer as a form."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        limits.require_try(limits.PASSKEYS, limits.client_network(request), _("Too many tries."))
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        if not request.user.is_authenticated and request.session.modified:
            request.session.set_expiry(3600)  # a challenge of a stranger is kept no longer
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        from allauth.account.models import Login
        from allauth.account.utils import get_next_redirect_url
        from allauth.mfa.webauthn.internal import flows

        factor = form.cleaned_data["credential"]
        login = Login(user=factor.user, redirect_url=get_next_redirect_url(self.request, "next"))
        return flows.perform_passwordless_login(self.request, factor, login)


@login_required
def redirect_to_account(request: HttpRequest) -> HttpResponse:
    """Redirect allauth's lists that are parts of our account page."""
    return redirect("account")


# -- the account page ------------------------------------------------------------------------------


@login_required
@require_POST
def name_change(request: HttpRequest) -> HttpResponse:
    """Change one's name, with a notice to the address."""
    user = cast(User, request.user)
    limits.require_try(limits.CHANGES, f"name {user.pk}", _("Too many changes."))
    form = NameForm(request.POST)
    if form.is_valid():
        try:
            before = actions.change_name(by=user, **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
        else:
            told = {"before": before, "after": user.display_name}
            if before != user.display_name:
                mail = "account/email/name_changed"
                get_adapter(request).send_notification_mail(mail, user, told)
            messages.success(request, _("Your name was changed."))
            return redirect("account")
    return render(request, "account/name_change.html", {"form": form}, status=422)


@login_required
@require_POST
def theme_change(request: HttpRequest) -> HttpResponse:
    """Change the theme: light, dark or system."""
    user = cast(User, request.user)
    limits.require_try(limits.THEMES, user.pk, _("Too many changes."))
    actions.set_theme(by=user, theme=request.POST.get("theme", "?"))
    return redirect(reverse("account") + "#profile")


@require_POST
def language_change(request: HttpRequest) -> HttpResponse:
    """Change the language of this device and account, then return."""
    code = request.POST.get("language", "?")
    if request.user.is_authenticated:
        limits.require_try(limits.THEMES, request.user.pk, _("Too many changes."))
        actions.set_language(by=request.user, language=code)
    elif code not in dict(settings.LANGUAGES):
        raise Invalid(_("There is no such language."))
    response = redirect_back(request, "home")
    name = settings.LANGUAGE_COOKIE_NAME
    if code:
        response.set_cookie(
            name,
            code,
            max_age=settings.LANGUAGE_COOKIE_AGE,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            samesite="Lax",
        )
    else:
        response.delete_cookie(name)
    return response


@login_required
@require_POST
def session_end(request: HttpRequest, session_id: int) -> HttpResponse:
    """Sign out on one other device."""
    user = cast(User, request.user)
    row = UserSession.objects.filter(pk=session_id, user=user).first()
    if row is None:
        raise Http404
    actions.end_sessions(by=user, rows=[row])
    messages.success(request, _("That device was signed out."))
    return redirect("account")


@login_required
@require_POST
def sessions_end(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere else."""
    user = cast(User, request.user)
    rows = UserSession.objects.filter(user=user).exclude(session_key=request.session.session_key)
    count = actions.end_sessions(by=user, rows=rows)
    messages.success(
        request,
        _("Signed out on %(count)s other device%(value)s.")
        % {"count": count, "value": "s" * (count != 1)},
    )
    return redirect("account")
