"""Entailment scorers for AQER's other start: a local cross-encoder by its folder.

None is bundled: any sequence classifier trained on natural language inference will do, as long as
one of its labels is called entailment. Anything else that fits
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

    ``folder`` holds a transformers model. Raises Invalid, when it is first used, where it cannot
    be loaded or has no such label.
    """

    def __init__(self, folder: str | Path, *, threads: int = THREADS) -> None:
        self.folder, self.threads = Path(folder).expanduser().resolve(), threads

    @cached_property
    def identity(self) -> str:
        """The folder's name and a hash over every file of it."""
        return folder_identity(self.folder)

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int]:
        """Tokenizer, model, and the place of the label."""
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
                fields={"entailment": "no model could be loaded from this folder"},
            ) from problem
        labels = {str(name).lower(): int(at) for at, name in model.config.id2label.items()}
        if "entailment" not in labels:
            known = ", ".join(sorted(labels))
            raise Invalid(
                f"The model in {str(self.folder)!r} has no label entailment, but {known}.",
                fields={"entailment": "this model does not judge entailment"},
            )
        return tokenizer, model, labels["entailment"]

    def __call__(self, premises: Sequence[str], hypotheses: Sequence[str], /) -> FloatArray:
        """Probabilities (k,) that each premise entails its hypothesis; long pairs are cut."""
        tokenizer, model, label = self._loaded
        import torch

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
                    return_tensors="pt",
                )
                with torch.inference_mode():
                    logits = model(**inputs).logits.double()
                out[part] = torch.softmax(logits, dim=1)[:, label].numpy()
        return out
