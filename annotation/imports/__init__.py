"""Importers: pure, one file a format, one line here; browser, CLI and API use the same."""

from __future__ import annotations

from typing import Any

from crowdqc.errors import Invalid

from .answers import Answers
from .arena import Battles
from .attributes import Attributes
from .candidates import Candidates
from .checks import Checks
from .documents import Documents
from .items import Items
from .judgments import Judgments
from .ratings import Ratings
from .responses import Responses
from .samples import Samples
from .system_answers import SystemAnswers
from .topics import Topics

FORMATS: dict[str, Any] = {
    f.slug: f
    for f in (
        Items(), Answers(), SystemAnswers(), Candidates(), Judgments(), Topics(), Responses(),
        Samples(), Attributes(), Checks(),
        Documents(), Ratings(), Battles(),
    )
}  # fmt: skip
# What a task of each shape takes; texts belong to the project, whichever task they came with.
JUDGED = ("candidates", "judgments")
KINDS = {
    "texts": ("items", "answers", "system_answers", "candidates"), "pairs": (*JUDGED, "arena"),
    "ratings": (*JUDGED, "documents", "ratings"), "responses": ("topics", "responses"),
    "attributes": ("samples", "attributes"), "checks": ("candidates", "checks"),
}  # fmt: skip


def get_format(slug: str) -> Any:
    """The format of this name, or Invalid."""
    try:
        return FORMATS[slug]
    except KeyError:
        raise Invalid(
            f"There is no format {slug!r}.", fields={"kind": ", ".join(FORMATS)}
        ) from None
