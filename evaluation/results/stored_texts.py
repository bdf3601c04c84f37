"""Texts that runs store in English, and their translation where people read them.

Methods are pure and write English: reasons for missing intervals, warnings, names of rows. Bundles,
files, the API and reports keep it. A page translates: ``translate_stored`` finds the template that
a text fits and writes it in the active language, values included; English returns at once. A text
is translated whole or not at all. A test demands that what the methods write fits a template.

Placeholders: ``count`` is a counted noun ("5 workers"), ``reason`` and ``text`` are stored texts,
``words`` one of ``NAMES``, ``name``, ``names``, ``listed`` and ``sizes`` anything; all others are
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from django import template
from django.utils.translation import (
    get_language,
    gettext,
    gettext_noop,
    ngettext,
    pgettext,
    pgettext_lazy,
)

from crowdqc.numbers import count, stored_number

Texts = tuple[str, ...]


def ngettext_noop(one: str, many: str) -> tuple[str, str]:
    """Mark a counted noun for the catalogues."""
    return one, many


# Why there is no interval, and no value.
REASONS: Texts = (
    gettext_noop("%(count)s; an interval needs %(least)s"),
    gettext_noop(
        "%(count)s, but a few did most of the work: as much as %(even)s equally active ones; an "
        "interval needs %(least)s"
    ),
    gettext_noop("%(count)s with another label than the commonest; an interval needs %(least)s"),
    gettext_noop("%(count)s; a board needs %(least)s"),
    gettext_noop("%(count)s on both boards; an order needs %(least)s"),
    gettext_noop("%(n)s on both boards; an order needs %(least)s"),
    gettext_noop("%(count)s; topics need %(least)s"),
    gettext_noop("%(count)s; a scorer is fitted from %(least)s on"),
    gettext_noop("%(count)s shared; it takes %(least)s"),
    gettext_noop("%(count)s have no pair to compare"),
    gettext_noop("1 attribute has no pair"),
    gettext_noop("%(n)s workers have %(least)s answers or more; it needs %(needed)s"),
    gettext_noop("some systems have no vote against each other yet"),
    gettext_noop("the votes left do not vary, or none share an item"),
    gettext_noop("no item was answered by two workers"),
    gettext_noop("more than %(most)s different sets of options"),
    gettext_noop("no resamples were asked for"),
    gettext_noop("no ranks were asked for"),
    gettext_noop("nobody marked anything"),
    gettext_noop("every item gives this value, so no interval"),
    gettext_noop("one side is the same throughout"),
    gettext_noop("one side is the same for every worker"),
    gettext_noop("one side is the same for nearly every worker"),
    gettext_noop("both gave one label throughout"),
    gettext_noop("one of them gave one label throughout"),
    gettext_noop("one of the two has one label throughout, or none shared"),
    gettext_noop("no rows"),
    gettext_noop("one row"),
    gettext_noop("the first side is constant"),
    gettext_noop("the second side is constant"),
    gettext_noop("too many answers to compare with each other"),
    gettext_noop("too many workers to compare with each other"),
    gettext_noop("it needs %(n)s workers and %(questions)s questions"),
    gettext_noop("the score is not a cosine"),
    gettext_noop("fewer than two workers answered the same questions"),
    gettext_noop("without the models, some authors share no question with others"),
    gettext_noop("no draw has a correlation of both"),
    gettext_noop("the encoder has no token vectors"),
    gettext_noop("a question has more than %(most)s answers"),
    gettext_noop("its weights did not settle"),
    gettext_noop("the weighted mean is this worker's own answers"),
    gettext_noop("never compared with another player"),
    gettext_noop("nobody answered it"),
    gettext_noop("no question has an answer of both"),
    gettext_noop("both give one answer throughout; kappa is not defined"),
    gettext_noop("most resamples hold one answer only, so no interval"),
    gettext_noop("every unit says the same, so no interval"),
    gettext_noop("the topics did not settle"),
    gettext_noop("every attribute is as like the others, so no interval"),
    gettext_noop("fewer than 3 articles, so no interval"),
    gettext_noop("rests on one article"),
    gettext_noop("fewer than %(few)s texts in common"),
    gettext_noop("one of the scores is the same in all texts"),
    gettext_noop("none: the checklist's questions are not a sample of questions"),
    gettext_noop("none: no draws"),
    gettext_noop("shares no item with another worker"),
    gettext_noop("no votes"),
    gettext_noop("no answers"),
    gettext_noop("nobody else answered the same questions"),
    gettext_noop(
        "tasks are joined by one author each, which does not show how much a standing changes from "
        "task to task"
    ),
    gettext_noop("its authors share too few questions to be compared with each other"),
    gettext_noop(
        "%(n)s answers more than authors and questions need; the spread of a single answer is "
        "known from %(least)s on"
    ),
    gettext_noop("its scores do not vary, so differences have no unit"),
    gettext_noop("fewer than two kinds have %(count)s"),
    gettext_noop("all workers score alike"),
    gettext_noop("every resample gives this value, so no interval"),
    gettext_noop("almost every resample holds one value only; there is no interval"),
    gettext_noop("there is nothing to count"),
    gettext_noop("one of the two parts has no votes"),
    gettext_noop("nobody's votes differ in position"),
    gettext_noop("no worker can be told from guessing"),
    gettext_noop("no pair has two votes, or all of them are the same"),
    gettext_noop("no two votes left are on one pair"),
    gettext_noop("no topic has both, with all else equal"),
    gettext_noop("one of the boards has no decided vote"),
    gettext_noop("one of the boards has all systems equal"),
    gettext_noop("too many draws of topics leave a system without a vote"),
    gettext_noop("one of the boards has all authors equal"),
    gettext_noop("too many resamples leave an author without an answer"),
    gettext_noop("sides were not recorded"),
    gettext_noop("the order was not recorded"),
    gettext_noop("no pair was judged both ways round"),
    gettext_noop("no votes share a pair"),
    gettext_noop("the votes of a part do not vary"),
    gettext_noop("nobody was ever neutral"),
    gettext_noop("no control for length and style"),
    gettext_noop("too few shared pairs"),
    gettext_noop("too few shared items"),
    gettext_noop("the interval covers nearly the whole scale"),
    gettext_noop("the run compares no workers with their median"),
    gettext_noop("no text could be judged"),
    gettext_noop("nothing to measure"),
    gettext_noop("no resamples"),
    gettext_noop("nobody differs"),
    gettext_noop("too few answers"),
    gettext_noop("not scored"),
    gettext_noop("compares a text with itself"),
    gettext_noop("crosses topics"),
    gettext_noop("all ratings are the same"),
    gettext_noop("all ratings are in one class; kappa is not defined"),
    gettext_noop("every rating is the same, so no interval"),
    gettext_noop("there is no rating"),
    gettext_noop("too many ratings of one text for pairs of workers"),
    gettext_noop("no two annotators rated the same item; there is nothing to compare"),
    gettext_noop(
        "%(n)s pairs: fewer items than min_items, no tau, or none without one of the items"
    ),
    gettext_noop("no item has two votes; there is nothing to agree about"),
    gettext_noop("all votes that share an item are the same; alpha is not defined"),
    gettext_noop("all votes that share an item are the same; kappa is not defined"),
    gettext_noop("all votes that share an item are the same; agreement is not defined"),
    gettext_noop("there is one label only; AC1 is not defined"),
    gettext_noop("there is no dimension"),
    gettext_noop("no vote is on a scored item"),
    gettext_noop("no item has votes of two workers"),
    gettext_noop("no item has votes of two workers; there is nothing to compare"),
    gettext_noop("no question has answers of two workers; there is nothing to compare"),
    gettext_noop("no two workers share %(least)s items"),
    gettext_noop("every two workers gave one and the same label throughout"),
    gettext_noop("there are no rows to correlate"),
    gettext_noop("there are %(n)s rows; a resampled correlation needs 5 or more"),
    gettext_noop("there is one pair; it has no spread"),
    gettext_noop("there is no pair of columns to compare"),
    gettext_noop("Fisher's z needs 4 rows or more"),
    gettext_noop("no question has two answers, so none can entail another"),
    gettext_noop("there are no answers to score"),
    gettext_noop("no language model has answered yet"),
    gettext_noop("one worker alone answered; there is nobody to compare with"),
    gettext_noop("one worker alone voted; there is nobody to compare with"),
    gettext_noop("no system has answered; there is nothing to hold against grades"),
    gettext_noop("no answer of a system has a grade yet"),
    gettext_noop(
        "without regularisation there is no finite merit: %(names)s only won, or only lost, "
        "against the others of the same component"
    ),
    gettext_noop(
        "too few comparisons connect these %(n)s players: %(rounds)s rounds did not solve their "
        "equations. Set regularisation above 0, or collect comparisons between players who are far "
        "apart"
    ),
    gettext_noop(
        "there are %(n)s judges; intervals clustered by judge need %(least)s or more. Use cluster "
        "'none', which takes these judges as they are"
    ),
    gettext_noop(
        "votes are on %(n)s pairs; intervals clustered by pair need %(least)s or more. Use cluster "
        "'none', which takes these pairs as they are"
    ),
    gettext_noop("all %(n)s comparisons are ties: there is nothing to rank"),
    gettext_noop("a side term was asked for, but no comparison says who was on the left"),
    gettext_noop("who was on the left always depended on who it was: sides need changing"),
    gettext_noop(
        "a merit, the side or the ties have no finite best value on these comparisons, since they "
        "all point one way: set regularisation to %(least)s or more"
    ),
    gettext_noop(
        "a merit, the side or the ties have no finite best value on these comparisons, since they "
        "all point one way: leave the side term out, count ties as half wins, or collect more "
        "votes"
    ),
    gettext_noop("%(n)s players are too many to fit %(times)s times; take interval 'sandwich'"),
    gettext_noop("%(name)s nearly always depended on who was compared, or on the others"),
    gettext_noop("there are no attributes"),
    gettext_noop("there are no attributes to spread over topics"),
    gettext_noop("there are no attributes or no words"),
    gettext_noop("no text has a reference to compare it with"),
    gettext_noop("no question of the checklist has an answer"),
    gettext_noop("there is only the label %(name)s; there must be two"),
    gettext_noop("there is no score, or one that is not a number"),
    gettext_noop("there are no votes"),
    gettext_noop("without these workers nobody judged anything"),
    gettext_noop("no response has %(n)s words"),
    gettext_noop("%(name)s or truth is the same in all rows; they have no correlation"),
    gettext_noop("%(name)s is empty"),
    gettext_noop("%(name)s is empty: there are no answers to score"),
    gettext_noop("all pairs are equal"),
    gettext_noop("a question has %(n)s answers; at most %(most)s are compared"),
    gettext_noop("there are %(n)s %(words)s to draw from, fewer than asked"),
    gettext_noop("left out of results: %(name)s"),
)
# Why a model's answers cannot be tested, combined or compared.
REPLACEMENT: Texts = (
    gettext_noop(
        "it needs %(least)s items that people and the model answered, and there are %(n)s"
    ),
    gettext_noop("the model gave all of its answers within one day"),
    gettext_noop("the model agrees equally with people on every item"),
    gettext_noop("its items are of too few topics"),
    gettext_noop("it needs %(least)s items that both answered, and there are %(n)s"),
    gettext_noop("it needs %(least)s items that both judged, and there are %(n)s"),
    gettext_noop(
        "it needs %(least)s items that both judged, %(each)s of each kind, and there are %(here)s "
        "and %(there)s"
    ),
    gettext_noop("it needs %(least)s items that it answered more than once, and has %(n)s"),
    gettext_noop("it needs %(least)s items that people labelled, and there are %(n)s"),
    gettext_noop("it needs %(least)s items drawn for people, and there are %(n)s"),
    gettext_noop("no text that it judged is its own"),
    gettext_noop("its items have no sides that could be preferred"),
    gettext_noop("its items have no texts of a known length"),
    gettext_noop("a panel needs two models that answered about as many items"),
    gettext_noop("items were drawn for people, and a panel takes items as they came"),
    gettext_noop("people labelled every item that all models labelled"),
    gettext_noop("people labelled every item that the model labelled"),
    gettext_noop(
        "people have not answered %(n)s of the %(many)s items yet that were drawn for them"
    ),
    gettext_noop(
        "people are even between this label and another on %(even)s of %(n)s items, so what most "
        "people say is not known"
    ),
    gettext_noop("people gave every item that was drawn for them the same value"),
    gettext_noop("people gave every item that they labelled the same value"),
    gettext_noop(
        "people gave the rarer of two values to %(n)s of the items drawn for them, and %(least)s "
        "are needed"
    ),
    gettext_noop("people gave the rarer of two values %(n)s times, and %(least)s are needed"),
    gettext_noop(
        "people gave other values than the usual one %(n)s times, and %(least)s are needed"
    ),
    gettext_noop("the judge gives every item the same value"),
    gettext_noop("the judge gives the same value to every item that people labelled"),
    gettext_noop("the judge is never off where people labelled too, so its errors are not known"),
    gettext_noop("the judge is not surely better than a coin, so nothing can be corrected"),
    gettext_noop(
        "the labelled items are not like the others: the judge's mean is %(own)s on them and "
        "%(others)s on the others"
    ),
    gettext_noop(
        "the labelled items are easier than the others: models disagree by %(own)s on them and by "
        "%(others)s on the others"
    ),
    gettext_noop(
        "the labelled items are harder than the others: models disagree by %(own)s on them and by "
        "%(others)s on the others"
    ),
    gettext_noop(
        "a few values are far from the others (skewness %(skewness)s), so %(least)s labelled items "
        "are needed, and there are %(n)s"
    ),
    gettext_noop(
        "people labelled %(n)s items of a kind of which there are %(all)s, and %(least)s are needed"
    ),
    gettext_noop("people labelled %(n)s items in the class, and %(least)s are needed"),
    gettext_noop("people labelled %(n)s items outside the class, and %(least)s are needed"),
    gettext_noop("the items are of %(reason)s"),
    gettext_noop("the items that people labelled are of %(reason)s"),
    gettext_noop("the items that people labelled in the class are of %(reason)s"),
    gettext_noop("the items that people labelled outside the class are of %(reason)s"),
    gettext_noop("the labels of people do not connect everything that is compared"),
    gettext_noop("somebody wins or loses every comparison, so no merit is finite"),
    gettext_noop("people labelled only items that were chosen as hard for a model"),
    gettext_noop("there are no answers of people and of a model to the same items"),
    gettext_noop("nobody has %(n)s items that another person and the model labelled"),
    gettext_noop("nobody has %(n)s items that another person and the model answered"),
    gettext_noop(
        "The test needs %(people)s people with %(least)s items each that another person and the "
        "model labelled as well; %(enough)s of %(all)s have them, and the most that one of the "
        "others has is %(most)s."
    ),
    gettext_noop("Items of one topic are alike: %(reason)s."),
)
# What a run says of its data and its fit.
WARNINGS: Texts = (
    gettext_noop("%(name)s: %(text)s"),
    gettext_noop("%(n)s of %(all)s pairs have fewer than %(few)s votes."),
    gettext_noop("no estimated labels, since %(reason)s"),
    gettext_noop("no board of systems, since %(reason)s"),
    gettext_noop("no side effect is taken out, since every two systems kept their sides"),
    gettext_noop("no side effect is taken out, since sides were not recorded"),
    gettext_noop("%(n)s judgments compare two texts of one system and say nothing of it."),
    gettext_noop("fewer than %(few)s workers: intervals hold for these workers only"),
    gettext_noop("too many systems to cluster two ways: intervals hold for these workers only"),
    gettext_noop("fewer than %(few)s topics: intervals hold for texts on these topics only"),
    gettext_noop("too few topics and pairs: intervals hold for these texts only"),
    gettext_noop(
        "%(n)s of %(all)s topics (by dimension) are left out of the mean grades: their texts are "
        "not all connected by estimated labels"
    ),
    gettext_noop(
        "topics have %(few)s to %(most)s texts, and a grade runs from 1 to their number: mean "
        "grades compare only systems that have the same topics"
    ),
    gettext_noop("%(n)s systems are too many to be tested two by two (at most %(most)s)"),
    gettext_noop(
        "The intervals of some workers' competence are rough on %(n)s of %(all)s fits: more draws "
        "would steady them."
    ),
    gettext_noop(
        "The workers fall into %(n)s parts that share no pair (of %(sizes)s workers): competence "
        "does not compare across them."
    ),
    gettext_noop(
        "The workers fall into %(n)s parts that share no pair (of %(sizes)s and %(more)s more "
        "workers): competence does not compare across them."
    ),
    gettext_noop("Language models were neutral %(n)s times where that was not offered."),
    gettext_noop(
        "Dropping low-competence votes finds an agreement of %(alpha)s in shuffled votes: read the "
        "corrected agreement against that, or use the cross-fitted."
    ),
    gettext_noop("no control for %(words)s: the system nearly always decides that"),
    gettext_noop(
        "no control for length and style, since the system nearly always decides them (%(listed)s)"
    ),
    gettext_noop(
        "no control for length and style, since the two texts of each pair do not differ in words, "
        "lists, headings or bold text"
    ),
    gettext_noop("no control for length and style, since %(reason)s"),
    gettext_noop(
        "labels leave the majority on %(n)s of %(all)s items (%(share)s; those of Dawid-Skene on "
        "%(others)s): check some of them by hand before you use them"
    ),
    gettext_noop(
        "labels leave the majority on %(n)s of %(all)s items (%(share)s): check some of them by "
        "hand before you use them"
    ),
    gettext_noop("quantiles of the sampled posterior, if this model holds"),
    gettext_noop("quantiles of the sampled posterior, if Dawid and Skene's model holds"),
    gettext_noop("every vote is the same label: knowing cannot be told from always voting so"),
    gettext_noop(
        "the sampled chains differ for %(n)s of %(all)s workers after %(draws)s draws (r_hat above "
        "%(limit)s), so another seed gives other intervals"
    ),
    gettext_noop(
        "the intervals of %(n)s of %(all)s workers are not settled after %(draws)s draws: with "
        "another seed a bound may move by %(moved)s"
    ),
    gettext_noop(
        "MACE: its intervals lie above guessing for every worker, whoever they are; the groups "
        "follow the intervals of Dawid-Skene"
    ),
    gettext_noop(
        "Some workers give each other's labels (look-alikes), so no competence has an interval and "
        "no label a posterior."
    ),
    gettext_noop(
        "Workers agree more than their quality explains, all pairs taken together; no single pair "
        "can be named. No competence has an interval and no label a posterior."
    ),
    gettext_noop("some workers give each other's labels (look-alikes)"),
    gettext_noop("workers agree more than their quality explains"),
    gettext_noop("competence needs %(few)s workers who share items"),
    gettext_noop("the run gives no interval"),
    gettext_noop("no intervals and no ranges of ranks: %(reason)s"),
    gettext_noop("no interval for %(names)s: %(reason)s"),
    gettext_noop(
        "%(n)s groups of players were never compared with each other; each has a board of its own"
    ),
    gettext_noop("%(n)s players were never compared and are not scored"),
    gettext_noop(
        "%(n)s players are too many to compare every two of them: there are no ranges of ranks, "
        "and standard errors are known to %(digits)s"
    ),
    gettext_noop("no comparison was tied, so no tie parameter was estimated"),
    gettext_noop("%(n)s citations have a number that no passage has"),
    gettext_noop("no response cites a passage"),
    gettext_noop(
        "where votes are taken depends on the votes before them: intervals of adaptive votes, and "
        "agreement, are not those of a fixed design"
    ),
    gettext_noop("adaptive collection may never reach what %(n)s votes on every pair do"),
    gettext_noop("no saving can be told from none on such a crowd"),
    gettext_noop(
        "intervals that claim %(level)s hold in %(adaptive)s with adaptive votes, in %(uniform)s "
        "with as many on every pair"
    ),
    gettext_noop(
        "intervals that claim %(level)s hold the truth in %(share)s; take the chances with care"
    ),
    gettext_noop("workers give fewer than 10 judgments each; little can be said about a worker"),
    gettext_noop("%(n)s answers a question; below %(few)s scores of workers are mostly noise"),
    gettext_noop("%(n)s answers of systems are to questions that no worker answered."),
    gettext_noop("The fit did not converge; no score is shown."),
    gettext_noop("It did not converge; nothing was written."),
    gettext_noop(
        "Did not converge: after %(rounds)s rounds the weights still change by %(name)s a round."
    ),
    gettext_noop("no explanation"),
    gettext_noop("no number"),
    gettext_noop("a prediction for one explanation"),
    gettext_noop("one score; a judge is asked once"),
    gettext_noop("no ranks: no question was answered by two workers"),
    gettext_noop("published without an interval"),
    gettext_noop("one text and its references; nothing is sampled"),
    gettext_noop("half; cosines differ from those in single precision by less than .001"),
)
# Names of rows, units and conditions, as runs store them.
NAMES: Texts = (
    gettext_noop("all dimensions"),
    gettext_noop("lists"),
    gettext_noop("headings"),
    gettext_noop("bold"),
    gettext_noop("words"),
    gettext_noop("length"),
    gettext_noop("topic"),
    gettext_noop("pair"),
    gettext_noop("worker"),
    gettext_noop("judge"),
    gettext_noop("workers"),
    gettext_noop("topic and worker"),
    gettext_noop("pair and worker"),
    gettext_noop("vote and worker"),
    gettext_noop("tie parameter"),
    gettext_noop("within articles"),
    gettext_noop("over all texts"),
    gettext_noop("by article"),
    gettext_noop("one person"),
    gettext_noop("one model"),
    gettext_noop("several people"),
    gettext_noop("several models"),
    gettext_noop("people and models"),
    gettext_noop("log marginal likelihood"),
    gettext_noop("Component %(n)s of %(all)s"),
    gettext_noop("the annotator's mean"),
    gettext_noop("the label's mean over annotators"),
    gettext_noop("the label's place"),
    gettext_noop("worse than half of the people"),
    gettext_noop("competence minus the median of the workers"),
    gettext_noop("written by hand"),
    gettext_noop("Most people"),
    gettext_noop("published judge"),
    gettext_noop("rating by a form, after G-Eval"),
    gettext_noop("Language model as judge"),
    gettext_noop("AQER, un-iterated"),
    gettext_noop("AQER, leave-one-out"),
    gettext_noop("AQER, first round only"),
    gettext_noop("AQER, each class of answers by itself"),
    gettext_noop("AQER on bags of words, by majority"),
    gettext_noop("Bag of words with majority vote"),
    gettext_noop("Majority vote"),
    gettext_noop("Token F1"),
    gettext_noop("METEOR, with synonyms"),
    gettext_noop("METEOR, without synonyms"),
    gettext_noop("Embedding, cosine"),
    gettext_noop("RASA (Li and Fukumoto 2019)"),
    gettext_noop("Chai et al. (our reading)"),
    gettext_noop("Roy et al. (2016)"),
    gettext_noop("yes"),
    gettext_noop("no"),
    gettext_noop("none"),
    gettext_noop("removed"),
    gettext_noop("by hand"),
    gettext_noop("systems"),
    gettext_noop("authors"),
    gettext_noop("votes"),
    gettext_noop("from a file"),
    gettext_noop("published"),
    gettext_noop("no checklist"),
    gettext_noop("not on its board"),
    gettext_noop("pairs"),
    gettext_noop("topics"),
    gettext_noop("items"),
    gettext_noop("questions"),
    gettext_noop("texts"),
)
# What the steps of a run say beside their bars.
PROGRESS: Texts = (
    gettext_noop("%(count)s, %(count_more)s"),
    gettext_noop("%(count)s, %(n)s failed"),
    gettext_noop("%(count)s, %(n)s incomplete"),
    gettext_noop("%(count)s, %(n)s without a score"),
    gettext_noop("%(count)s, %(n)s of systems"),
    gettext_noop("%(count)s, %(n)s of models"),
    gettext_noop("%(count)s of people, %(n)s of models"),
    gettext_noop("%(count)s, %(n)s explained"),
    gettext_noop("%(n)s of %(count)s"),
    gettext_noop("%(count)s of %(count_all)s"),
    gettext_noop("%(n)s of %(all)s"),
    gettext_noop("none asked for"),
    gettext_noop("%(count)s left out in turn"),
    gettext_noop("opening the encoder"),
    gettext_noop("%(count)s of each size"),
    gettext_noop("round %(n)s, of %(all)s at most"),
    gettext_noop("board %(n)s, whose workers share no question with the others"),
    gettext_noop("converged, %(count)s"),
    gettext_noop("not converged, %(count)s"),
    gettext_noop("converged, %(count)s on %(count_boards)s"),
    gettext_noop("not converged, %(count)s on %(count_boards)s"),
    gettext_noop("%(count)s by pair"),
    gettext_noop("%(count)s within dimension"),
    gettext_noop("all dimensions together"),
    gettext_noop("per dimension"),
    gettext_noop("bootstrap over %(words)s, %(n)s"),
    gettext_noop("%(n)s from the cache, %(fresh)s new"),
)
# Counted nouns, as in "5 workers".
COUNTS: tuple[tuple[str, str], ...] = (
    ngettext_noop("%(count)s article", "%(count)s articles"),
    ngettext_noop("%(count)s cluster", "%(count)s clusters"),
    ngettext_noop("%(count)s grade", "%(count)s grades"),
    ngettext_noop("%(count)s draw", "%(count)s draws"),
    ngettext_noop("%(count)s shuffle", "%(count)s shuffles"),
    ngettext_noop("%(count)s reference", "%(count)s references"),
    ngettext_noop("%(count)s score", "%(count)s scores"),
    ngettext_noop("%(count)s fold", "%(count)s folds"),
    ngettext_noop("%(count)s shared text", "%(count)s shared texts"),
    ngettext_noop("%(count)s scored explanation", "%(count)s scored explanations"),
    ngettext_noop("%(count)s filled checklist", "%(count)s filled checklists"),
    ngettext_noop("%(count)s transcript", "%(count)s transcripts"),
    ngettext_noop("%(count)s item with marks", "%(count)s items with marks"),
    ngettext_noop("%(count)s group of conversations", "%(count)s groups of conversations"),
    ngettext_noop("%(count)s worker", "%(count)s workers"),
    ngettext_noop("%(count)s question", "%(count)s questions"),
    ngettext_noop("%(count)s topic", "%(count)s topics"),
    ngettext_noop("%(count)s item", "%(count)s items"),
    ngettext_noop("%(count)s judge", "%(count)s judges"),
    ngettext_noop("%(count)s vote", "%(count)s votes"),
    ngettext_noop("%(count)s label", "%(count)s labels"),
    ngettext_noop("%(count)s text", "%(count)s texts"),
    ngettext_noop("%(count)s pair", "%(count)s pairs"),
    ngettext_noop("%(count)s system", "%(count)s systems"),
    ngettext_noop("%(count)s answer", "%(count)s answers"),
    ngettext_noop("%(count)s attribute", "%(count)s attributes"),
    ngettext_noop("%(count)s prompt", "%(count)s prompts"),
    ngettext_noop("%(count)s task", "%(count)s tasks"),
    ngettext_noop("%(count)s trace", "%(count)s traces"),
    ngettext_noop("%(count)s conversation", "%(count)s conversations"),
    ngettext_noop("%(count)s author", "%(count)s authors"),
    ngettext_noop("%(count)s person", "%(count)s persons"),
    ngettext_noop("%(count)s rating", "%(count)s ratings"),
    ngettext_noop("%(count)s judgment", "%(count)s judgments"),
    ngettext_noop("%(count)s model", "%(count)s models"),
    ngettext_noop("%(count)s board", "%(count)s boards"),
    ngettext_noop("%(count)s round", "%(count)s rounds"),
    ngettext_noop("%(count)s log", "%(count)s logs"),
    ngettext_noop("%(count)s response", "%(count)s responses"),
    ngettext_noop("%(count)s checklist", "%(count)s checklists"),
    ngettext_noop("%(count)s row", "%(count)s rows"),
    ngettext_noop("%(count)s resample", "%(count)s resamples"),
    ngettext_noop("%(count)s annotator", "%(count)s annotators"),
    ngettext_noop("%(count)s explanation", "%(count)s explanations"),
)
# Titles, options and steps of methods, which ``gettext`` looks up where they are shown.
FORMS: Texts = (
    gettext_noop("AQER"),
    gettext_noop("AQER, people and models together"),
    gettext_noop("AQER on a panel’s answers"),
    gettext_noop("Systems against expert grades"),
    gettext_noop("Pairwise study"),
    gettext_noop("Nulls and intervals of a pairwise study"),
    gettext_noop("Study of turns"),
    gettext_noop("Failure rate of traces"),
    gettext_noop("Can a model replace who writes your answers?"),
    gettext_noop("A scorer learned from explanations"),
    gettext_noop("Diversity of attributes"),
    gettext_noop("Checklist scores"),
    gettext_noop("METEOR and embeddings"),
    gettext_noop("Published results"),
    gettext_noop("Published checks"),
    gettext_noop("think-alouds"),
    gettext_noop("what was published"),
    gettext_noop("Imported as it was published; nothing was computed."),
    gettext_noop("Leave a worker's own answer out of the exemplary one"),
    gettext_noop("Better where few people answered a question. The paper keeps it in."),
    gettext_noop("Ranked by"),
    gettext_noop("Adjusted scores allow for hard questions, but need 3 answers per question."),
    gettext_noop("By the number of answers per question"),
    gettext_noop("Question-adjusted score"),
    gettext_noop("Similarity"),
    gettext_noop("How the closeness of two answers is measured."),
    gettext_noop("Cosine"),
    gettext_noop("Negative Euclidean distance"),
    gettext_noop(
        "How the first exemplary answers are found. Entailment needs a model under “Entailment by”."
    ),
    gettext_noop("How the first exemplary answers are found."),
    gettext_noop("Equal votes"),
    gettext_noop("Equal votes, changed a little at random"),
    gettext_noop("Entailment between answers"),
    gettext_noop("Resamples of the questions"),
    gettext_noop("For the intervals. 0 leaves them out; else 100 or more."),
    gettext_noop("For the intervals: how often what was collected is drawn anew."),
    gettext_noop("Who votes"),
    gettext_noop(
        "Models trained on the same data share errors; their votes depend on one another."
    ),
    gettext_noop("Workers and language models"),
    gettext_noop("Language models alone"),
    gettext_noop("Random subsets of each size"),
    gettext_noop("For the curves of how many questions and workers it takes; 0 leaves them out."),
    gettext_noop("Agreement and order"),
    gettext_noop("Length, style and the top"),
    gettext_noop("Kinds of pairs"),
    gettext_noop("One competence for all dimensions"),
    gettext_noop("Steadier where people judged few pairs. Else each dimension has its own fit."),
    gettext_noop("Votes count in the ranking"),
    gettext_noop("By competence, what workers share weighs more; so does what they share wrongly."),
    gettext_noop("Every vote alike"),
    gettext_noop("By the competence of its worker"),
    gettext_noop("How often each label is true (MACE)"),
    gettext_noop("Where workers guess much, an estimate can run off to one label."),
    gettext_noop("All equally often, as in the paper"),
    gettext_noop("Estimated; first and second equally often"),
    gettext_noop("Fit of competence (MACE)"),
    gettext_noop("Variational Bayes, as in the paper"),
    gettext_noop("Expectation maximisation"),
    gettext_noop("Random starts"),
    gettext_noop("The best of so many fits."),
    gettext_noop("Draws for the intervals of competence"),
    gettext_noop("0 leaves them out; else 100 or more."),
    gettext_noop("Resamples for ranks and agreement"),
    gettext_noop("How often the judgments are drawn anew."),
    gettext_noop("Regularisation"),
    gettext_noop(
        "So many wins and losses against an average system are added to each one, so that one that "
        "never lost has a merit."
    ),
    gettext_noop("Pairs that count as early"),
    gettext_noop("The drift of neutral votes is measured before and after so many pairs."),
    gettext_noop("Nulls and cross-fitting"),
    gettext_noop("Workers who lower agreement"),
    gettext_noop("Without the worst"),
    gettext_noop("Differentiability"),
    gettext_noop("Estimated labels resampled"),
    gettext_noop("Similarity to the best text"),
    gettext_noop("Resamples"),
    gettext_noop("Correct by the competence of raters"),
    gettext_noop("Means without raters whom MACE takes for guessing, beside those of all ratings."),
    gettext_noop("Points that count as the top class"),
    gettext_noop("For agreement on two classes: how many of the highest points. Empty: one."),
    gettext_noop("GLAD"),
    gettext_noop("Competence by"),
    gettext_noop("Dawid-Skene: share labelled right. MACE: share known, needs fewer labels."),
    gettext_noop("A worker can be relied on where the whole interval lies above. Empty: none."),
    gettext_noop("Labels are ordered"),
    gettext_noop("Adds agreement by which neighbouring labels differ less."),
    gettext_noop("Epsilon"),
    gettext_noop("How much worse a model may be. .20 beside experts, .15 trained, .10 a crowd."),
    gettext_noop("Items with fewer people are left out."),
    gettext_noop("Items per person"),
    gettext_noop("People with fewer items beside others and the model are left out."),
    gettext_noop("General"),
    gettext_noop("Resamples of the topics"),
    gettext_noop("BLEU up to which a statement counts as written anew"),
    gettext_noop("The paper looks at 25, which hardly any statement of a model exceeds."),
    gettext_noop("Fewest words of a response"),
    gettext_noop("Shorter responses are left out of all figures. The paper takes 50; 0 takes all."),
    gettext_noop("The panel whose answers the run reads."),
    gettext_noop("Another task, whose answers come in too."),
    gettext_noop("With question and answer too (lets the model judge for itself)"),
    gettext_noop("Ensemble λ"),
    gettext_noop("Scores of texts"),
    gettext_noop("What each question adds"),
    gettext_noop("MACE fitted again"),
    gettext_noop("Nulls and cross-fit"),
    gettext_noop("Similarity of texts"),
    gettext_noop("Language models"),
)
# What a recipe calls its options.
OPTIONS = (
    pgettext_lazy("option", "method"),
    pgettext_lazy("option", "similarity"),
    pgettext_lazy("option", "encoder"),
    pgettext_lazy("option", "ranked by"),
    pgettext_lazy("option", "rank by"),
    pgettext_lazy("option", "answers"),
    pgettext_lazy("option", "start"),
    pgettext_lazy("option", "interval"),
    pgettext_lazy("option", "seed"),
    pgettext_lazy("option", "snapshot"),
    pgettext_lazy("option", "result"),
    pgettext_lazy("option", "started"),
    pgettext_lazy("option", "correction"),
    pgettext_lazy("option", "null"),
    pgettext_lazy("option", "cross-fit"),
    pgettext_lazy("option", "against"),
    pgettext_lazy("option", "agreeing"),
    pgettext_lazy("option", "algorithm"),
    pgettext_lazy("option", "also"),
    pgettext_lazy("option", "aqer classes"),
    pgettext_lazy("option", "aqer uniterated"),
    pgettext_lazy("option", "bag of words"),
    pgettext_lazy("option", "bert score"),
    pgettext_lazy("option", "bins"),
    pgettext_lazy("option", "checklist"),
    pgettext_lazy("option", "cluster share"),
    pgettext_lazy("option", "competence"),
    pgettext_lazy("option", "competence from"),
    pgettext_lazy("option", "definition"),
    pgettext_lazy("option", "dimension"),
    pgettext_lazy("option", "distance"),
    pgettext_lazy("option", "draw"),
    pgettext_lazy("option", "draws"),
    pgettext_lazy("option", "early"),
    pgettext_lazy("option", "ensemble"),
    pgettext_lazy("option", "entailment"),
    pgettext_lazy("option", "epsilon"),
    pgettext_lazy("option", "examples"),
    pgettext_lazy("option", "examples by"),
    pgettext_lazy("option", "examples seed"),
    pgettext_lazy("option", "field"),
    pgettext_lazy("option", "folds"),
    pgettext_lazy("option", "gold resamples"),
    pgettext_lazy("option", "good"),
    pgettext_lazy("option", "grading"),
    pgettext_lazy("option", "heavy"),
    pgettext_lazy("option", "held out"),
    pgettext_lazy("option", "imported"),
    pgettext_lazy("option", "items per person"),
    pgettext_lazy("option", "iterations"),
    pgettext_lazy("option", "judge"),
    pgettext_lazy("option", "leave one out"),
    pgettext_lazy("option", "level"),
    pgettext_lazy("option", "majority"),
    pgettext_lazy("option", "max rounds"),
    pgettext_lazy("option", "max tokens"),
    pgettext_lazy("option", "measure"),
    pgettext_lazy("option", "methods"),
    pgettext_lazy("option", "min answers"),
    pgettext_lazy("option", "min items"),
    pgettext_lazy("option", "min words"),
    pgettext_lazy("option", "mode"),
    pgettext_lazy("option", "model"),
    pgettext_lazy("option", "near identical"),
    pgettext_lazy("option", "noise"),
    pgettext_lazy("option", "only judged"),
    pgettext_lazy("option", "order"),
    pgettext_lazy("option", "ordered"),
    pgettext_lazy("option", "overlap"),
    pgettext_lazy("option", "panel"),
    pgettext_lazy("option", "passage"),
    pgettext_lazy("option", "people per item"),
    pgettext_lazy("option", "permutations"),
    pgettext_lazy("option", "pooled"),
    pgettext_lazy("option", "posterior"),
    pgettext_lazy("option", "prevalence"),
    pgettext_lazy("option", "prompt"),
    pgettext_lazy("option", "regularisation"),
    pgettext_lazy("option", "reliable"),
    pgettext_lazy("option", "repetitions"),
    pgettext_lazy("option", "replicates"),
    pgettext_lazy("option", "resamples"),
    pgettext_lazy("option", "restarts"),
    pgettext_lazy("option", "samples"),
    pgettext_lazy("option", "scale"),
    pgettext_lazy("option", "sessions"),
    pgettext_lazy("option", "share"),
    pgettext_lazy("option", "shuffles"),
    pgettext_lazy("option", "sizes"),
    pgettext_lazy("option", "smoothing"),
    pgettext_lazy("option", "stage"),
    pgettext_lazy("option", "steps prompt"),
    pgettext_lazy("option", "strategy"),
    pgettext_lazy("option", "strength"),
    pgettext_lazy("option", "subject"),
    pgettext_lazy("option", "subsets"),
    pgettext_lazy("option", "synonyms"),
    pgettext_lazy("option", "temperature"),
    pgettext_lazy("option", "threshold"),
    pgettext_lazy("option", "tolerance"),
    pgettext_lazy("option", "top points"),
    pgettext_lazy("option", "topics"),
    pgettext_lazy("option", "variant"),
    pgettext_lazy("option", "vote"),
    pgettext_lazy("option", "way"),
    pgettext_lazy("option", "whose"),
    pgettext_lazy("option", "worst"),
)

NUMBER = r"[-−+<>±]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?%?"
FREE = ("name", "names", "listed", "sizes")
NESTED = ("reason", "text", "count", "words")
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
COUNTED = re.compile(r"(\d[\d,]*) (\S.*)")
# Of figures: what holds such a text, and what holds such texts by name.
KEYS = ("reason", "why", "no_interval", "why_no_interval", "no_topics")
TABLES = ("titles", "skipped", "unsettled")
MANY = 8192
register = template.Library()


@cache
def _exact() -> frozenset[str]:
    """The templates without values."""
    every = (*REASONS, *REPLACEMENT, *WARNINGS, *NAMES, *PROGRESS)
    return frozenset(one for one in every if "%(" not in one)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The templates with values and what fits them, those that begin with words first."""
    every = [one for one in (*REASONS, *REPLACEMENT, *WARNINGS, *NAMES, *PROGRESS) if "%(" in one]
    every.sort(key=lambda one: one.startswith("%("))
    return tuple((_pattern_of(one), one) for one in every)


