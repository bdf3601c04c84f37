"""Results of evaluations: samples of Inspect, promptfoo and lm-eval, and steps of PRM800K."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.chats.model import TextPart, text_part
from annotation.chats.readers.base import (
    Builder,
    ChatRecord,
    Score,
    as_seconds,
    as_text,
    dict_of,
    list_of,
    meta_of,
    parse_json,
    score_text,
    text_of,
)
from annotation.chats.readers.content import ATTACHMENT
from annotation.chats.readers.messages import add_message, add_messages, is_messages, usage_of

DEEPEST = 40


def scores_of(raw: Any, *, by: str = "") -> tuple[Score, ...]:
    """Read scores by their names: values, or objects with a value and an explanation."""
    found = []
    for name, value in dict_of(raw).items():
        inner = value if isinstance(value, dict) else {"value": value}
        given = inner.get("value", inner.get("score", inner.get("label")))
        if given is None and not isinstance(value, dict):
            continue
        explanation = text_of(inner, "explanation", "reason", "comment", "rationale")
        found.append(Score(str(name)[:200], score_text(given), explanation[:10_000], by))
    return tuple(found)


# Inspect -----------------------------------------------------------------------------------------


def inspect_samples(log: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the samples of a log, each with the model and the task of the log."""
    about = inspect_about(log)
    for sample in log["samples"]:
        yield {**about, **sample} if isinstance(sample, dict) else sample


def inspect_about(log: Mapping[str, Any]) -> dict[str, str]:
    """Return the task and the model of a log, by the names that ``read_inspect`` reads."""
    spec = dict_of(log.get("eval"))
    return {"eval_task": text_of(spec, "task"), "eval_model": text_of(spec, "model")}


