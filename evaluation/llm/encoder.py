"""An embedding model of an endpoint as an encoder: texts in, unit vectors out (AQER, App. B.2).

Texts go out in batches, each a call with its row, its attempts and its cost like any other; the
row names the texts by their hashes. Vectors are kept in ``Embedding`` by their text, so a batch is
asked for again only where a vector is missing there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdqc.errors import Conflict, Invalid
from evaluation.embeddings.embeddings import (
    ENDPOINT,
    Progress,
    Vectors,
    normal,
    text_hash,
    unit_rows,
)
from evaluation.llm import calls, completion, engine, ledger, wording
from evaluation.llm.completion import Completion, Outcome
from evaluation.llm.wording import ParsedAnswer, Size
from evaluation.models import (
    CallState,
    CallUse,
    Embedding,
    Endpoint,
    LanguageModel,
    LLMCall,
    Run,
)
from evaluation.models.llm import reachable
from evaluation.runs.progress import Recorder

A_CALL = 32  # texts of one request
IDENTITY = 120  # characters that the cache has for an encoder's name
NOBODY = "there is no such embedding model"


def model_of(slug: str) -> LanguageModel:
    """Return the embedding model that ``endpoint:<id>`` names; Invalid if it cannot be used."""
    number = slug.removeprefix(ENDPOINT)
    rows = LanguageModel.objects.select_related("endpoint").filter(
        use=LanguageModel.Use.EMBEDDING,
        archived_at__isnull=True,
        endpoint__archived_at__isnull=True,
    )
    found = rows.filter(pk=number).first() if number.isdecimal() and len(number) < 19 else None
    if found is None:
        raise Invalid(f"There is no encoder {slug!r}.", fields={"encoder": NOBODY})
    return found


class EndpointEncoder:
    """The embedding model of an endpoint; bound to a run, its calls are among the run's.

    A call that fails for good raises Conflict with the reason; vectors that came stay.
    """

    cacheable = True

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.run: Run | None = None
        self.steps: Recorder | None = None
        # As many texts as its threads can have in flight, twice over.
        self.batch = 2 * A_CALL * model.endpoint.parallel

    def bound(self, run: Run, steps: Recorder) -> EndpointEncoder:
        """Bind the encoder to a run of a project that may use it; Invalid for another."""
        here = Endpoint.objects.filter(reachable(run.project_id), pk=self.model.endpoint_id)
        if not here.exists():
            slug = f"{ENDPOINT}{self.model.pk}"
            raise Invalid(f"There is no encoder {slug!r}.", fields={"encoder": NOBODY})
        self.run, self.steps = run, steps
        return self

    @property
    def identity(self) -> str:
        """Name of the encoder: address and model, shortened by a hash if too long."""
        address, name = self.model.endpoint.base_url, self.model.name
        whole = f"{ENDPOINT}{address} {name}"
        if len(whole) <= IDENTITY:
            return whole
        digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
        return f"{whole[: IDENTITY - 17]}@{digest}"

    @property
    def dim(self) -> int:
        """Width of the vectors, known from a probe or a stored vector; else Conflict."""
        known = self._known()
        if known is None:
            raise Conflict(f"{self.model.name} was not probed yet, so its width is not known.")
        return known

    def _known(self) -> int | None:
        told = self.model.can.get("dim")
        if isinstance(told, int):
            return told
        stored = Embedding.objects.filter(encoder=self.identity).first()
        return len(bytes(stored.vector)) // 4 if stored is not None else None

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit vectors (n, dim) in the order of ``texts``."""
        forms = [normal(text) for text in texts]
        unique = sorted(set(forms), key=lambda form: (len(form), form))
        parts = [unique[start : start + A_CALL] for start in range(0, len(unique), A_CALL)]
        found = self._request_vectors(parts, progress)
        width = self._width(found)
        rows = np.array(found, dtype=np.float32).reshape(len(unique), width)
        at = {form: row for row, form in enumerate(unique)}
        return unit_rows(rows)[[at[form] for form in forms]]

    def _width(self, vectors: Sequence[Sequence[float]]) -> int:
        widths = sorted({len(vector) for vector in vectors})
        known = self._known()
        if known is not None and widths not in ([], [known]):
            raise Conflict(
                f"{self.model.name} now gives vectors of {widths[-1]} numbers where it gave "
                f"{known} before, so they cannot be compared. Probe it again, or add the new "
                "model under its own name."
            )
        if len(widths) > 1:
            raise Conflict(f"{self.model.name} gave vectors of different widths: {widths}.")
        return widths[0] if widths else known or 0

    def _request_vectors(
        self, parts: Sequence[Sequence[str]], progress: Progress | None
    ) -> list[Sequence[float]]:
        calls.may_start(self.model)
        ledger.sweep(self.model.endpoint_id)
        ids = self._rows(parts)
        source = Batches(self.model, dict(zip(ids, parts, strict=True)))
        total = sum(len(part) for part in parts)

        def tick(done: int) -> None:
            if self.steps is not None:  # a sign of life; the run's own count moves by batches
                self.steps.advance(self.steps.current["done"] if self.steps.current else 0)
            if progress is not None:
                progress(min(total, done * A_CALL), total)

        link = completion.link_of(self.model.endpoint)
        engine.Engine(self.model, link, source, tick).work(ids)
        for call_id in ids:
            if call_id not in source.vectors:
                row = LLMCall.objects.get(pk=call_id)
                raise Conflict(f"{self.model.name} gave no vectors: {row.reason or row.state}.")
        return [vector for call_id in ids for vector in source.vectors[call_id]]

    def _rows(self, parts: Sequence[Sequence[str]]) -> list[int]:
        """The calls of the batches, in the queue even where they were answered once.

        Rows of a run are its own, so that two runs never wait for vectors that only one has.
        """
        model, rows = self.model, {}
        project_id = self.run.project_id if self.run is not None else model.endpoint.project_id
        assert project_id is not None  # noqa: S101 (a shared model is asked by runs alone)
        for part in parts:
            hashes = [text_hash(text) for text in part]
            told = [model.endpoint.base_url, model.name, hashes, self.run and self.run.pk]
            key = hashlib.sha256(json.dumps(["embeddings", *told]).encode()).hexdigest()
            rows[key] = LLMCall(
                project_id=project_id,
                model=model,
                key=key,
                base_url=model.endpoint.base_url,
                model_name=model.name,
                prompt="embeddings@1",
                messages=[{"texts": len(part), "hashes": hashes}],
                schema="vectors@1",
            )
        found = calls.insert_or_get(project_id, rows)
        ids = [found[key] for key in rows]
        ended = (CallState.DONE, CallState.FAILED)
        LLMCall.objects.filter(pk__in=ids, state__in=ended).update(
            state=CallState.QUEUED, not_before=None, finished_at=None
        )
        if self.run is not None:
            run = self.run
            CallUse.objects.bulk_create(
                (CallUse(run=run, call_id=pk, subject=f"vectors:{pk}") for pk in ids),
                ignore_conflicts=True,
            )
        return ids


