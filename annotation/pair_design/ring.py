"""Which stretch of the list each claim takes, so that workers and items are connected.

The list of N items is a ring; every item is wanted k times, an assignment holds b (all N where
N < b). Claims are numbered 0, 1, 2 ... in the order in which they are made, whoever makes them; a
number whose assignment was given back or ran out is the next to be handed out (``next_claim``), so
that its window is filled as a whole. Claim n takes the next b items from ``window_start(n)`` on,
around the ring, passing over those that already have their k.

**Which windows.** Where b divides N, each of the k layers cuts the ring into N/b windows, layer r
shifted by ceil(r b / k). Otherwise claim n begins where claim n - 1 ended, for as many claims as
it takes to go around k - 1 times: each time around is then cut N mod b places away from the time
before. The last of them goes beyond the ring's end and gives its first items, fewer than b of
them, their k-th judge. The claims that are left share out the items that still lack one, cut in
the middle of the widest gap between the cuts so far. So all k N slots are filled by
``claims()`` = ceil(k N / b) assignments, all full but possibly the last.

**Theorem.** With k >= 2 and b >= 2 the graph of workers and items is connected once all windows
are taken, even if each is taken by another worker; with k >= 3 after the second time around.

*Proof.* A worker who takes several windows only merges nodes, so let each window have its own.
It is enough that a chain of windows with common items reaches every item. If N <= b, every window
is the whole ring. Else call a *cut* of a layer a place between two neighbours of the ring that
no window of the layer holds both of.

(1) b divides N. Layer 0 is cut at multiples of b, layer 1 at places = ceil(b/k) mod b, and
1 <= ceil(b/k) <= b - 1 because 2 <= k and 2 <= b. No place is a cut of both, so any two neighbours
stand together in a window, and the ring is a chain.

(2) b does not divide N, k >= 3. The first two times around are laid end to end. Place p is a cut
of the first if b divides p, of the second if b divides N + p; both would mean that b divides N. So
any two neighbours 0..N-1 stand together in a window.

(3) b does not divide N, k = 2. Layer 0 consists of W = ceil(N/b) >= 2 windows with cuts at
b, 2b, ..., (W-1)b only: its last window holds item N - 1 and the first s = W b - N >= 1 items. So
its windows form a cycle, and one of the W links between successive ones (the last and the first)
is there already; it is enough that at most one other is missing, as a cycle that lost one link is
connected. If W = 2 there is only one other. If W >= 3, layer 1 runs over items s..N-1, more than
b of them, from its starting place s + o, 0 <= o < b, and goes on from s when it has reached N - 1.
Its cuts at or behind s + o lie at places = s + o (mod b), which is b // 2 and so is not 0: none of
them is a cut of layer 0. The places before s + o are those from s + 1 to s + o - 1, fewer than 2b
as s < b and o < b, so b itself is the only cut of layer 0 among them: one link at most. QED

The links are thick but at one place: neighbouring windows of a layer are tied by windows that hold
about half of either. Where the chain of claims closes, windows overlap; with k = 2 and a small
N mod b the two workers there share 2 (N mod b) judgments with all others.

With k = 1 no item has two judges, and with b = 1 nobody judges two items: neither can be connected
by any arrangement, unless workers take several assignments (b = 1), or a single worker all (k = 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
from django.utils.translation import gettext as _

from annotation.pair_design.graph import IntArray
from annotation.pair_design.model import check_handing_out
from crowdqc.errors import Invalid


@dataclass(frozen=True)
class _Plan:
    """The ring's constants: ``chain`` claims lie end to end, then ``rest`` items from ``spill``."""

    items: int
    bundle: int
    redundancy: int
    chain: int
    spill: int
    turn: int

    @property
    def rest(self) -> int:
        """Count the items from ``spill`` on."""
        return self.items - self.spill

    @property
    def claims(self) -> int:
        """Count the assignments that give every item its redundancy."""
        return -(-self.items * self.redundancy // self.bundle)


def count_claims(items: int, bundle: int, redundancy: int) -> int:
    """Assignments that fill every slot: ceil(items x redundancy / bundle)."""
    return _plan(items, bundle, redundancy).claims


def next_claim(live: Iterable[int]) -> int:
    """Return the lowest claim number that no assignment in work or submitted has.

    Counting on instead would fill what was given back in other stretches; with k = 2 that can cut
    the ring in two.
    """
    taken = set(live)
    return next(n for n in count() if n not in taken)


def window_start(n_claims: int, items: int, bundle: int, redundancy: int) -> int:
    """Return where on the ring of ``items`` a claim starts, after ``n_claims`` earlier ones.

    Numbers beyond ``claims()`` go through the same places again. Raises Invalid, naming the field,
    for a negative number or an empty ring or bundle.
    """
    if n_claims < 0:
        raise Invalid(_("The count of claims is negative."), fields={"n_claims": _("From 0.")})
    plan = _plan(items, bundle, redundancy)
    n = n_claims % plan.claims
    if plan.items % plan.bundle == 0:
        layer, window = divmod(n, plan.items // plan.bundle)
        shift = -(-layer * plan.bundle // plan.redundancy)
        return (shift + window * plan.bundle) % plan.items
    if n < plan.chain:
        return n * plan.bundle % plan.items
    return plan.spill + (plan.turn + (n - plan.chain) * plan.bundle) % plan.rest


def window(n_claims: int, items: int, bundle: int, redundancy: int) -> IntArray:
    """Return the items (at most ``bundle``,) of the claim after ``n_claims`` completed ones."""
    plan = _plan(items, bundle, redundancy)
    start = window_start(n_claims, items, bundle, redundancy)
    n = n_claims % plan.claims
    steps = np.arange(plan.bundle, dtype=np.int64)
    if plan.items % plan.bundle == 0 or n < plan.chain:
        return (start + steps) % plan.items
    steps = steps[: plan.rest - (n - plan.chain) * plan.bundle]
    return plan.spill + (start - plan.spill + steps) % plan.rest


def slots(items: int, bundle: int, redundancy: int) -> tuple[IntArray, IntArray]:
    """Return claim and item of each slot, both (items x redundancy,), in order of the claims."""
    parts = [
        window(n, items, bundle, redundancy) for n in range(count_claims(items, bundle, redundancy))
    ]
    claim = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return claim, np.concatenate(parts)


@lru_cache(maxsize=256)
def _plan(items: int, bundle: int, redundancy: int) -> _Plan:
    check_handing_out(bundle, redundancy)
    if items < 1:
        raise Invalid(_("There is nothing to hand out."), fields={"items": _("At least 1.")})
    b = min(bundle, items)
    layers = redundancy - 1
    chain = -(-layers * items // b)
    spill = chain * b - layers * items
    turn = 0
    if layers and items % b:
        middle = _widest_gap([-r * items % b for r in range(layers)], b)
        turn = (middle - spill) % b % (items - spill)
    return _Plan(items, b, redundancy, chain, spill, turn)


def _widest_gap(places: list[int], size: int) -> int:
    """The middle of the widest gap between places on a circle of ``size``."""
    here = sorted(set(places))
    after = [*here[1:], here[0] + size]
    gap, start = max((b - a, -a) for a, b in zip(here, after, strict=True))
    return (gap // 2 - start) % size
