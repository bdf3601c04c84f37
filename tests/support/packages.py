"""The order of the packages, lowest first: each may import only the packages before it.

HTTP modules (views, api, forms, urls) rank above all packages of their app, since a page combines
several packages; only wiring and other HTTP modules import them.
"""

from __future__ import annotations

from tests.support.import_graph import is_part

PACKAGE_ORDER = (
    "crowdqc",
    "annotation.hooks",
    "annotation.models",
    "annotation.records",
    "annotation.access",
    "annotation.notifications",
    "annotation.files",
    "annotation.chats",
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
    "annotation.traces",
    "annotation.payouts",
    "annotation.formats",
    "annotation.gallery",
    "annotation.privacy",
    "annotation.installation",
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
    "evaluation.turns",
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
    "evaluation.traces",
    "evaluation.overview",
    "evaluation.published",
    "evaluation.bundles",
    "evaluation.moving",
    "evaluation.retention",
    "evaluation.operations",
    "evaluation.installation",
    "evaluation.deletion",
    "evaluation.organisations",
)
HTTP = ("views", "api", "forms", "urls")
# What connects the packages of an app; only wiring imports it.
WIRING = (
    "urls",
    "jobs",
    "apps",
    "registry",
    "extensions",
    "shell",
    "sealed_fields",
    "demo",
    "management",
    "templatetags",
    "migrations",
)


def package_of(module: str) -> str:
    """Return the package of a module, such as "annotation.work"; crowdqc is one package."""
    parts = module.split(".")
    return parts[0] if parts[0] == "crowdqc" else ".".join(parts[:2])


def is_wiring(module: str) -> bool:
    """Whether a module connects packages."""
    parts = module.split(".")
    return len(parts) == 1 or (parts[0] != "crowdqc" and parts[1] in WIRING)


def rank(module: str) -> tuple[int, int]:
    """Return the index of a module's app, and the place of its package in that app."""
    app = ("crowdqc", "annotation", "evaluation").index(module.split(".", maxsplit=1)[0])
    if is_wiring(module):
        return app, len(PACKAGE_ORDER) + 1
    if app and is_part(module, *HTTP):
        return app, len(PACKAGE_ORDER)
    return app, PACKAGE_ORDER.index(package_of(module))


# Imports of a higher package that remain, with the reason; add none.
UPWARD_IMPORTS = {
    ("evaluation.runs.asking", "evaluation.llm.ask"): "for a type only",
    ("evaluation.runs.selectors.lists", "evaluation.bundles.kinds.registry"): (
        "the page of a run says whether it can be bundled"
    ),
    ("evaluation.runs.selectors.lists", "evaluation.llm_runs.selectors.llm_runs"): (
        "the page of a run says what models were asked"
    ),
}
