"""Two smaller tasks of the demo project: one just begun, read once, and one still a draft.

Written for this project, like everything in the demo.
"""

from __future__ import annotations

from annotation.demo.dataset import Question, Text

BEGUN_TITLE = "Tides, read once"
BEGUN_INSTRUCTIONS = (
    "Read the text once, then answer **four questions** from memory. The text is not shown again "
    "once you have gone on.\n\n- One or two sentences are enough.\n"
    "- “I don’t know” is a fair answer and is paid like any other."
)
BEGUN = Text(
    id="tid",
    title="Why the sea rises twice a day",
    topic="tides",
    may_look_back=False,
    passage=(
        "The Moon pulls at the Earth, and it pulls a little harder at the side that faces it. The "
        "sea bulges there. On the far side the pull is weaker than at the Earth’s centre, so the "
        "water is left behind and bulges as well. As the Earth turns under both bulges, most "
        "coasts have high water about every twelve hours and twenty-five minutes.",
        "The Sun does the same with less than half the strength, since it is so much farther "
        "away. At full and new moon both pull along one line and the tides are large; they are "
        "called spring tides. At half moon they pull at right angles, and the neap tides are "
        "small.",
        "How high the water rises is mostly decided by the shape of the coast. In a bay that "
        "narrows like a funnel it has nowhere else to go: in the Bay of Fundy the difference is "
        "up to sixteen metres, while the almost closed Mediterranean hardly has tides at all.",
    ),
    questions=(
        Question("tid-01", "Why is there high water on the side that faces away from the Moon?"),
        Question("tid-02", "When are tides at their largest, and why?"),
        Question("tid-03", "Why does the Sun move the sea less than the Moon does?"),
        Question("tid-04", "What decides how high the water rises in a place?"),
    ),
)
BEGUN_ANSWERS: dict[str, dict[str, str]] = {
    "sorrel-18": {
        "tid-01": "There the Moon pulls less than at the middle of the Earth, so the water stays "
        "behind and makes a second bulge.",
        "tid-02": "At full and new moon, when Sun and Moon pull along the same line.",
        "tid-03": "It is much farther away, so its effect is less than half as strong.",
        "tid-04": "Mostly the shape of the coast; a bay like a funnel makes it rise a lot.",
    },
    "linden-22": {
        "tid-01": "The pull is weaker over there and the water gets left behind.",
        "tid-02": "Spring tides, at full moon and new moon, because both pull together.",
        "tid-03": "Because of the distance.",
        "tid-04": "The form of the coast, for example a bay that gets narrower.",
    },
    "swift-71": {
        "tid-01": "Because the Earth turns.",
        "tid-02": "Full moon.",
        "tid-03": "It is far away.",
        "tid-04": "",
    },
    "kestrel-07": {
        "tid-01": "On that side the Moon’s pull is weaker than at the Earth’s centre, so the water "
        "is left behind and forms the second bulge.",
        "tid-02": "At full and new moon (spring tides): Sun and Moon then pull along one line.",
        "tid-03": "The Sun is so much farther away that its effect is less than half the Moon’s.",
        "tid-04": "Above all the shape of the coast: in a bay that narrows like a funnel the water "
        "has nowhere else to go.",
    },
    "plover-11": {
        "tid-01": "the moon pulls less there so the water stays behind",
        "tid-02": "at full moon and new moon because sun and moon pull the same way",
        "tid-03": "because it is farther away",
        "tid-04": "the shape of the coast, like bays",
    },
    "amber-20": {
        "tid-01": "Because the pull there is less than at the middle of the Earth: the water is "
        "left behind and bulges too.",
        "tid-02": "Spring tides come at full and new moon, when both pull along one line.",
        "tid-03": "Because of its much greater distance; it has less than half the effect.",
        "tid-04": "The shape of the coast decides it, for example a bay like a funnel.",
    },
    "merlin-15": {
        "tid-01": "The Sun stands on that side and pulls the water away from the Moon.",
        "tid-02": "At half moon, as the Sun then pulls from the side and lifts the water.",
        "tid-03": "Its light pushes the water down again, which takes away half of the effect.",
        "tid-04": "The temperature of the water: warm water expands and rises more.",
    },
}
DRAFT_TITLE = "Ice: why it floats"
DRAFT = Text(
    id="ice",
    title="Why ice floats",
    topic="ice",
    may_look_back=True,
    passage=(
        "Most liquids shrink when they freeze. Water is an exception: below four degrees its "
        "molecules begin to take up the open lattice of ice, which needs about nine per cent more "
        "room. So ice is lighter than the water around it, and lakes freeze from the top.",
    ),
    questions=(
        Question("ice-01", "What is unusual about the way water freezes?"),
        Question("ice-02", "Why do lakes freeze from the top and not from the bottom?"),
    ),
)
