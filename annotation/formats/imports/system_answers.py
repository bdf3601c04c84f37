"""Free text, answers of systems: item_id, system, prompt_strategy, answer (and replicate)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.files.reading.importer import (
    Checked,
    Field,
    Importer,
    Once,
    Prints,
    Reader,
    Row,
    same_name,
)
from annotation.formats.imports.answers import ITEM_ID, has_text, known_item
from crowdqc.numbers import plural

Key = tuple[str, str, str, int]  # system, prompt strategy, question, replicate


@dataclass(frozen=True)
class KnownSystems:
    """The published questions, the names in use, and the text behind each key."""

    keys: Sequence[str] = ()
    names: Sequence[str] = ()
    strategies: Sequence[str] = ()
    texts: Mapping[Key, str] | Prints = field(default_factory=dict)


SYSTEM = Field("system", "System", True, ("model", "llm", "system_name", "model_name", "source"))
STRATEGY = Field("prompt_strategy", "Prompt strategy", False, ("strategy", "prompt", "prompting"))
REPLICATE = Field("replicate", "Replicate", False, ("rep", "sample", "run", "repeat"))
MOST = 32_767  # the highest replicate


def spellings(names: Iterable[str], strategies: Iterable[str]) -> dict[str, dict[str, str]]:
    """How systems and prompt strategies are usually written, to be held against other spellings."""
    return {
        "system": {same_name(name): name for name in names},
        "prompt_strategy": {same_name(name): name for name in strategies},
    }


def named_system(reader: Reader, row: Row, spelled: Mapping[str, dict[str, str]]) -> bool:
    """Whether the row names a system in its usual spelling; a new name is noted in ``spelled``."""
    if not reader.value(row, "system"):
        reader.bad(row, "system", "There is no system.", "Write which model or source it is.")
        return False
    for name, noun in (("system", "systems"), ("prompt_strategy", "strategies")):
        if not reader.fits(row, name, 120, "a name"):
            return False
        value = reader.value(row, name)
        usual = spelled[name].setdefault(same_name(value), value) if value else ""
        if value != usual:
            reader.bad(
                row,
                name,
                f"Differs from “{usual}” only by case and space.",
                f"Use one spelling, or they count as two {noun}.",
            )
            return False
    return True


def numbered(reader: Reader, row: Row, most: int = MOST) -> int | None:
    """The replicate, 0 where none is given; None where it is no number, which is said."""
    raw = reader.value(row, "replicate") or "0"
    if raw.isascii() and raw.isdigit() and len(raw) < 10 and int(raw) <= most:
        return int(raw)
    reader.bad(
        row,
        "replicate",
        "This is not a whole number from 0.",
        "Number the repeats 0, 1, 2 and so on.",
    )
    return None


class SystemAnswers(Importer):
    slug = "system_answers"
    title = "Answers of systems"
    fields = (
        ITEM_ID,
        SYSTEM,
        STRATEGY,
        Field("answer", "Answer text", True, ("response", "resp", "output", "completion", "text")),
        REPLICATE,
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownSystems
    ) -> Checked:
        checked = Checked()
        reader = Reader(mapping, checked)
        keys = {key: place for place, key in enumerate(known.keys)}
        spelled = spellings(known.names, known.strategies)
        once = Once(
            reader,
            ["system", "item_id"],
            known.texts,
            twice="Keep one, or add a replicate column.",
            differs="The task has another answer of this system to it.",
            leave="Leave the row out, or give it another replicate.",
        )
        for row in rows:
            if not (
                known_item(reader, row, keys, known.keys)
                and named_system(reader, row, spelled)
                and has_text(reader, row, "system")
            ):
                continue
            replicate = numbered(reader, row)
            if replicate is None:
                continue
            values: dict[str, Any] = {
                name: reader.value(row, name)
                for name in ("item_id", "system", "prompt_strategy", "answer")
            }
            key = (values["system"], values["prompt_strategy"], values["item_id"], replicate)
            if once.takes(row, key, values["answer"]):
                checked.good.append({**values, "replicate": replicate})
        self._facts(checked, mapping)
        return checked

    @staticmethod
    def _facts(checked: Checked, mapping: Mapping[str, str]) -> None:
        if not checked.good:
            return
        systems = {values["system"] for values in checked.good}
        questions = {values["item_id"] for values in checked.good}
        checked.facts += [plural(len(systems), "system"), plural(len(questions), "question")]
        if "prompt_strategy" in mapping:
            checked.facts.append(f"prompt strategy in {mapping['prompt_strategy']}")
