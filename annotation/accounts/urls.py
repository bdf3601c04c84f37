"""Addresses of joining, projects and their people, and of one's own account and tokens."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.accounts import account_views as account
    from annotation.accounts.plugins import views as plugins
    from annotation.accounts.projects import home_views
    from annotation.accounts.projects import member_views as members
    from annotation.accounts.projects import views as people
    from annotation.accounts.roles import views as roles
    from annotation.api.frame import base

urlpatterns = [
    path("", home_views.home, name="home"),
    path("join/<str:token>/", people.join, name="join"),
    path("projects/", people.project_list, name="project_list"),
    path("projects/new/", people.project_new, name="project_new"),
    path("signed-in", base.SignedIn.as_view(), name="signed_in"),
    path("account/", account.account, name="account"),
    path("account/tokens/<int:token_id>/end/", account.token_revoke, name="account_token_revoke"),
]
INVITATION = "invitations/<int:invitation_id>/"
SETTINGS = "settings/"
project_patterns = [
    path("people/", members.people, name="people"),
    path("people/<int:membership_id>/remove/", members.people_remove, name="people_remove"),
    path("invitations/new/", members.invitation_new, name="invitation_new"),
    path(f"{INVITATION}revoke/", members.invitation_revoke, name="invitation_revoke"),
    path(SETTINGS, people.project_settings, name="project_settings"),
    path(
        f"{SETTINGS}second-factor/",
        people.project_settings_factor,
        name="project_settings_factor",
    ),
    path(f"{SETTINGS}plugins/", plugins.project_plugins, name="project_settings_plugins"),
    path(f"{SETTINGS}consent/", people.project_settings_consent, name="project_settings_consent"),
    path("roles/<int:grant_id>/confirm/", roles.role_confirm, name="role_confirm"),
    path("roles/<int:grant_id>/decline/", roles.role_decline, name="role_decline"),
]
