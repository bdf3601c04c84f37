"""The demo's pairwise study: made, judged, put before experts, all through the real actions.

The loader runs these steps among its own, in the order of their times.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

import numpy as np

from annotation import demo
from annotation.authoring.actions import tasks
from annotation.demo import judging, logs
from annotation.formats.actions.judgments import Vote, add_model_votes, choices_of
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Candidate,
    Item,
    PayoutBatch,
    System,
    Task,
)
from annotation.pairs.actions.candidates import add_candidates
from annotation.pairs.actions.pair_design import panel_task
from annotation.pairs.actions.pair_items import add_attention, leave_out, make_pairs
from annotation.pairs.actions.topics import TopicContent, add_topics
from annotation.payouts.actions import proposals as payouts
from annotation.records.actions.audit import record
from annotation.task_types.pairwise.type import PREFIX, TEMPLATE
from annotation.work.actions import answers, assignments
from evaluation.demo.context import DemoTask
from evaluation.methods.pairwise.agreement import differentiable
from evaluation.pairwise import dataset as judged

PAY = Decimal("2.80")
REDUNDANCY, BUNDLE, LEAST_SECONDS = 5, 8, 60
# Days before now. People judge from FIRST to yesterday, A_DAY assignments a day.
MADE, FIRST, MODEL_READ, PANEL_MADE, PROPOSED, APPROVED, PANEL_DONE = 8.2, 7, 3, 2, 2, 1, 1
A_DAY = 7
# Who is in the middle of an assignment: minutes since they took it, pairs judged so far.
IN_WORK = {"linden-22": (26, 5), "merlin-15": (9, 2)}
MODEL, STRATEGY, MODEL_TOPICS = "Halcyon-7B", "as a judge", 5
PANEL, PANEL_TITLE, PANEL_PAIRS = "Science editors", "Which answer is better? (hard pairs)", 12
LOOK_FIRST = "flint-36"
LOOK = "Left on every line; the order of sides first"
HARD_BELOW, HARD_SHARE = 5, 0.6  # as the checks have it: 5 of 7 dimensions, 3 of 5 votes


def pseudonyms() -> list[str]:
    """Everybody invented who works in the demo: its workers, and the study's experts."""
    return [*(one.id for one in demo.load().workers), *(e.worker for e in judging.load().experts)]


