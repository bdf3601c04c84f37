"""The rooms of the house, from the ground up: the one place where their order is written.

A room imports from rooms before it. Doors (views, api, forms, urls) stand above all rooms of their
side, since pages bring together what several rooms know; only wiring and other doors import them.
"""

from __future__ import annotations

from tests.support.import_graph import is_door

ROOMS = (
    "crowdqc",
    "annotation.models",
    "annotation.records",
    "annotation.access",
    "annotation.notifications",
    "annotation.files",
    "annotation.accounts",
    "annotation.lists",
    "annotation.pair_design",
    "annotation.task_types",
    "annotation.panels",
    "annotation.authoring",
    "annotation.pairs",
    "annotation.recruitment",
    "annotation.work",
    "annotation.conversations",
    "annotation.payouts",
    "annotation.formats",
    "annotation.gallery",
    "annotation.privacy",
    "annotation.api",
    "evaluation.methods",
    "evaluation.models",
    "evaluation.charts",
    "evaluation.results",
    "evaluation.embeddings",
    "evaluation.runs",
    "evaluation.llm",
    "evaluation.llm_runs",
    "evaluation.free_text",
    "evaluation.pairwise",
    "evaluation.labels",
    "evaluation.score_table",
    "evaluation.writing",
    "evaluation.checklists",
    "evaluation.rescaling",
    "evaluation.replacement",
    "evaluation.live",
    "evaluation.grading",
    "evaluation.panels",
    "evaluation.payouts",
    "evaluation.people",
    "evaluation.items",
    "evaluation.official",
    "evaluation.overview",
    "evaluation.published",
    "evaluation.bundles",
    "evaluation.operations",
)
DOORS = ("views", "api", "forms", "urls")
# What ties the rooms of a side together, and is imported by nothing but wiring.
WIRING = (
    "urls",
    "jobs",
    "apps",
    "registry",
    "shell",
    "sealed_fields",
    "demo",
    "management",
    "templatetags",
    "migrations",
)


def room_of(module: str) -> str:
    """The room that a module is in: "annotation.work"; the ground is one."""
    parts = module.split(".")
    return parts[0] if parts[0] == "crowdqc" else ".".join(parts[:2])


def is_wiring(module: str) -> bool:
    """Whether a module ties rooms together."""
    parts = module.split(".")
    return len(parts) == 1 or (parts[0] != "crowdqc" and parts[1] in WIRING)


def floor(module: str) -> tuple[int, int]:
    """Where a module stands: its side (ground, collecting, judging), and how high on it."""
    side = ("crowdqc", "annotation", "evaluation").index(module.split(".", maxsplit=1)[0])
    if is_wiring(module):
        return side, len(ROOMS) + 1
    if side and is_door(module, *DOORS):
        return side, len(ROOMS)
    return side, ROOMS.index(room_of(module))


# What still imports upwards, and why; nothing is added here.
UPWARDS = {
    ("evaluation.runs.asking", "evaluation.llm.ask"): "for a type only",
    ("evaluation.runs.selectors.lists", "evaluation.bundles.kinds.registry"): (
        "the page of a run says whether it can be bundled"
    ),
    ("evaluation.runs.selectors.lists", "evaluation.llm_runs.selectors.llm_runs"): (
        "the page of a run says what models were asked"
    ),
}
