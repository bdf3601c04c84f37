"""The templates, each a file in ``studies``: one more file and one more name here add one.

A file holds ``title``, ``sentence`` (what it is for), ``result`` (what comes of it), ``type`` (of
the task), ``rules`` (fields of a draft: instructions, redundancy, settings...), ``format`` (of
``annotation.formats.registry``) and ``rows`` (the example items as that format's importer takes
them). ``files`` says how the files that rows name are made (``example_files``), ``passages`` what
stands beside an item. All of it was written for this project. Keys, topics and file names of
examples begin with ``EXAMPLE``, so that they can be told from what a requester adds.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from crowdqc.errors import Invalid

EXAMPLE = "template-example-"
NAMES = (
    "classification",
    "sentiment",
    "image",
    "audio",
    "comparison",
    "rating",
    "questions",
    "checklist",
)


@dataclass(frozen=True)
class Template:
    """A study to begin from."""

    slug: str
    title: str
    sentence: str
    result: str
    type: str
    rules: dict[str, Any]
    format: str
    rows: list[dict[str, str]]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> how it is made
    passages: dict[str, str] = field(default_factory=dict)  # what stands beside an item, by its key


@cache
def templates() -> dict[str, Template]:
    """All templates by name, in the order of the gallery."""
    folder = Path(__file__).parent / "studies"
    read = {slug: (folder / f"{slug}.json").read_text(encoding="utf-8") for slug in NAMES}
    return {slug: Template(slug=slug, **json.loads(text)) for slug, text in read.items()}


def get_template(slug: str) -> Template:
    """The template of this name, or Invalid."""
    try:
        return templates()[slug]
    except KeyError:
        raise Invalid(
            f"There is no template {slug[:40]!r}.", fields={"template": ", ".join(NAMES)}
        ) from None


def gallery() -> dict[str, Any]:
    """Return the context of the gallery: its templates and a form key."""
    return {"templates": list(templates().values()), "template_key": uuid.uuid4()}
