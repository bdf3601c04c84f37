"""The prompts as they stand in their files, for everybody who wants to know what is asked."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.llm import prompting


@dataclass(frozen=True)
class Prompt:
    """One version of a prompt: its text with places, and which of them may stay empty."""

    ref: str
    name: str
    version: int
    newest: bool
    system: str
    user: str
    needed: list[str]
    optional: list[str]


def prompts() -> list[Prompt]:
    """Every version of every prompt, by name, the newest first."""
    return [
        _prompt(name, number, newest=number == numbers[-1])
        for name, numbers in sorted(prompting.versions().items())
        for number in reversed(numbers)
    ]


def _prompt(name: str, version: int, *, newest: bool) -> Prompt:
    found = prompting.load(name, version)
    return Prompt(
        found.ref,
        name,
        version,
        newest,
        found.system,
        found.user,
        sorted(found.needed),
        sorted(found.places - found.needed),
    )
