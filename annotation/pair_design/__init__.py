"""Design of pairwise studies as pure functions: which pairs, in which order, and who takes which.

``design_pairs`` makes the list, ``ring`` says which stretch of it each claim takes, ``graph`` what
that connects, ``summary`` what it all comes to. Nothing here knows of rows, requests or time.

CrowdRAG (section 3.2.1) judged all 15 pairs of six texts in 65 topics (975), a third of them, as it
says, in both directions; its list of 1,352 means 377, which is .387. A third is 325 here.
"""

from annotation.pair_design.graph import Link, comparison_components, components, thinnest_link
from annotation.pair_design.model import KINDS, MAX_PAIRS, Design, Pair, Text
from annotation.pair_design.overview import (
    Sources,
    Summary,
    TopicSummary,
    groups_of,
    summary,
    tell_groups,
)
from annotation.pair_design.pairs import design_pairs
from annotation.pair_design.ring import count_claims, next_claim, slots, window, window_start

__all__ = [
    "KINDS",
    "MAX_PAIRS",
    "Design",
    "Link",
    "Pair",
    "Sources",
    "Summary",
    "Text",
    "TopicSummary",
    "comparison_components",
    "components",
    "count_claims",
    "design_pairs",
    "groups_of",
    "next_claim",
    "slots",
    "summary",
    "tell_groups",
    "thinnest_link",
    "window",
    "window_start",
]
