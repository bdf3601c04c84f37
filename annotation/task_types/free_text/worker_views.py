"""The worker's pages of questions: a text is read, and its questions follow."""

from __future__ import annotations

from django.utils.translation import gettext_lazy, pgettext_lazy

from annotation.work.views.parts import WorkerPages


class FreeTextPages(WorkerPages):
    """One question, perhaps beside its text."""

    reads = True
    may_stay_open = True
    numbers_items = False
    own_words = True
    verb, go_on = pgettext_lazy("action", "answer"), pgettext_lazy("action", "Answer")
    progress = gettext_lazy("%(answered)s of %(steps)s answered")


PAGES = FreeTextPages()
