"""Messages on the results of pairwise studies."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION
WARNING, NOTE = Severity.WARNING, Severity.NOTE

MESSAGES = Catalogue(
    {
        # What to do.
        "collect_votes": Message(
            _("%(votes)s more judgments would separate the first two with a chance of 80%%."),
            ACTION,
        ),
        "add_pair_topics": Message(
            ngettext_lazy(
                "Add topics: more judgments on this %(n)s may not separate the first two.",
                "Add topics: more judgments on these %(n)s may not separate the first two.",
                "n",
            ),
            ACTION,
            excludes=("collect_votes",),
        ),
        "live_collects": Message(
            _("About %(votes)s more judgments would separate the first two."), ACTION
        ),
        "rank_at_equal_length": Message(
            _("The first place depends on whether length and style may count."), ACTION
        ),
        "read_votes": Message(
            _("Read some votes of %(names)s on pairs where you see which text is better."), ACTION
        ),
        "read_votes_agreement": Message(
            _("Without %(name)s agreement rises from %(start)s to %(without)s."), ACTION
        ),
        "read_votes_left": Message(_("All votes of %(name)s are for the left text."), ACTION),
        "read_votes_right": Message(_("All votes of %(name)s are for the right text."), ACTION),
        "read_hard_pairs": Message(
            ngettext_lazy(
                "On %(n)s pair no answer, ties included, has enough of the votes: say in the "
                "instructions how to decide such pairs.",
                "On %(n)s pairs no answer, ties included, has enough of the votes: say in the "
                "instructions how to decide such pairs.",
                "n",
            ),
            ACTION,
        ),
        "read_split_pairs": Message(
            _("Read the pairs on which judges differ most before you ask for more."), ACTION
        ),
        "uncertain_pairs": Message(
            _("Treat the labels of these pairs as uncertain, or collect more votes on them."),
            ACTION,
        ),
        "compare_without_worker": Message(
            _("See the results without these votes; nothing is deleted and pay stays."), ACTION
        ),
        "test_model": Message(_("Test whether this model may do the work of one person."), ACTION),
        "side_matters": Message(
            _("The leaderboard takes the side out; the win matrix does not."), ACTION
        ),
        "read_group_pairs": Message(
            _("Read some pairs of %(first)s and %(second)s before you choose."), ACTION
        ),
        # What can be concluded, where it is not who is first.
        "pairs_untested": Message(
            _("Which pairs can be told apart is not computed for this run."), VERDICT
        ),
        "pairs_all_apart": Message(_("The votes separate the two texts of every pair."), VERDICT),
        "pairs_not_apart": Message(
            ngettext_lazy(
                "The texts of %(hard)s of %(pairs)s pairs cannot be separated by their votes.",
                "The texts of %(hard)s of %(pairs)s pairs cannot be separated by their votes.",
                "n",
            ),
            VERDICT,
        ),
        "right_wins": Message(_("The right side wins more often, whatever it says."), VERDICT),
        "left_wins": Message(_("The left side wins more often, whatever it says."), VERDICT),
        "side_not_shown": Message(_("Neither side is shown to win more often."), VERDICT),
        "neutral_rises": Message(_("People answer “neutral” more often later on."), VERDICT),
        "neutral_falls": Message(_("People answer “neutral” less often later on."), VERDICT),
        "no_drift": Message(_("No change over time is shown."), NOTE),
        "drift_unknown": Message(_("Whether answers change over time is not known yet."), NOTE),
        "side_estimated": Message(
            _("Scores allow for the effect of sides: which text stood on the left."), NOTE
        ),
        "side_kept": Message(
            _("No side effect is taken out: every two systems kept their sides."),
            NOTE,
            detail="%(dimensions)s.",
        ),
        "sides_unknown": Message(
            _("Sides were not recorded: no side effect is taken out."),
            NOTE,
            detail="%(dimensions)s.",
        ),
        "votes_left_out": Message(_("These votes are left out of results."), NOTE),
        "few_shared_pairs": Message(
            _("Too few pairs are shared: %(single)s of %(pairs)s have one vote."),
            WARNING,
            detail=_("Competence is not shown for %(withheld)s of %(workers)s workers."),
        ),
        "always_left": Message(_("All votes of %(name)s are for the left text."), WARNING),
        "always_right": Message(_("All votes of %(name)s are for the right text."), WARNING),
        "style_differs": Message(
            _("In %(style)s, %(name)s has higher grades on %(dimensions)s."), NOTE
        ),
        "style_higher": Message(
            _("Whatever the origin, %(high)s is graded higher than %(low)s on %(dimensions)s."),
            NOTE,
        ),
        "origin_higher": Message(
            _("Whatever the style, %(high)s is graded higher than %(low)s on %(dimensions)s."),
            NOTE,
        ),
        "too_many_votes": Message(
            _("Choose by cost: separating the first two takes over %(votes)s more votes."),
            ACTION,
            excludes=("collect_votes",),
        ),
        # What to read first.
        "low_workers": Message(
            _("%(names)s judged worse than half of the workers."),
            WARNING,
            detail=_("Check their votes; whoever did not read the texts can be left out."),
        ),
        "top_fragile": Message(
            _("Few votes decide who leads."),
            WARNING,
            detail=_("Removing %(changes)s would change it."),
        ),
        "top_steady": Message(
            _("No %(n)s votes, no single worker and no single pair would change who leads."),
            NOTE,
            excludes=("top_fragile",),
        ),
        "top_steady_of_one_judge": Message(
            _("No %(n)s votes and no single pair would change who leads."), NOTE
        ),
        "one_judge": Message(
            _("All judgments are by one judge: intervals hold for this judge only."), WARNING
        ),
        "length_helps": Message(_("Longer texts win more often."), WARNING),
        "length_hurts": Message(_("Longer texts lose more often."), WARNING),
        "length_unclear": Message(
            _("Longer texts are not shown to win or lose more often."),
            NOTE,
            excludes=("length_helps", "length_hurts"),
        ),
        "pair_style_note": Message("%(text)s", NOTE),
        "workers_share_no_pair": Message(
            _("Workers cannot be compared: no two are known to have judged the same texts."),
            WARNING,
        ),
        "worker_groups_apart": Message(
            _("Workers cannot be compared across %(parts)s groups that share no pair."), WARNING
        ),
        "labels_unlike_votes": Message(
            _("Some final labels differ from what most people chose."),
            NOTE,
            detail="%(dimensions)s.",
        ),
        "pair_warning": Message("%(text)s", WARNING),
        "pair_note": Message("%(text)s", NOTE),
        "pair_dimension_warning": Message(_("%(text)s (%(dimensions)s)."), WARNING),
        "pair_dimension_note": Message(_("%(text)s (%(dimensions)s)."), NOTE),
        "published_shown": Message(
            _("This is the published result, imported as it stands."), WARNING
        ),
        "published_beside": Message(
            _("A published result stands beside ours: run %(run)s, imported %(imported)s."), NOTE
        ),
        "split_pairs": Message(
            ngettext_lazy(
                "On %(n)s of %(pairs)s votes without ties split evenly (60 to 40, or closer).",
                "On %(n)s of %(pairs)s votes without ties split evenly (60 to 40, or closer).",
                "n",
            ),
            NOTE,
        ),
    }
)
