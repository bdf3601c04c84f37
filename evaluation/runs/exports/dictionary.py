"""What the columns of result tables hold: the data dictionary that goes out beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.writing.tables import Table
from crowdqc.web.terms import Words

TABLE = "columns"  # its name in addresses and archives
HEADER = ("table", "column", "about")
ABOUT: Mapping[str, Words] = {
    # Whose row it is.
    "item_id": gettext_lazy("Id of the item; the same in every file of the task."),
    "text": gettext_lazy("What the item shows or asks."),
    "file": gettext_lazy("File that the item shows."),
    "worker": gettext_lazy("Worker, by pseudonym."),
    "system": gettext_lazy("Model or other source."),
    "prompt_strategy": gettext_lazy("How the model was asked."),
    "replicate": gettext_lazy("Which answer of the model to the same item, from 0."),
    "candidate": gettext_lazy("Id of the text under judgment."),
    "first_candidate": gettext_lazy("Id of the pair’s first text."),
    "second_candidate": gettext_lazy("Id of the pair’s second text."),
    "topic": gettext_lazy("Topic that the text is about."),
    "style": gettext_lazy("Style of the text."),
    "origin": gettext_lazy("Who wrote the text: people or models."),
    "dimension": gettext_lazy("Question, scale or dimension; empty for all together."),
    "component": gettext_lazy(
        "Board on which scores can be compared: who shares items. 0: not scored."
    ),
    "method": gettext_lazy("Method that gives the row’s figures."),
    # Scores.
    "estimate": gettext_lazy("The score."),
    "low": gettext_lazy("Lower end of the 95% interval; empty where there is none."),
    "high": gettext_lazy("Upper end of the 95% interval; empty where there is none."),
    "se": gettext_lazy("Standard error of the score."),
    "n": gettext_lazy("Answers or votes that it rests on."),
    "no_interval": gettext_lazy("Why there is no interval."),
    "rank": gettext_lazy("Place by the score."),
    "rank_low": gettext_lazy("Best rank that is possible."),
    "rank_high": gettext_lazy("Worst rank that is possible."),
    "compare_low": gettext_lazy("Lower end of a line; lines of two that differ do not touch."),
    "compare_high": gettext_lazy("Upper end of that line."),
    "group": gettext_lazy("Neighbours with the same number cannot be separated."),
    "adjusted": gettext_lazy(
        "Score at equal questions: who answered harder ones does not lose by it."
    ),
    "raw": gettext_lazy("Mean closeness as it is, whatever the questions."),
    "uniterated": gettext_lazy("Score of the first round, with equal weights."),
    "weight": gettext_lazy("Weight of the worker’s answers."),
    "normalised": gettext_lazy("Score from 0 (the lowest worker) to 1 (the highest)."),
    # Labels.
    "label": gettext_lazy("The item’s label: decided by hand, else estimated."),
    "votes": gettext_lazy(
        "Labels that the item got; where labels are many, how many each, as JSON."
    ),
    "certainty": gettext_lazy("Probability that the label is right, if the model holds."),
    "known_answer": gettext_lazy("Known answer; empty where there is none."),
    "gold": gettext_lazy("Known answer; empty where there is none."),
    "decided_label": gettext_lazy("Label that a person decided for the item."),
    "decided_by": gettext_lazy("Who decided the label by hand."),
    "majority": gettext_lazy("Label that most workers gave; empty for a tie."),
    "dawid_skene": gettext_lazy("Label by Dawid-Skene."),
    "posterior": gettext_lazy("Probability of the Dawid-Skene label."),
    "mace": gettext_lazy("By MACE: the item’s label; of a worker, competence from 0 to 1."),
    "mace_low": gettext_lazy("Lower end of the interval of MACE’s competence."),
    "mace_high": gettext_lazy("Upper end of the interval of MACE’s competence."),
    "mace_posterior": gettext_lazy("Probability of MACE’s label."),
    "glad": gettext_lazy("By GLAD: the item’s label; of a worker, ability (0 is guessing)."),
    "glad_posterior": gettext_lazy("Probability of GLAD’s label."),
    "difficulty": gettext_lazy("Difficulty of the item by GLAD; larger is harder."),
    "entropy": gettext_lazy("How unsure the label is: 0 is certain, larger is less sure (nats)."),
    "differ": gettext_lazy("Whether two methods give different labels."),
    "probability": gettext_lazy("Probability of the row’s label, by its method."),
    "p_first": gettext_lazy("Probability that the first text is better."),
    "p_neutral": gettext_lazy("Probability that neither text is better."),
    "p_second": gettext_lazy("Probability that the second text is better."),
    "true": gettext_lazy("Estimated label of the item."),
    "given": gettext_lazy("Label that the worker gave."),
    "turn": gettext_lazy("Turn or call of the conversation."),
    "chance_wrong": gettext_lazy("Probability that the label is wrong."),
    # Workers.
    "chance": gettext_lazy("Competence that guessing would reach on these labels."),
    "standing": gettext_lazy("How the worker stands to guessing, all workers at once."),
    "reliable": gettext_lazy("Whether the competence surely reaches the run’s threshold."),
    "known_n": gettext_lazy("Known answers that the worker saw."),
    "known_right": gettext_lazy("Known answers that are right."),
    "known_low": gettext_lazy("Lower end of the interval of the share right."),
    "known_high": gettext_lazy("Upper end of the interval of the share right."),
    "mistake_from": gettext_lazy("Most frequent mistake: the estimated label."),
    "mistake_to": gettext_lazy("Most frequent mistake: the label given instead."),
    "mistake_share": gettext_lazy("Most frequent mistake: how often."),
    "same_label": gettext_lazy("Label that the worker gave always or nearly always; else empty."),
    "spam": gettext_lazy("Chance that a vote is a guess, by MACE."),
    "guess_left": gettext_lazy("Of guesses, the share for the left text."),
    "guess_neutral": gettext_lazy("Of guesses, the share for neither."),
    "guess_right": gettext_lazy("Of guesses, the share for the right text."),
    "with_others": gettext_lazy("Share of votes that go with the majority of the others."),
    "n_others": gettext_lazy("Votes of others that this was compared with."),
    "agreement": gettext_lazy("How near answers or ratings lie to those of the others."),
    "mean": gettext_lazy("Mean of the worker’s ratings."),
    "spread": gettext_lazy("How far answers or ratings lie apart."),
    "shared": gettext_lazy("Ratings of texts that others rated too."),
    # Texts and answers.
    "grade": gettext_lazy("Grade among the texts of the topic, from 1."),
    "grade_low": gettext_lazy("Lowest grade that is possible."),
    "grade_high": gettext_lazy("Highest grade that is possible."),
    "of": gettext_lazy("Texts of the topic that have grades."),
    "pairs": gettext_lazy("Pairs that the text was judged in."),
    "best": gettext_lazy("Whether it is the best answer to the question."),
    "best_trusted": gettext_lazy(
        "Whether it is the best answer where better workers count a little more."
    ),
    "best_worker": gettext_lazy("Worker with the best answer."),
    "effect": gettext_lazy("How much closer answers to this question lie than to others."),
    "item_rest_correlation": gettext_lazy("Correlation of the question with all others."),
    "declined": gettext_lazy("Answers that say “I don’t know”."),
    "corrected": gettext_lazy("Mean without raters who guess."),
    "kept": gettext_lazy("Ratings left after that correction."),
    # Responses with sources.
    "words": gettext_lazy("Words of the response."),
    "statements": gettext_lazy("Statements of the response."),
    "citations": gettext_lazy("Citations of the response."),
    "documents": gettext_lazy("Different passages that the response cites."),
    "unknown": gettext_lazy("Citations of no known passage."),
    "bleu": gettext_lazy(
        "Words taken over: the largest BLEU of a statement and a passage it cites, 0 to 100."
    ),
    "readability": gettext_lazy("Flesch reading ease of the response."),
    "source_readability": gettext_lazy("Flesch reading ease of the passages it cites."),
    "minutes": gettext_lazy("Minutes of work by the log."),
    "order": gettext_lazy("Whether citations follow the ranking of passages (rank correlation)."),
    "heavy": gettext_lazy("Share of statements that take over many words of a passage."),
}
# Where a scored table gave its workers ids of its own.
ABOUT_OWN_IDS: Mapping[str, Words] = {
    "worker": gettext_lazy("Worker, by the id in your table."),
    "pseudonym": gettext_lazy("Pseudonym of the worker."),
    "best_pseudonym": gettext_lazy("Pseudonym of the worker with the best answer."),
}
PARTS: Mapping[str, Words] = {
    "votes ": gettext_lazy("How many gave this label."),
    "states_": gettext_lazy("Whether this signal of the log fired."),
    "values_": gettext_lazy("What this signal of the log measured."),
}
OWN = gettext_lazy("Column of the file that the items were imported from.")


def describe_column(column: str, about: Mapping[str, Words] = ABOUT) -> str:
    """What a column of a run's tables holds; "" where that is not known."""
    known = about.get(column)
    if known is not None:
        return str(known)
    return next((str(said) for start, said in PARTS.items() if column.startswith(start)), "")


def dictionary(
    tables: Mapping[str, Iterable[str]],
    own: Iterable[str] = (),
    about: Mapping[str, Words] | None = None,
) -> Table:
    """Make the data dictionary of tables; ``own`` are columns that came with the items.

    ``about`` describes columns otherwise than ``ABOUT`` does.
    """
    kept, known = frozenset(own), {**ABOUT, **(about or {})}

    def rows() -> Iterator[tuple[str, str, str]]:
        for table, columns in tables.items():
            for one in columns:
                yield (
                    table,
                    one,
                    str(OWN) if one in kept else describe_column(one, known) or _("Not described."),
                )

    return Table(HEADER, rows())
