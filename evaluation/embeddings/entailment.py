"""Cross-encoders by their folder: entailment for AQER's other start, or similarity of two texts.

None is bundled. Entailment takes any sequence classifier with a label called entailment;
similarity takes such a classifier too, or a model with a single output. Anything else that fits
``evaluation.methods.aqer.entailment.Entailment`` may stand in, such as a language model's endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from crowdqc.errors import Invalid
from evaluation.embeddings.devices import before_torch, folder_identity, torch_threads
from evaluation.embeddings.embeddings import BATCH, THREADS
from evaluation.methods.core.base import FloatArray


class CrossEncoder:
    """Probability of a classifier's label "entailment"; never reaches for the network.

    ``folder`` holds a transformers model. With ``similarity`` a model with a single output will
    do too: its score is the logistic function of that output. Raises Invalid, when it is first
    used, where the model cannot be loaded or gives neither.
    """

    def __init__(
        self, folder: str | Path, *, similarity: bool = False, threads: int = THREADS
    ) -> None:
        self.folder, self.threads = Path(folder).expanduser().resolve(), threads
        self.similarity, self.field = similarity, "encoder" if similarity else "entailment"

    @cached_property
    def identity(self) -> str:
        """The folder's name and a hash over every file of it."""
        return folder_identity(self.folder)

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int | None]:
        """Tokenizer, model, and the place of the label; None for a single output."""
        before_torch()
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
            model = AutoModelForSequenceClassification.from_pretrained(
                self.folder, local_files_only=True
            ).eval()
        except (OSError, ValueError) as problem:
            raise Invalid(
                f"The folder {str(self.folder)!r} holds no classifier: {problem}",
                fields={self.field: "no model could be loaded from this folder"},
            ) from problem
        if self.similarity and model.config.num_labels == 1:
            return tokenizer, model, None
        labels = {str(name).lower(): int(at) for at, name in model.config.id2label.items()}
        if "entailment" not in labels:
            known = ", ".join(sorted(labels))
            also = " and no single output" if self.similarity else ""
            raise Invalid(
                f"The model in {str(self.folder)!r} has no label entailment{also}, but {known}.",
                fields={self.field: "this model does not judge pairs of texts"},
            )
        return tokenizer, model, labels["entailment"]

    def __call__(self, premises: Sequence[str], hypotheses: Sequence[str], /) -> FloatArray:
        """Scores (k,) in 0..1 that each premise entails its hypothesis; long pairs are cut."""
        tokenizer, model, label = self._loaded
        import torch

        # Some tokenizers are saved without the model's limit.
        room = getattr(model.config, "max_position_embeddings", None)
        longest = min(tokenizer.model_max_length, room or tokenizer.model_max_length)

        out = np.empty(len(premises))
        # Pairs of like length together: a batch costs what its longest pair costs.
        order = sorted(range(len(out)), key=lambda k: len(premises[k]) + len(hypotheses[k]))
        with torch_threads(self.threads):
            for start in range(0, len(order), BATCH):
                part = order[start : start + BATCH]
                inputs = tokenizer(
                    [premises[k] for k in part],
                    [hypotheses[k] for k in part],
                    padding=True,
                    truncation=True,
                    max_length=longest,
                    return_tensors="pt",
                )
                with torch.inference_mode():
                    logits = model(**inputs).logits.double()
                chance = torch.sigmoid(logits) if label is None else torch.softmax(logits, dim=1)
                out[part] = chance[:, label or 0].numpy()
        return out
