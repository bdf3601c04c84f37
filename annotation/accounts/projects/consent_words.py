"""The consent text that projects begin with, and what a worker of one type of task reads of it."""

from __future__ import annotations

import re
from collections.abc import Collection

from django.utils.translation import gettext, gettext_noop

# Paragraphs of the text, and what follows them by type: workers read both in their language.
PARAGRAPHS = (
    gettext_noop(
        "**What you are asked to agree to.** Your answers are used to find out how good answers "
        "of people and of language models are."
    ),
    gettext_noop(
        "**What is recorded while you work:** your answers as you type them; when you type, "
        "delete, paste, copy, scroll, move between fields and leave the page; the size of your "
        "window. Of a key only its kind and time. {{recorded}}"
    ),
    gettext_noop(
        "**What is not recorded:** other tabs, your screen and your camera. Your voice is "
        "recorded only where it says so above."
    ),
    gettext_noop(
        "**Who sees it:** the people who run this project, under a pseudonym. Your name is not "
        "shown to other workers and is not in exports. Texts and explanations may be shown to "
        "other workers who judge them, and to language models that the project uses; both "
        "without your name."
    ),
    gettext_noop(
        "**Your rights:** you see all that is recorded of you on your own pages, and can "
        "download it there. You may take your agreement back at any time; work done so far is "
        "still paid. You can have your texts, explanations, transcripts, recordings and logs "
        "erased; your pseudonym, your choices and what you were paid stay, and so does what "
        "others already made of them."
    ),
)
CONSENT_TEXT = "\n\n".join(PARAGRAPHS) + "\n"
WHO_RUNS = gettext_noop("**Who runs this study:** %(institution)s. Contact: %(contact)s")
WHO = re.compile(r"\*\*Who runs this study:\*\* (?P<institution>.+?)\. Contact: (?P<contact>.+)")
RECORDED = "{{recorded}}"  # where a text says what the type of the task records beside the rest
COMPARED = gettext_noop(
    "Where you compare texts: each choice as you make it, and how long each text is on screen or "
    "under the pointer."
)
EXPLAINED = gettext_noop(
    "Where you explain a choice: the explanation, and the sentences you point at."
)
READ = gettext_noop(
    "Where you write from passages: which of them you open, how long each is in view, and that you "
    "search them, not for what."
)
SPOKEN = gettext_noop(
    "Where you think aloud: the transcript, what you mark in it, and, where a task asks for it, "
    "your voice from when you press Record until you press Stop."
)
# By type of task. The order is that of the whole text.
RECORDED_BY_TYPE: dict[str, tuple[str, ...]] = {
    "pairwise": (COMPARED, EXPLAINED),
    "rating": (COMPARED, EXPLAINED),
    "labels": (EXPLAINED,),
    "checklist": (COMPARED,),
    "writing": (READ,),
    "free_text": (),
    "think_aloud": (SPOKEN,),
}
SPEAKING = frozenset(name for name, told in RECORDED_BY_TYPE.items() if SPOKEN in told)


def depends_on_type(text: str) -> bool:
    """Whether workers of another type of task read another text, and agree to it by itself."""
    return RECORDED in text


def fill_consent(text: str, task_types: Collection[str] = (), *, local: bool = False) -> str:
    """Return the text as workers of these types of tasks read it; without any, of all types.

    ``local``: paragraphs that nobody rewrote are in the reader's language.
    """
    kinds = task_types or RECORDED_BY_TYPE
    told = dict.fromkeys(words for kind in kinds for words in RECORDED_BY_TYPE.get(kind, ()))
    recorded = [gettext(one) if local else one for one in told]
    if local:
        text = "\n\n".join(map(_local_paragraph, text.replace("\r\n", "\n").split("\n\n")))
    return text.replace(RECORDED, " ".join(recorded))


def unwrap(text: str) -> str:
    """Return the text in one line: projects keep it as it was wrapped when they began."""
    return " ".join(text.split())


def _local_paragraph(paragraph: str) -> str:
    usual = unwrap(paragraph)
    if usual in PARAGRAPHS:
        return gettext(usual)
    if named := WHO.fullmatch(usual):
        return gettext(WHO_RUNS) % named.groupdict()
    return paragraph
