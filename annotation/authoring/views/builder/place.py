"""Where in the builder somebody is: it travels in the query string of every request."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest


@dataclass(frozen=True)
class Place:
    """A part of the builder, and what is open in it."""

    part: str = "questions"
    question: str = ""  # key of the open question or pair; name of the open dimension or scale
    text: str = ""  # key of the text or topic that is shown
    page: str = "1"
    device: str = "phone"

    @classmethod
    def of(cls, request: HttpRequest, parts: Collection[str], usual: str) -> Place:
        """The place that a request names in a builder of these parts, the usual one if none."""
        get = request.GET.get
        part, device = get("part", usual), get("as", "phone")
        return cls(
            part=part if part in parts else usual,
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
    def as_phone(self) -> str:
        return self.but(device="phone").query

    @property
    def as_desktop(self) -> str:
        return self.but(device="desktop").query
