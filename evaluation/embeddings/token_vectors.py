"""The token vectors of texts under a sentence model: what BERTScore compares.

The sentence models give one vector a text; this is the one other place that looks inside them.
Special tokens (start, end) are left out, as the reference implementation of BERTScore does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from crowdqc.errors import Invalid
from evaluation.embeddings.devices import torch_threads
from evaluation.embeddings.embeddings import (
    BATCH,
    Encoder,
    Progress,
    SentenceModel,
    get_encoder,
    normal,
)
from evaluation.methods.text.corpus import TokenVectors

FIRST_MODULE = re.compile(r'"type":\s*"([\w.]+)"')  # of a modules.json
STEP = 4 * BATCH  # texts between two calls of progress: some seconds on a slow machine


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The tokens of a text as the model calls them, and their unit vectors (t, width)."""

    tokens: tuple[str, ...]
    vectors: NDArray[np.floating[Any]]


def has_tokens(encoder: str) -> bool:
    """Whether the encoder of this slug gives vectors of tokens; loads no model.

    Sentence models whose first module is a transformer do. Those over an endpoint, those of the
    texts' own terms, those after a correction of spelling and static ones do not.
    """
    return _has_tokens(get_encoder(encoder))


def _has_tokens(encoder: Encoder) -> TypeGuard[SentenceModel]:
    if not isinstance(encoder, SentenceModel):
        return False
    listed = encoder.folder / "modules.json"
    if not listed.is_file():  # sentence-transformers puts a pooling behind the transformer itself
        return True
    first = FIRST_MODULE.search(listed.read_text(encoding="utf-8"))
    return first is not None and first[1].endswith("Transformer")


def tokens_of(
    texts: Sequence[str], encoder: str = "minilm", *, progress: Progress | None = None
) -> list[TextTokens]:
    """Return the tokens of each text with their vectors, as ``token_vectors`` makes them."""
    _model, forms, pieces = _pieces(texts, encoder, progress)
    return [pieces[form] for form in forms]


def token_vectors(
    texts: Sequence[str], encoder: str = "minilm", *, progress: Progress | None = None
) -> TokenVectors:
    """Unit vectors of the tokens of each text, from the model's last layer.

    ``encoder`` is a slug as for ``get_encoder``; its identity is kept in ``model``. Texts longer
    than the model's maximum are cut. Raises Invalid for an encoder that has no tokens.
    """
    found, forms, pieces = _pieces(texts, encoder, progress)
    ordered = [pieces[form].vectors for form in forms]
    ends = np.cumsum([0] + [len(piece) for piece in ordered])
    width = found.dim
    stacked = np.concatenate(ordered) if ordered else np.empty((0, width), dtype=np.float32)
    return TokenVectors(ends.astype(np.int64), stacked, found.identity)


def _pieces(
    texts: Sequence[str], encoder: str, progress: Progress | None
) -> tuple[SentenceModel, list[str], dict[str, TextTokens]]:
    """The model, the texts' forms, and the tokens of each form."""
    found = get_encoder(encoder)
    if not _has_tokens(found):
        raise Invalid(
            f"The encoder {encoder!r} has no token vectors; BERTScore needs a sentence model.",
            fields={"encoder": "no token vectors"},
        )
    forms = [normal(text) for text in texts]
    # Shortest first: short batches pad little, and the order given makes no difference.
    unique = sorted(set(forms), key=lambda form: (len(form), form))
    pieces: list[TextTokens] = []
    for start in range(0, len(unique), STEP):
        pieces += _encode(found, unique[start : start + STEP])
        if progress is not None:
            progress(len(pieces), len(unique))
    return found, forms, dict(zip(unique, pieces, strict=True))


def _encode(encoder: SentenceModel, texts: list[str]) -> list[TextTokens]:
    """The tokens of each text and their unit vectors."""
    model = encoder._model  # first, since it sets what torch reads when it is loaded
    import torch
    from sentence_transformers.util import batch_to_device

    special = torch.tensor(sorted(model.tokenizer.all_special_ids))
    out: list[TextTokens] = []
    with torch_threads(encoder.threads):
        for start in range(0, len(texts), BATCH):
            features = model.preprocess(texts[start : start + BATCH])
            ids = features["input_ids"]
            kept = ~torch.isin(ids, special).numpy()
            features = batch_to_device(features, model.device)
            with torch.inference_mode():
                vectors = model[0](features)["token_embeddings"].float()
                vectors = torch.nn.functional.normalize(vectors, dim=2).cpu().numpy()
            for part, keep, row in zip(vectors, kept, ids.tolist(), strict=True):
                names = model.tokenizer.convert_ids_to_tokens(row)
                tokens = tuple(name for name, own in zip(names, keep, strict=True) if own)
                out.append(TextTokens(tokens, part[keep]))
    return out
