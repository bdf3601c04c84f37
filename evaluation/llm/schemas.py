"""The forms that answers are asked for in, and how a plain text is read as one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crowdqc.files.json_input import Unreadable, read_json

JSON_SCHEMA, JSON_OBJECT, PLAIN = "json_schema", "json_object", "text"
FORMATS = (JSON_SCHEMA, JSON_OBJECT, PLAIN)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)?")
FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


class WrongForm(ValueError):
    """An answer that is not in the form asked for; the message says why, in one line."""


def lacking(name: str) -> WrongForm:
    """Return the error of a reply without the field of this name."""
    return WrongForm(f"The reply lacks {name[:40]!r}.")


class Strict(BaseModel):
    """Base of the forms: endpoints are told to answer no field that was not asked for."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Schema:
    """A form: its name with version, the pydantic model, and how a plain text is read.

    ``read`` turns a text that is no JSON into the model's fields (None: JSON alone will do).
    ``words`` are the answers where there are but a few: word -> fields; their probabilities are
    asked for where the endpoint tells them. A schema without a model takes any text.
    """

    name: str
    model: type[BaseModel] | None = None
    read: Callable[[str], Mapping[str, Any]] | None = None
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    example: str = ""  # shown to models that cannot be held to a schema

    def parse(self, text: str) -> dict[str, Any]:
        """The fields of an answer; raises WrongForm."""
        stripped = text.strip()
        if self.model is None:
            if not stripped:
                raise WrongForm("The answer is empty.")
            return {"text": stripped}
        try:
            found = json_object(stripped)
        except ValueError:
            if self.read is None:
                raise WrongForm("The answer is no JSON.") from None
            found = dict(self.read(stripped))
        try:
            # What was not asked for is ignored, however strict the form is that was sent.
            return self.model.model_validate(found, extra="ignore").model_dump(mode="json")
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            if first["type"] == "missing":
                raise lacking(where) from None
            raise WrongForm(f"{where or 'The answer'}: {first['msg']}"[:200]) from None

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema for an endpoint that can hold a model to one."""
        if self.model is None:
            return {}
        return self.model.model_json_schema()


def json_object(text: str) -> Any:
    """The JSON object of an answer, also within a fence or among words; raises ValueError."""
    fenced = FENCE.search(text)
    inner = fenced[1].strip() if fenced else text
    start, end = inner.find("{"), inner.rfind("}")
    if start < 0 or end < start:
        raise ValueError("no JSON object")
    try:
        found = read_json(inner[start : end + 1], any_text=True)
    except Unreadable as error:
        raise ValueError(error.says) from None
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


class Score(Strict):
    """A number from 0 to 100."""

    score: Annotated[float, Field(ge=0, le=100)]


class YesNo(Strict):
    """Yes or no."""

    answer: Literal["yes", "no"]


def first_number(text: str) -> dict[str, Any]:
    """Parse the first number from 0 to 100 in a text; WrongForm if there is none."""
    for found in NUMBER.findall(text):
        value = float(found.replace(",", "."))
        if 0 <= value <= 100:
            return {"score": value}
    raise WrongForm("There is no number from 0 to 100 in the answer.")


def yes_or_no(text: str) -> dict[str, Any]:
    """Parse the first "yes" or "no" in a text; WrongForm if there is none."""
    found = re.search(r"\b(yes|no)\b", text.lower())
    if found is None:
        raise WrongForm("The answer says neither yes nor no.")
    return {"answer": found[1]}


TEXT = Schema("text@1")
SCORE = Schema("score@1", Score, first_number, example='{"score": 0}')
YES_NO = Schema(
    "yes_no@1",
    YesNo,
    yes_or_no,
    words={"Yes": {"answer": "yes"}, "No": {"answer": "no"}},
    example='{"answer": "yes"}',
)


def telling(schema: Schema) -> str:
    """Return the instruction on the answer's form for models without JSON schemas; "" if none."""
    if schema.model is None or not schema.example:
        return ""
    return f"Answer with one JSON object and nothing else, in this form:\n{schema.example}"
