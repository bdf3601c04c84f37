"""manage.py crowdqc_plan: what a crowd of a given size could tell, simulated. Needs no database."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from evaluation.methods.core.base import BadParameter, Hooks, Result
from evaluation.methods.simulation.planning.labels import LabelStudy, PairStudy, Study
from evaluation.methods.simulation.planning.planner import QUANTITIES, plan, study
from evaluation.methods.simulation.planning.texts import MODELS, TextStudy

BOTH = ("labels", "pairwise")
# Options that only some models have: name, type, help.
OWN: tuple[tuple[str, type, str], ...] = (
    ("good", float, "labels: share of the worse system's outputs that is good"),
    ("likeness", float, "labels: how alike the two systems are in what is hard, 0 to 1"),
    ("slips", float, "labels: how often an honest worker guesses"),
    ("guessers", float, "labels, pairwise: share of workers who always guess"),
    ("ties", float, "pairwise: chance of a tie between equals"),
    ("tie-model", str, "pairwise: davidson or rao_kupper"),
    ("right", float, "pairwise: the right side's share of decided votes between equals"),
    ("item-sd", float, "pairwise: how much the log-merit difference varies between items"),
    ("quality", float, "f1 to k: the worse system's expected cosine with the truth"),
    (
        "strength",
        float,
        "f1, f3, f4, k: "
        + "; ".join(
            f"{name} {words}" for name, (_, words) in MODELS.items() if words != "not used"
        ),
    ),
)


class Command(BaseCommand):
    help = (
        "Simulate a study before it is paid: how wide the intervals will be, and the chance to "
        "separate two systems. Each answer comes with its Monte Carlo error."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Sizes, the gap, the model and its own options, --json."""
        parser.add_argument("--workers", type=int, required=True)
        parser.add_argument("--items", type=int, required=True)
        parser.add_argument("--votes", type=int, required=True, help="votes an item")
        parser.add_argument("--gap", type=float, default=0.05, help="true difference (default .05)")
        parser.add_argument(
            "--model",
            action="append",
            choices=[*BOTH, *MODELS],
            help="whose judgments; repeat for several (default: labels and pairwise)",
        )
        for name, kind, words in OWN:
            parser.add_argument(f"--{name}", type=kind, help=words)
        parser.add_argument("--level", type=float, default=0.95, help="level of the intervals")
        parser.add_argument("--replicates", type=int, help="simulated studies (else what is quick)")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--json", action="store_true", help="print the answers as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Progress goes to the error stream, answers to the output."""
        models = list(dict.fromkeys(options["model"] or BOTH))
        if options["seed"] < 0:
            raise CommandError("--seed must be 0 or more")
        own = {
            key: options[key]
            for name, _, _ in OWN
            if options[key := name.replace("-", "_")] is not None
        }
        useless = sorted(set(own).difference(*(_fields(model) for model in models)))
        if useless:
            option = useless[0].replace("_", "-")
            raise CommandError(f"--{option} means nothing to {' or '.join(models)}")
        try:
            studies = [_study(model, own, options) for model in models]
            found = [self._plan(design, options) for design in studies]
        except BadParameter as problem:
            raise CommandError(str(problem)) from problem
        if options["json"]:
            self.stdout.write(json.dumps([as_json(result) for result in found], indent=1))
            return
        self.stdout.write("\n\n".join(as_text(result) for result in found))

    def _plan(self, design: Study, options: dict[str, Any]) -> Result:
        last = [-1]

        def say(stage: str, done: int, total: int) -> None:
            if done * 10 // total > last[0]:
                last[0] = done * 10 // total
                self.stderr.write(f"{design.slug}: {done} of {total} {stage}", style_func=str)

        return plan(
            design,
            rng=np.random.default_rng(options["seed"]),
            replicates=options["replicates"],
            level=options["level"],
            hooks=Hooks(progress=say),
        )


def _study(model: str, own: dict[str, Any], options: dict[str, Any]) -> Study:
    """The study, its values checked, so that nothing runs if another study is refused."""
    values = {name: value for name, value in own.items() if name in _fields(model)}
    values |= {name: options[name] for name in ("workers", "items", "votes", "gap")}
    design = study(model, **values)
    design.check()
    return design


def _fields(model: str) -> set[str]:
    """Options a model knows, with underscores."""
    kinds: dict[str, type[Study]] = {"labels": LabelStudy, "pairwise": PairStudy}
    return {field.name for field in fields(kinds.get(model, TextStudy))} - {"model"}


def as_json(result: Result) -> dict[str, Any]:
    """Return a planned study as JSON: parameters, known figures, simulated answers."""
    return {
        "params": dict(result.recipe["params"]),
        **result.diagnostics,
        "answers": [
            {**row, "unit": QUANTITIES[row["quantity"]][1]}
            for row in result.estimates["answer"].rows()
        ],
    }


def as_text(result: Result) -> str:
    """Format one simulated study plan as readable text."""
    params, known = result.recipe["params"], result.diagnostics
    head = [
        f"{params['model']}: {params['workers']} workers, {params['items']} items, "
        f"{params['votes']} votes an item, true difference {params['gap']:g}",
        f"{known['judgments']} judgments, {known['judgments_a_worker']:.1f} a worker; "
        f"{known['replicates']} simulated studies, {params['level']:.0%} intervals",
    ]
    rows = [
        f"  {row['estimate']:7.3f} +- {row['mc_error']:.3f}  {QUANTITIES[row['quantity']][0]}"
        for row in result.estimates["answer"].rows()
        if row["estimate"] is not None and row["mc_error"] is not None
    ]
    expected = f"  The estimates should show {known['expected_difference']:.3f} on average."
    return "\n".join([*head, *rows, expected, *(f"  Note: {text}." for text in known["warnings"])])
