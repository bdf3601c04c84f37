"""Endpoints of think-aloud and checklist tasks: samples, attributes, checklists filled in."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.frame.bodies import RowsIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import Imported
from annotation.api.staff import ALL_OR_NONE, import_into


class TaskSamples(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add scored samples to the draft",
        description=(
            "Rows of `dimension`, `rubric`, `sample_id`, `title`, `source`, `text` and `score`. A "
            f"dimension that is new comes with its first sample. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "samples")


class TaskAttributes(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add attributes of people or language models",
        description=(
            "Rows of `dimension` and `attribute`, with `worker`, or `system` with "
            "`prompt_strategy` and `replicate`; `index` gives their order. Rows of one author on "
            "one dimension make one answer. `transcript` on one of them, `start` and `end` where "
            f"an attribute was marked in it. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "attributes")


class TaskChecks(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add checklists that people or language models filled in",
        description=(
            "Rows of `item_id` (or `text`, its id), `name` of a question and `answer` (yes or "
            "no), with `worker`, or `system` with `prompt_strategy` and `replicate`. An author "
            f"answers every question about a text. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "checks")
