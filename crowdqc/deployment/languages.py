"""Languages of pages, and whose pages have catalogues (ADR 33)."""

LANGUAGES = [("en-gb", "English"), ("de", "Deutsch"), ("es", "Español")]
# Modules, or views of a module by how their names begin.
TRANSLATED_VIEWS = (
    "allauth.",
    "annotation.accounts.account_views.",
    "annotation.accounts.projects.views.home",
    "annotation.accounts.projects.views.join",
    "annotation.accounts.projects.views.project_list",
    "annotation.accounts.security.views.stepup_resume",
    "annotation.accounts.signing.",
    "annotation.conversations.worker_views.",
    "annotation.notifications.views.notice",
    "annotation.payouts.views.details.",
    "annotation.privacy.views.account_",
    "annotation.privacy.views.own_",
    "annotation.records.views.",
    "annotation.recruitment.views.entry.entry",
    "annotation.recruitment.views.entry.leave",
    "annotation.work.views.",
    "django.views.i18n.",
)
