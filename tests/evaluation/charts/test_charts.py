"""Charts: what a reader sees is where the numbers say it is, and nothing is styled inline."""

from __future__ import annotations

import itertools
import re
from datetime import date
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.charts import boards as charts
from evaluation.charts.replay import Paste, Writing, replay_strip
from evaluation.charts.scatter import Point, scatter
from evaluation.charts.svg import Axis, correlation_axis, nice_ticks

MAIN = [0.3, 0.05, 0.004, 3e-4, 2e-5, 9e-7]


def parse(svg: str) -> ElementTree.Element:
    """A chart is well-formed, said in words, and free of inline style."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own output
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert " style=" not in svg
    assert "<script" not in svg
    return root


def circle_x(root: ElementTree.Element) -> float:
    return next(float(e.get("cx", "")) for e in root.iter("circle"))


def test_the_dot_stands_on_its_interval_and_the_diamond_beside_it() -> None:
    scale = charts.Scale(0.4, 1.0, 300, (0.5, 0.75, 1.0))
    estimate = charts.Estimate(0.7, 0.6, 0.9)
    root = parse(charts.forest_cell(scale, estimate, secondary=0.5, reference=0.55, name="wren"))
    bar = next(e for e in root.iter("line") if e.get("class") == "interval")
    assert circle_x(root) == pytest.approx(150)
    assert (float(bar.get("x1", "")), float(bar.get("x2", ""))) == pytest.approx((100, 250))
    assert root.get("aria-label") == "wren: .700, 95% CI .600–.900, first-round .500"


def test_a_diamond_close_to_the_dot_is_lifted_so_that_both_are_seen() -> None:
    scale = charts.Scale(0.0, 1.0, 300, (0.0, 1.0))
    near = charts.forest_cell(scale, charts.Estimate(0.5, 0.4, 0.6), secondary=0.51)
    far = charts.forest_cell(scale, charts.Estimate(0.5, 0.4, 0.6), secondary=0.58)
    top = {svg: float(re.search(r'diamond" d="M[\d.]+ ([\d.]+)', svg)[1]) for svg in (near, far)}  # type: ignore[index]
    assert top[near] < top[far] - 5


def test_a_row_without_a_score_shows_the_ground_only() -> None:
    root = parse(charts.forest_cell(charts.Scale(0, 1), None, name="willow"))
    assert root.get("aria-label") == "willow: not scored"
    assert not list(root.iter("circle"))


def test_an_estimate_without_an_interval_says_so() -> None:
    root = parse(charts.forest_cell(charts.Scale(0, 1), charts.Estimate(0.5)))
    assert "without an interval" in root.get("aria-label", "")


@pytest.mark.parametrize(
    ("intervals", "band"),
    [
        ([(0.1, 0.5), (0.3, 0.7), (0.2, 0.6)], (0.3, 0.5)),
        ([(0.1, 0.2), (0.3, 0.7)], None),
        ([(0.1, 0.2)], None),
    ],
)
def test_the_band_is_where_all_intervals_of_a_group_overlap(
    intervals: list[tuple[float, float]], band: tuple[float, float] | None
) -> None:
    assert charts.overlap_band(intervals) == band


def test_names_of_workers_are_escaped_in_the_sentence() -> None:
    svg = charts.forest_cell(charts.Scale(0, 1), None, name='"><script>x</script>')
    assert "<script" not in svg
    parse(svg)


@given(
    st.lists(
        st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 6)), min_size=1, max_size=8
    )
)
def test_a_scale_holds_every_value_and_its_ticks_ascend_inside(values: list[float]) -> None:
    scale = charts.Scale.around(values)
    assert all(scale.low <= v <= scale.high for v in values)
    assert list(scale.ticks) == sorted(scale.ticks)
    assert all(scale.low <= t <= scale.high for t in scale.ticks)
    assert 1 <= len(scale.ticks) <= 12


def test_a_scale_without_any_value_is_drawn_from_0_to_1() -> None:
    assert charts.Scale.around([None, float("nan")]).ticks == nice_ticks(0, 1)


def test_four_estimates_have_four_shapes() -> None:
    svg = charts.agreement_cell(
        charts.Scale(0, 1), raw=0.2, corrected=0.44, null=0.3, crossfit=charts.Estimate(0.27)
    )
    root = parse(svg)
    for kind in ("square", "ringed", "cross", "dot"):
        assert f'class="{kind}"' in svg
    assert root.get("aria-label") == "raw .20, shuffled null .30, corrected .44, cross-fit .27"


def test_a_converged_run_is_said_to_lie_under_the_stop_line() -> None:
    root = parse(charts.convergence(MAIN, [[0.4, 0.1, 0.02], [0.2]], stop=1e-6))
    assert "under the stop line of 10⁻⁶" in root.get("aria-label", "")
    assert "not yet" not in root.get("aria-label", "")
    going = parse(charts.convergence(MAIN[:3], stop=1e-6))
    assert "not yet under" in going.get("aria-label", "")


def test_a_change_of_exactly_0_is_drawn_at_the_foot() -> None:
    root = parse(charts.convergence([0.5, 0.0]))
    assert "round 2, 0" in "".join(root.itertext())


@pytest.mark.parametrize("changes", [[], [0.1, -0.1]])
def test_a_line_that_cannot_be_a_change_is_refused(changes: list[float]) -> None:
    with pytest.raises(ValueError, match="convergence"):
        charts.convergence(changes)


def test_a_histogram_names_this_person_and_keeps_labels_apart() -> None:
    svg = charts.histogram(
        [3, 9, 1], 0, 1, this=0.05, labels=("0%", "100%"), this_label="5%", what="Pasted"
    )
    root = parse(svg)
    words = [e.text for e in root.iter("text")]
    assert words == ["100%", "5%"]
    assert root.get("aria-label") == "Pasted of 13, from 0% to 100%; this one: 5%"


@pytest.mark.parametrize("at", [0.0, 0.12, 0.26, 0.5, 0.7, 0.97, 1.0])
def test_labels_of_a_histogram_stand_beside_each_other_on_a_narrow_card(at: float) -> None:
    labels = ("2 min 54 s", "11 min 20 s")
    svg = charts.histogram([1, 2], 0, 1, this=at, labels=labels, this_label="3 min 50 s")
    spans = []
    for one in parse(svg).iter("text"):
        width = 6.2 * len(one.text or "")  # pixels, on a card of 240
        x, classes = float((one.get("x") or "").rstrip("%")) * 2.4, (one.get("class") or "").split()
        left = x - width if "end" in classes else x - width / 2 if "mid" in classes else x
        spans.append((left, left + width))
    spans.sort()
    assert spans[0][0] >= 0 and spans[-1][1] <= 240 and len(spans) >= 2
    assert all(a[1] < b[0] for a, b in itertools.pairwise(spans))


def test_cost_by_day_says_spent_and_budget() -> None:
    days = [(date(2026, 11, 2), Decimal(0)), (date(2026, 11, 9), Decimal("61.50"))]
    svg = charts.cost_by_day(
        days, until=date(2026, 11, 30), cost_limit=Decimal(96), budget=Decimal(110)
    )
    root = parse(svg)
    assert "€61.50, 56% of €110" in root.get("aria-label", "")
    words = [e.text for e in root.iter("text")]
    assert "today" in words
    assert words.count("9\u00a0Nov") == 0  # today stands there


@pytest.mark.parametrize("budget", range(50, 120, 3))
def test_the_line_of_the_budget_strikes_no_word_through(budget: int) -> None:
    days = [(date(2026, 11, 2), Decimal(0)), (date(2026, 11, 9), Decimal("61.50"))]
    root = parse(
        charts.cost_by_day(
            days, until=date(2026, 11, 12), cost_limit=Decimal(96), budget=Decimal(budget)
        )
    )
    at = next(float(e.get("y1", "")) for e in root.iter("line") if e.get("class") == "reference")
    word = next(e for e in root.iter("text") if "at most" in (e.text or ""))
    foot = float(word.get("y", ""))
    assert not foot - 9 < at < foot + 2, (at, foot)


def test_small_amounts_have_a_tick_each() -> None:
    days = [(date(2026, 11, 2), Decimal(0)), (date(2026, 11, 3), Decimal("1.05"))]
    for svg in (charts.cost_by_day(days), charts.work_by_day([(date(2026, 11, 3), 1)])):
        ticks = [e.text for e in parse(svg).iter("text") if e.get("x") == "-8"]
        assert len(ticks) == len(set(ticks)) > 1


def test_cost_by_day_works_on_the_first_day_and_refuses_disorder() -> None:
    parse(charts.cost_by_day([(date(2026, 11, 2), Decimal(0))]))
    days = [(date(2026, 11, 3), Decimal(1)), (date(2026, 11, 2), Decimal(2))]
    with pytest.raises(ValueError, match="ascending"):
        charts.cost_by_day(days)


def test_the_replay_strip_dims_what_is_not_yet_played() -> None:
    writing = Writing(100, [(5, 3)], [(6, 1)], [Paste(50, 43, "outside")], [(60, 90)])
    root = parse(replay_strip(writing, now=25))
    dimmed = next(e for e in root.iter("rect") if e.get("class") == "not-yet")
    assert (dimmed.get("x"), dimmed.get("width")) == ("25.00%", "75.00%")
    assert "1 paste, 1 from outside; 1 absence" in root.get("aria-label", "")
    with pytest.raises(ValueError, match="length"):
        replay_strip(Writing(0))


def test_points_of_a_scale_of_one_value_are_drawn() -> None:
    axis = Axis(3.0, 3.0, (3.0,), name="label")
    drawn = scatter([Point(3.0, 3.0)], across=axis, up=axis, sentence="one rating")
    assert drawn.count("<circle") == 1


def test_an_axis_of_correlations_has_no_tick_below_its_end() -> None:
    assert correlation_axis(0.4).ticks == [0, 0.5, 1]
    assert correlation_axis(-0.3).ticks == [0, 0.5, 1]
    negative = correlation_axis(-0.6)
    assert (negative.low, list(map(negative.write, negative.ticks))) == (
        -0.6,
        ["−.5", "0", ".5", "1"],
    )
