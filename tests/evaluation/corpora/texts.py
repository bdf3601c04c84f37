"""A small corpus written for these tests: eight questions on a lighthouse, answers of three kinds.

``good`` say the same in other words, ``thin`` say a part of it, ``wrong`` are sure and mistaken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.models import Project, Task
from tests.support import factories
from tests.support.kept import kept

PASSAGE = (
    "The lighthouse on Gull Rock was built in 1862 from grey granite, which was brought by sea. "
    "Its lamp burned rapeseed oil at first and was changed to electricity in 1931. Three keepers "
    "lived there in turns of a month. In fog they rang a bell every half minute. A storm in 1907 "
    "broke the landing stage, and for nine days nobody could leave. The last keeper left in 1984, "
    "when the lamp was made to run by itself. Today seals rest on the rocks, and a warden counts "
    "the nesting terns each June."
)
QUESTIONS = {
    "When and of what was the lighthouse built?": (
        (
            "It was built in 1862 from grey granite that came by sea.",
            "In 1862, of grey granite brought there by ship.",
            "Grey granite, in the year 1862.",
            "They built it of granite in 1862; the stone came over the sea.",
        ),
        ("It is made of stone.", "Sometime in the 1860s."),
        ("It was built of red brick in 1931.", "Out of wood, after the storm of 1907."),
    ),
    "What did the lamp burn at first?": (
        (
            "At first the lamp burned rapeseed oil.",
            "Rapeseed oil.",
            "It burned oil made of rapeseed until it became electric.",
            "The first lamp ran on rapeseed oil.",
        ),
        ("Some kind of oil.", "Oil, before electricity."),
        ("It burned coal gas.", "The lamp was electric from the beginning."),
    ),
    "When did the lamp become electric?": (
        (
            "The lamp was changed to electricity in 1931.",
            "In 1931 it was made electric.",
            "1931 is when the electric lamp came.",
            "Electricity replaced the oil in 1931.",
        ),
        ("In the thirties.", "Later, instead of oil."),
        ("In 1984, when the keeper left.", "In 1862 when it opened."),
    ),
    "How many keepers lived there, and for how long?": (
        (
            "Three keepers lived there in turns of a month.",
            "Three of them, a month at a time.",
            "There were three keepers, each taking turns of one month.",
            "Three keepers, who changed every month.",
        ),
        ("A few keepers in turns.", "Keepers lived there for a while."),
        ("One keeper for his whole life.", "A family of five stayed all year."),
    ),
    "What did the keepers do in fog?": (
        (
            "In fog they rang a bell every half minute.",
            "They rang the bell every thirty seconds.",
            "When there was fog a bell was rung each half minute.",
            "They sounded a bell every half a minute.",
        ),
        ("They made a noise.", "They used the bell."),
        ("They fired a cannon every hour.", "They lit a second lamp by the sea."),
    ),
    "What happened in the storm of 1907?": (
        (
            "The storm broke the landing stage and nobody could leave for nine days.",
            "The landing stage was broken, so for nine days nobody got away.",
            "It destroyed the landing stage; they were stuck for nine days.",
            "The landing stage broke and no one could leave for nine days.",
        ),
        ("Something broke.", "People could not leave."),
        ("The lamp went out and a ship sank.", "The tower fell into the sea."),
    ),
    "Why did the last keeper leave?": (
        (
            "The last keeper left in 1984 because the lamp was made to run by itself.",
            "Because the lamp ran by itself from 1984 on.",
            "In 1984 the lamp became automatic, so no keeper was needed.",
            "The lamp was made automatic in 1984 and the keeper could go.",
        ),
        ("He was not needed.", "Because of the lamp."),
        ("He was too old to row the boat.", "The seals drove him away."),
    ),
    "What is counted there today?": (
        (
            "A warden counts the nesting terns each June.",
            "The nesting terns are counted every June by a warden.",
            "Terns that nest there, counted in June by the warden.",
            "Each June a warden counts terns on their nests.",
        ),
        ("Birds are counted.", "Some animals."),
        ("The seals are counted at night.", "The number of ships that pass."),
    ),
}
GOOD, THIN, WRONG = 0, 1, 2


def keys() -> list[str]:
    """The ids of the questions."""
    return [f"q-{number + 1:03d}" for number in range(len(QUESTIONS))]


def answers(kinds: Sequence[int], *, turn: int = 0, some: slice = slice(None)) -> dict[str, str]:
    """One person's answers: question k is answered in the kind ``kinds[k % len(kinds)]``."""
    made = {}
    for number, (key, told) in enumerate(zip(keys(), QUESTIONS.values(), strict=True)):
        variants = told[kinds[number % len(kinds)]]
        made[key] = variants[(turn + number) % len(variants)]
    return dict(list(made.items())[some])


def people() -> Iterator[tuple[str, dict[str, str]]]:
    """Eleven workers of planted quality: five good, two mixed, two thin, two wrong."""
    for turn in range(5):
        yield f"good-{turn}", answers([GOOD], turn=turn)
    for turn in range(2):
        yield f"mixed-{turn}", answers([GOOD, THIN], turn=turn)
    for turn in range(2):
        yield f"thin-{turn}", answers([THIN], turn=turn)
    for turn in range(2):
        yield f"wrong-{turn}", answers([WRONG], turn=turn)


@kept
def make_task(project: Project | None = None) -> Task:
    """The task, published and without answers."""
    return factories.make_task(
        project,
        len(QUESTIONS),
        title="Gull Rock",
        passage=PASSAGE,
        questions=list(QUESTIONS),
        redundancy=5,
    )


@kept
def make_answered(project: Project | None = None, *, systems: bool = True) -> Task:
    """The task with everybody's answers, one worker of two answers, and two systems."""
    task = make_task(project)
    given = dict(people())
    given["two-answers"] = answers([GOOD], turn=1, some=slice(2))
    factories.make_answers(task, given)
    if systems:
        factories.make_system_answers(
            task,
            {
                ("Tern-2", "plain"): answers([GOOD], turn=2),
                ("Tern-2", "short"): answers([THIN], turn=1),
                ("Auk-1", "plain"): answers([WRONG, THIN], turn=1),
            },
        )
    return task
