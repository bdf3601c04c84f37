"""Scores of texts against references, beside METEOR and embeddings, each where asked for.

Words and tokens in common (BLEU, ROUGE-L, BERTScore), and what needs something in a folder: METEOR
with WordNet's synonyms, MoverScore, BARTScore, UniEval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.task_types.sentences import sentences
from crowdqc.errors import Invalid
from evaluation.embeddings import folders
from evaluation.embeddings.seq2seq import Progress, Seq2SeqModel, is_seq2seq
from evaluation.embeddings.token_vectors import has_tokens, tokens_of
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.params import TEXT, Param, flag
from evaluation.methods.text.corpus import words
from evaluation.methods.text.meteor import meteor
from evaluation.methods.text.mover import inverse_frequencies, mover_score, token_weights
from evaluation.methods.text.wordnet import WordNet, is_wordnet, read_wordnet
from evaluation.pairwise import overlap

OVERLAP, SYNONYMS = "overlap", "synonyms"
MOVER, BART, UNIEVAL = "mover", "bart", "unieval"
SCORERS = {"bleu": "BLEU", "rouge_l": "ROUGE-L", "bert_score": "BERTScore"}  # measure -> scorer
NAMES = {
    **SCORERS,
    SYNONYMS: "METEOR, with synonyms",
    MOVER: "MoverScore",
    BART: "BARTScore",
    UNIEVAL: "UniEval",
}
PARAM_OVERLAP = flag(
    OVERLAP,
    False,
    label=gettext_noop("BLEU, ROUGE-L and BERTScore"),
    help=gettext_noop("Words in common, and nearness of MiniLM's tokens."),
)
PARAM_SYNONYMS = Param(
    SYNONYMS,
    "",
    TEXT,
    label=gettext_noop("METEOR's synonyms by"),
    help=gettext_noop("The database of WordNet."),
)
PARAM_MOVER = flag(
    MOVER,
    False,
    label=gettext_noop("MoverScore"),
    help=gettext_noop("Earth mover's distance of the encoder's tokens; slow on long sources."),
)
PARAM_BART = Param(
    BART,
    "",
    TEXT,
    label=gettext_noop("BARTScore by"),
    help=gettext_noop("How likely the model writes the text after its reference."),
)
PARAM_UNIEVAL = Param(
    UNIEVAL,
    "",
    TEXT,
    label=gettext_noop("UniEval by"),
    help=gettext_noop("How likely the model answers yes to the question of the dimension."),
)
PARAMS = (PARAM_OVERLAP, PARAM_SYNONYMS, PARAM_MOVER, PARAM_BART, PARAM_UNIEVAL)
# The published questions of UniEval for summaries, and what each is about.
QUESTIONS = {
    "coherence": "Is this a coherent summary to the document? </s> summary: {text} "
    "</s> document: {reference}",
    "consistency": "Is this claim consistent with the document? </s> claim: {text} "
    "</s> document: {reference}",
    "fluency": "Is this a fluent paragraph? </s> paragraph: {text}",
    "relevance": "Is this summary relevant to the reference? </s> summary: {text} "
    "</s> reference: {reference}",
}
BY_SENTENCE = ("consistency", "fluency")  # a text's score is the mean of its sentences'
OF_SOURCE = ("coherence", "consistency")  # asked about the source, not about a reference


@dataclass(frozen=True)
class ComparedTexts:
    """Texts with the references of each, none of them empty."""

    texts: Sequence[str]
    references: Sequence[Sequence[str]]

    @property
    def pairs(self) -> list[tuple[int, str]]:
        """Pairs of each text's index with each of its references."""
        return [(k, one) for k, told in enumerate(self.references) for one in told]


