"""Synonyms by the database files of WordNet: words that share a synset.

Format of the files: wndb(5WN). Regular endings are taken off as morphy(7WN) does, irregular forms
stand in the lists of exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
ENDINGS = {
    "n": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
          ("men", "man"), ("ies", "y")),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
          ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip
Words = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class WordNet:
    """Synsets of lemmas and base forms of irregular words, each by part of speech (``PARTS``)."""

    senses: Mapping[str, Words]
    irregular: Mapping[str, Words]

    def synsets(self, word: str) -> frozenset[str]:
        """The synsets of a word in lower case, in every part of speech; none for an unknown one."""
        return frozenset().union(
            *(
                known.get(form, frozenset())
                for part, known in self.senses.items()
                for form in self._base_forms(word, part)
            )
        )

    def _base_forms(self, word: str, part: str) -> set[str]:
        regular = {
            word.removesuffix(ending) + base
            for ending, base in ENDINGS[part]
            if word.endswith(ending)
        }
        return {word} | regular | self.irregular[part].get(word, frozenset())


def is_wordnet(folder: Path) -> bool:
    """Whether the database files of WordNet lie in a folder."""
    return all((folder / f"index.{name}").is_file() for name in PARTS.values())


def read_wordnet(folder: Path) -> WordNet:
    """Read the database in a folder (index.* and *.exc); phrases are left out. Raises OSError."""
    senses = {part: _senses(folder / f"index.{name}", part) for part, name in PARTS.items()}
    irregular = {part: _exceptions(folder / f"{name}.exc") for part, name in PARTS.items()}
    return WordNet(senses, irregular)


def _senses(path: Path, part: str) -> dict[str, frozenset[str]]:
    """A line a lemma: lemma, part, number of synsets, ..., and their offsets at its end."""
    rows = (line.split() for line in _lines(path))
    return {
        row[0]: frozenset(f"{part}{offset}" for offset in row[-int(row[2]) :])
        for row in rows
        if "_" not in row[0]
    }


def _exceptions(path: Path) -> dict[str, frozenset[str]]:
    """A line an irregular form: the form, and its base forms."""
    rows = (line.split() for line in _lines(path)) if path.is_file() else ()
    return {row[0]: frozenset(row[1:]) for row in rows}


def _lines(path: Path) -> list[str]:
    """The lines of a file without its licence, whose lines begin with a space."""
    lines = path.read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith(" ")]
