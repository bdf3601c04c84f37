"""What a template says outside Django's translation functions.

Templates say nothing so, but for those of ``EXCEPT``.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What is left out: half a tag, its attributes alone, which a reader of HTML takes for text; and a
# file that is handed on with its bundle, in English like the words and numbers it is held against.
EXCEPT = (
    "templates/annotation/work/frame/_data.html",
    "templates/evaluation/bundles/report.html",
)
NAMES = {"https", "crowdqc", "Markdown", "HTTP", "CSV", "JSON", "JSONL", "API", "CI", "SHA"}
SAID = {"title", "placeholder", "aria-label", "alt", "summary", "data-label", "data-confirm"}
UNSAID = {"code", "kbd", "pre", "script", "style"}  # what stands in them is no language
GONE = re.compile(
    r"{%\s*comment\b.*?{%\s*endcomment\s*%}|{#.*?#}|<!--.*?-->"
    r"|{%\s*blocktranslate\b.*?{%\s*endblocktranslate\s*%}"
    r"|{%\s*block\s+(?:width|page_class)\s*%}.*?{%\s*endblock\s*%}",
    re.DOTALL,
)
TAG = re.compile(r"{%.*?%}|{{.*?}}")
# Texts that a tag hands on: ``{% include ... with label="Two words" %}``, ``|default:"none yet"``.
HANDED = re.compile(
    r'(?:\b(?!(?:css|class|head|id|term)=)\w+=|\|(?:default|yesno):|{%\s*state\s+\S+\s+(?:_\("[^"]*"\)\s+|[\w.]+\s+)?)"([^"]*)"'
)
TEXT = re.compile(r"[A-Z][a-z]|[a-z]…|[a-z,.] [a-z]")
ATTRIBUTE = re.compile(r'[\w-]+="\s*"')  # of a block that holds attributes
WORD = re.compile(r"[A-Za-z]{2,}")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in UNSAID
        self.found += [value or "" for name, value in attrs if name in SAID]

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in UNSAID

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.found.append(data)


def bare_texts(raw: str) -> list[str]:
    """Words on the page that no translation function gets."""
    raw = GONE.sub("\n", raw)
    found = [text for tag in TAG.findall(raw) for text in HANDED.findall(tag) if TEXT.search(text)]
    reader = _Reader()
    reader.feed(TAG.sub("\n", raw))
    reader.close()
    for text in reader.found:
        if set(WORD.findall(ATTRIBUTE.sub("", text))) - NAMES:
            found.append(" ".join(text.split()))
    return found


def left() -> list[str]:
    """``file: text`` of every bare text."""
    return [
        f"{name}: {text}"
        for path in sorted((ROOT / "templates").rglob("*.*"))
        if (name := path.relative_to(ROOT).as_posix()) not in EXCEPT
        for text in bare_texts(path.read_text())
    ]