def read_inspect(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read one sample of Inspect's log; its attachments stand where they are named."""
    attachments = dict_of(raw.get("attachments"))
    builder = Builder()
    messages = list_of(raw.get("messages"))
    output = dict_of(raw.get("output"))
    if not messages:
        given = raw.get("input")
        messages = given if isinstance(given, list) else [{"role": "user", "content": given}]
        choices = output.get("choices")
        messages = messages + [
            one.get("message") for one in choices or [] if isinstance(one, dict)
        ]  # as the log stopped before they were written
    add_messages(builder, [_resolve(one, attachments) for one in messages])
    usage = usage_of(dict_of(output.get("usage")))
    builder.set_last(
        **usage, seconds=as_seconds(output.get("time")), model=text_of(output, "model")
    )
    target = raw.get("target")
    key = text_of(raw, "id")
    epoch = text_of(raw, "epoch")
    meta = meta_of(dict_of(raw.get("metadata")), ())
    meta |= {
        name: value
        for name, value in (
            ("task", text_of(raw, "eval_task")),
            ("epoch", epoch),
            ("error", text_of(dict_of(raw.get("error")), "message")),
        )
        if value
    }
    return ChatRecord(
        "inspect",
        seen,
        builder.chat(raw.get("tools")),
        f"{key}-{epoch}" if epoch not in ("", "1") else key,
        text_of(raw, "eval_model") or text_of(output, "model"),
        scores=scores_of(raw.get("scores") or {}),
        target=as_text(target) if target else "",
        meta=meta,
    )


def _resolve(value: Any, attachments: Mapping[str, Any], depth: int = 0) -> Any:
    """Put attachments where they are named; unknown ones stay as they are named."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    if depth > DEEPEST:
        return value
    if isinstance(value, list):
        return [_resolve(one, attachments, depth + 1) for one in value]
    if isinstance(value, dict):
        return {name: _resolve(one, attachments, depth + 1) for name, one in value.items()}
    return value


# promptfoo ---------------------------------------------------------------------------------------


def promptfoo_rows(raw: Mapping[str, Any]) -> list[Any]:
    """Return the rows of an exported evaluation; none where it holds none."""
    results = raw.get("results")
    inner = results.get("results") if isinstance(results, dict) else None
    return inner if isinstance(inner, list) else []


def read_promptfoo(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read one row of promptfoo: the prompt as it was sent, the output, and how it was graded."""
    builder = Builder()
    prompt, response = dict_of(raw.get("prompt")), dict_of(raw.get("response"))
    add_value(builder, prompt.get("raw", prompt.get("label")), "user")
    output = response.get("output")
    error = text_of(response, "error") or text_of(raw, "error")
    if output is not None:
        add_value(builder, output, "assistant")
    elif not error:
        builder.notes["no_output"] += 1
    usage = dict_of(response.get("tokenUsage"))
    latency = as_seconds(raw.get("latencyMs"))
    builder.set_last(
        **usage_of({"input": usage.get("prompt"), "output": usage.get("completion")}),
        seconds=None if latency is None else latency / 1000,
    )
    system = _provider(raw.get("provider"))
    meta = meta_of(dict_of(raw.get("vars")), ())
    if error:
        meta["error"] = error[:2_000]
    meta |= {
        name: text
        for name, text in (("prompt_label", text_of(prompt, "label")),)
        if text and len(text) < 200
    }
    key = text_of(raw, "id") or "-".join(
        filter(None, (text_of(raw, "testIdx"), text_of(raw, "promptIdx")))
    )
    return ChatRecord(
        "promptfoo", seen, builder.chat(), key, system, scores=_promptfoo_scores(raw), meta=meta
    )


def _provider(given: Any) -> str:
    return text_of(given, "label", "id") if isinstance(given, dict) else as_text(given)


def _promptfoo_scores(raw: Mapping[str, Any]) -> tuple[Score, ...]:
    grading = dict_of(raw.get("gradingResult"))
    reason = text_of(grading, "reason")
    found = [
        Score(name, score_text(raw[name]), reason if name == "success" else "")
        for name in ("success", "score")
        if raw.get(name) is not None
    ]
    found += scores_of(raw.get("namedScores") or {})
    for number, one in enumerate(list_of(grading.get("componentResults")), 1):
        if isinstance(one, dict):
            asked = dict_of(one.get("assertion"))
            kind = text_of(asked, "metric", "type") or f"check {number}"
            given, why = score_text(one.get("pass")), text_of(one, "reason")
            found.append(Score(kind, given, why, _provider(asked.get("provider"))))
    return tuple(found)


def add_value(builder: Builder, value: Any, role: str) -> None:
    """Add what was put in or came out: messages, one message, or a text or JSON of this role."""
    parsed = parse_json(value)
    if is_messages(parsed):
        add_messages(builder, parsed)
    elif isinstance(parsed, dict) and isinstance(parsed.get("role"), str):
        add_message(builder, parsed)
        builder.end()
    elif isinstance(parsed, dict) and is_messages(parsed.get("messages")):
        add_messages(builder, parsed["messages"])
    elif (
        isinstance(parsed, list)
        and parsed
        and all(isinstance(one, dict) and "function" in one for one in parsed)
    ):
        add_messages(builder, [{"role": "assistant", "content": None, "tool_calls": parsed}])
    else:
        add_messages(builder, [{"role": role, "content": as_text(value)}])


# lm-eval -----------------------------------------------------------------------------------------


def read_lm_eval(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a sample of lm-eval: prompt, responses, target and metrics.

    Of a multiple choice the answer is the continuation that was most likely.
    """
    builder = Builder()
    requests = [_arguments(one) for one in _rows_of(raw.get("arguments"))]
    responses = list_of(raw.get("resps"))
    likelihoods = [_likelihood(one) for one in responses]
    meta = meta_of(raw, _LM_EVAL)
    if requests:
        add_value(builder, requests[0][0], "user")
    if requests and likelihoods and all(value is not None for value in likelihoods):
        best = max(range(len(likelihoods)), key=lambda at: likelihoods[at] or 0.0)
        chosen = requests[best][1] if best < len(requests) else ""
        add_messages(builder, [{"role": "assistant", "content": as_text(chosen)}])
        rows = [[as_text(one[1]), value] for one, value in zip(requests, likelihoods, strict=False)]
        meta["log_likelihoods"] = as_text(rows)[:2_000]
    else:
        for answers in responses:
            for number, answer in enumerate(answers if isinstance(answers, list) else [answers], 1):
                name = f"response {number}" if number > 1 else ""
                add_messages(
                    builder, [{"role": "assistant", "name": name, "content": as_text(answer)}]
                )
    for name in ("filtered_resps", "doc", "filter"):
        if raw.get(name) not in (None, "", [], {}):
            meta[name] = as_text(raw[name])[:2_000]
    metrics = [name for name in list_of(raw.get("metrics")) if isinstance(name, str)]
    scores = tuple(
        Score(name, score_text(raw[name])) for name in metrics if raw.get(name) is not None
    )
    return ChatRecord(
        "lm_eval",
        seen,
        builder.chat(),
        text_of(raw, "doc_id"),
        scores=scores,
        target=as_text(raw.get("target")),
        meta={name: value for name, value in meta.items() if name not in metrics},
    )


_LM_EVAL = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}


def _rows_of(value: Any) -> list[Any]:
    parsed = parse_json(value)
    if isinstance(parsed, dict):  # {"gen_args_0": {"arg_0": ...}}
        return list(parsed.values())
    return parsed if isinstance(parsed, list) else []


def _arguments(one: Any) -> list[Any]:
    rows = list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else [one]
    return [*rows, "", ""]


def _likelihood(response: Any) -> float | None:
    """The log-likelihood of a response such as ["-3.2", "False"]; None of a text."""
    row = response
    while isinstance(row, list) and len(row) == 1:
        row = row[0]
    if not isinstance(row, list) or len(row) != 2 or str(row[1]) not in ("True", "False"):
        return None
    try:
        return float(row[0])
    except (TypeError, ValueError):
        return None


# PRM800K -----------------------------------------------------------------------------------------


def read_prm800k(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a solution whose steps people rated: a step is a turn, its rating a score.

    Completions that were not chosen are kept as scores with their texts.
    """
    question, label = dict_of(raw.get("question")), dict_of(raw.get("label"))
    labeler = text_of(raw, "labeler")
    builder = Builder()
    add_messages(builder, [{"role": "user", "content": text_of(question, "problem")}])
    scores: list[Score] = []
    for number, step in enumerate(map(dict_of, list_of(label.get("steps"))), 1):
        rows = [one for one in list_of(step.get("completions")) if isinstance(one, dict)]
        human, chosen = step.get("human_completion"), step.get("chosen_completion")
        turn = len(builder.turns) + 1
        if isinstance(chosen, int) and 0 <= chosen < len(rows):
            shown: Any = rows[chosen]
        elif human:
            shown = human if isinstance(human, dict) else {"text": human}
        else:
            shown = rows[0] if rows else {}
            builder.notes["steps_not_chosen"] += 1
        builder.begin("assistant", f"step {number}")
        builder.add(_step_text(shown))
        builder.end()
        if shown.get("rating") is not None:
            scores.append(Score("rating", score_text(shown["rating"]), "", labeler, turn))
        if shown.get("flagged"):
            scores.append(Score("flagged", "true", "", labeler, turn))
        scores += [
            Score(
                "rating of another completion",
                score_text(one.get("rating")),
                as_text(one.get("text"))[:10_000],
                labeler,
                turn,
            )
            for one in rows
            if one is not shown
        ]
    if finish := text_of(label, "finish_reason"):
        scores.append(Score("finish_reason", finish, "", labeler))
    meta = meta_of(raw, {"question", "label", "labeler"})
    meta |= meta_of(question, {"problem", "pre_generated_steps", "ground_truth_answer"})
    return ChatRecord(
        "prm800k",
        seen,
        builder.chat(),
        text_of(raw, "id"),
        scores=tuple(scores),
        target=text_of(question, "ground_truth_answer"),
        meta=meta,
    )


def _step_text(step: Mapping[str, Any]) -> TextPart:
    return text_part(as_text(step.get("text")))
