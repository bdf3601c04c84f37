"""The token vectors of texts under a sentence model: what BERTScore compares.

The sentence models give one vector a text; this is the one other place that looks inside them.
Special tokens (start, end) are left out, as the reference implementation of BERTScore does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdqc.errors import Invalid
from evaluation.embeddings.embeddings import BATCH, Progress, SentenceModel, get_encoder, normal
from evaluation.methods.text.corpus import TokenVectors

STEP = 4 * BATCH  # texts between two calls of progress: some seconds on a slow machine


def token_vectors(
    texts: Sequence[str], encoder: str = "minilm", *, progress: Progress | None = None
) -> TokenVectors:
    """Unit vectors of the tokens of each text, from the model's last layer.

    ``encoder`` is a slug as for ``get_encoder``; its identity is kept in ``model``. Texts longer
    than the model's maximum are cut. Raises Invalid for an encoder that has no tokens.
    """
    found = get_encoder(encoder)
    if not isinstance(found, SentenceModel):
        raise Invalid(
            f"The encoder {encoder!r} has no token vectors; BERTScore needs a sentence model.",
            fields={"encoder": "no token vectors"},
        )
    forms = [normal(text) for text in texts]
    # Shortest first: short batches pad little, and the order given makes no difference.
    unique = sorted(set(forms), key=lambda form: (len(form), form))
    pieces: list[np.ndarray] = []
    for start in range(0, len(unique), STEP):
        pieces += _encode(found, unique[start : start + STEP])
        if progress is not None:
            progress(len(pieces), len(unique))
    at = {form: row for row, form in enumerate(unique)}
    ordered = [pieces[at[form]] for form in forms]
    ends = np.cumsum([0] + [len(piece) for piece in ordered])
    width = found.dim
    stacked = np.concatenate(ordered) if ordered else np.empty((0, width), dtype=np.float32)
    return TokenVectors(ends.astype(np.int64), stacked, found.identity)


def _encode(encoder: SentenceModel, texts: list[str]) -> list[np.ndarray]:
    """Unit vectors (tokens, width) of each text."""
    model = encoder._model  # first, since it sets what torch reads when it is loaded
    import torch
    from sentence_transformers.util import batch_to_device

    special = torch.tensor(sorted(model.tokenizer.all_special_ids))
    before = torch.get_num_threads()
    torch.set_num_threads(encoder.threads)
    out = []
    try:
        for start in range(0, len(texts), BATCH):
            features = model.preprocess(texts[start : start + BATCH])
            kept = ~torch.isin(features["input_ids"], special).numpy()
            features = batch_to_device(features, model.device)
            with torch.inference_mode():
                vectors = model[0](features)["token_embeddings"].float()
                vectors = torch.nn.functional.normalize(vectors, dim=2).cpu().numpy()
            out += [part[keep] for part, keep in zip(vectors, kept, strict=True)]
    finally:
        torch.set_num_threads(before)
    return out
