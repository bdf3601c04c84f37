"""Where in the builder somebody is: it travels in the query string of every request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

PARTS = {
    "text": "Text and instructions",
    "questions": "Questions",
    "order": "Order and redundancy",
    "time": "Time and pay",
    "consent": "Consent and log",
}


@dataclass(frozen=True)
class Place:
    part: str = "questions"
    question: str = ""  # key of the open question
    text: str = ""  # key of the text whose passage is shown
    page: str = "1"
    device: str = "phone"

    @classmethod
    def of(cls, request: HttpRequest) -> Place:
        get = request.GET.get
        part, device = get("part", "questions"), get("as", "phone")
        return cls(
            part=part if part in PARTS else "questions",
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
        pairs = {"part": self.part, "question": self.question, "text": self.text,
                 "page": "" if self.page == "1" else self.page,
                 "as": "" if self.device == "phone" else self.device}  # fmt: skip
        return "?" + urlencode({name: value for name, value in pairs.items() if value})

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The builder's parts with their addresses."""
        return [
            {
                "slug": slug,
                "label": label,
                "query": Place(part=slug, device=self.device).query,
                "current": slug == self.part,
            }
            for slug, label in PARTS.items()
        ]

    @property
    def as_phone(self) -> str:
        return self.but(device="phone").query

    @property
    def as_desktop(self) -> str:
        return self.but(device="desktop").query
