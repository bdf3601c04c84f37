"""How a model's text is read as an answer: its wrapping taken off, "I don't know" recognised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from annotation.task_types.texts import MAX_CHARACTERS, storable
from evaluation.llm.schemas import Schema, WrongForm

# "The answer is: ...", "Answer: ...", also in bold, at the beginning of a line.
MARK = re.compile(
    r"^[\s*_#>]*(?:the\s+)?(?:final\s+)?answer(?:\s+is)?[*_]*\s*:[*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
QUOTES = {"“": "”", '"': '"', "«": "»", "{{": "}}", "**": "**", "`": "`"}
UNKNOWN = re.compile(r"i (?:don'?t|do not) know(?: the answer)?")


def unwrap_answer(text: str, *, marked: bool = False) -> str:
    """Extract the answer after the last mark of a text, without surrounding quotes.

    ``marked``: without a mark there is no answer, as the steps towards it are none. Raises
    WrongForm where nothing is left.
    """
    said = THOUGHT.sub("", text).strip()
    marks = list(MARK.finditer(said))
    if marked and not marks:
        raise WrongForm("No line begins with “The answer is:”.")
    answer = said[marks[-1].end() :].strip() if marks else said
    for begin, end in QUOTES.items():
        inner = answer[len(begin) : -len(end)]
        if answer.startswith(begin) and answer.endswith(end) and inner and begin not in inner:
            answer = inner.strip()
    answer = storable(answer)[:MAX_CHARACTERS].strip()
    if not answer:
        raise WrongForm("The answer is empty.")
    return answer


def is_unknown(answer: str) -> bool:
    """Return whether an answer only says "I don't know" in some wording."""
    plain = re.sub(r"[^\w' ]", "", answer.lower().replace("’", "'"))
    return bool(UNKNOWN.fullmatch(" ".join(plain.split())))


@dataclass(frozen=True)
class AnswerSchema(Schema):
    """Any text, read as an answer: {"text"}. ``marked``: the line with the answer is wanted."""

    marked: bool = False

    def parse(self, text: str) -> dict[str, Any]:
        """Extract the answer from a model's text; WrongForm if there is none."""
        return {"text": unwrap_answer(text, marked=self.marked)}


ANSWER = AnswerSchema("answer@1")
REASONED = AnswerSchema("reasoned_answer@1", marked=True)


@dataclass(frozen=True)
class ResponseSchema(Schema):
    """A whole response as it stands: {"text"}."""

    def parse(self, text: str) -> dict[str, Any]:
        """Extract the response from a model's text; WrongForm if it is empty."""
        said = storable(THOUGHT.sub("", text)).strip()[:MAX_CHARACTERS].strip()
        if not said:
            raise WrongForm("The response is empty.")
        return {"text": said}


RESPONSE = ResponseSchema("response@1")
