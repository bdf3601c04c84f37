"""A task to write in, and sessions in which somebody writes: events as the page records them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from annotation.authoring.actions import tasks
from annotation.models import Answer, Assignment, Item, ItemGroup, Membership, Project, Task
from annotation.task_types.writing.type import STYLES
from annotation.work.selectors.log import utf16_length
from tests.support import factories
from tests.support.kept import kept

PASSAGES = [
    (
        "Two probes",
        "Both probes left in 1977 for a tour of the outer planets. They were built to "
        "last five years and have outlived that plan by four decades.",
    ),
    (
        "Power on board",
        "Each probe carries three generators. Each draws power from decaying "
        "plutonium and loses about four watts a year, which leaves less for the instruments.",
    ),
    (
        "The heliopause",
        "In 2012 the first probe crossed the heliopause, where the solar wind "
        "ends. The second followed six years later in another direction.",
    ),
    (
        "Cold instruments",
        "Engineers turned off the heater of the cosmic ray subsystem in 2019. To "
        "their surprise, the cosmic ray detector kept counting at seventy degrees below "
        "what it was "
        "tested for, and so did a second instrument.",
    ),
    (
        "Antennas",
        "The dishes of the network listen to a signal of a billionth of a billionth of a "
        "watt. A command takes most of a day to arrive.",
    ),
    (
        "Memory",
        "The computers on board hold seventy kilobytes. Their programs are written in a "
        "language that few people still read.",
    ),
    ("What is still switched on", "Four instruments were still measuring in 2023."),
]
QUERY = "Why do the Voyagers still answer?"


@kept
def make_task(project: Project | None = None, responses: int = 1, passages: int = 40) -> Task:
    """A published task of one topic in ``responses`` styles."""
    project = project or factories.make_project()
    by = project.owner
    styles = [style for style in STYLES if style["name"] != "bullet"][:responses]
    task = tasks.create_task(by=by, project=project, type="writing", title="Essay with sources")
    rules = {"redundancy": 20, "items_per_assignment": 1, "order": "fixed", "pay": "6.00"}
    settings = {
        "styles": styles,
        "min_words": 1,
        "max_words": 9000,
        "once_a_topic": False,
        "min_citations": 0,
        "entry": [],
        "exit": [],
    }
    tasks.edit_draft(by=by, task=task, fields={**rules, "settings": settings})
    listed = [
        {"key": f"d{n}", "title": title, "text": text} for n, (title, text) in enumerate(PASSAGES)
    ]
    listed += [
        {"key": f"e{n}", "title": f"Further reading {n}", "text": f"Nothing on this topic, {n}."}
        for n in range(passages - len(listed))
    ]
    group = tasks.save_group(by=by, task=task, title="Voyagers", passage="", look_back=True)
    ItemGroup.objects.filter(pk=group.pk).update(passages=listed)
    for style in (one["name"] for one in styles):
        item = tasks.save_item(
            by=by, task=task, group=group, key=f"heron-05-{style}", question=QUERY
        )
        Item.objects.filter(pk=item.pk).update(settings={"style": style, "passages": passages})
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


@dataclass
class Session:
    """Somebody writing: each call is what they do, ``events`` what the page tells of it."""

    target: str
    seed: int = 5
    now: int = 0
    text: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self._add("open", target="window", name="visible")
        self._add("show", delta=[0, 0, 0, ""])

    def _add(self, method: str, *, target: str | None = None, **more: Any) -> None:
        event = {"method": method, "time": self.now, "target": target or self.target, **more}
        if "delta" in event:
            event["delta"][0] = self.now
        self.events.append(event)

    def _change(self, at: int, deleted: int, inserted: str, **more: Any) -> None:
        self._add("input", delta=[self.now, at, deleted, inserted], **more)
        self.text = self.text[:at] + inserted + self.text[at + deleted :]

    def _gap(self) -> int:
        return int(self.draw.lognormvariate(4.9, 0.45))

    def wait(self, seconds: float) -> Session:
        self.now += int(1000 * seconds)
        return self

    def types(self, words: str, at: int | None = None) -> Session:
        """Key by key, in runs of up to 40."""
        place = len(self.text) if at is None else at
        for start in range(0, len(words), 40):
            run = words[start : start + 40]
            ms = [0, *(self._gap() for _ in run[1:])]
            self._change(place, 0, run, name="run", ms=ms, keys=len(run))
            place += len(run)
            self.now += sum(ms) + self._gap()
        return self

    def deletes(self, characters: int) -> Session:
        """The last characters, with Backspace."""
        while characters:
            run = min(characters, 30)
            ms = [0, *(40 + self.draw.randrange(60) for _ in range(run - 1))]
            self._change(len(self.text) - run, run, "", name="run", ms=ms, keys=run)
            self.now += sum(ms) + 90
            characters -= run
        return self

    def pastes(self, words: str, source: str, passage: int = 0) -> Session:
        more = {"comment": source, **({"name": str(passage)} if passage else {})}
        self._add("paste", length=utf16_length(words), **more)
        self.now += 4
        self._change(len(self.text), 0, words, name="insertFromPaste", comment=source)
        return self.wait(0.6)

    def jumps(self, words: str) -> Session:
        """Words that come in at once without a paste."""
        self._change(len(self.text), 0, words, name="insertReplacementText")
        return self.wait(0.6)

    def cites(self, number: int) -> Session:
        self._add("cite", name=str(number))
        self._change(len(self.text), 0, f"[{number}]", name="cite")
        return self.wait(0.4)

    def reads(self, passage: int, seconds: float) -> Session:
        self._add("passage", name="open", comment=str(passage))
        self.wait(seconds)
        self._add("dwell", name=f"passage-{passage}", comment=str(int(900 * seconds)))
        self._add("passage", name="close", comment=str(passage))
        return self

    def leaves(self, seconds: float) -> Session:
        self._add("visibilitychange", target="window", name="hidden")
        self.wait(seconds)
        self._add("visibilitychange", target="window", name="visible")
        return self


def essay(session: Session) -> Session:
    """Eighteen minutes or so: passages used, one paste from outside, one jump, two absences."""
    s = session.wait(20).reads(1, 24).wait(4)
    s.types("Both probes were built for five years and have now worked for almost fifty. ")
    s.reads(2, 35).pastes(
        "Each draws power from decaying plutonium and loses about four watts a year", "passage", 2
    ).cites(2)
    s.types(", so the people who run them decide every few years what to give up. ")
    s.leaves(62).wait(3).types("First the cameras, which had seen the moons of four planets")
    s.wait(3).deletes(59).types(
        "The cameras went first: after 1990 there was nothing near enough to see.\n\n"
    )
    s.reads(7, 6).reads(4, 50)
    s.types("Heaters came next. It was expected that instruments would freeze and fail, yet ")
    s.pastes(
        "the cosmic ray detector kept counting at seventy degrees below what it was tested for",
        "passage",
        4,
    ).cites(4).types(". ").leaves(92).wait(2)
    s.pastes(
        "In 2023 engineers began to draw on a small reserve that had been set aside for a "
        "safety mechanism, which protects the instruments against a sudden change of voltage, "
        "and by this measure one more instrument could be kept running for some years.",
        "outside",
    ).wait(6)
    s.types("\n\nA third reason is patience. ").reads(5, 41).wait(75)
    s.types(
        "The network still listens to a signal that is almost nothing, and who sends a command "
        "waits most of a day until it arrives."
    ).cites(5).wait(5)
    s.jumps(
        " Whether anybody answers after that is a matter of luck and of good soldering, done "
        "by hand half a century ago."
    )
    s.types("\n\nSo they answer because somebody decided again and again what could be gvien")
    s.deletes(5).types("given up, and because the rest was built well.")
    s.pastes("Both probes were built for five years", "own").wait(4).deletes(37)
    return s.types(" They will fall silent when the last instrument has no power.")


def submitted(
    task: Task,
    worker: Membership | None = None,
    text: str | None = None,
    breaks: bool = False,
    **more: Any,
) -> tuple[Answer, Session, Assignment]:
    """An essay written, logged and submitted; with ``text`` another one is submitted than was
    logged, with ``breaks`` the log has a hole."""
    lease = factories.claim(task, worker or factories.make_worker(task.project))
    entry = lease.entries.get()
    session = essay(Session(f"item-{entry.item_id}", **more))
    if breaks:
        # As if events before this one were missing: it reaches beyond the text.
        changes = [event for event in session.events if event.get("delta") and "ms" not in event]
        changes[len(changes) // 2]["delta"][1:3] = [90_000, 5]
    factories.make_log(lease, session.events)
    factories.submit(lease, session.text if text is None else text)
    return Answer.objects.get(assignment=lease), session, lease
