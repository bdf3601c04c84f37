"""Where this side keeps sealed values, for ``reseal_secrets``."""

from __future__ import annotations

from crowdqc.sealing.sealed import register
from evaluation.llm.endpoints import keys

register("evaluation.Endpoint", "key_sealed", keys.PURPOSE)
