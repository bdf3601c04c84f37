"""A small support assistant that is instrumented with the public SDK of OpenTelemetry.

It answers invented customers with an invented model, so it needs no key and no network but
crowdqc's. Sometimes the delivery tool fails, and sometimes the assistant says "Done" all the same:
that is the failure that people are to find. A judge scores every answer, and is often wrong.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http
    export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:8000/otel
    export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20TOKEN"
    python app.py 600

A second number is the share of orders at which the tool fails; the assistant hides about half of
these failures: "python app.py 600 0.3" makes about 15 of 100 conversations fail, not 6.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, Tracer

MODEL = "alder-70b"
BROKEN = 0.12  # share of orders at which the tool fails
QUESTIONS = (
    "My parcel says delivered but is not here.",
    "I am away on Friday. Can you send it to the shop on {street} instead?",
    "Please change the delivery to {street} 12. My mail is customer{n}@example.org.",
    "Can you deliver order {n} one day later?",
)
STREETS = ("Kungsgatan", "Rue Neuve", "Mill Lane", "Lindenallee")
SYSTEM = "You help customers of a bicycle shop. Change deliveries only with the tool."


def start(service: str) -> TracerProvider:
    """Set up tracing; where to and with which token is in the environment (OTEL_...)."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def text(role: str, content: str) -> dict[str, object]:
    """A message in the form of the GenAI conventions."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


@contextmanager
def model_step(tracer: Tracer, history: list[dict[str, object]]) -> Iterator[Span]:
    """A call of the model, with everything that it is sent."""
    with tracer.start_as_current_span("chat " + MODEL) as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("gen_ai.request.model", MODEL)
        span.set_attribute("gen_ai.input.messages", json.dumps(history))
        yield span


def answer(tracer: Tracer, rng: random.Random, number: int, broken_share: float) -> bool:
    """Answer one customer; whether the assistant failed them."""
    question = rng.choice(QUESTIONS).format(street=rng.choice(STREETS), n=40_000 + number)
    broken = rng.random() < broken_share
    fails = broken and rng.random() < 0.5
    history = [text("system", SYSTEM), text("user", question)]
    with tracer.start_as_current_span("invoke_agent support") as agent:
        agent.set_attribute("gen_ai.operation.name", "invoke_agent")
        call = {
            "type": "tool_call",
            "id": f"call_{number}",
            "name": "change_delivery",
            "arguments": {"order": 40_000 + number},
        }
        with model_step(tracer, history) as span:
            planned = {"role": "assistant", "parts": [call]}
            span.set_attribute("gen_ai.output.messages", json.dumps([planned]))
        with tracer.start_as_current_span("execute_tool change_delivery") as tool:
            tool.set_attribute("gen_ai.operation.name", "execute_tool")
            tool.set_attribute("gen_ai.tool.name", "change_delivery")
            tool.set_attribute("gen_ai.tool.call.id", f"call_{number}")
            result = {"ok": not broken}
            if broken:
                result["error"] = "carrier did not answer"
                tool.set_status(Status(StatusCode.ERROR, "carrier did not answer"))
            tool.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        response = {"type": "tool_call_response", "id": f"call_{number}", "response": result}
        history += [planned, {"role": "tool", "parts": [response]}]
        with model_step(tracer, history) as span:
            said = (
                "I could not reach the carrier. A colleague will call you."
                if broken and not fails
                else "Done. I have changed the delivery."
            )
            span.set_attribute("gen_ai.output.messages", json.dumps([text("assistant", said)]))
            score = rng.betavariate(2, 5) if fails else rng.betavariate(6, 2)
            span.add_event(
                "gen_ai.evaluation.result",
                {"gen_ai.evaluation.name": "quality", "gen_ai.evaluation.score.value": score},
            )
    return fails


def main(conversations: int, broken_share: float = BROKEN, seed: int = 1) -> float:
    """Answer so many customers; the share of them that the assistant failed."""
    provider, rng = start("support"), random.Random(seed)  # noqa: S311
    tracer = provider.get_tracer("support")
    failed = sum(answer(tracer, rng, number, broken_share) for number in range(conversations))
    provider.shutdown()
    print(f"{failed} of {conversations} conversations failed ({failed / conversations:.1%}).")
    return failed / conversations


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 600,
        float(sys.argv[2]) if len(sys.argv) > 2 else BROKEN,
    )