@lru_cache(maxsize=MANY)
def _pattern_of(said: str) -> re.Pattern[str]:
    """Return what fits a template, in the language it is written in."""
    parts = PLACEHOLDER.split(said)
    written = [re.escape(parts[0])]
    for name, after in zip(parts[1::2], parts[2::2], strict=True):
        is_text = name.split("_")[0] in (*FREE, *NESTED)
        written.append(f"(?P<{name}>{'.+?' if is_text else NUMBER}){re.escape(after)}")
    return re.compile("".join(written), re.DOTALL)


@cache
def _nouns() -> Mapping[str, tuple[str, str]]:
    """The counted nouns, singular and plural -> the pair of texts."""
    return {one.removeprefix("%(count)s "): pair for pair in COUNTS for one in pair}


def translate_stored(text: str) -> str:
    """Return a text of a run in the active language; as it is where no template fits it."""
    language = get_language() or "en"
    if not text or language.startswith("en"):
        return text
    return _translated(str(text), language)


@lru_cache(maxsize=MANY)
def _translated(text: str, language: str) -> str:
    found = _find(text)
    return text if found is None else found


def _find(text: str) -> str | None:
    """Translate a text, also with a capital, a full stop or both added; None if none fits it."""
    for known, finish in _variants(text.replace("gold labels", "estimated labels")):
        found = _fitting(known)
        if found is not None:
            return finish(found)
    return None


