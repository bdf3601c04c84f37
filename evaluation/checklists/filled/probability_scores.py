"""Runs that score texts by a language model's probabilities: BARTScore and UniEval, asked for.

InteractEval (4.3.4) compares with both. They were published with encoder-decoder models, which
``model_scores`` runs from a folder; here a model behind an endpoint stands in, so the numbers are
not those of the papers.

BARTScore (Yuan, Neubig and Liu, NeurIPS 2021, eq. 2, equal weights): mean log-probability of the
text's tokens after its reference, by ``/completions`` with the prompt echoed. UniEval (Zhong et
al., EMNLP 2022, eq. 2): P(yes) / (P(yes) + P(no)) of a published question, by
``/chat/completions``. Of several references the best counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Item, Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import plural
from evaluation.checklists.filled.g_eval import DIMENSION, dimension_of
from evaluation.checklists.filled.model_scores import (
    BART,
    NAMES,
    UNIEVAL,
    missing_question,
    questions_on,
)
from evaluation.checklists.filled.references import (
    AGAINST as REFERENCES,
)
from evaluation.checklists.filled.references import PARAM_AGAINST, SOURCE, references_of
from evaluation.checklists.filled.text_scores import (
    AGAINST,
    PROBABILITIES,
    against_people,
    dimension_name,
)
from evaluation.checklists.filled.texts import shown_version, texts_of
from evaluation.llm import completion
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.calls import Chat, fetch_replies
from evaluation.llm.completion import Completion, Outcome, PromptToken
from evaluation.llm.prompting import Rendered
from evaluation.llm.schemas import TEXT, YES_NO
from evaluation.llm.wording import ParsedAnswer
from evaluation.llm_runs.parts import MODEL, chat_model, failures, reasons
from evaluation.methods.core.params import Params, choice
from evaluation.models import CandidateScore, Run
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome as RunOutcome
from evaluation.runs.run_types import OWN_ROWS, RunType

ASK, SCORES = gettext_noop("Asking the model"), gettext_noop("Scores")
MEASURE = choice(
    "measure",
    UNIEVAL,
    (UNIEVAL, BART),
    label=gettext_noop("Score"),
    words=(
        gettext_noop("UniEval: probability of yes to the question of the dimension"),
        gettext_noop("BARTScore: log-probability of the text after its reference"),
    ),
    help=gettext_noop(
        "UniEval needs an endpoint that tells probabilities, BARTScore one whose /completions "
        "repeats the prompt with them (echo), as that of vLLM."
    ),
)
OPTIONS = Params(PROBABILITIES, (MODEL, MEASURE, DIMENSION, PARAM_AGAINST))
# What stands between a reference and the text whose probability is asked for.
BETWEEN = {SOURCE: "\n\nSummary:\n"}
BETWEEN_TEXTS = "\n\nIn other words:\n"
YES_TOKENS = 20
Row = dict[str, Any]


def _on_task(task: Task) -> dict[str, dict[str, Any]]:
    return {"dimension": {"required": not shown_version(task).settings.get("dimension")}}


@dataclass(frozen=True)
class TextQuestion:
    """A question about a text and one of its references; a score may be the mean of several."""

    item: Item
    reference: int
    ask: ModelQuestion


def _questions(task: Task, params: Mapping[str, Any]) -> list[TextQuestion]:
    """What is asked of each text and reference; Conflict where no text has a reference."""
    items = [item for item in texts_of(task) if item.first is not None and item.first.text.strip()]
    dimension = dimension_name(dimension_of(task, params))
    found = []
    for item, told in zip(items, references_of(task, items, params["against"]), strict=True):
        text = item.first.text if item.first is not None else ""
        for number, one in enumerate(told):
            about = f"item:{item.pk}/{number}"
            if one.candidate is not None:
                about = f"item:{item.pk}/text:{one.candidate}"
            if params["measure"] == BART:
                before = one.text + BETWEEN.get(params["against"], BETWEEN_TEXTS)
                asks = [_likelihood(about, before, text)]
            else:
                asks = [_yes_or_no(about, told) for told in questions_on(dimension, text, one.text)]
            found += [TextQuestion(item, number, ask) for ask in asks]
    if not found:
        raise Conflict(
            _("No text can be compared with %(against)s: there is none. Choose other references.")
            % {"against": _(REFERENCES[params["against"]])}
        )
    return found


def _likelihood(about: str, before: str, text: str) -> ModelQuestion:
    told = ({"role": "user", "content": before}, {"role": "assistant", "content": text})
    how = {"max_tokens": 1, "temperature": 0.0}
    return ModelQuestion(about, Rendered("likelihood@1", told), TEXT, how, tries=1)


def _yes_or_no(about: str, question: str) -> ModelQuestion:
    # "</s>" parted the texts for the published model; it means nothing to others.
    told = question.replace(" </s> ", "\n\n")
    prompt = Rendered("unieval@1", ({"role": "user", "content": told},))
    how = {"temperature": 0.0, "max_tokens": YES_TOKENS}
    return ModelQuestion(about, prompt, YES_NO, how, by_chance=True)


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """What a run would ask; raises Invalid and Conflict that say what is missing."""
    model = chat_model(task, params["model"])
    dimension = dimension_of(task, params)
    if params["measure"] == UNIEVAL:
        of_source = params["against"] == SOURCE
        said = missing_question(dimension_name(dimension), of_source=of_source)
        if said:
            raise Invalid(said, fields={MEASURE.name: said})
        if not model.can.get("logprobs"):
            said = _("%(model)s tells no probabilities, which UniEval’s score is made of.")
            said %= {"model": model.name}
            raise Invalid(said, fields={MEASURE.name: said})
    asked = _questions(task, params)
    sentence = _("%(measure)s of %(texts)s on %(dimension)s by %(model)s, against %(against)s.") % {
        "measure": NAMES[params["measure"]],
        "texts": plural(len({one.item.pk for one in asked}), "text"),
        "dimension": dimension,
        "model": model.name,
        "against": _(REFERENCES[params["against"]]),
    }
    return Plan(model, [one.ask for one in asked], sentence)


ASKING = LLMRunSpec(
    PROBABILITIES,
    "1.0",
    gettext_noop("BARTScore and UniEval by a model’s probabilities"),
    plan,
    OPTIONS,
    on_task=_on_task,
)


# BARTScore ---------------------------------------------------------------------------------------


class Likelihood(Chat):
    """Texts after their references, as the engine works on them."""

    path = completion.COMPLETIONS

    def body(self, call_id: int) -> dict[str, Any]:
        before, text = (one["content"] for one in self._ask(call_id).prompt.messages)
        return {
            "model": self.model.name,
            "prompt": before + text,
            "max_tokens": 1,
            "temperature": 0.0,
            "echo": True,
            "logprobs": 1,
        }

    def read(self, call_id: int, found: Completion) -> ParsedAnswer:
        before, text = (one["content"] for one in self._ask(call_id).prompt.messages)
        chances = text_log_probabilities(found.echoed, before, text)
        if not chances:
            reason = "The endpoint does not repeat the prompt with its tokens' probabilities."
            return ParsedAnswer(outcome=Outcome.WRONG_FORM, reason=reason)
        return ParsedAnswer({"mean": sum(chances) / len(chances), "tokens": len(chances)})


def text_log_probabilities(echoed: Sequence[PromptToken], before: str, text: str) -> list[float]:
    """Log-probabilities of the tokens that begin within ``text``, which follows ``before``.

    [] where the tokens do not spell the prompt, or one of the text has no probability.
    """
    spelt = "".join(token.text for token in echoed)
    begins = spelt.find(before + text)  # a token that begins every prompt may stand before it
    if begins < 0:
        return []
    first, end = begins + len(before), begins + len(before) + len(text)
    found, at = list[float | None](), 0
    for token in echoed:
        if first <= at < end:
            found.append(token.logprob)
        at += len(token.text)
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


# The run -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComputedScores:
    """What a run found, before anything is written."""

    dimension: str
    scores: list[Row]
    told: Row


def compute(run: Run, steps: Recorder) -> ComputedScores:
    """Ask about every text and reference; a text scores by its best reference."""
    params, model = run.params, chat_model(run.task, run.params["model"])
    asked = _questions(run.task, params)
    steps.begin(ASK, total=len(asked))
    if params["measure"] == BART:
        # One alone first: an endpoint that cannot tell is not asked for all the others.
        first = fetch_replies(run, model, [asked[0].ask], steps, Likelihood)[0]
        if first.value is None:
            raise Conflict(_("No text could be scored: %(reason)s") % {"reason": first.reason})
    source = Likelihood if params["measure"] == BART else None
    replies = fetch_replies(run, model, [one.ask for one in asked], steps, source)
    steps.begin(SCORES)
    scores = _scores(asked, replies, params["measure"])
    texts = len({one.item.pk for one in asked})
    steps.set_words(count=f"{plural(len(scores), 'text')}, {texts - len(scores):,} without a score")
    return ComputedScores(
        dimension_of(run.task, params),
        scores,
        {
            "counts": {
                "texts": texts,
                "scored": len(scores),
                "missing": texts - len(scores),
                "calls": len(replies),
                "cached": sum(one.cached for one in replies),
            },
            "measure": f"{NAMES[params['measure']]}, against {REFERENCES[params['against']]}",
            "reasons": reasons(replies),
            "failed": failures(replies),
            "model": model.name,
        },
    )


def _scores(asked: Sequence[TextQuestion], replies: Sequence[Reply], measure: str) -> list[Row]:
    """A row a text: the best of its references, each the mean of its questions."""
    values: dict[int, dict[int, list[float]]] = {}
    candidates: dict[int, int | None] = {}
    for one, reply in zip(asked, replies, strict=True):
        candidates[one.item.pk] = one.item.first_id
        value = _value(reply, measure)
        values.setdefault(one.item.pk, {}).setdefault(one.reference, []).append(value)
    rows = []
    for item, by_reference in values.items():
        means = np.array([np.mean(given) for given in by_reference.values()])
        means = means[np.isfinite(means)]  # a reference with a question that failed has none
        if means.size:
            rows.append(
                {
                    "candidate_id": candidates[item],
                    "estimate": float(means.max()),
                    "n": int(means.size),
                    "extra": {"kind": "model", "measure": measure},
                }
            )
    return rows


def _value(reply: Reply, measure: str) -> float:
    if reply.value is None:
        return np.nan
    if measure == BART:
        return float(reply.value["mean"])
    return float(reply.chances["Yes"]) if reply.chances else np.nan


def write(run: Run, done: ComputedScores) -> RunOutcome:
    """The scores, and what they are worth beside human ones."""
    name = dimension_name(done.dimension)
    rows: dict[Any, list[Row]] = {
        CandidateScore: [{**row, "dimension": name} for row in done.scores]
    }
    given = {row["candidate_id"]: row["estimate"] for row in done.scores}
    told: Row = {
        "asked": done.told,
        AGAINST: against_people(run.project_id, {name: given}) if given else {},
        "recipe": {"method": PROBABILITIES, "version": run.version, "params": dict(run.params)},
    }
    return RunOutcome(rows, told)


RUNS = RunType(
    ASKING,
    ("checks",),
    gettext_noop("texts of a checklist task"),
    (ASK, SCORES),
    compute,
    write,
    page="checklist_results",
    export=OWN_ROWS,
    made_of=gettext_noop("Texts of the task and their references; no answers."),
)