@dataclass
class Study(DemoTask):
    """The study within a loader's project."""

    data: judging.Study = field(default_factory=judging.load)
    _panel: Task | None = None
    _marks: dict[int, tuple[int, ...]] = field(default_factory=dict)  # by candidate

    @property
    def panel(self) -> Task:
        """The experts' task, once ``make_panel`` has run."""
        assert self._panel is not None  # noqa: S101 (the agenda has it before the experts)
        return self._panel

    def agenda(self) -> list[tuple[dt.datetime, Callable[[], None]]]:
        """Return every step with its time, except what is still in work."""
        load = self.loader
        steps: list[tuple[dt.datetime, Callable[[], None]]] = [
            (load.ago(MADE), self.make),
            (load.by_day(MODEL_READ, 1.1), self.model_reads),
            (load.by_day(PANEL_MADE, 1.1), self.make_panel),
            (load.by_day(PROPOSED, 1.2), self.propose),
            (load.by_day(APPROVED, 0.3), self.approve),
            (load.by_day(PANEL_DONE, 1.1), self.close_panel),
        ]
        steps += [
            (self._time(turn, judge.worker), partial(self._judge, judge))
            for judge in self.data.judges
            for turn in judge.turns
        ]
        steps += [
            (load.by_day(PANEL_DONE, 0.1 + 0.3 * number), partial(self._expert, expert))
            for number, expert in enumerate(self.data.experts)
        ]
        return steps

    def _time(self, turn: int, worker: str) -> dt.datetime:
        """Return when the assignment of this number is taken: so many a day, in their order."""
        day, place = divmod(turn, A_DAY)
        late = logs.seeded("demo judging times", worker, turn).uniform(0.0, 0.7)
        return self.loader.by_day(FIRST - day, (place + late) / A_DAY)

    def sentence(self) -> str:
        """Say what was loaded, in one line."""
        given = Answer.objects.filter(item__task=self.task, counts=True, worker__isnull=False)
        return (
            f"a pairwise study: {len(self.data.topics)} topics, {len(self._marks)} texts, "
            f"{given.count()} judgments on {len(TEMPLATE)} dimensions, a panel of "
            f"{len(self.data.experts)} experts"
        )

    # -- the study -----------------------------------------------------------------------------

    def make(self) -> None:
        """Texts, topics with their sources, attention pairs, all pairs and a third again."""
        by, data = self.loader.people["requester"], self.data
        for author in sorted({text.author for t in data.topics for text in t.texts} - {""}):
            self.loader.join(self.project, author)
        add_candidates(by=by, project=self.project, rows=self._rows(), name=judging.FILE)
        texts = {text.key: text for text in Candidate.objects.filter(project=self.project)}
        self._marks = {texts[key].pk: marks for key, marks in data.marks().items()}
        settings = {
            "dimensions": [dict(row) for row in TEMPLATE],
            "gold_per_assignment": 1,
            "break_after": BUNDLE,
        }
        rules = {
            "instructions": data.instructions,
            "redundancy": REDUNDANCY,
            "lease_minutes": 60,
            "items_per_assignment": BUNDLE,
            "min_seconds": LEAST_SECONDS,
            "pay": PAY,
            "settings": settings,
        }
        task = self.draft("pairwise", data.title, rules)
        topics = {topic.id: TopicContent(topic.query, topic.passage) for topic in data.topics}
        add_topics(by=by, task=task, topics=topics)
        for decoy in data.attention:
            beside, good = texts[decoy.key].pk, texts[f"{decoy.topic}-{decoy.against}"].pk
            leave_out(by=by, task=task, candidate=beside, out=True)
            expected = {"correctness_topical": "left", "quality_overall": "left"}
            add_attention(by=by, task=task, left=good, right=beside, expected=expected)
        make_pairs(by=by, task=task)
        self._task = self.publish(task)

    def _rows(self) -> list[dict[str, str]]:
        """The texts as a file of candidates would hold them."""
        sources = {source.id: source for source in self.data.sources}
        rows = []
        for topic in self.data.topics:
            for text in topic.texts:
                source = sources[text.source]
                rows.append(
                    {
                        "key": judging.text_key(topic, text),
                        "topic": topic.id,
                        "query": topic.query,
                        "text": text.text,
                        "system": source.system,
                        "author": text.author,
                        "prompt_strategy": source.prompt_strategy,
                        "origin": source.origin,
                        "style": source.style,
                    }
                )
        queries = {topic.id: topic.query for topic in self.data.topics}
        return rows + [
            {
                "key": one.key,
                "topic": one.topic,
                "query": queries[one.topic],
                "text": one.text,
                "system": "beside the point",
            }
            for one in self.data.attention
        ]

    # -- judging -------------------------------------------------------------------------------

    def _judge(self, judge: judging.Judge, task: Task | None = None) -> None:
        """Do one assignment from its claim to its submit, with its log."""
        held, entries = self._claim(judge, task or self.task)
        ends = self._work(held, entries, judge.manner, len(entries))
        self.loader.clock.move_to(ends + dt.timedelta(seconds=3))
        needs = dt.timedelta(seconds=held.version.min_seconds + 2)  # the page holds them till then
        if held.opened_at is not None and self.loader.clock.moment < held.opened_at + needs:
            self.loader.clock.move_to(held.opened_at + needs)
        by = self.loader.people[judge.worker]
        answers.submit_assignment(by=by, assignment=held, key=uuid.uuid4())

    def _claim(self, judge: judging.Judge, task: Task) -> tuple[Assignment, list[AssignmentItem]]:
        held = self.take(task, judge.worker, seconds=6)
        return held, list(held.entries.select_related("item").order_by("position"))

    def _work(
        self, held: Assignment, entries: Sequence[AssignmentItem], manner: str, pairs: int
    ) -> dt.datetime:
        """Judge the first pairs of an assignment and record that; returns when it was done."""
        load, opened = self.loader, self.loader.clock.moment
        user = load.people[held.worker.pseudonym]
        rng = logs.seeded("demo judging", held.worker.pseudonym, held.version.title, held.stretch)
        said = [(entry, self._vote(entry.item, entry.flipped, manner, rng)) for entry in entries]
        log = judging.judging_log(
            [(f"item-{entry.item_id}", vote) for entry, vote in said[:pairs]], manner, rng
        )
        spans: dict[str, tuple[int, int]] = {}
        for event in log:
            first, _ = spans.get(event["target"], (event["time"], 0))
            spans[event["target"]] = first, event["time"]
        for entry, vote in said[:pairs]:
            shown, done = (
                opened + dt.timedelta(milliseconds=ms) for ms in spans[f"item-{entry.item_id}"]
            )
            load.clock.move_to(shown)
            assignments.show_item(by=user, assignment=held, position=entry.position)
            load.clock.move_to(done)
            draft = {f"{PREFIX}{name}": side for name, side in vote.items()}
            assignments.save_draft(
                by=user,
                assignment=held,
                item_id=entry.item_id,
                draft=draft,
                seq=int(done.timestamp() * 1000),
            )
        load.store_log(user, held, opened, log)
        return load.clock.moment

    def _vote(self, item: Item, flipped: bool, manner: str, rng: random.Random) -> judging.Shown:
        pair = [self._marks[pk] for pk in (item.first_id, item.second_id) if pk is not None]
        left, right = reversed(pair) if flipped else pair
        return judging.vote(left, right, manner, rng)

    def stay_in_work(self) -> None:
        """Some people are in the middle of an assignment: the study is live."""
        of = {judge.worker: judge for judge in self.data.judges}
        for worker, (minutes, pairs) in sorted(IN_WORK.items(), key=lambda row: -row[1][0]):
            self.loader.clock.move_to(self.loader.now - dt.timedelta(minutes=minutes))
            held, entries = self._claim(of[worker], self.task)
            self._work(held, entries, of[worker].manner, pairs)

    # -- a model, experts ----------------------------------------------------------------------

    def model_reads(self) -> None:
        """A language model has judged the pairs of some topics, each in both orders."""
        by = self.loader.people["requester"]
        model, _ = System.objects.get_or_create(
            project=self.project, name=MODEL, prompt_strategy=STRATEGY
        )
        topics = [topic.id for topic in self.data.topics[:MODEL_TOPICS]]
        asked = self.task.items.filter(group__key__in=topics, expected__isnull=True, repeat=False)
        votes = []
        for item in asked.select_related("first", "second").order_by("position"):
            rng = logs.seeded("demo model", str(item.first), str(item.second))
            for turn, flipped in enumerate((False, True)):
                said = self._vote(item, flipped, "model", rng)
                choices = choices_of(said, flipped=flipped)
                votes.append(Vote(model.pk, item.pk, choices, flipped, replicate=turn))
        added = add_model_votes(task=self.task, votes=votes)
        record(
            by=by,
            project=self.project,
            action="judgments.import",
            on=self.task,
            file="halcyon.jsonl",
            new=added.new,
        )

    def make_panel(self) -> None:
        """The pairs on which the votes so far agree least go before a panel of experts."""
        by = self.loader.people["requester"]
        members = [self.loader.join(self.project, one.worker) for one in self.data.experts]
        task = panel_task(
            by=by,
            task=self.task,
            items=self._hard(),
            title=PANEL_TITLE,
            panel_name=PANEL,
            workers=members,
        )
        self._panel = self.publish(task)

    def close_panel(self) -> None:
        """Close the panel: all experts are through, so nothing more is handed out."""
        tasks.move(by=self.loader.people["requester"], task=self.panel, to="close")

    def _hard(self) -> list[Item]:
        """Return the hard items by the votes so far, as the checks of a run would find them."""
        frozen = judged.current_judgments(self.task)
        people = frozen.data.votes.first_votes()
        found = differentiable(frozen.data, people, needed=HARD_BELOW, share=HARD_SHARE)
        order = np.lexsort((found["pair"], -found["n"], found["agreeing"]))
        chosen = [frozen.pair_items[place] for place in order if found["n"][place]][:PANEL_PAIRS]
        items = Item.objects.in_bulk(chosen)
        return [items[pk] for pk in chosen]

    def _expert(self, expert: judging.Judge) -> None:
        """Have an expert judge all of the panel's pairs, in as many assignments as it takes."""
        asked = self.panel.items.count()
        while (
            asked
            > AssignmentItem.objects.filter(
                assignment__task=self.panel, assignment__worker__pseudonym=expert.worker
            ).count()
        ):
            self._judge(expert, self.panel)

    # -- money ---------------------------------------------------------------------------------

    def propose(self) -> None:
        """The requester proposes what was submitted in the first days."""
        until = self.loader.by_day(FIRST - 3, 0)
        rows = self.task.assignments.filter(state="submitted", submitted_at__lt=until)
        lines = [
            payouts.ProposedLine(row.pk, "hold", reason=LOOK)
            if row.worker.pseudonym == LOOK_FIRST
            else payouts.ProposedLine(row.pk)
            for row in rows.select_related("worker").order_by("pk")
        ]
        payouts.propose_payout(
            by=self.loader.people["requester"],
            task=self.task,
            key=uuid.uuid4(),
            lines=lines,
            title="First days of judging",
        )

    def approve(self) -> None:
        """The manager approves that."""
        batch = PayoutBatch.objects.get(task=self.task)
        payouts.approve_payout(
            by=self.loader.people["manager"],
            batch=batch,
            expected_total=payouts.total(batch),
            rejections=payouts.count_rejections(batch),
        )
