"""Importers: pure, one file a format, one line here; browser, CLI and API use the same."""

from __future__ import annotations

from typing import Any

from annotation.formats.imports.answers import Answers
from annotation.formats.imports.attributes import Attributes
from annotation.formats.imports.candidates import Candidates
from annotation.formats.imports.checks import Checks
from annotation.formats.imports.documents import Documents
from annotation.formats.imports.items import Items
from annotation.formats.imports.judgments import Judgments
from annotation.formats.imports.ratings import Ratings
from annotation.formats.imports.samples import Samples
from annotation.formats.imports.system_answers import SystemAnswers
from annotation.formats.imports.tools.arena import Battles
from annotation.formats.imports.writing.responses import Responses
from annotation.formats.imports.writing.topics import Topics
from crowdqc.errors import Invalid

FORMATS: dict[str, Any] = {
    f.slug: f
    for f in (
        Items(),
        Answers(),
        SystemAnswers(),
        Candidates(),
        Judgments(),
        Topics(),
        Responses(),
        Samples(),
        Attributes(),
        Checks(),
        Documents(),
        Ratings(),
        Battles(),
    )
}


def get_format(slug: str) -> Any:
    """The format of this name, or Invalid."""
    try:
        return FORMATS[slug]
    except KeyError:
        raise Invalid(
            f"There is no format {slug!r}.", fields={"kind": ", ".join(FORMATS)}
        ) from None
