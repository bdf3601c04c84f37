"""Models in the folders that the settings allow, found by name: sentence models and classifiers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings

from crowdqc.errors import Invalid
from evaluation.embeddings.seq2seq import is_seq2seq

PATH = "path:"  # before a model's folder
DEEP = 2  # levels below an allowed folder where models are looked for: OWNER/NAME


def is_sentence_model(folder: Path) -> bool:
    """Whether sentence-transformers saved a model here."""
    return (folder / "modules.json").is_file()


def is_classifier(folder: Path) -> bool:
    """Whether a transformers model is here that is no sentence model and writes no text."""
    there = (folder / "config.json").is_file() and not is_sentence_model(folder)
    return there and not is_seq2seq(folder)


def judges_entailment(folder: Path) -> bool:
    """Whether a classifier is here that has a label called entailment."""
    if not is_classifier(folder):
        return False
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    labels = config.get("id2label") if isinstance(config, dict) else None
    return isinstance(labels, dict) and "entailment" in [str(n).lower() for n in labels.values()]


Kind = Callable[[Path], bool]


def model_folders(kind: Kind) -> dict[str, Path]:
    """The models of a kind that CROWDQC_ENCODER_DIRS hold, by the names of their folders."""
    found: dict[str, Path] = {}
    for root in settings.CROWDQC_ENCODER_DIRS:
        for folder in _walk(Path(root).resolve(), DEEP):
            if kind(folder):
                found.setdefault(folder.name, folder)
    return dict(sorted(found.items()))


def _walk(folder: Path, levels: int) -> Iterator[Path]:
    """The folder and those in it; what is a model is not looked into."""
    yield folder
    if levels and not (folder / "config.json").is_file():
        try:
            inside = sorted(one for one in folder.iterdir() if one.is_dir())
        except OSError:  # a folder that is gone, or not readable, has no models
            return
        for one in inside:
            yield from _walk(one, levels - 1)


def clean_folder(slug: str, kind: Kind, field: str) -> str:
    """``path:<folder>`` of a model from its folder or its name, whole or the one that holds it.

    Raises Invalid, naming ``field`` and the models that there are.
    """
    known = model_folders(kind)
    if not slug.startswith(PATH):
        name = slug.casefold()
        named = [one for one in known if name == one.casefold()]
        named = named or [one for one in known if name and name in one.casefold()]
        if len(named) == 1:
            return f"{PATH}{known[named[0]]}"
        listed = ", ".join(named or known) or "none is installed"
        why = "fits several models" if named else "is no model"
        said = f"{slug!r} {why} in the folders named in CROWDQC_ENCODER_DIRS: {listed}."
        raise Invalid(said, fields={field: said})
    folder = Path(slug.removeprefix(PATH)).resolve()
    allowed = [Path(root).resolve() for root in settings.CROWDQC_ENCODER_DIRS]
    if not any(folder.is_relative_to(root) for root in allowed):
        raise Invalid(
            "Models may only be taken from the folders named in CROWDQC_ENCODER_DIRS.",
            fields={field: "This folder is not among those allowed."},
        )
    return f"{PATH}{folder}"
