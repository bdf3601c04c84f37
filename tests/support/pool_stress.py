"""Jobs for a pool whose processes are given back at any moment, in a process of its own."""

from __future__ import annotations

import random
import threading
import time

from crowdqc.jobs.pool import Pool

JOBS = 80
LATE = 20.0  # seconds after which a job counts as lost


def main() -> None:
    """Give jobs to a pool that shrinks meanwhile; raises where one is not done in LATE seconds."""
    chance = random.Random(0)
    pool = Pool(processes=0, threads=True)
    mutex, idle = threading.Lock(), threading.Event()

    def give_back() -> None:
        while idle.wait():
            time.sleep(chance.random() * 0.01)
            with mutex:
                if pool._processes:
                    pool.shrink()
                    idle.clear()

    threading.Thread(target=give_back, daemon=True).start()
    for number in range(JOBS):
        with mutex:
            if not pool._processes:
                pool.grow()
            pool.maintain_pool()
        found = pool.apply_async(abs, (-number,), waitforslot=True)
        assert found.get(timeout=LATE) == number
        idle.set()
        time.sleep(chance.random() * 0.02)
    with mutex:
        pool.shrink(pool._processes)
    ends = time.monotonic() + LATE
    while pool._pool and time.monotonic() < ends:
        time.sleep(0.1)
    assert pool._pool == []


if __name__ == "__main__":
    main()
