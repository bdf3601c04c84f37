"""Real clients against the running application: what they send arrives whole.

The SDK of OpenTelemetry is a requirement of the tests. The others run as processes of Python
environments of their own, which ``make studies`` makes once below ``build/``: they are large.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from annotation.models import Project, Trace, TraceScore, TraceSource
from annotation.traces.actions import exchange
from annotation.traces.actions.queue import create_queue
from annotation.traces.actions.settle import read_spans
from annotation.traces.actions.sources import create_source
from annotation.traces.tree import build_chat
from tests.annotation.traces.test_exchange import review_all
from tests.annotation.traces.test_settling import settle_all
from tests.support import factories
from tests.support.processes import ROOT
from tests.support.servers.receiver import Got, Reply, receiver

pytestmark = pytest.mark.django_db(transaction=True)
Run = Callable[..., str]
# Environments by name: a variable that names one that is there, and what is installed else.
CLIENTS = (
    "langfuse==5.0.*", "openinference-instrumentation-openai==0.1.66",
    "opentelemetry-instrumentation-genai-openai==1.3b0", "openai==3.54.*",
    "opentelemetry-exporter-otlp-proto-http",
)  # fmt: skip
PHOENIX = ("arize-phoenix==20.26.1",)


@pytest.fixture
def source(live_server: Any) -> tuple[TraceSource, str]:
    project: Project = factories.make_project()
    return create_source(
        by=project.owner, project=project, name="app",
        settings={"rules": [{"kind": "random", "share": 1.0}], "budget": 0},
    )  # fmt: skip


def environment(name: str, wanted: tuple[str, ...]) -> Path:
    """The Python of an environment, made below build/ unless CROWDQC_TRACES_<NAME> names one."""
    given = os.environ.get(f"CROWDQC_TRACES_{name.upper()}")
    place = Path(given) if given else ROOT / "build" / f"traces-{name}"
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def run_script(python: Path, script: str, **variables: str) -> str:
    """Run a script to its end in an environment; its output."""
    plain = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    done = subprocess.run(
        [python, "-c", textwrap.dedent(script)], env={**plain, **variables}, text=True,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def answer_chat(got: Got) -> Reply:
    """A model that calls a tool first, and answers once it has the result."""
    messages = json.loads(got.body)["messages"]
    call = {"id": "call_1", "type": "function",
            "function": {"name": "weather", "arguments": '{"city": "Lyon"}'}}  # fmt: skip
    message = (
        {"role": "assistant", "content": "It rains in Lyon."}
        if messages[-1]["role"] == "tool"
        else {"role": "assistant", "content": None, "tool_calls": [call]}
    )
    body = {
        "id": "x", "object": "chat.completion", "created": 1, "model": "alder-70b",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    }  # fmt: skip
    return Reply(200, json.dumps(body).encode(), {"content-type": "application/json"})


@pytest.fixture
def model() -> Iterator[str]:
    """The address of the model."""
    with receiver() as made:
        made.answer = answer_chat
        yield made.url.partition("/events")[0] + "/v1"


TALK = """
    import openai
    client = openai.OpenAI(base_url=MODEL, api_key="sk-none")
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    pixel += "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "Rain in Lyon? Write to ana@example.org"},
            {"type": "image_url", "image_url": {"url": pixel}}]},
    ]
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    with tracer.start_as_current_span("agent"):
        first = client.chat.completions.create(model="alder-70b", messages=messages, tools=tools)
        messages.append(first.choices[0].message.model_dump(exclude_none=True))
        messages.append({"role": "tool", "tool_call_id": "call_1", "content": "18 C, rain"})
        client.chat.completions.create(model="alder-70b", messages=messages, tools=tools)
"""
SETUP = """
    import os
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    tracer = trace.get_tracer("app")
    MODEL = os.environ["MODEL"]
