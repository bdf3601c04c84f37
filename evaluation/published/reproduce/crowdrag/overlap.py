"""CrowdRAG's Table 8: does similarity to the best response rank the others as people do?

BLEU and ROUGE-L are read as the published code reads them (sacrebleu's sentence BLEU with 13a
tokens and exponential smoothing, the best response scored against the other one; rouge-score's
ROUGE-L with stemming). BERTScore cannot be: it ran on the multilingual BERT that the library takes
for a language code it does not know; here the bundled sentence encoder's tokens are compared.

The printed rows are in the alphabetical order of the data's keys under labels of another order:
moved to where they belong, all 14 figures of BLEU agree to three decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evaluation.methods.text.corpus import token_ids
from evaluation.methods.text.metrics import rouge_l
from evaluation.pairwise.overlap import SCORES, correlations, pairs_of, scores, tokens_rouge
from evaluation.published.reproduce.crowdrag import published
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS, CrowdRag, texts
from evaluation.published.reproduce.crowdrag.rows import DIFFERS
from evaluation.published.reproduce.rows import Row

WHY = {
    "BERTScore": "published with another model (bert-base-multilingual-cased, by the library's "
    "default for an unknown language code)",
    "BLEU": "differs",
    "ROUGE-L": "published with NLTK's variant of Porter's stemmer, here the original; see the rows "
    "with that variant",
}
MISPLACED = "the printed rows stand under the wrong labels, see the corrected row"
# Row k of the printed table is about dimension BELONGS[k].
BELONGS = [DIMENSIONS.index(name) for name in sorted(DIMENSIONS)]


def overlap_rows(
    data: CrowdRag, folder: Path, *, say: Callable[[str], None], bert: bool = True
) -> list[Row]:
    """Compare Table 8 for each scorer; ``bert`` False leaves out the one that needs a model."""
    written = texts(folder, data.graded.responses)
    rows = similarity_rows(data, written, say=say, bert=bert)
    return [*rows, *nltk_rows(data, written, say=say)]


def similarity_rows(
    data: CrowdRag,
    written: list[str],
    *,
    say: Callable[[str], None],
    bert: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Table 8 from the cleaned texts of ``data.graded.responses``.

    ``progress`` is told how many of them have token vectors, which takes longest.
    """
    graded = data.graded
    first, second = pairs_of(graded.topic)
    rows: list[Row] = []
    for scorer in SCORES:
        if scorer == "BERTScore" and not bert:
            continue
        say(f"Table 8, {scorer}")
        score = scores(scorer, written, graded.topic, first, second, progress=progress)
        full, best_worst = correlations(graded.grade, graded.topic, first, second, score)
        for what, printed, values in zip(
            ("best against worst", "full ranking"),
            published.TABLE8[scorer],
            (best_worst, full),
            strict=True,
        ):
            rows += _printed_and_corrected(scorer, f"Spearman, {what}, {scorer}", printed, values)
    return rows


def nltk_rows(data: CrowdRag, written: list[str], *, say: Callable[[str], None]) -> Iterator[Row]:
    """ROUGE-L with NLTK's variant of Porter's stemmer, which the published run had.

    NLTK is no part of an installation: without it there are no rows.
    """
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        say("Table 8, ROUGE-L with NLTK's stemmer: left out, as NLTK is not installed")
        return
    say("Table 8, ROUGE-L with NLTK's stemmer")
    stemmer, topic = PorterStemmer(), data.graded.topic
    tokens = token_ids([tokens_rouge(text, stemmer.stem) for text in written])
    first, second = pairs_of(topic)
    score = rouge_l(tokens)(first, second)
    full, best_worst = correlations(data.graded.grade, topic, first, second, score)
    for what, printed, values in zip(
        ("best against worst", "full ranking"),
        published.TABLE8["ROUGE-L"],
        (best_worst, full),
        strict=True,
    ):
        own = dict(zip(BELONGS, printed, strict=True))
        for k, name in enumerate(published.SHORT):
            yield Row(
                "Table 8, corrected",
                f"Spearman, {what}, ROUGE-L, {name}",
                "ROUGE-L F1, NLTK's variant of Porter's stemmer",
                own[k],
                values[k],
                "" if round(values[k], 3) == own[k] else DIFFERS,
            )


def _printed_and_corrected(
    scorer: str, quantity: str, printed: Sequence[float], values: Sequence[float]
) -> Iterator[Row]:
    """Compare every dimension with the figure beside its name, and with the one that is its own."""
    own = dict(zip(BELONGS, printed, strict=True))
    for table, targets in (("Table 8", dict(enumerate(printed))), ("Table 8, corrected", own)):
        for k, name in enumerate(published.SHORT):
            said = "" if targets[k] == own[k] else MISPLACED
            if not said and round(values[k], 3) != targets[k]:
                said = WHY[scorer]
            yield Row(table, f"{quantity}, {name}", SCORES[scorer], targets[k], values[k], said)
