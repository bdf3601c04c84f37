"""Addresses of sign-up, sign-in and one's account, under allauth's names too."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from allauth.account import views as account
    from allauth.mfa.base import views as mfa
    from allauth.mfa.recovery_codes import views as recovery
    from allauth.mfa.totp import views as totp
    from allauth.mfa.webauthn import views as webauthn
    from allauth.socialaccount import views as social
    from allauth.socialaccount.providers.openid_connect import views as oidc

    from annotation.accounts.security import views as views_security
    from annotation.accounts.signing import sso, views

sign_in, sign_up = views.SignIn.as_view(), views.SignUp.as_view()
new_codes = recovery.generate_recovery_codes
reset, change = views.ResetPassword.as_view(), views.ChangePassword.as_view()

urlpatterns = [
    path("signup/", sign_up, name="account_signup"),
    path("signup/", sign_up, name="signup"),
    path("login/", sign_in, name="account_login"),
    path("login/", sign_in, name="login"),
    path("login/code/", views.SecondFactor.as_view(), name="mfa_authenticate"),
    path("login/passkey/", views.PasskeySignIn.as_view(), name="mfa_login_webauthn"),
    path("login/again/", views.start_over, name="account_start_over"),
    path("login/closed/", account.account_inactive, name="account_inactive"),
    path("logout/", views.sign_out, name="account_logout"),
    path("logout/", views.sign_out, name="logout"),
    path("verify/", views.prove_address, name="account_email_verification_sent"),
    path("password/", change, name="account_change_password"),
    path("password/", change, name="password_change"),
    path("password/set/", views.SetPassword.as_view(), name="account_set_password"),
    path("password/reset/", reset, name="account_reset_password"),
    path("password/reset/", reset, name="password_reset"),
    path(
        "password/reset/sent/",
        views.ResetPasswordDone.as_view(),
        name="account_reset_password_done",
    ),
    path(
        "password/reset/complete/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path(
        "password/reset/<slug:uidb36>/<slug:key>/",
        views.NewPassword.as_view(),
        name="account_reset_password_from_key",
    ),
    path("account/name/", views.name_change, name="account_name"),
    path("language/", views.language_change, name="language"),
    path("account/theme/", views.theme_change, name="account_theme"),
    path("account/email/", views.Email.as_view(), name="account_email"),
    path("account/sessions/", views.redirect_to_account, name="usersessions_list"),
    path("account/sessions/end/", views.sessions_end, name="account_sessions_end"),
    path("account/sessions/<int:session_id>/end/", views.session_end, name="account_session_end"),
    path("account/confirmed/<str:waiting>/", views_security.stepup_resume, name="stepup_resume"),
    path("security/", views_security.installation_security, name="installation_security"),
    path(
        "projects/<int:project_id>/settings/security/",
        views_security.project_security,
        name="project_settings_security",
    ),
    path("account/confirm/", views.reauthenticate, name="account_reauthenticate"),
    path("account/confirm/code/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path(
        "account/confirm/passkey/",
        webauthn.reauthenticate_webauthn,
        name="mfa_reauthenticate_webauthn",
    ),
    path("account/factors/", views.redirect_to_account, name="mfa_index"),
    path("account/app/add/", totp.activate_totp, name="mfa_activate_totp"),
    path("account/app/remove/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("account/codes/", recovery.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("account/codes/new/", new_codes, name="mfa_generate_recovery_codes"),
    path("account/passkeys/", views.redirect_to_account, name="mfa_list_webauthn"),
    path("account/passkeys/add/", views.AddPasskey.as_view(), name="mfa_add_webauthn"),
    path("account/passkeys/<int:pk>/remove/", webauthn.remove_webauthn, name="mfa_remove_webauthn"),
    path("account/passkeys/<int:pk>/rename/", webauthn.edit_webauthn, name="mfa_edit_webauthn"),
    path("account/sso/", social.connections, name="socialaccount_connections"),
    path("sso/signup/", social.signup, name="socialaccount_signup"),
    path("sso/cancelled/", social.login_cancelled, name="socialaccount_login_cancelled"),
    path("sso/error/", social.login_error, name="socialaccount_login_error"),
    path("sso/<slug:provider_id>/", sso.redirect_to_provider, name="openid_connect_login"),
    path("sso/<slug:provider_id>/callback/", oidc.callback, name="openid_connect_callback"),
]
