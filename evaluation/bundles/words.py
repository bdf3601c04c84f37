"""What a report says of each method: how it computes, where its intervals come from, its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy as _

from crowdqc.web.terms import Words
from evaluation.bundles import figures, verdicts
from evaluation.bundles.split_votes import agreement_lines, split_items
from evaluation.bundles.tables import Bundled, Row, Table, withhold_nothing
from evaluation.methods.workers.claims import competence_claim

Tables = Callable[[Bundled], Iterable[Table]]


def no_facts(found: Bundled) -> Iterable[tuple[str, str]]:
    """Return no fact, for reports without any above their tables."""
    return ()


@dataclass(frozen=True)
class MethodWords:
    """A method in a paper's words: what scores of systems and workers are, and its page.

    ``tables`` are those of its figures; ``verdict`` is the sentence on top, None for that of the
    result page; ``withhold`` says why a worker's score is not shown.
    """

    estimate: Words
    workers: Words
    how: Words
    intervals: Words
    limits: tuple[Words, ...]
    page: str
    tables: tuple[Tables, ...] = ()
    verdict: Callable[[Bundled], str] | None = None
    facts: Callable[[Bundled], Iterable[tuple[str, str]]] = no_facts  # above the tables
    title: Words = ""  # where it is no method of runs
    references: tuple[str, ...] = ()
    withhold: Callable[[Row], str] = withhold_nothing


ALPHA = (
    "K. Krippendorff, Content Analysis: An Introduction to Its Methodology, 4th ed., Sage, 2019, "
    "chapter 12."
)
FLEISS = (
    "J. L. Fleiss, “Measuring Nominal Scale Agreement Among Many Raters”, Psychological Bulletin "
    "76, 1971."
)
GWET = (
    "K. L. Gwet, “Computing Inter-Rater Reliability and Its Variance in the Presence of High "
    "Agreement”, British Journal of Mathematical and Statistical Psychology 61, 2008."
)
COHEN = (
    "J. Cohen, “A Coefficient of Agreement for Nominal Scales”, Educational and Psychological "
    "Measurement 20, 1960."
)
MACE = (
    "D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, “Learning Whom to Trust with MACE”, "
    "NAACL 2013."
)
RANKS = "M. Mogstad and others, “Inference for Ranks”, 2024."
JUDGMENTS = (
    _("Only differences of scores count; systems that were never compared are not ranked."),
    _("Agreement is not correctness: people can agree on a wrong choice."),
)


def withhold_competence(row: Row) -> str:
    """Say why the page shows no competence of a worker; "" where it does."""
    return competence_claim(row["estimate"], row["low"], row["high"]).reason


REPLACED = (
    _("The test counts agreement with the other people as quality."),
    _("It holds for items like these and for this version of the model."),
    _("“Not shown” is not “worse”: more items may decide it."),
)
ABOUT = {
    "aqer": MethodWords(
        _("AQER score"),
        _("AQER score"),
        _(
            "Answers are encoded as vectors. Each question gets an exemplary answer, the mean of "
            "all answers weighted by their workers’ scores; a score is the mean closeness of a "
            "worker’s answers to it. Both are repeated until the weights settle."
        ),
        _(
            "95% intervals are a bootstrap over questions. Ranks are ranges from simultaneous "
            "intervals of all differences."
        ),
        (
            _("The score rewards what most people say; it checks no fact."),
            _("Closeness depends on the encoder, which sees words more than facts."),
            _("Scores of two tasks, or of two boards, cannot be compared."),
        ),
        "methods/aqer.html",
        references=(
            "T. Geva and others, “Quality Control for Crowd Workers and for Language Models”, "
            "Information Systems Research, 2025, doi:10.1287/isre.2023.0426.",
            RANKS,
        ),
    ),
    "pairwise": MethodWords(
        _("Bradley-Terry score"),
        _("Competence (MACE)"),
        _(
            "Judgments of pairs become one scale by a Bradley-Terry model with ties. MACE "
            "estimates how often each judge guesses, and each pair’s label."
        ),
        _(
            "95% intervals of systems come from the sandwich covariance, ranks from simultaneous "
            "intervals of all differences. Agreement is drawn anew over topics."
        ),
        JUDGMENTS,
        "methods/bradley-terry.html",
        figures.PAIRS,
        references=(
            "R. A. Bradley and M. E. Terry, “Rank Analysis of Incomplete Block Designs”, "
            "Biometrika 39, 1952.",
            "R. R. Davidson, “On Extending the Bradley-Terry Model to Accommodate Ties”, "
            "JASA 65, 1970.",
            RANKS,
            MACE,
            ALPHA,
        ),
        withhold=withhold_competence,
    ),
    "ratings": MethodWords(
        _("Mean rating"),
        _("Correlation with others"),
        _(
            "Ratings are averaged by text, then by system. Agreement is Krippendorff’s alpha at "
            "the level of the scale; a worker’s score is the correlation with the other workers."
        ),
        _("95% intervals are over topics; none is given from fewer than their coverage allows."),
        (
            _("People use scales differently; a mean mixes quality with strictness."),
            _("Agreement is not correctness."),
        ),
        "methods/agreement.html",
        figures.PAIRS,
        references=(ALPHA,),
    ),
    "labels": MethodWords(
        _("Competence"),
        _("Competence"),
        _(
            "Dawid-Skene estimates each worker’s confusion matrix and each item’s label together. "
            "Majority vote, MACE and GLAD are computed on the same labels."
        ),
        _("95% intervals are quantiles of Gibbs draws; those of agreement a bootstrap over items."),
        (
            _("Estimated labels are no known answers: workers can share an error."),
            _("A posterior holds if the model holds."),
            _("Rare labels and workers with few labels are estimated worst."),
        ),
        "methods/dawid-skene.html",
        (*figures.LABELS, split_items),
        verdicts.better_than_guessing,
        agreement_lines,
        references=(
            "A. P. Dawid and A. M. Skene, “Maximum Likelihood Estimation of Observer Error-Rates "
            "Using the EM Algorithm”, Applied Statistics 28, 1979.",
            MACE,
            "J. Whitehill and others, “Whose Vote Should Count More: Optimal Integration of Labels "
            "from Labelers of Unknown Expertise”, NIPS 2009.",
            *(ALPHA, FLEISS, GWET, COHEN),
        ),
    ),
    "replacement": MethodWords(
        _("Advantage probability"),
        _("Advantage probability"),
        _(
            "The alternative annotator test leaves out one person at a time and asks who is nearer "
            "to the others: the person or the model. A model passes if it holds against half of "
            "the people, within the margin epsilon. Tests are corrected by Benjamini-Yekutieli."
        ),
        _(
            "95% intervals have topics as units, or else items. Combined estimates join people and "
            "model (PPI++)."
        ),
        REPLACED,
        "methods/alternative-annotator-test.html",
        figures.REPLACED,
        verdicts.as_good_as_people,
        references=(
            "N. Calderon, R. Reichart and R. Dror, “The Alternative Annotator Test for "
            "LLM-as-a-Judge”, ACL 2025, arXiv:2501.10970.",
            "Y. Benjamini and D. Yekutieli, “The Control of the False Discovery Rate in Multiple "
            "Testing under Dependency”, Annals of Statistics 29, 2001.",
            "A. N. Angelopoulos, J. C. Duchi and T. Zrnic, “PPI++: Efficient Prediction-Powered "
            "Inference”, 2023, arXiv:2311.01453.",
        ),
    ),
}
ABOUT["replacement_texts"] = ABOUT["replacement"]
ABOUT["aqer_joint"] = replace(
    ABOUT["aqer"],
    how=_(
        "Answers are encoded as vectors. Each question gets an exemplary answer, the mean of "
        "all answers of people and models weighted by their authors’ scores; a score is the mean "
        "closeness of an author’s answers to it. Both are repeated until the weights settle."
    ),
    limits=(*ABOUT["aqer"].limits, _("Models trained on the same data can share errors.")),
)
ABOUT["live"] = MethodWords(
    _("Win rate"),
    _("Win rate"),
    _(
        "A win rate is the share of comparisons won against the other systems, a tie being half "
        "a win. It was computed after each batch of judgments until the intervals were narrow "
        "enough or the limits were used."
    ),
    _(
        "95% intervals hold at every look (confidence sequences), clustered by judge and prompt; "
        "with more than two systems they hold together."
    ),
    (_("A ranking holds for texts, prompts and judges like these."),),
    "methods/live-evaluation.html",
    (figures.win_rates,),
    verdicts.nothing,
    title=_("Live evaluation"),
    references=(
        "I. Waudby-Smith and others, “Time-uniform central limit theory and asymptotic confidence "
        "sequences”, Annals of Statistics 52, 2024.",
    ),
)
ABOUT["rescaling"] = MethodWords(
    _("Rescaled rating"),
    _("Mean rescaled rating, from 0 to 100"),
    _(
        "A language model read each explanation and gave its rating a score from 0 to 100. Where "
        "it gave none, the annotator’s mean score for that label stands in. Agreement is Kendall’s "
        "tau-b of every pair of people on the items that both rated, before and after."
    ),
    _("Intervals of agreement are a jackknife over items; those of means are over items, too."),
    (
        _(
            "The score is how the model reads an explanation; another model or prompt reads it "
            "otherwise."
        ),
        _("Higher agreement is not more correct: people can agree on a wrong judgment."),
        _("Annotators are taken as given; other annotators may change more or less."),
    ),
    "methods/rescaling.html",
    figures.RESCALED,
    verdicts.people_agree_more,
    references=(
        "M. Wadhwa, J. Chen, J. J. Li and G. Durrett, “Using Natural Language Explanations to "
        "Rescale Human Judgments”, COLM 2024.",
    ),
)
ABOUT["checklist"] = MethodWords(
    _("Checklist score"),
    _("Checklist score"),
    _(
        "A text’s score is the share of the checklist’s questions that an answerer said yes to, "
        "from 1 to 5. Most people’s answers, each person’s and each model’s are held against human "
        "scores of the same texts, within each source and over all texts."
    ),
    _(
        "Intervals within sources treat these as the sample; those over all texts leave out one "
        "source at a time; agreement and differences are drawn anew over sources. Scores of single "
        "texts have none, as the questions are no sample of questions."
    ),
    (
        _("A text that the checklist likes need not be good: the list sees only what it asks."),
        _("Correlations hold for these texts and for people who score like these."),
        _("A question can separate texts by chance; adjusted p-values count how many were tried."),
    ),
    "methods/checklists.html",
    figures.CHECKS,
    verdicts.follows_human_scores,
    references=(
        "S. Chu, J. Kim and M. Yi, “Think Together and Work Better: Combining Humans’ and LLMs’ "
        "Think-Aloud Outcomes for Effective Text Evaluation”, 2024.",
        *(ALPHA, COHEN),
    ),
)
ABOUT["writing"] = MethodWords(
    _("Words"),
    _("Words"),
    _(
        "Responses and the passages that they cite are described: how long they are, which "
        "passages they cite and from which ranks, how many words they take over (sentence BLEU), "
        "and how easy they read. Signals are calculations on the log of a text’s making."
    ),
    _(
        "Intervals are a bootstrap over topics; those of signals treat the texts of one worker as "
        "alike, those of questionnaires are over workers."
    ),
    (
        _("These are descriptions: nobody’s response is called better than another’s."),
        _("Citations are counted; whether a passage supports a statement is not checked."),
        _("A signal is evidence to look at, never a verdict; honest work fires some, too."),
    ),
    "",
    figures.WRITTEN,
    verdicts.who_writes_longer,
    references=(
        "L. Gienapp and others, “The Viability of Crowdsourcing for RAG Evaluation”, 2025.",
    ),
)
ABOUT["trace_rates"] = MethodWords(
    _("Share that fails"),
    _("Share that fails"),
    _(
        "Traces were drawn with known probabilities and reviewed by people who saw neither the "
        "judge nor each other. The share that fails is post-stratified by the rules that a trace "
        "matches and by the judge’s verdict, which all traces have."
    ),
    _(
        "95% intervals are Wilson’s of each cell, combined by recovered variances; they are wider "
        "where reviewers differ. Those of weeks hold for all weeks at once (Bonferroni)."
    ),
    (
        _("Errors of reviewers are not corrected."),
        _("Kinds of traces that nobody reviewed are left out."),
        _("With fewer than 3 equally active reviewers the rate is as these judged."),
    ),
    "",
    figures.TRACED,
    verdicts.share_that_fails,
    references=(
        "A. Fisch and others, “Stratified Prediction-Powered Inference”, 2024, arXiv:2406.04291.",
        "G. Y. Zou and A. Donner, “Construction of Confidence Limits About Effect Measures”, "
        "Statistics in Medicine 27, 2008.",
        ALPHA,
    ),
)
ABOUT["turn_study"] = MethodWords(
    _("Share of turns that are wrong"),
    _("Competence (MACE)"),
    _(
        "People labelled turns or tool calls. The label of each is MACE’s, which weights workers "
        "by how often they do not guess; a conversation goes wrong at its first turn with another "
        "label than the good one."
    ),
    _(
        "95% intervals are over conversations, since turns of one conversation are alike: a "
        "bootstrap for agreement, clustered variance for shares, the jackknife for competence, "
        "and Kaplan-Meier’s estimate for the first wrong turn."
    ),
    (
        _("A label that most workers share may be wrong."),
        _("With fewer than 5 conversations no interval is shown."),
    ),
    "",
    figures.TURNED,
    verdicts.share_of_turns_wrong,
    references=(MACE, ALPHA),
)
