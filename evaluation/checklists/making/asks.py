"""What a model is asked at each stage, and how its answer becomes entries.

Attributes, components and sub-questions go by numbers from 1 in the order in which they are
shown, so that the same content is the same question, whatever ids it has here. The form of the
answer names every number that is allowed: another one is a wrong form and is asked for again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, create_model, model_validator

from evaluation.checklists.making import stages
from evaluation.checklists.making.stages import Entries
from evaluation.llm.ask import ModelQuestion
from evaluation.llm.prompting import Template, load
from evaluation.llm.schemas import Schema, Strict, WrongForm

THINK_ALOUD = "think_aloud"
MOST_THOUGHTS = 60
TOKENS = 4096  # room for the longest answer, which names every attribute or question
NUMBERED = re.compile(r"^\s*(?:\d{1,3}[.):]|[-*•])\s+(.+)$", re.MULTILINE)


def _form(name: str, validators: Mapping[str, Any] | None = None, **fields: Any) -> Any:
    """A form made for one question: its numbers and names are those of the question."""
    make: Any = create_model
    return make(name, __base__=Strict, __validators__=dict(validators or {}), **fields)


def _list(of: Any) -> Any:
    return list[of]


def _words(most: int) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=most)]


@dataclass(frozen=True)
class Subject:
    """The dimension that is asked about: its name, its rubric, its scored samples."""

    dimension: str
    rubric: str
    samples: Sequence[Mapping[str, Any]] = ()


# Thinking aloud ---------------------------------------------------------------------------------


Thought = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=stages.MAX_ATTRIBUTE),
]


class Thoughts(Strict):
    """What to keep in mind, one thought each."""

    considerations: Annotated[list[Thought], Field(min_length=1, max_length=MOST_THOUGHTS)]

    @model_validator(mode="after")
    def _check_unique(self) -> Thoughts:
        kept = {stages.normalise_text(text): text for text in reversed(self.considerations)}
        self.considerations = [
            kept.pop(key)
            for text in self.considerations
            if (key := stages.normalise_text(text)) in kept
        ]
        return self


def parse_points(text: str) -> dict[str, Any]:
    """The points of a list written as plain text; raises WrongForm where there is none."""
    found = [match.strip() for match in NUMBERED.findall(text)]
    if not found:
        raise WrongForm("The answer is no list of considerations.")
    return {"considerations": found}


THOUGHTS = Schema("thoughts@1", Thoughts, parse_points, example='{"considerations": ["…", "…"]}')


def samples_text(samples: Sequence[Mapping[str, Any]]) -> str:
    """The scored samples as the prompt has them."""
    parts = []
    for number, one in enumerate(samples, 1):
        lines = [f"Sample {number}"]
        if one.get("source"):
            lines.append(f"Written about: {one['source']}")
        lines += [
            f"Text: {one.get('text', '')}",
            f"Score: {one.get('score', 'not given')}",
            f"End of sample {number}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def thinking(
    about: Subject,
    subject: str,
    *,
    temperature: float,
    replicate: int = 0,
    template: Template | None = None,
) -> ModelQuestion:
    """Make the question in which a model thinks aloud about a dimension."""
    prompt = (template or load(THINK_ALOUD)).render(
        dimension=about.dimension, rubric=about.rubric, samples=samples_text(about.samples)
    )
    params = {"temperature": temperature, "max_tokens": TOKENS}
    return ModelQuestion(subject, prompt, THOUGHTS, params, replicate)


# Stages -----------------------------------------------------------------------------------------


def stage_ask(
    kind: str,
    about: Subject,
    data: stages.Data,
    *,
    subject: str,
    temperature: float = 0.0,
    template: Template | None = None,
) -> ModelQuestion:
    """Make the question that produces a stage from the stages before it."""
    places, schema = _ASKED[kind](about, data)
    prompt = (template or load(kind)).render(dimension=about.dimension, **places)
    return ModelQuestion(
        subject, prompt, schema, {"temperature": temperature, "max_tokens": TOKENS}
    )


def entries_of(kind: str, value: Mapping[str, Any], data: stages.Data) -> Entries:
    """Convert a model's answer into entries of a stage; new entries have no id yet."""
    return _READ[kind](value, data)