class Batches:
    """Batches of texts, as the engine works on them; keeps the vectors that came."""

    path = completion.EMBEDDINGS

    def __init__(self, model: LanguageModel, texts: dict[int, Sequence[str]]) -> None:
        self.model, self.texts = model, texts
        self.vectors: dict[int, Sequence[Sequence[float]]] = {}

    def size(self, call_id: int) -> Size:
        told = [{"content": text} for text in self.texts[call_id]]
        return wording.size_of(told, None, 0)

    def body(self, call_id: int) -> dict[str, Any]:
        # Some endpoints refuse an empty text; a blank has the same meaning to them all.
        return {"model": self.model.name, "input": [text or " " for text in self.texts[call_id]]}

    def read(self, call_id: int, found: Completion) -> ParsedAnswer:
        """Parse the vectors of a batch's texts, or return why the answer is unusable."""
        wanted, vectors = len(self.texts[call_id]), found.vectors
        widths = {len(vector) for vector in vectors}
        if len(vectors) != wanted or len(widths) != 1 or 0 in widths:
            why = f"{len(vectors)} vectors came for {wanted} texts."
            return ParsedAnswer(outcome=Outcome.WRONG_FORM, reason=why)
        if not np.isfinite(np.array(vectors)).all():
            return ParsedAnswer(
                outcome=Outcome.WRONG_FORM, reason="A vector holds no finite number."
            )
        self.vectors[call_id] = vectors
        return ParsedAnswer({"vectors": wanted, "dim": widths.pop()})

    def tries(self, call_id: int) -> int:
        return 3


def encoder_at(slug: str) -> EndpointEncoder:
    """The encoder that ``endpoint:<id>`` names; Invalid where there is none to be used."""
    return EndpointEncoder(model_of(slug))
