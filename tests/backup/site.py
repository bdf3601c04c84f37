"""A site of its own beside the tests: ``python -m tests.backup.site`` and what it is to do.

Several steps of a command are one process, as each start takes seconds.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.apps import apps  # noqa: E402
from django.core.management import call_command  # noqa: E402

from annotation.models import Payment, Project, Recruitment  # noqa: E402
from annotation.payouts.selectors.balance import trial_balances  # noqa: E402
from crowdqc.deployment.backup.schedule import make_due_backup  # noqa: E402
from evaluation.bundles import writing as bundle  # noqa: E402
from evaluation.bundles.checking import verify  # noqa: E402
from evaluation.llm.endpoints import keys  # noqa: E402
from evaluation.models import Endpoint, Run, RunState  # noqa: E402
from evaluation.runs import engine as runs  # noqa: E402
from tests.evaluation.corpora import labels as label_corpus  # noqa: E402
from tests.support.everything import everything  # noqa: E402

ENDPOINT_KEY = "sk-the-key-of-an-endpoint"


def fill() -> None:
    """One of each thing, a finished run, a sealed key, and a bonus that is to be sent."""
    everything()
    task = label_corpus.make_labelled(items=20, known=4, workers=6)
    run = runs.start(
        by=task.project.owner, task=task, method="labels", params={"restarts": 2, "resamples": 100}
    )
    assert runs.execute(run.pk) == RunState.DONE
    Endpoint.objects.update(key_sealed=keys.seal(ENDPOINT_KEY))
    way = Recruitment.objects.filter(kind="prolific").earliest("pk")
    Payment.objects.filter(what="base").update(
        what="bonus", recruitment=way, state=Payment.State.PLANNED
    )


def look() -> dict[str, Any]:
    """What must be the same on a restored site."""
    run = Run.objects.filter(method="labels", state=RunState.DONE).latest("pk")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zip"
        path.write_bytes(b"".join(bundle.parts(run)))
        report = verify(path)
    return {
        "balances": [repr(trial_balances(one)) for one in Project.objects.order_by("pk")],
        "scores": {
            model.__name__: _digest(model)
            for model in apps.get_app_config("evaluation").get_models()
            if "score" in model.__name__.lower() or "label" in model.__name__.lower()
        },
        "bundle": [[good, text] for good, text in report.lines],
        "endpoint keys": [keys.key_of(one) for one in Endpoint.objects.order_by("pk")],
        "bonuses": sorted(Payment.objects.filter(what="bonus").values_list("state", flat=True)),
    }


def _digest(model: Any) -> list[Any]:
    rows = list(model.objects.order_by("pk").values_list())
    return [len(rows), hashlib.sha256(repr(rows).encode()).hexdigest()]


def back_up(folder: str, word: str) -> dict[str, Any]:
    """Fill the site and make a backup of it; what it then is."""
    fill()
    call_command("backup", to=folder, passphrase_file=word)
    return look()


def restore(file: str, word: str) -> list[Any]:
    """Restore a backup here; what the command says, and what the site then is."""
    said = io.StringIO()
    # A drill, in a database that is nobody's yet.
    call_command("restore", file, passphrase_file=word, stdout=io.StringIO(), test=True)
    call_command("restore", file, passphrase_file=word, stdout=said)
    return [said.getvalue(), look()]


def due() -> list[str]:
    """What the scheduler's job does, and again at once."""
    return [make_due_backup(), make_due_backup()]


if __name__ == "__main__":
    acts = {"back_up": back_up, "restore": restore, "due": due}
    print(json.dumps(acts[sys.argv[1]](*sys.argv[2:])))  # type: ignore[operator]