def _variants(text: str) -> Iterator[tuple[str, Callable[[str], str]]]:
    """A text as methods may have written it, and how to finish the translation."""
    low, bare = f"{text[:1].lower()}{text[1:]}", text.removesuffix(".")
    yield text, str
    if low != text:
        yield low, _capital
    if bare != text:
        yield bare, lambda found: f"{found}."
        if low != text:
            yield low.removesuffix("."), lambda found: f"{_capital(found)}."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _fitting(text: str) -> str | None:
    """Translate a text that is written as a template says; None if none fits it."""
    if text in _exact():
        return gettext(text)
    for pattern, said in _patterns():
        if found := pattern.fullmatch(text):
            values = {name: _value(name, value) for name, value in found.groupdict().items()}
            if None not in values.values():
                return gettext(said) % values
    return _counted(text)


def _value(name: str, value: str) -> str | None:
    """Write a value in the active language; None if it is no such value."""
    kind = name.split("_", maxsplit=1)[0]
    if kind == "count":
        return _counted(value)
    if kind == "words":
        return gettext(value) if value in NAMES else None
    if kind in NESTED:
        return _find(value)
    if kind in FREE:
        return gettext(value) if value in NAMES else value
    return stored_number(value)


def _counted(text: str) -> str | None:
    """Translate "5 workers"; None for anything else."""
    found = COUNTED.fullmatch(text)
    pair = _nouns().get(found[2]) if found else None
    if found is None or pair is None:
        return None
    n = int(found[1].replace(",", ""))
    return ngettext(*pair, n) % {"count": count(n)}


