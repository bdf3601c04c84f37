"""What packages above this one register for it (``evaluation/extensions.py``)."""

from __future__ import annotations

from typing import Any

from crowdqc.hooks import Hook

# The encoder (``embeddings.Encoder``) that a slug such as "endpoint:12" names.
endpoint_encoder: Hook[[str], Any] = Hook("endpoint_encoder")
