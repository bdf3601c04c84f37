"""Serve what the processes of one program counted, with their memory, time and files.

A process of its own reads the others' files and ``/proc``, so that a program which hangs still
shows its figures. Where one stops, Prometheus sees a target that is down.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import psutil
from prometheus_client import CollectorRegistry, start_http_server, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from crowdqc.jobs.family import die_with_parent, name_process
from crowdqc.metrics.folder import FOLDER

RETRY_SECONDS, LOOK_SECONDS = 5.0, 1.0
PROGRAMS = ("python", "gunicorn")  # what processes without a name of their own are called
counted = CollectorRegistry()  # what one process counted
_identity = ""


def _identify() -> str:
    return _identity or str(os.getpid())


if os.environ.get(FOLDER):  # before any metric is made: each takes the class that it finds
    values.ValueClass = values.MultiProcessValue(_identify)


def identify_process(name: str) -> None:
    """Count under this name, and on from what a process before this one counted under it.

    No two processes may have one name at a time. Without one the files of ended processes stay,
    which the processes of jobs would make thousands of.
    """
    global _identity  # noqa: PLW0603
    _identity = name


class Counted:
    """What all processes of this program counted."""

    def collect(self) -> Iterable[Any]:
        """Yield the families; the library says of merged ones only "Multiprocess metric"."""
        texts = {metric.name: metric.documentation for metric in counted.collect()}
        for family in MultiProcessCollector(None).collect():
            family.documentation = texts.get(family.name, family.documentation)
            yield family


class Processes:
    """Memory, processor time and open files of a process and all below it, by name."""

    def __init__(self, root: int, name: str) -> None:
        self.root, self.name = root, name

    def collect(self) -> Iterable[Any]:
        """Read every process; one that ends meanwhile is left out."""
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
        for process in self._family():
            try:
                with process.oneshot():
                    name, times = process.name(), process.cpu_times()
                    figures = (1, _memory(process), sum(times[:4]), process.num_fds())
            except psutil.Error:
                continue
            key = self.name if name.startswith(PROGRAMS) else name
            sums[key] = [a + b for a, b in zip(sums[key], figures, strict=True)]
        for place, (kind, name, text) in enumerate(
            (
                (GaugeMetricFamily, "processes", "Processes, by name."),
                (GaugeMetricFamily, "process_memory_bytes", "Memory, shared parts divided."),
                (CounterMetricFamily, "process_cpu_seconds", "Processor time used."),
                (GaugeMetricFamily, "process_open_files", "Open files and connections."),
            )
        ):
            family = kind(f"crowdqc_{name}", text, labels=["process"])
            for key, row in sums.items():
                family.add_metric([key], row[place])
            yield family

    def _family(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self.root)
            return [root, *root.children(recursive=True)]
        except psutil.Error:
            return []


class Disks:
    """Size and free bytes of the disks below ``/`` and below the folder of backups."""

    def collect(self) -> Iterable[Any]:
        """Read each folder that there is."""
        size = GaugeMetricFamily("crowdqc_disk_size_bytes", "Size of a disk.", labels=["folder"])
        free = GaugeMetricFamily("crowdqc_disk_free_bytes", "Free bytes.", labels=["folder"])
        backups = os.environ.get("CROWDQC_BACKUP_FOLDER", "")
        for name, folder in (("root", "/"), ("backups", backups)):
            if folder.startswith("/") and os.path.isdir(folder):
                found = shutil.disk_usage(folder)
                size.add_metric([name], found.total)
                free.add_metric([name], found.free)
        yield from (size, free)


def _memory(process: psutil.Process) -> float:
    """Return a process's share of the memory (Linux), or all that it has in use."""
    try:
        return float(process.memory_full_info().pss)
    except (AttributeError, psutil.AccessDenied):
        return float(process.memory_info().rss)


def serve_metrics(listen: tuple[str, int], name: str) -> int:
    """Serve the metrics of the process that started this one until that ends."""
    parent = os.getppid()
    registry = CollectorRegistry()
    registry.register(Counted())
    registry.register(Processes(parent, name))
    registry.register(Disks())
    address, port = listen
    server = None
    while os.getppid() == parent:
        try:
            server = server or start_http_server(port, address, registry)
        except OSError as error:  # the program before this one may still have it
            print(f"metrics: cannot listen at {address}:{port}: {error}", file=sys.stderr)
            time.sleep(RETRY_SECONDS)
        else:
            time.sleep(LOOK_SECONDS)
    return 0


def fork_metrics(listen: tuple[str, int], name: str, sockets: Sequence[Any]) -> None:
    """Serve the metrics from a child of this process, which keeps none of these sockets."""
    parent = os.getpid()
    if os.fork():
        return
    try:
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(signum, signal.SIG_DFL)
        for signum in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
            signal.signal(signum, signal.SIG_IGN)
        die_with_parent(parent, signal.SIGTERM)
        name_process("metrics")
        for one in sockets:
            one.close()
        serve_metrics(listen, name)
    finally:
        os._exit(0)
