"""Prompts as versioned files: our words with named places, rendered to messages.

``prompts/NAME.vN.md`` holds a part ``# system`` (optional) and a part ``# user``. ``{{place}}`` is
filled in; ``{{?place}} ... {{/place}}`` stands only where the place is filled. A changed prompt is
a new version beside the old one, as answers given to the old one keep naming it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crowdqc.errors import Missing

FOLDER = Path(__file__).parent / "prompts"
FILE = re.compile(r"([a-z0-9_]+)\.v(\d+)\.md")
PART = re.compile(r"^# (system|user)[ ]*$", re.MULTILINE)
PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
OPTIONAL = re.compile(r"\{\{\?([a-z_]+)\}\}(.*?)\{\{/\1\}\}", re.DOTALL)
Message = dict[str, str]


@dataclass(frozen=True)
class Rendered:
    """A prompt with its places filled: what is sent, and the name and version it came from."""

    ref: str  # name@version
    messages: tuple[Message, ...]
    digest: str = ""  # of the prompt before it was filled


@dataclass(frozen=True)
class Template:
    """One version of a prompt.

    ``required`` and ``offered`` are those of a project's own prompt, which need not use all that
    it is offered; None: what stands in the text is required, and nothing else is known.
    """

    name: str
    version: int
    system: str
    user: str
    required: frozenset[str] | None = None
    offered: frozenset[str] = frozenset()

    @property
    def ref(self) -> str:
        """Return name and version of the template, "name@version"."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """SHA-256 over the texts as they are written."""
        return hashlib.sha256(f"{self.system}\0{self.user}".encode()).hexdigest()

    @property
    def needed(self) -> frozenset[str]:
        """Placeholders that must be filled."""
        text = OPTIONAL.sub("", f"{self.system}\n{self.user}")
        found = frozenset(PLACE.findall(text))
        return found if self.required is None else found & self.required

    @property
    def places(self) -> frozenset[str]:
        """Return all placeholders, also those of optional parts."""
        text = f"{self.system}\n{self.user}"
        return frozenset(PLACE.findall(text)) | {name for name, _ in OPTIONAL.findall(text)}

    def render(self, **filled: str) -> Rendered:
        """Fill in the placeholders and return the messages.

        ValueError if one is empty or unknown.
        """
        given = {name: str(value) for name, value in filled.items() if str(value).strip()}
        unknown = sorted(set(filled) - self.places - self.offered)
        if unknown:
            raise ValueError(f"prompt {self.ref} has no place {unknown[0]!r}")
        lacking = sorted(self.needed - set(given))
        if lacking:
            raise ValueError(f"prompt {self.ref} needs {lacking[0]!r}, which is empty")
        messages: list[Message] = []
        for role, text in (("system", self.system), ("user", self.user)):
            if text:
                messages.append({"role": role, "content": _fill(text, given)})
        return Rendered(self.ref, tuple(messages), self.digest)


def _fill(text: str, given: Mapping[str, str]) -> str:
    """Fill the places in one pass, so that a text that holds braces fills nothing further."""
    kept = OPTIONAL.sub(lambda found: found[2] if found[1] in given else "", text)
    return PLACE.sub(lambda found: given.get(found[1], ""), kept).strip()


@cache
def versions() -> dict[str, list[int]]:
    """Return the version numbers of each built-in prompt, ascending."""
    found: dict[str, list[int]] = {}
    for path in sorted(FOLDER.glob("*.md")):
        match = FILE.fullmatch(path.name)
        if match:
            found.setdefault(match[1], []).append(int(match[2]))
    return {name: sorted(numbers) for name, numbers in found.items()}


@cache
def load(name: str, version: int = 0) -> Template:
    """Load a built-in prompt, by default its newest version; Missing if there is none."""
    numbers = versions().get(name, [])
    number = version or (numbers[-1] if numbers else 0)
    if number not in numbers:
        raise Missing(f"There is no prompt {name!r}{f' in version {version}' if version else ''}.")
    parts = PART.split((FOLDER / f"{name}.v{number}.md").read_text(encoding="utf-8"))
    texts = dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))
    return Template(name, number, texts.get("system", ""), texts["user"])
