"""A made-up language, in which everything that has a translation stands in brackets.

What stands on a page outside brackets has none; and what people wrote is in Arabic letters here,
so that every stretch of it can be asked whether it takes its direction from itself.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from django.utils.translation import trans_real

MADE_UP = "eo"
ARABIC = "كتاب"
# What a page recorded, with one event of several kinds.
LOG: tuple[dict[str, Any], ...] = (
    {"method": "open", "time": 0},
    {"method": "visibilitychange", "name": "hidden", "time": 10},
    {"method": "keydown", "name": "letter", "length": 3, "time": 20},
    {"method": "paste", "length": 7, "comment": "outside", "time": 30},
    {"method": "change", "name": "r-depth", "comment": "2", "time": 40},
    {"method": "scroll", "time": 50},
)
# Keys of settings under which people's own words stand.
WRITTEN = {"label", "question", "description", "text", "title", "instructions", "component"} | {
    *("dimension", "caption", "tools_note", "source", "author")
}
VOID = {"input", "br", "hr", "img", "meta", "link", "wbr", "col", "source", "track", "area"}
SILENT = {"script", "style", "noscript", "template"}
KEYS = {"code", "kbd", "pre"}
NAMED = ("placeholder", "aria-label", "title", "alt", "data-confirm", "data-label", "value")
# Names, codes and units that are the same in every language.
SAME = re.compile(r"crowdqc|\bmin\b|Prolific|\b(?:CSV|JSON|EUR|MACE|AQER|GLAD)\b|\b[a-z]+[-_]\d+\b")


def made_up(_language: str, domain: str = "django", localedirs: Any = None) -> Any:
    """A catalogue with what the German one has, each translation in brackets."""
    german = trans_real.DjangoTranslation("de", domain=domain, localedirs=localedirs)
    for catalog in german._catalog._catalogs:
        catalog.update({key: f"⟦{said}⟧" for key, said in catalog.items() if key})
    german._DjangoTranslation__language = MADE_UP
    german._DjangoTranslation__to_language = MADE_UP
    return german


def in_arabic(value: Any) -> Any:
    """Settings with people's own words in Arabic letters; names, codes and numbers as they were."""
    if isinstance(value, list):
        return [in_arabic(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: ARABIC if key in WRITTEN and isinstance(one, str) and one else in_arabic(one)
        for key, one in value.items()
    }


class Page(HTMLParser):
    """A page that is read: ``english`` is what is left in English, ``undirected`` what people wrote
    outside of an element with ``dir="auto"``."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.english: list[str] = []
        self.undirected: list[str] = []
        # Name, whether it is left out, whether it has dir="auto", and its classes.
        self._open: list[tuple[str, bool, bool, str]] = []
        self._depth = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        left_out, directed = self._open[-1][1:3] if self._open else (False, False)
        kinds = set(has.get("class", "").split())
        left_out |= tag in SILENT | KEYS or bool(kinds & {"foot", "chart"})
        left_out |= "lang" in has and tag != "html"
        directed = has["dir"] == "auto" if "dir" in has else directed or tag == "bdi"
        if not left_out and tag not in ("meta", "link"):
            self._attributes(tag, has)
        if tag not in VOID:
            self._open.append((tag, left_out, directed, has.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at][0] == tag:
                del self._open[at:]
                return

    def handle_data(self, data: str) -> None:
        said, inside = "", self._depth > 0
        for one in data:
            if one == "⟦":
                self._depth += 1
            elif one == "⟧":
                self._depth = max(0, self._depth - 1)
            elif not self._depth:
                said += one
            inside |= self._depth > 0
        tag, left_out, directed, _kind = self._open[-1] if self._open else ("", False, False, "")
        if left_out:
            return
        if _is_english(said):
            self.english.append(" ".join(said.split()))
        # A name within a sentence that is translated is turned by the sentence.
        if ARABIC in data and not directed and not inside and tag not in ("title", "option"):
            place = " > ".join(" ".join((one[0], *one[3:])) for one in self._open[-3:])
            self.undirected.append(f"{' '.join(data.split())[:60]} in {place}")

    def _attributes(self, tag: str, has: dict[str, str]) -> None:
        for name in NAMED:
            if name == "value" and (tag != "input" or has.get("type") not in ("submit", "button")):
                continue
            if _is_english(_outside(has.get(name, ""))):
                self.english.append(f"{name}={has[name]}")


def _outside(text: str) -> str:
    old = ""
    while old != text:
        old, text = text, re.sub(r"⟦[^⟦⟧]*⟧", "", text)
    return text.partition("⟦")[0]


def _is_english(text: str) -> bool:
    return bool(re.search(r"[A-Za-z]{3,}", SAME.sub("", text)))
