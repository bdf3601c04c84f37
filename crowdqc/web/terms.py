"""Terms of statistics and money as pages explain them: the one registry.

A page puts a "?" beside a term with ``{% help "alpha" %}``; the glossary of the manual has the same
lines (``docs/glossary.md``). A term is two lines: what it is, and what its values mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True)
class Term:
    """``what`` it is, ``usual`` values as (value, meaning), its ``page`` in docs/, its ``code``."""

    title: Words
    what: Words
    usual: tuple[tuple[Words, Words], ...]
    page: str
    code: str = ""


AGREEMENT = "methods/agreement.md"
LABELS = "methods/dawid-skene.md"
MACE = "methods/mace.md"
PAIRS = "methods/bradley-terry.md"
AQER = "methods/aqer.md"
REPLACEMENT = "methods/alternative-annotator-test.md"
COMBINED = "methods/prediction-powered.md"
RESCALING = "methods/rescaling.md"
CHECKLISTS = "methods/checklists.md"
LIVE = "methods/live-evaluation.md"
METHODS = "methods/index.md"
REQUESTER = "guides/requester.md"
MANAGER = "guides/manager.md"

STATISTICS = {
    "interval": Term(
        _("95% confidence interval"),
        _("The range that would hold the true value in 95 of 100 repetitions of the study."),
        (
            (_("narrow"), _("many answers, or answers that agree")),
            (_("wide"), _("few answers, or answers that differ")),
            (_("none"), _("too few units for an honest one")),
        ),
        METHODS,
        "`low`, `high`, `methods/core/units.py`",
    ),
    "comparison": Term(
        _("Interval for comparison"),
        _("Two rows whose intervals do not touch differ, 95% certain for all pairs at once."),
        ((_("download"), _("holds the 95% CI of each score, too")),),
        METHODS,
        "`compare_low`, `compare_high`, `methods/core/comparison.py`",
    ),
    "rank": Term(
        _("Rank"),
        _("The places that the data allow, not one place. Rows whose ranges meet may be tied."),
        ((_("1"), _("certainly first")), (_("1–3"), _("first, second or third"))),
        METHODS,
        "`RankedRow.group`",
    ),
    "competence": Term(
        _("Competence"),
        _("How often a worker knows the answer instead of guessing (MACE)."),
        (
            (_(".80 and more"), _("reliable")),
            (_("near 0"), _("cannot be told from guessing")),
        ),
        MACE,
        "`methods/competence/mace`",
    ),
    "label-competence": Term(
        _("Competence in labels"),
        _("How often a worker gives the right label (Dawid-Skene), averaged over the classes."),
        (
            (_("1"), _("always right")),
            (_("1 / classes that were chosen"), _("cannot be told from guessing")),
        ),
        LABELS,
        "`methods/labels`",
    ),
    "posterior": Term(
        _("Posterior"),
        _("How probable the label is, given all votes, if the model is right."),
        (
            (_(".99 and more"), _("safe to use")),
            (_("under .90"), _("look at the item, or collect more votes")),
        ),
        LABELS,
        "`ItemLabel.posterior`",
    ),
    "entropy": Term(
        _("Entropy"),
        _("How undecided the votes leave an item."),
        ((_("0"), _("decided")), (_("high"), _("several labels are still possible"))),
        MACE,
        "`ItemLabel.entropy`",
    ),
    "majority": Term(
        _("Majority vote"),
        _("The label that most workers chose. Every worker counts the same."),
        ((_("a tie"), _("no label, or the tie rule of the method")),),
        LABELS,
        "`methods/competence`",
    ),
    "dawid-skene": Term(
        _("Dawid-Skene"),
        _("Estimates which mistakes each worker makes, and each item’s label, together."),
        ((_("differs from majority"), _("read these items first")),),
        LABELS,
        "`methods/competence`",
    ),
    "mace": Term(
        _("MACE"),
        _("Estimates how often each worker guesses, and each item’s label, together."),
        ((_("best with"), _("3 or more votes an item")),),
        MACE,
        "`methods/competence/mace`",
    ),
    "estimated-label": Term(
        _("Estimated label"),
        _("The answer that a method finds for an item from all votes. It is no known answer."),
        ((_("use it"), _("together with its posterior")),),
        LABELS,
        "`ItemLabel`",
    ),
    "prevalence": Term(
        _("Prevalence"),
        _("The share of all items that truly have a label."),
        ((_("under 10%"), _("rare: majority vote and alpha can mislead")),),
        LABELS,
    ),
    "calibration": Term(
        _("Calibration"),
        _("Whether labels with a posterior of .90 are right 9 times in 10."),
        (
            (_("on the line"), _("posteriors can be trusted")),
            (_("below it"), _("the model is too sure")),
        ),
        LABELS,
    ),
    "alpha": Term(
        _("Krippendorff’s alpha (α)"),
        _("How much workers agree beyond chance. 1 is full agreement, 0 is chance."),
        (
            (_(".80 and more"), _("good")),
            (_(".67 to .80"), _("usable, with care")),
            (_("under .67"), _("weak")),
        ),
        AGREEMENT,
        "`methods/agreement`",
    ),
    "kappa": Term(
        _("Kappa (κ)"),
        _("Agreement beyond chance of two workers (Cohen) or a fixed number of them (Fleiss)."),
        (
            (_(".80 and more"), _("good")),
            (_(".60 to .80"), _("usable, with care")),
            (_("under .60"), _("weak")),
        ),
        AGREEMENT,
        "`methods/agreement/pairs.py`",
    ),
    "ac1": Term(
        _("Gwet’s AC1"),
        _("Agreement beyond chance like kappa, but less swayed where one label is frequent."),
        ((_("above alpha"), _("one label is frequent: report both")),),
        AGREEMENT,
        "`methods/agreement/coefficients.py`",
    ),
    "corrected": Term(
        _("Corrected agreement"),
        _("Agreement without workers whom MACE takes for guessing, chosen from the same votes."),
        (
            (_("near the null"), _("the gain is an artefact")),
            (_("read"), _("the cross-fit figure instead")),
        ),
        AGREEMENT,
        "`methods/rescaling/competence.py`",
    ),
    "shuffled-null": Term(
        _("Shuffled null"),
        _("What the same correction gives on votes that were shuffled, so that nobody knows."),
        ((_("0"), _("the correction invents nothing")), (_("high"), _("it invents agreement"))),
        AGREEMENT,
    ),
    "cross-fit": Term(
        _("Cross-fit"),
        _("Workers are chosen on some items, and agreement is taken on other items."),
        ((_("use"), _("this figure where figures differ")),),
        AGREEMENT,
    ),
    "tau": Term(
        _("Kendall’s tau (τ)"),
        _("How far two orders agree: 1 is the same order, −1 the reverse, 0 unrelated."),
        ((_(".70 and more"), _("strong")), (_("under .30"), _("weak"))),
        CHECKLISTS,
        "`kendall`",
    ),
    "rho": Term(
        _("Spearman’s rho (ρ)"),
        _("The correlation of two rankings: 1 is the same order, −1 the reverse, 0 unrelated."),
        ((_(".70 and more"), _("strong")), (_("under .30"), _("weak"))),
        CHECKLISTS,
        "`methods/agreement/rank_correlation.py`",
    ),
    "pearson": Term(
        _("Pearson’s r"),
        _("How far two sets of numbers lie on one line, from −1 to 1."),
        ((_(".70 and more"), _("strong")), (_("under .30"), _("weak"))),
        METHODS,
    ),
    "p-value": Term(
        _("p, corrected"),
        _("How rare such a result is without a difference, corrected for the number of tests."),
        ((_("under .05"), _("shown")), (_("otherwise"), _("not shown, which is not “equal”"))),
        REPLACEMENT,
    ),
    "merit": Term(
        _("Bradley-Terry score"),
        _("A system’s strength on one scale, from who won against whom. Only differences count."),
        (
            (_("0"), _("an average system")),
            (_("1 higher"), _("wins 73% of its comparisons")),
        ),
        PAIRS,
        "`merit` (log-merits)",
    ),
    "controlled": Term(
        _("Controlled score"),
        _("The score at equal words, lists, headings and bold text of the two answers."),
        ((_("far below raw"), _("length or style won, not substance")),),
        PAIRS,
        "`controlled`, `methods/bradley_terry/covariates.py`",
    ),
    "win-rate": Term(
        _("Win rate"),
        _("How often a system wins; beside a score, against an average system."),
        ((_("50%"), _("average")), (_("interval above 50%"), _("better than average"))),
        PAIRS,
        "`evaluation/pairwise`",
    ),
    "fragile-top": Term(
        _("What would change who leads"),
        _("The fewest votes, or the one person or pair, without whom another system is first."),
        ((_("over 10 votes"), _("robust")), (_("a few votes"), _("do not rely on first place"))),
        PAIRS,
        "`top`, `change`, `methods/bradley_terry/fragility.py`",
    ),
    "order-effect": Term(
        _("Order effect"),
        _("That the text on one side wins more often, whatever it says."),
        ((_("holds 0"), _("no effect is shown")),),
        PAIRS,
        "`evaluation/pairwise`",
    ),
    "aqer": Term(
        _("AQER score"),
        _("How close answers are to an exemplary answer made of all answers. No key is used."),
        ((_("compare"), _("within one task only, with intervals")),),
        AQER,
        "`methods/aqer`",
    ),
    "first-round": Term(
        _("First-round score"),
        _("AQER’s score before it weighs workers by their scores."),
        ((_("differs much"), _("the weights decide: read both")),),
        AQER,
        "`uniterated`",
    ),
    "adjusted": Term(
        _("Adjusted score"),
        _("A score from which the difficulty of the questions is taken off."),
        ((_("prefer it"), _("where workers answered different questions")),),
        AQER,
        "`adjusted`",
    ),
    "item-rest": Term(
        _("Item-rest correlation"),
        _("Whether workers with a high score on a question have a high mean score on the others."),
        (
            (_(".30 and more"), _("the question tells workers apart as the others do")),
            (_("near 0"), _("it says little about workers")),
            (_("below 0"), _("it may be unclear or misleading: read it")),
        ),
        AQER,
        "`item_rest_correlation`, `methods/aqer/items.py`",
    ),
    "spread": Term(
        _("Spread"),
        _("How far values lie apart (standard deviation)."),
        ((_("small"), _("workers or texts can hardly be told apart")),),
        METHODS,
    ),
    "leave-one-out": Term(
        _("Leave-one-out"),
        _("A worker’s own answer is left out of the exemplary answer that it is held against."),
        ((_("on"), _("nobody is compared with themselves")),),
        AQER,
    ),
    "camps": Term(
        _("Camps"),
        _("Groups of workers who agree among themselves and not with the others."),
        ((_("two camps"), _("the question may be ambiguous: read it")),),
        AQER,
        "`methods/aqer/diagnostics.py`",
    ),
    "winning-rate": Term(
        _("Winning rate"),
        _("The share of people to whom the model is shown to be as good, less a margin ε."),
        (
            (_("50% and more"), _("needed to pass")),
            (_("under 50%"), _("it does not pass, or the items are too few to tell")),
        ),
        REPLACEMENT,
        "`methods/replacement/annotator.py`",
    ),
    "epsilon": Term(
        _("Epsilon (ε)"),
        _("How much worse a model may be than a person, because it costs less."),
        ((_(".10"), _("crowd workers")), (_(".20"), _("experts")), (_("0"), _("no allowance"))),
        REPLACEMENT,
    ),
    "advantage": Term(
        _("Advantage probability"),
        _("How often the model is at least as close to the other people as the person left out."),
        (
            (_("not the verdict"), _("the winning rate decides")),
            (_("compare with"), _("how often the person left out is as close")),
        ),
        REPLACEMENT,
        "`methods/replacement/annotator.py`",
    ),
    "sensitivity": Term(
        _("Sensitivity and specificity"),
        _("How often the model finds a label that is there, and leaves out one that is not."),
        ((_("both .90 and more"), _("good")), (_("their sum near 1"), _("no better than chance"))),
        COMBINED,
    ),
    "combined": Term(
        _("Combined estimate"),
        _("Few labels of people and a model’s on all items, without the model’s bias (PPI++)."),
        ((_("narrower"), _("the model saves labels")), (_("as wide"), _("it helps little"))),
        COMBINED,
        "`methods/replacement/combined.py`",
    ),
    "power-tuning": Term(
        _("Power tuning"),
        _("How far the combined estimate leans on the model. It is chosen from the data."),
        ((_("1"), _("fully")), (_("0"), _("not at all: people’s labels alone"))),
        COMBINED,
    ),
    "drift": Term(
        _("Drift"),
        _("A change of agreement over time: somebody, or a model, labels differently than before."),
        ((_("holds 0"), _("no change is shown")),),
        REPLACEMENT,
        "`methods/labels/drift.py`",
    ),
    "confidence-sequence": Term(
        _("Interval at every look"),
        _("An interval that holds however often you look, so that collecting may stop early."),
        ((_("wider"), _("than an ordinary interval, for that right")),),
        LIVE,
        "`methods/adaptive/anytime.py`",
    ),
    "lambda": Term(
        _("Lambda (λ)"),
        _("How much the annotator’s usual score for a label counts beside the model’s score."),
        ((_("0"), _("the explanation alone")), (_("1"), _("the label alone"))),
        RESCALING,
    ),
    "known-answer": Term(
        _("Known answers"),
        _("Items whose answer you know. They check workers and never count in results."),
        ((_("10 and more"), _("needed for a useful share of right answers")),),
        f"{REQUESTER}#known-answers",
        "`Item.expected`, `annotation/task_types/known.py`",
    ),
    "redundancy": Term(
        _("Redundancy"),
        _("How many answers each item gets, from different workers."),
        ((_("3"), _("least for agreement and competence")), (_("5"), _("usual"))),
        METHODS,
        "`TaskVersion.redundancy`, `Item.redundancy`",
    ),
    "flags": Term(
        _("Flags"),
        _("Signs in time, pasting or absence that are worth a look. They decide nothing."),
        ((_("none"), _("the usual case")), (_("some"), _("read the answer before you decide"))),
        f"{REQUESTER}#flags",
    ),
    "relative-time": Term(
        _("Time against the median"),
        _("The middle of a worker’s times, each divided by the median time of its task."),
        (
            (_("0.5×"), _("half the usual time")),
            (_("none"), _("under 5 assignments in each of their tasks")),
        ),
        f"{REQUESTER}#flags",
    ),
    "look-alikes": Term(
        _("Look-alikes"),
        _("Workers alike in answers, browser, network or payment reference; how common each is."),
        (
            (_("network"), _("weak: a home, an office or a mobile operator")),
            (_("browser"), _("one computer: one person, or two who share it")),
            (_("same texts"), _("copied, or written once and sent twice")),
        ),
        f"{REQUESTER}#flags",
    ),
    "median-quality": Term(
        _("Quality beside the median"),
        _("Official runs in which a worker is surely above or below the median of all workers."),
        (
            (_("not separable"), _("the usual case; nothing is shown against anybody")),
            (_("below"), _("read answers before you decide")),
        ),
        f"{REQUESTER}#flags",
    ),
}
MONEY = {
    "base-pay": Term(
        _("Base pay"),
        _("The agreed pay of an assignment, without any bonus."),
        ((_("promised"), _("before the work begins, by the task’s version")),),
        f"{MANAGER}#approve-a-proposal",
        "`PayoutRule`, `PayoutLine.base`",
    ),
    "bonus": Term(
        _("Bonus"),
        _("What a rule adds to base pay by the score of the official run."),
        ((_("0"), _("no rule, or below its first step")),),
        f"{MANAGER}#approve-a-proposal",
        "`PayoutLine.bonus`",
    ),
    "held": Term(
        _("Held"),
        _("Assignments that a proposal sets aside for a look before they are paid."),
        ((_("held"), _("neither paid nor rejected yet")),),
        f"{MANAGER}#approve-a-proposal",
        "`PayoutLine.decision`",
    ),
    "owed": Term(
        _("Owed"),
        _("Approved amounts that are not confirmed as paid."),
        ((_("0"), _("everybody is paid")),),
        f"{MANAGER}#the-ledger",
        "`LedgerEntry`",
    ),
    "ledger": Term(
        _("Ledger"),
        _("Every amount moves from one account to another. Entries are added, never changed."),
        ((_("debit = credit"), _("the books balance")),),
        f"{MANAGER}#the-ledger",
        "`LedgerEntry`",
    ),
    "hourly": Term(
        _("Pay per hour"),
        _("Pay over the real median time of those who finished, as measured."),
        ((_("compare"), _("with the project’s minimum pay")),),
        f"{MANAGER}#approve-a-proposal",
    ),
}
TERMS: dict[str, Term] = {**STATISTICS, **MONEY}