def with_folders(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the models' folders as they are stored; raises Invalid where one lacks."""
    found = dict(settings)
    for name, kind in ((SYNONYMS, is_wordnet), (BART, is_seq2seq), (UNIEVAL, is_seq2seq)):
        if named := str(found.get(name) or "").strip():
            found[name] = folders.clean_folder(named, kind, name)
    if found.get(MOVER) and not has_tokens(found["encoder"]):
        said = _("MoverScore needs the tokens of a sentence model on this machine.")
        raise Invalid(said, fields={MOVER: said})
    return found


def model_choices() -> dict[str, list[tuple[str, str]]]:
    """What is installed in folders, for the form of a run; empty for none."""
    models = _offered(is_seq2seq)
    return {SYNONYMS: _offered(is_wordnet), BART: models, UNIEVAL: models}


def _offered(kind: folders.Kind) -> list[tuple[str, str]]:
    there = [(f"{folders.PATH}{at}", name) for name, at in folders.model_folders(kind).items()]
    return [("", _("None")), *there] if there else []


def refuse_unasked(params: Mapping[str, Any], dimension: str, *, of_source: bool) -> None:
    """Raise Invalid where UniEval has no question for the dimension, or not of these references."""
    if params.get(UNIEVAL) and (said := missing_question(dimension, of_source=of_source)):
        raise Invalid(said, fields={UNIEVAL: said})


def missing_question(dimension: str, *, of_source: bool) -> str:
    """Why UniEval has no question for the dimension and these references; "" where it has."""
    if dimension not in QUESTIONS:
        said = _("UniEval asks of summaries for these dimensions alone: %(known)s.")
        return said % {"known": ", ".join(QUESTIONS)}
    if dimension in OF_SOURCE and not of_source:
        said = _("UniEval asks for %(dimension)s of the source of each text; choose it above.")
        return said % {"dimension": dimension}
    return ""


def questions_on(dimension: str, text: str, reference: str) -> list[str]:
    """UniEval's questions on a text: one, or one a sentence, whose mean counts."""
    parts = (sentences(text) or [text]) if dimension in BY_SENTENCE else [text]
    filled = (QUESTIONS[dimension].format(text=part, reference=reference) for part in parts)
    return [f"question: {one}" for one in filled]


def model_scores(
    params: Mapping[str, Any],
    compared: ComparedTexts,
    dimension: str,
    *,
    progress: Progress | None = None,
) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Compute scores (n,) by measure, of several references the best; and their models."""
    scores: dict[str, FloatArray] = {}
    models: dict[str, str] = {}
    if params.get(OVERLAP):
        scores |= _overlap(compared)
    if params.get(SYNONYMS):
        folder = Path(str(params[SYNONYMS]).removeprefix(folders.PATH))
        synsets = read_wordnet(folder).synsets
        values = [
            meteor(words(compared.texts[k]), [words(one)], synsets) for k, one in compared.pairs
        ]
        scores[SYNONYMS] = _best(compared, values)
        models[SYNONYMS] = folder.name
    if params.get(MOVER):
        scores[MOVER] = _mover(compared, params["encoder"], progress)
    for name in (BART, UNIEVAL):
        if params.get(name):
            model = Seq2SeqModel(str(params[name]).removeprefix(folders.PATH), name)
            scores[name] = (
                _bart(model, compared, progress)
                if name == BART
                else _unieval(model, compared, dimension, progress)
            )
            models[name] = model.identity
    return scores, models


def _best(compared: ComparedTexts, values: Sequence[float] | FloatArray) -> FloatArray:
    """The best of each text's references; NaN where it has none."""
    out = np.full(len(compared.texts), np.nan)
    for (k, _one), value in zip(compared.pairs, values, strict=True):
        out[k] = np.fmax(out[k], value)
    return out


def _overlap(compared: ComparedTexts) -> dict[str, FloatArray]:
    strings = list(dict.fromkeys([*compared.texts, *(one for _k, one in compared.pairs)]))
    place = {string: at for at, string in enumerate(strings)}
    text = np.array([place[compared.texts[k]] for k, _one in compared.pairs])
    reference = np.array([place[one] for _k, one in compared.pairs])
    group = np.arange(len(strings))
    return {
        measure: _best(compared, overlap.scores(scorer, strings, group, text, reference))
        for measure, scorer in SCORERS.items()
    }


def _meteor(compared: ComparedTexts, known: WordNet) -> FloatArray:
    pairs = [(words(compared.texts[k]), words(one)) for k, one in compared.pairs]
    return _best(compared, [meteor(text, [one], known.synsets) for text, one in pairs])


def _mover(compared: ComparedTexts, encoder: str, progress: Progress | None) -> FloatArray:
    strings = list(dict.fromkeys([*compared.texts, *(one for _k, one in compared.pairs)]))
    found = dict(zip(strings, tokens_of(strings, encoder), strict=True))
    texts = list(dict.fromkeys(compared.texts))
    others = list(dict.fromkeys(one for _k, one in compared.pairs))
    # Each side has the frequencies of its own texts, as the published tool has it.
    sides = [
        {
            one: token_weights(found[one].tokens, frequencies)
            for frequencies in [inverse_frequencies([found[each].tokens for each in side])]
            for one in side
        }
        for side in (others, texts)
    ]
    pairs, values = compared.pairs, []
    for done, (k, other) in enumerate(pairs, 1):
        text = compared.texts[k]
        values.append(
            mover_score(
                np.asarray(found[other].vectors, dtype=np.float64),
                sides[0][other],
                np.asarray(found[text].vectors, dtype=np.float64),
                sides[1][text],
            )
        )
        if progress is not None:
            progress(done, len(pairs))
    return _best(compared, values)


def _bart(model: Seq2SeqModel, compared: ComparedTexts, progress: Progress | None) -> FloatArray:
    pairs = compared.pairs
    values = model.mean_log_probability(
        [other for _k, other in pairs],
        [compared.texts[k] for k, _other in pairs],
        progress=progress,
    )
    return _best(compared, values)


def _unieval(
    model: Seq2SeqModel, compared: ComparedTexts, dimension: str, progress: Progress | None
) -> FloatArray:
    asked, place = list[str](), list[int]()
    for at, (k, other) in enumerate(compared.pairs):
        own = questions_on(dimension, compared.texts[k], other)
        asked += own
        place += [at] * len(own)
    chance = model.chance_of_yes(asked, progress=progress)
    size = len(compared.pairs)
    mean = np.bincount(place, weights=chance, minlength=size) / np.bincount(place, minlength=size)
    return _best(compared, mean)