"""


def check_talk() -> None:
    """The conversation of ``TALK``, whatever instrumented it."""
    settle_all()
    trace = Trace.objects.get()
    spans, _totals = read_spans(trace)
    chat = build_chat(spans)
    assert [turn.role for turn in chat.turns] == ["system", "user", "assistant", "assistant"]
    assert "Rain in Lyon? Write to [EMAIL]" in chat.turns[1].text
    assert [part.kind for part in chat.turns[1].parts] == ["text", "image"]
    [call] = chat.turns[2].calls
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Lyon"})
    assert call.result_text == "18 C, rain"
    assert chat.turns[3].text == "It rains in Lyon." and chat.turns[3].model == "alder-70b"
    assert {one.name for one in chat.spans} >= {"agent"} and trace.spans_kept == 3
    assert sorted(one.depth for one in chat.spans) == [0, 1, 1]


def test_the_sdk_of_opentelemetry_sends_what_it_traced(
    live_server: Any, source: tuple[TraceSource, str]
) -> None:
    for compression in (Compression.Gzip, Compression.NoCompression):
        provider = TracerProvider()
        exporter = OTLPSpanExporter(
            f"{live_server.url}/otel/v1/traces",
            headers={"authorization": f"Bearer {source[1]}"},
            compression=compression,
        )
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("app")
        with tracer.start_as_current_span("agent"):
            with tracer.start_as_current_span("chat", attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps([{"role": "user", "content": "Hi"}]),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Hello"}]),
            }):  # fmt: skip
                pass
            with tracer.start_as_current_span("many") as many:
                for number in range(200):  # the limit of the SDK leaves the oldest out
                    many.set_attribute(f"key.{number}", number)
                many.set_status(Status(StatusCode.ERROR, "too many"))
        provider.shutdown()
    settle_all()
    traces = Trace.objects.all()
    assert [(one.spans_kept, one.errors, one.dropped) for one in traces] == [(3, 1, 72)] * 2
    assert {one.title for one in traces} == {"Hi"}


@pytest.mark.long
def test_openinference_sends_conversations_with_tools_and_images(
    live_server: Any, source: tuple[TraceSource, str], model: str
) -> None:
    script = (
        SETUP
        + """
    from openinference.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    """
        + TALK
    )
    run_script(
        environment("clients", CLIENTS), script, MODEL=model,
        OTEL_EXPORTER_OTLP_ENDPOINT=f"{live_server.url}/otel",
        OTEL_EXPORTER_OTLP_HEADERS=f"Authorization=Bearer%20{source[1]}",
    )  # fmt: skip
    check_talk()


@pytest.mark.long
def test_the_genai_conventions_send_the_same(
    live_server: Any, source: tuple[TraceSource, str], model: str
) -> None:
    script = (
        SETUP
        + """
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    """
        + TALK
    )
    run_script(
        environment("clients", CLIENTS), script, MODEL=model,
        OTEL_EXPORTER_OTLP_ENDPOINT=f"{live_server.url}/otel",
        OTEL_EXPORTER_OTLP_HEADERS=f"Authorization=Bearer%20{source[1]}",
        OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental",
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY",
    )  # fmt: skip
    check_talk()


@pytest.mark.long
def test_the_client_of_langfuse_sends_spans_and_scores(
    live_server: Any, source: tuple[TraceSource, str]
) -> None:
    script = """
    import os
    from langfuse import Langfuse
    client = Langfuse(base_url=os.environ["HOST"], public_key="crowdqc",
                      secret_key=os.environ["TOKEN"])
    with client.start_as_current_observation(name="agent", as_type="agent") as agent:
        with client.start_as_current_observation(name="answer", as_type="generation",
                input=[{"role": "user", "content": "Hi"}], model="alder-70b") as made:
            made.update(output={"role": "assistant", "content": "Hello"})
        agent.score_trace(name="quality", value=0.3)
    client.flush()
    """
    run_script(environment("clients", CLIENTS), script, HOST=live_server.url, TOKEN=source[1])
    settle_all()
    trace = Trace.objects.get()
    assert (trace.title, trace.turns, trace.spans_kept) == ("Hi", 2, 2)
    assert trace.scores == {"quality": 0.3}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """The address of a running Phoenix."""
    python, port = environment("phoenix", PHOENIX), free_port()
    variables = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    log = (tmp_path / "phoenix.log").open("w")
    process = subprocess.Popen(
        [python, "-m", "phoenix.server.main", "serve"], env=variables, stdout=log, stderr=log
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                with urllib.request.urlopen(f"{url}/healthz", timeout=2):
                    break
            except OSError:
                assert process.poll() is None, (tmp_path / "phoenix.log").read_text()[-3000:]
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(20)
        log.close()


@pytest.mark.long
def test_a_phoenix_server_is_read_and_gets_reviews_back(phoenix: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{phoenix}/v1/traces")))
    tracer = provider.get_tracer("app")
    agent = tracer.start_span("agent", attributes={"openinference.span.kind": "AGENT"})
    answer = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Where is my parcel?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "On its way.",
    }
    tracer.start_span("answer", set_span_in_context(agent), attributes=answer).end()
    agent.end()
    provider.shutdown()
    project = factories.make_project()
    source, _token = create_source(
        by=project.owner, project=project, name="phoenix", kind="phoenix", api_url=phoenix,
        api_project="default", sends_scores=True,
        settings={"rules": [{"kind": "random", "share": 1.0}], "budget": 0},
    )  # fmt: skip
    create_queue(by=project.owner, source=source, reviews=2)
    for _ in range(40):  # it stores what it took a moment later
        TraceSource.objects.update(next_at=None, cursor={})
        exchange.read_due()
        if Trace.objects.exists() and Trace.objects.get().spans.count() == 2:
            break
        time.sleep(0.5)
    settle_all()
    trace = Trace.objects.get()
    assert (trace.title, trace.turns) == ("Where is my parcel?", 2)
    source.refresh_from_db()
    review_all(source)
    assert exchange.send_due() == TraceScore.objects.count() > 0
    TraceScore.objects.update(state="waiting")
    exchange.send_due()
    address = f"{phoenix}/v1/projects/default/trace_annotations?trace_ids={trace.trace_id}"
    with urllib.request.urlopen(address, timeout=10) as answer:
        rows = json.load(answer)["data"]
    outcomes = [row for row in rows if row["name"] == "crowdqc outcome"]
    assert len(outcomes) == 2 and {row["result"]["score"] for row in outcomes} == {0.0}
    assert len({row["identifier"] for row in outcomes}) == 2
