"""Scores by an encoder-decoder model in a folder: BARTScore and UniEval. None is bundled.

Any such model of transformers will do: what its scores are worth depends on what it was trained
for. BARTScore was published with bart-large-cnn, UniEval with unieval-sum.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from crowdqc.errors import Invalid
from evaluation.embeddings.devices import before_torch, folder_identity, torch_threads
from evaluation.embeddings.embeddings import THREADS
from evaluation.methods.core.base import FloatArray

BATCH, LONGEST = 8, 1024  # texts at once; tokens of a text
Progress = Callable[[int, int], None]  # texts done, texts to score; may raise to stop


def is_seq2seq(folder: Path) -> bool:
    """Whether a transformers model with an encoder and a decoder is here."""
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("is_encoder_decoder") is True


class Seq2SeqModel:
    """An encoder-decoder model; never reaches for the network.

    Raises Invalid, naming ``field``, when it is first used, where it cannot be loaded.
    """

    def __init__(self, folder: str | Path, field: str, *, threads: int = THREADS) -> None:
        self.folder, self.field, self.threads = Path(folder).resolve(), field, threads

    @cached_property
    def identity(self) -> str:
        """The folder's name and a hash over every file of it."""
        return folder_identity(self.folder)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model."""
        before_torch()
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
            model = AutoModelForSeq2SeqLM.from_pretrained(self.folder, local_files_only=True)
        except (OSError, ValueError) as problem:
            raise Invalid(
                f"The folder {str(self.folder)!r} holds no encoder-decoder model: {problem}",
                fields={self.field: "no model could be loaded from this folder"},
            ) from problem
        return tokenizer, model.eval()

    def mean_log_probability(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress | None = None
    ) -> FloatArray:
        """BARTScore (n,): mean log probability of each target's tokens after its source.

        Yuan, Neubig and Liu, "BARTScore" (NeurIPS 2021), eq. 2 with equal weights; the tokens that
        begin and end a text count, as in the authors' code. Long texts are cut.
        """
        import torch

        tokenizer, _model = self._loaded
        out = np.empty(len(sources))
        with torch_threads(self.threads), torch.inference_mode():
            for rows in _batches(len(out), progress):
                target = self._tokens([targets[k] for k in rows])
                ids, mask = target["input_ids"], target["attention_mask"].bool()
                labels = ids.masked_fill(~mask, tokenizer.pad_token_id)
                logits = self._logits([sources[k] for k in rows], labels)
                chance = torch.log_softmax(logits, dim=2).gather(2, ids[:, :, None])[:, :, 0]
                mean = chance.masked_fill(~mask, 0.0).sum(dim=1) / mask.sum(dim=1)
                out[rows] = mean.numpy()
        return out

    def chance_of_yes(
        self, questions: Sequence[str], *, progress: Progress | None = None
    ) -> FloatArray:
        """UniEval (n,): P("Yes") / (P("Yes") + P("No")) of the first token that is written.

        Zhong et al., "Towards a Unified Multi-Dimensional Evaluator for Text Generation" (EMNLP
        2022), eq. 2.
        """
        import torch

        tokenizer, _model = self._loaded
        yes, no = (tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))
        out = np.empty(len(questions))
        with torch_threads(self.threads), torch.inference_mode():
            for rows in _batches(len(out), progress):
                labels = torch.full((len(rows), 1), no)
                logits = self._logits([questions[k] for k in rows], labels)[:, 0]
                out[rows] = torch.softmax(logits[:, [yes, no]], dim=1)[:, 0].numpy()
        return out

    def _tokens(self, texts: list[str]) -> Any:
        tokenizer, _model = self._loaded
        longest = min(LONGEST, tokenizer.model_max_length)
        return tokenizer(
            texts, max_length=longest, truncation=True, padding=True, return_tensors="pt"
        )

    def _logits(self, texts: list[str], labels: Any) -> Any:
        """Logits (batch, tokens, vocabulary) after the texts, each after the labels before it.

        Labels become what the decoder reads by the model itself, shifted by one.
        """
        _tokenizer, model = self._loaded
        encoded = self._tokens(texts)
        found = model(
            input_ids=encoded["input_ids"],
            attention_mask=encoded["attention_mask"],
            labels=labels,
        )
        return found.logits.double()


def _batches(n: int, progress: Progress | None) -> Iterator[list[int]]:
    """Rows 0 to n - 1, some at a time; ``progress`` hears of those that are done."""
    for start in range(0, n, BATCH):
        yield list(range(start, min(start + BATCH, n)))
        if progress is not None:
            progress(min(start + BATCH, n), n)
