"""Load the demo project with its accounts, and run AQER on it; a second call changes nothing."""

from __future__ import annotations

import logging
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from annotation.models import Task
from crowdqc.errors import DomainError
from evaluation.demo import loader as demo_loader
from evaluation.models import Run, RunShare, RunState

WAIT_SECONDS = 180
BOARD = "which-answer-is-better"  # the address of the public board
STUDIED = 10  # draws of the study against experts
SEES = {
    "requester": "authors tasks, starts runs, proposes payouts",
    "manager": "reviews; one proposal and one reply to a rejection wait",
    "worker1": "paid work, work that waits, five tasks to take",
    "worker2": "a rejection with a reply, work that waits, seven tasks to take",
}


class Command(BaseCommand):
    # It runs at every start: the checks, which load every page and method, have their own place.
    requires_system_checks = []
    help = (
        "Load the demo project: two texts, sixteen questions, 24 invented workers, 4 systems, "
        "scores by AQER; a pairwise study with its first results; a writing task with its logs. "
        "Calling it again changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--encoder", default="minilm", help="for the AQER runs")
        parser.add_argument(
            "--force", action="store_true", help="also in production, with passwords all know"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION and not (options["force"] or settings.CROWDQC_DEMO):
            raise CommandError(
                "The demo's passwords are public, so it is not loaded in production. "
                "--force loads it all the same."
            )
        began = time.monotonic()
        task = demo_loader.loaded()
        fresh = task is None
        if task is None:
            names = demo_loader.taken_usernames()
            if names:
                # Somebody's own accounts: their database serves on, without the demo.
                self.stderr.write(
                    f"The demo was not loaded: there are accounts named {', '.join(names)} "
                    "already, and they are left as they are."
                )
                return
            task = self._refusable(demo_loader.load, self._say)
        if not Run.objects.filter(task=task, state=RunState.DONE).exists():
            self._runs(task, options["encoder"])
        for other in demo_loader.tasks_by_name(
            "begun", "study", "panel", "writing", "rating", "think", "checklist"
        ):
            self._first(other, encoder=options["encoder"])
        self._add_runs(task)
        self._board()
        self._start_background_runs(task)
        if settings.CROWDQC_DEMO:
            self._keep(task)
        if fresh:
            self._say(f"done in {time.monotonic() - began:.0f} s")
        self._accounts(task)

    def _keep(self, task: Task) -> None:
        """Finish a public demo, and keep its state, once."""
        from evaluation.demo import public

        public.add_viewer(task.project)
        if not public.has_kept_state():
            public.work_on_runs()
            made = public.keep_state()
            self._say(f"each night begins with {made.address}: {made.rows:,} rows")

    def _say(self, line: str) -> None:
        self.stdout.write(f"  {line}")
        self.stdout.flush()

    def _refusable(self, action: Any, *args: Any, **named: Any) -> Any:
        try:
            return action(*args, **named)
        except DomainError as error:
            raise CommandError(error.message) from error

    def _runs(self, task: Task, encoder: str) -> None:
        """Two real runs: with each worker's own answer in what it is compared with, and without.

        The first is a trial. The one of the task's default recipe is official.
        """
        from evaluation.runs import engine as runs
        from evaluation.runs import schedules  # takes a second to load, which is spared later

        logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
        by = task.project.owner
        for left in Run.objects.filter(task=task, state__in=runs.ACTIVE):
            self._finished(left)  # of a first start that was interrupted
        schedules.change_schedule(
            by=by,
            task=task,
            enabled=True,
            after_answers=schedules.DEFAULT_AFTER,
            every_minutes=None,
            params={"encoder": encoder},
        )
        for name, more in (("own answer included", {"leave_one_out": False}), ("default", {})):
            began = time.monotonic()
            params = {"encoder": encoder, **more}
            run = self._refusable(runs.start, by=by, task=task, params=params)
            run = self._finished(run)
            if run.state != RunState.DONE:
                raise CommandError(f"Run {run.number} of AQER did not finish: {run.error}")
            self._say(
                f"run {run.number} of AQER, {name}, {encoder}: {time.monotonic() - began:.1f} s"
            )

    def _add_runs(self, task: Task) -> None:
        """Add the runs on the graded answers and on the explained ratings."""
        from evaluation.demo import money as demo_money
        from evaluation.rescaling.calls import imports
        from evaluation.runs import engine as runs
        from evaluation.runs.official.selectors import official_run

        main = official_run(task)
        if main is not None and (told := demo_money.choose(main)):
            self._say(told)
        for one in task.gradings.all()[:1]:
            if not Run.objects.filter(task=task, method="aqer_study").exists():
                params = {"grading": one.pk, "repetitions": STUDIED}
                self._refusable(
                    runs.start, by=task.project.owner, task=task, method="aqer_study", params=params
                )
                self._say("the study against experts follows in the background")
        for rated in demo_loader.tasks_by_name("rating"):
            for source in imports(rated)[:1]:
                self._first(rated, "rescaling", {"imported": source.pk})

    def _board(self) -> None:
        """The study's results as a public board, unless it was published once."""
        from evaluation.runs.sharing import actions as sharing

        for study in demo_loader.tasks_by_name("study"):
            run = Run.objects.filter(task=study, method="pairwise", state=RunState.DONE).first()
            if run is not None and not RunShare.objects.filter(slug=BOARD).exists():
                by = study.project.owner
                asked = {"slug": BOARD, "files": True, "bundle": True}
                self._refusable(sharing.publish, by=by, run=run, **asked)
                self._say(f"a public board at /boards/{BOARD}/; its bundle follows")

    def _start_background_runs(self, task: Task) -> None:
        """Start the labels' main run and replacement test in the background, if missing."""
        from evaluation.runs import engine as runs

        for labelled in demo_loader.tasks_by_name("labels"):
            for method in (runs.main_method(labelled), "replacement"):
                if not Run.objects.filter(task=labelled, method=method).exists():
                    self._refusable(runs.start, by=task.project.owner, task=labelled, method=method)
                    self._say(f"a run of {method} on the labels follows in the background")

    def _first(
        self,
        task: Task,
        method: str = "",
        params: dict[str, Any] | None = None,
        encoder: str = "",
    ) -> None:
        """A task's own run or one more; checks of a study take longer, and are left to the worker.

        Nothing is done where there is a finished one.
        """
        from evaluation.runs import engine as runs
        from evaluation.runs import run_types

        began, method = time.monotonic(), method or runs.main_method(task)
        mine = Run.objects.filter(task=task, method=method)
        if mine.filter(state=RunState.DONE).exists():
            return
        if encoder and "encoder" in run_types.type_of(method).options.defaults:
            params = {"encoder": encoder, **(params or {})}
        run = mine.filter(state__in=runs.ACTIVE).first() or self._refusable(
            runs.start, by=task.project.owner, task=task, method=method, params=params
        )
        run = self._finished(run)
        if run.state != RunState.DONE:
            raise CommandError(f"Run {run.number} of {method} did not finish: {run.error}")
        later = (
            "; its checks follow in the background" if run_types.type_of(method).follow_up else ""
        )
        self._say(f"run {run.number} of {method}: {time.monotonic() - began:.1f} s{later}")

    def _finished(self, run: Run) -> Run:
        """The run at its end; a worker may have been faster to take it, or have died at it."""
        from evaluation.runs import engine as runs

        until = time.monotonic() + WAIT_SECONDS
        run.refresh_from_db()
        while run.state in runs.ACTIVE and time.monotonic() < until:
            runs.execute(run.pk)
            run.refresh_from_db()
            if run.state in runs.ACTIVE:
                time.sleep(0.3)
        return run

    def _accounts(self, task: Task) -> None:
        self.stdout.write("")
        self.stdout.write(
            f"Demo project “{task.project.name}”. Accounts, all with the password "
            f"{demo_loader.PASSWORD} (unless it was changed):"
        )
        for username, (name, pseudonym) in demo_loader.ACCOUNTS.items():
            who = f"{name}, {pseudonym}" if pseudonym else name
            self.stdout.write(f"  {username:<10} {who:<22} {SEES[username]}")