def _numbered(entries: Entries) -> str:
    return "\n".join(f"{number}. {one['text']}" for number, one in enumerate(entries, 1))


def _named(data: stages.Data) -> str:
    rows = data[stages.COMPONENTS]
    return "\n".join(f"c{number}. {one['text']}" for number, one in enumerate(rows, 1))


def _component_numbers(data: stages.Data) -> list[list[int]]:
    """Return the numbers of the attributes of each component, in order."""
    number = {one["id"]: at for at, one in enumerate(data[stages.ATTRIBUTES], 1)}
    given = {one["component"]: one["attributes"] for one in data[stages.CLUSTERS]}
    return [
        sorted(number[pk] for pk in given.get(one["id"], []) if pk in number)
        for one in data[stages.COMPONENTS]
    ]


def _with_attributes(data: stages.Data, *, keys: bool) -> str:
    """Components with their key questions (``keys``) and their attributes by number."""
    asked = {one["component"]: one["text"] for one in data.get(stages.KEY_QUESTIONS, [])}
    parts = []
    for at, (one, held) in enumerate(
        zip(data[stages.COMPONENTS], _component_numbers(data), strict=True), 1
    ):
        lines = [f"c{at}. {one['text']}"]
        if keys:
            lines.append(f"   Key question: {asked[one['id']]}")
        lines += [f"   {n}: {data[stages.ATTRIBUTES][n - 1]['text']}" for n in held]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


Asked = tuple[dict[str, str], Schema]


def _components(about: Subject, data: stages.Data) -> Asked:
    form = _form(
        "Components",
        validators=_different("components"),
        components=(
            _list(_words(stages.MAX_COMPONENT)),
            Field(min_length=1, max_length=stages.MAX_COMPONENTS),
        ),
    )
    places = {"rubric": about.rubric, "attributes": _numbered(data[stages.ATTRIBUTES])}
    return places, Schema("components@1", form, example='{"components": ["…", "…"]}')


def _clusters(about: Subject, data: stages.Data) -> Asked:
    number = _literal_type(range(1, len(data[stages.ATTRIBUTES]) + 1))
    fields = {name: (_list(number), ...) for name in _labels(data)}
    form = _form("Clusters", None, **fields)
    places = {"components": _named(data), "attributes": _numbered(data[stages.ATTRIBUTES])}
    return places, Schema("clusters@1", form, example=_example(data, [1]))


def _key_questions(about: Subject, data: stages.Data) -> Asked:
    words = _words(stages.MAX_QUESTION)
    fields = {name: (words, ...) for name in _labels(data)}
    form = _form("KeyQuestions", None, **fields)
    places = {"rubric": about.rubric, "components": _with_attributes(data, keys=False)}
    return places, Schema("key_questions@1", form, example=_example(data, "…?"))


def _sub_questions(about: Subject, data: stages.Data) -> Asked:
    words, fields = _words(stages.MAX_QUESTION), {}
    for name, held in zip(_labels(data), _component_numbers(data), strict=True):
        numbers: Any = Field(min_length=1) if held else Field(max_length=0)
        number = _literal_type(held) if held else int
        one = _form(
            f"Question_{name}",
            question=(words, ...),
            attributes=(_list(number), numbers),
        )
        fields[name] = (_list(one), Field(min_length=1, max_length=20))
    form = _form("SubQuestions", None, **fields)
    places = {"rubric": about.rubric, "components": _with_attributes(data, keys=True)}
    example = _example(data, [{"question": "…?", "attributes": [1]}])
    return places, Schema("sub_questions@1", form, example=example)


