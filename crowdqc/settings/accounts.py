"""Accounts, sign-in, second factors, single sign-on and mail."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from crowdqc.settings.environment import ALLOWED_HOSTS, CROWDQC_DEMO, PRODUCTION, env, require
from crowdqc.settings.web import SESSION_COOKIE_SECURE

AUTH_USER_MODEL = "annotation.User"
AUTHENTICATION_BACKENDS = ["annotation.accounts.signing.backends.AccountBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# Without mail nobody can sign up or be invited, so production is told; consolemail:// is an answer.
EMAIL_URL = require("EMAIL_URL") if PRODUCTION and not CROWDQC_DEMO else ""
EMAIL_CONFIG = env.email("EMAIL_URL", default="consolemail://")
if CROWDQC_DEMO:  # whatever is set: strangers write what mails would hold
    EMAIL_CONFIG = env.email_url_config("dummymail://")
globals().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="crowdqc@localhost")
EMAIL_TIMEOUT = 10  # seconds that a mail server may take


def _base_url() -> str:
    """Return this site's address, for links in mails that no request gives rise to."""
    host = ALLOWED_HOSTS[0].lstrip(".*") if PRODUCTION else ""
    url = env.str("CROWDQC_BASE_URL", default="") or (
        f"https://{host}" if host else "" if PRODUCTION else "http://127.0.0.1:8000"
    )
    if not url.startswith(("http://", "https://")):
        raise ImproperlyConfigured("CROWDQC_BASE_URL must begin with http:// or https://.")
    return url.rstrip("/")


CROWDQC_BASE_URL = _base_url()

# Who may create an account: "open"; "closed", only whoever has an invitation; "sso", these and
# whoever the provider below lets in. With domains, only addresses of these may.
CROWDQC_SIGNUP = env.str("CROWDQC_SIGNUP", default="open")
if CROWDQC_SIGNUP not in {"open", "closed", "sso"}:
    raise ImproperlyConfigured("CROWDQC_SIGNUP must be 'open', 'closed' or 'sso'.")
CROWDQC_SIGNUP_DOMAINS = [d.lower() for d in env.list("CROWDQC_SIGNUP_DOMAINS", default=[])]
# Whether the sign-in page offers the accounts of the demo, whose password everybody knows.
CROWDQC_DEMO_SIGN_IN = bool(CROWDQC_DEMO) or (
    not PRODUCTION and env.bool("CROWDQC_DEMO_SIGN_IN", default=True)
)
# The public board that the landing page shows, by the last part of its address; empty: none.
CROWDQC_LANDING_BOARD = env.str(
    "CROWDQC_LANDING_BOARD", default="" if PRODUCTION else "which-answer-is-better"
)
# Days after which a session ends: unused, and in any case.
CROWDQC_SESSION_IDLE_DAYS = env.int("CROWDQC_SESSION_IDLE_DAYS", default=14)
CROWDQC_SESSION_DAYS = env.int("CROWDQC_SESSION_DAYS", default=30)
SESSION_COOKIE_AGE = CROWDQC_SESSION_DAYS * 86_400
ACCOUNT_ADAPTER = "annotation.accounts.signing.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "annotation.accounts.signing.forms.SignInForm",
    "signup": "annotation.accounts.signing.forms.SignUpForm",
    "add_email": "annotation.accounts.signing.forms.EmailForm",
    "change_password": "annotation.accounts.signing.forms.ChangePasswordForm",
    "set_password": "annotation.accounts.signing.forms.SetPasswordForm",
    "reset_password": "annotation.accounts.signing.forms.ResetPasswordForm",
    "reset_password_from_key": "annotation.accounts.signing.forms.NewPasswordForm",
    "confirm_email_verification_code": "annotation.accounts.signing.forms.EmailCodeForm",
    "reauthenticate": "annotation.accounts.signing.forms.ReauthenticateForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