def values_in(said: str, text: str) -> dict[str, str] | None:
    """Return the values of a template in a text, stored or translated; None if it fits neither."""
    for one in (said, gettext(said)):
        if found := _pattern_of(one).fullmatch(text):
            return found.groupdict()
    return None


def translate_figures(figures: Any) -> Any:
    """Translate the reasons in a run's figures, in place, and return them (see ``KEYS``)."""
    if not (get_language() or "en").startswith("en"):
        _translate_inside(figures)
    return figures


def _translate_inside(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in TABLES and isinstance(inner, dict):
                value[key] = {name: translate_stored(one) for name, one in inner.items()}
            elif isinstance(inner, (dict, list)):
                _translate_inside(inner)
            elif isinstance(inner, str) and inner and (key in KEYS or key.endswith("_reason")):
                value[key] = translate_stored(inner)
    elif value and isinstance(value[0], (dict, list)):
        for inner in value:
            if isinstance(inner, (dict, list)):
                _translate_inside(inner)


def translate_all(texts: Sequence[str]) -> list[str]:
    """Translate each of some stored texts."""
    return [translate_stored(one) for one in texts]


@register.filter
def stored(text: Any) -> Any:
    """Translate a text that a run stored, for templates."""
    return translate_stored(text) if isinstance(text, str) else text


@register.filter
def option_name(name: str) -> str:
    """Return what pages call an option of a recipe."""
    return pgettext("option", name)