def _validation(about: Subject, data: stages.Data) -> Asked:
    number = _literal_type(range(1, len(data[stages.SUB_QUESTIONS]) + 1))
    one = _form(
        "Kept",
        question=(_words(stages.MAX_QUESTION), ...),
        made_of=(_list(number), Field(min_length=1)),
    )
    form = _form(
        "Validated",
        validators=_different("questions", "question"),
        questions=(_list(one), Field(min_length=1, max_length=stages.MAX_QUESTIONS)),
    )
    places = {"rubric": about.rubric, "questions": _numbered(data[stages.SUB_QUESTIONS])}
    example = '{"questions": [{"question": "…?", "made_of": [1, 2]}]}'
    return places, Schema("validation@1", form, example=example)


_ASKED = {
    stages.COMPONENTS: _components,
    stages.CLUSTERS: _clusters,
    stages.KEY_QUESTIONS: _key_questions,
    stages.SUB_QUESTIONS: _sub_questions,
    stages.VALIDATION: _validation,
}


def _labels(data: stages.Data) -> list[str]:
    return [f"c{number}" for number in range(1, len(data[stages.COMPONENTS]) + 1)]


def _example(data: stages.Data, value: Any) -> str:
    return json.dumps(dict.fromkeys(_labels(data), value), ensure_ascii=False)


def _literal_type(numbers: Sequence[int] | range) -> Any:
    literal: Any = Literal
    return literal[tuple(numbers)]


def _different(name: str, part: str = "") -> dict[str, Any]:
    """A validator: no two entries of the list ``name`` say the same."""

    def once(form: Any) -> Any:
        texts = [getattr(one, part) if part else one for one in getattr(form, name)]
        if len({stages.normalise_text(text) for text in texts}) < len(texts):
            raise ValueError("two entries say the same")
        return form

    return {"once": model_validator(mode="after")(once)}


# Answers as entries -----------------------------------------------------------------------------


def _read_components(value: Mapping[str, Any], data: stages.Data) -> Entries:
    return [{"text": text} for text in value["components"]]


def _read_clusters(value: Mapping[str, Any], data: stages.Data) -> Entries:
    attributes = data[stages.ATTRIBUTES]
    return [
        {"component": one["id"], "attributes": [attributes[n - 1]["id"] for n in value[name]]}
        for name, one in zip(_labels(data), data[stages.COMPONENTS], strict=True)
    ]


def _read_key_questions(value: Mapping[str, Any], data: stages.Data) -> Entries:
    rows = zip(_labels(data), data[stages.COMPONENTS], strict=True)
    return [{"component": one["id"], "text": value[name]} for name, one in rows]


def _read_sub_questions(value: Mapping[str, Any], data: stages.Data) -> Entries:
    attributes = data[stages.ATTRIBUTES]
    return [
        {
            "component": one["id"],
            "text": asked["question"],
            "attributes": [attributes[n - 1]["id"] for n in asked["attributes"]],
        }
        for name, one in zip(_labels(data), data[stages.COMPONENTS], strict=True)
        for asked in value[name]
    ]


def _read_validation(value: Mapping[str, Any], data: stages.Data) -> Entries:
    subs, made = data[stages.SUB_QUESTIONS], []
    for kept in value["questions"]:
        sources = [subs[n - 1] for n in dict.fromkeys(kept["made_of"])]
        made.append(
            {
                "component": sources[0]["component"],
                "text": kept["question"],
                "attributes": [pk for one in sources for pk in one["attributes"]],
                "from": [one["id"] for one in sources],
            }
        )
    return made


_READ = {
    stages.COMPONENTS: _read_components,
    stages.CLUSTERS: _read_clusters,
    stages.KEY_QUESTIONS: _read_key_questions,
    stages.SUB_QUESTIONS: _read_sub_questions,
    stages.VALIDATION: _read_validation,
}