# By a code that is typed where one signed up, and not by a link: whoever is sent a link could be
# led to prove their address for somebody else's account.
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT = 30 * 60
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = 3
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_USER_DISPLAY = str
# Those of the library forget under load; crowdqc.limits counts.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ALLAUTH_TRUSTED_PROXY_COUNT = 0  # crowdqc.web.forwarded has set REMOTE_ADDR
MFA_ADAPTER = "annotation.accounts.signing.adapter.FactorAdapter"
MFA_FORMS = {
    "authenticate": "annotation.accounts.signing.forms.CodeForm",
    "reauthenticate": "annotation.accounts.signing.forms.ReauthenticateCodeForm",
    "activate_totp": "annotation.accounts.signing.forms.AddAppForm",
    "add_webauthn": "annotation.accounts.signing.forms.AddPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = MFA_TRUST_ENABLED = MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TRUST_COOKIE_AGE = 30 * 86_400
MFA_TRUST_COOKIE_NAME = "__Host-trusted" if SESSION_COOKIE_SECURE else "trusted"
MFA_TOTP_ISSUER = "crowdqc"
MFA_TOTP_TOLERANCE = 1


GROUPS = 'OIDC_GROUPS must be JSON such as {"staff": ["Physics:member"]}: owner or member.'


def read_groups(given: Any) -> dict[str, list[tuple[str, str]]]:
    """Map each group of a provider to the organisations and roles it gives."""
    try:
        named = {group: [one] if isinstance(one, str) else one for group, one in given.items()}
        found = {
            group: [(one.rpartition(":")[0].strip(), one.rpartition(":")[2]) for one in many]
            for group, many in named.items()
        }
    except (AttributeError, TypeError) as error:
        raise ImproperlyConfigured(GROUPS) from error
    pairs = [pair for many in found.values() for pair in many]
    if any(not name or role not in {"owner", "member"} for name, role in pairs):
        raise ImproperlyConfigured(GROUPS)
    return found


def _groups() -> dict[str, list[tuple[str, str]]]:
    if not env.str("OIDC_GROUPS", default=""):
        return {}
    try:
        return read_groups(env.json("OIDC_GROUPS"))
    except ValueError as error:
        raise ImproperlyConfigured(GROUPS) from error


# Single sign-on with one provider of OpenID Connect, where its address is set.
OIDC_SERVER_URL = env.str("OIDC_SERVER_URL", default="")
OIDC_NAME = env.str("OIDC_NAME", default="Single sign-on")
# The claim that lists somebody's groups, and the roles in organisations that groups give: JSON such
# as {"physics-heads": "Physics:owner", "staff": ["Physics:member", "Chemistry:member"]}.
OIDC_GROUPS_CLAIM = env.str("OIDC_GROUPS_CLAIM", default="groups")
OIDC_GROUPS = _groups()
SOCIALACCOUNT_ADAPTER = "annotation.accounts.signing.sso.SsoAdapter"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = False
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "SCOPE": env.list("OIDC_SCOPES", default=["openid", "profile", "email"]),
        "APPS": [
            {
                "provider_id": "sso",
                "name": OIDC_NAME,
                "client_id": env.str("OIDC_CLIENT_ID", default=""),
                "secret": env.str("OIDC_CLIENT_SECRET", default=""),
                "settings": {"server_url": OIDC_SERVER_URL.rstrip("/")},
            }
        ]
        if OIDC_SERVER_URL
        else [],
    }
}
# Whoever approves or sends money needs a second factor; a project's owner may say otherwise.
CROWDQC_REQUIRE_SECOND_FACTOR = env.bool("CROWDQC_REQUIRE_SECOND_FACTOR", default=PRODUCTION)
# Seconds for which a sign-in or confirmation is good enough to move money.
ACCOUNT_REAUTHENTICATION_TIMEOUT = env.int("CROWDQC_CONFIRM_AFTER", default=900)
# Days for which the security log is kept.
CROWDQC_SECURITY_LOG_DAYS = env.int("CROWDQC_SECURITY_LOG_DAYS", default=180)
