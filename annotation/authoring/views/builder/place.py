"""Where in the builder somebody is: it travels in the query string of every request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

LAST = {"time": "Time and pay", "consent": "Consent and log"}
# What a task's snapshot is made of -> its parts in the builder.
PARTS: dict[str, dict[str, str]] = {
    "texts": {
        "text": "Text and instructions",
        "questions": "Questions",
        "order": "Order and redundancy",
        **LAST,
    },
    "responses": {
        "text": "Text and instructions",
        "styles": "Styles and rules",
        "topics": "Topics and passages",
        "forms": "Questionnaires",
        "order": "Order and redundancy",
        **LAST,
    },
    "pairs": {
        "text": "Text and instructions",
        "asked": "Dimensions",
        "texts": "Texts",
        "pairs": "Pairs",
        **LAST,
    },
    "ratings": {
        "text": "Text and instructions",
        "asked": "Scales",
        "rules": "Page and rules",
        "texts": "Texts",
        **LAST,
    },
    # Ratings of answers beside their documents.
    "documents": {
        "text": "Text and instructions",
        "asked": "Scales",
        "rules": "Page and rules",
        "documents": "Documents",
        **LAST,
    },
    "attributes": {
        "text": "Text and instructions",
        "dimensions": "Dimensions and samples",
        "order": "Order and redundancy",
        **LAST,
    },
    "checks": {
        "text": "Text and instructions",
        "asked": "Questions",
        "texts": "Texts",
        **LAST,
    },
}
# Where the builder opens.
FIRST = {
    "texts": "questions",
    "responses": "topics",
    "pairs": "asked",
    "ratings": "asked",
    "documents": "documents",
    "attributes": "dimensions",
    "checks": "asked",
}


@dataclass(frozen=True)
class Place:
    shape: str = "texts"
    part: str = "questions"
    question: str = ""  # key of the open question or pair; name of the open dimension or scale
    text: str = ""  # key of the text or topic that is shown
    page: str = "1"
    device: str = "phone"

    @classmethod
    def of(cls, request: HttpRequest, shape: str = "texts") -> Place:
        """The place that a request names, in the builder of a task of this shape."""
        get = request.GET.get
        usual = FIRST[shape]
        part, device = get("part", usual), get("as", "phone")
        return cls(
            shape=shape,
            part=part if part in PARTS[shape] else usual,
            question=get("question", "")[:80],
            text=get("text", "")[:80],
            page=get("page", "1")[:8],
            device=device if device in ("phone", "desktop") else "phone",
        )

    def but(self, **changes: Any) -> Place:
        return replace(self, **changes)

    @property
    def query(self) -> str:
        """The place as ``?part=...``."""
        pairs = {
            "part": self.part,
            "question": self.question,
            "text": self.text,
            "page": "" if self.page == "1" else self.page,
            "as": "" if self.device == "phone" else self.device,
        }
        return "?" + urlencode({name: value for name, value in pairs.items() if value})

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The builder's parts with their addresses."""
        return [
            {
                "slug": slug,
                "label": label,
                "query": Place(shape=self.shape, part=slug, device=self.device).query,
                "current": slug == self.part,
            }
            for slug, label in PARTS[self.shape].items()
        ]

    @property
    def as_phone(self) -> str:
        return self.but(device="phone").query

    @property
    def as_desktop(self) -> str:
        return self.but(device="desktop").query
