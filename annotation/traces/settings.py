"""The settings of a source of traces: one typed form, checked where they are written."""

from __future__ import annotations

import re
from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from annotation.traces.masks import MASKS, MOST_BACKTRACKING, OwnMask, backtracking_of
from crowdqc.errors import Invalid

MOST_RULES, MOST_OWN_MASKS = 12, 20
Kind = Literal["random", "error", "low_score", "feedback", "attribute"]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Rule(_Form):
    """Traces that match ``kind`` are drawn with probability ``share``.

    ``below``: of a judge's score or a user's feedback; ``key`` and ``value``: of an attribute of
    any span, "" for any value.
    """

    kind: Kind
    share: float = Field(ge=0, le=1)
    below: float = 0.5
    key: str = Field(default="", max_length=120)
    value: str = Field(default="", max_length=200)

    @property
    def name(self) -> str:
        """What traces drawn by it are marked with."""
        return f"attribute:{self.key}"[:20] if self.kind == "attribute" else self.kind


class SourceSettings(_Form):
    """How traces of a source are kept, masked and drawn.

    ``idle_seconds``: a trace is settled after so long without a new span. ``budget``: traces drawn
    a day on average, twice as many at most; 0: no limit. Staff is notified of a source without a
    span for ``silent_hours``, of drawn traces that wait ``backlog_days``, and when the interval of
    the failure rate lies above ``failing_above``; 0: never. ``judge``: name of the score that draws
    and is compared with people's reviews; "" for the first. ``outcome`` and ``failing``: the field
    of a review, and its codes that mean failure.
    """

    idle_seconds: int = Field(default=60, ge=5, le=86_400)
    retention_days: int = Field(default=90, ge=1, le=3650)
    spans_per_minute: int = Field(default=60_000, ge=1, le=10_000_000)
    hide_system: bool = True
    staff_only_requesters: bool = False
    masks: tuple[str, ...] = tuple(MASKS)
    phone_countries: tuple[str, ...] = Field(default=(), max_length=5)
    own_masks: tuple[OwnMask, ...] = Field(default=(), max_length=MOST_OWN_MASKS)
    rules: tuple[Rule, ...] = Field(
        default=(
            Rule(kind="random", share=0.02),
            Rule(kind="error", share=0.2),
            Rule(kind="low_score", share=0.2, below=0.4),
        ),
        max_length=MOST_RULES,
    )
    budget: int = Field(default=20, ge=0, le=1_000_000)
    silent_hours: int = Field(default=24, ge=0, le=8760)
    backlog_days: int = Field(default=7, ge=0, le=365)
    failing_above: float = Field(default=0.0, ge=0, le=1)
    judge: str = Field(default="", max_length=80)
    fails_below: float = 0.5
    outcome: str = Field(default="outcome", max_length=40)
    failing: tuple[str, ...] = ("fail",)

    @field_validator("masks")
    @classmethod
    def _known_masks(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(names) - set(MASKS))
        if unknown:
            raise ValueError(f"unknown masks: {', '.join(unknown)}")
        return tuple(name for name in MASKS if name in names)

    @field_validator("phone_countries")
    @classmethod
    def _known_countries(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        if codes:
            from phonenumbers import SUPPORTED_REGIONS

            if unknown := sorted(set(codes) - set(SUPPORTED_REGIONS)):
                raise ValueError(f"unknown countries: {', '.join(unknown)}")
        return tuple(dict.fromkeys(codes))

    @field_validator("own_masks")
    @classmethod
    def _readable(cls, masks: tuple[OwnMask, ...]) -> tuple[OwnMask, ...]:
        for mask in masks:
            try:
                found = re.compile(mask.pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{mask.name}: {error}") from None
            if found.match(""):
                raise ValueError(f"{mask.name} matches the empty text")
        return masks


def read_settings(stored: dict[str, Any]) -> SourceSettings:
    """Read stored settings; what they lack has its default."""
    return SourceSettings.model_validate(stored)


def clean_settings(raw: dict[str, Any]) -> dict[str, Any]:
    """Check settings and return them as they are stored; Invalid names the field."""
    try:
        settings = SourceSettings.model_validate(raw)
    except ValidationError as error:
        wrong = {
            str(one["loc"][0]) if one["loc"] else "settings": one["msg"]
            for one in error.errors(include_url=False, include_input=False)
        }
        raise Invalid(_("The settings cannot be saved."), fields=wrong) from None
    # Not in the form: what was stored under a higher limit can still be read.
    ways = 0.0
    for mask in settings.own_masks:
        ways += backtracking_of(mask.pattern)
        if ways > MOST_BACKTRACKING:
            wrong = {
                "own_masks": f"{mask.name}: bound every repeat, such as {{1,40}}, and have few"
            }
            raise Invalid(_("The settings cannot be saved."), fields=wrong)
    return settings.model_dump(mode="json")
