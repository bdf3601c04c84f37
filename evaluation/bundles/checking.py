"""Whether a bundle gives its numbers again: what was checked, and what is wrong. No database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crowdqc.jobs.memory import limited_memory
from crowdqc.numbers import plural
from evaluation.bundles import live
from evaluation.bundles.archive import MB, MOST_BYTES, open_bundle
from evaluation.bundles.kinds.base import Broken, Recomputed, read_jsonl, read_value
from evaluation.bundles.kinds.registry import KINDS
from evaluation.bundles.manifest import (
    ENVIRONMENT,
    FIGURES,
    RECIPE,
    environment,
    results_file,
)
from evaluation.bundles.report import differences
from evaluation.methods.core.base import BadParameter, DataError, Hooks
from evaluation.runs.memory import exceeded_message
from evaluation.runs.results.rows import result_hash
from evaluation.runs.run_types import type_of

MOST_REPORT = 64 * MB
TOLERANCE = 1e-6
LISTED = 5


@dataclass
class Report:
    """Lines of what was checked, each with whether it holds."""

    lines: list[tuple[bool, str]] = field(default_factory=list)

    def add_check(self, good: bool, text: str) -> None:
        self.lines.append((good, text))

    @property
    def good(self) -> bool:
        return all(good for good, _ in self.lines)


def verify(
    path: Path,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    most: int = MOST_BYTES,
) -> Report:
    """Verify a bundle: its files, its data and its numbers; all checks run even if one fails.

    Raises Broken where the file is no bundle that could be run, has more than ``most`` bytes, or
    takes more memory than a job may.
    """
    try:
        with limited_memory():
            return _verify(path, progress, most)
    except MemoryError as error:
        raise Broken(exceeded_message()) from error


def _verify(path: Path, progress: Callable[[str, int, int], None] | None, most: int) -> Report:
    files, manifest = open_bundle(path, most)
    report = Report()
    _check_files(report, files, manifest)
    slug = manifest["method"]
    kind = live.OfVotes() if slug == live.METHOD else KINDS.get(slug)
    if kind is None:
        raise Broken(f"Runs of {slug[:60]!r} cannot be run again from a bundle.")
    try:
        recipe = _recipe_of(files, slug)
        _check_versions(report, files, recipe)
        found = kind.recompute(files, recipe, Hooks(progress=progress))
        _check_numbers(report, files, manifest, recipe, found)
    except (Broken, DataError, BadParameter) as error:
        report.add_check(False, f"The method cannot be run on this data. {error}")
    except MemoryError:
        raise
    except Exception as error:  # whoever made the file decides what the method is given
        told = f"{type(error).__name__}: {error}"
        report.add_check(False, f"A file of it cannot be read or used: {told[:300]}")
    return report


def _recipe_of(files: Mapping[str, bytes], method: str) -> dict[str, Any]:
    """Return the options the run was given. Raises BadParameter on options that no run can have."""
    recipe = read_value(files[RECIPE])
    if not isinstance(recipe, dict) or not isinstance(recipe["params"], dict):
        raise Broken(f"{RECIPE} is no recipe.")
    if recipe["method"] != method:
        raise Broken(f"{RECIPE} is of another method than the manifest says.")
    if method != live.METHOD:
        for option in type_of(method).options.options:
            if option.name in recipe["params"]:
                option.check(recipe["params"][option.name])
    return recipe


def check_report(report: Report, path: Path, written: Path, *, most: int = MOST_BYTES) -> None:
    """Hold the numbers of a report against those of the bundle at ``path``. Raises Broken."""
    files, manifest = open_bundle(path, most)
    try:
        if written.stat().st_size > MOST_REPORT:
            raise Broken(f"{written.name} has more than {MOST_REPORT // MB} MB.")
        html = written.read_text(encoding="utf-8")
        found, wrong = differences(html, files, manifest)
    except (OSError, UnicodeDecodeError, AssertionError, AttributeError, TypeError) as error:
        raise Broken(f"{written.name} cannot be read: {error}") from error
    if wrong:
        report.add_check(False, f"Report: {'; '.join(wrong[:LISTED])}.")
    else:
        report.add_check(True, f"Report: {plural(found, 'number')}, each as the bundle has it.")


def _check_files(report: Report, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    told: Mapping[str, str] = manifest["files"]
    wrong = [
        *(f"{name} is missing" for name in sorted(set(told) - set(files))),
        *(f"{name} is not in the manifest" for name in sorted(set(files) - set(told))),
        *(
            f"{name} was changed"
            for name in sorted(set(files) & set(told))
            if hashlib.sha256(files[name]).hexdigest() != told[name]
        ),
    ]
    if wrong:
        report.add_check(False, f"Files: {'; '.join(wrong[:LISTED])}.")
    else:
        report.add_check(True, f"Files: {plural(len(files), 'file')}, each as the manifest says.")


def _check_versions(report: Report, files: Mapping[str, bytes], recipe: Mapping[str, Any]) -> None:
    """Never wrong by itself: other versions may give other last digits, which is said."""
    made, here = read_value(files[ENVIRONMENT]), environment()
    there = {**made, **made.pop("libraries")}
    now = {**here, **here.pop("libraries")}
    other = [
        f"{name} {there.get(name)} there, {now[name]} here"
        for name in now
        if there.get(name) != now[name]
    ]
    ours = recipe["method"] == live.METHOD
    own = live.VERSION if ours else type_of(recipe["method"]).recipe.version
    if own != recipe["version"]:
        other.append(f"method {recipe['version']} there, {own} here")
    words = "; ".join(other) if other else "the same versions as where it was made"
    report.add_check(True, f"Environment: {words}.")


def _check_numbers(
    report: Report,
    files: Mapping[str, bytes],
    manifest: Mapping[str, Any],
    recipe: Mapping[str, Any],
    found: Recomputed,
) -> None:
    same_data = found.data_hash == manifest["snapshot"] == recipe["snapshot"]
    words = "as they were frozen" if same_data else "not those that the run saw: their hash differs"
    report.add_check(same_data, f"Data: the answers are {words} ({found.data_hash[:8]}).")
    report.add_check(*_compared(files, found))
    digest = result_hash(found.rows, found.told)
    if digest == manifest["result_hash"]:
        report.add_check(True, f"Result: byte for byte the same ({digest[:8]}).")
    elif report.good:
        report.add_check(
            True, f"Result: the same to {TOLERANCE:g}, not byte for byte ({digest[:8]})."
        )
    else:
        report.add_check(
            False, f"Result: {digest[:8]}, where the run has {str(manifest['result_hash'])[:8]}."
        )


def _compared(files: Mapping[str, bytes], found: Recomputed) -> tuple[bool, str]:
    """Compare every row and figure with the bundle's; return whether all agree, and a sentence."""
    wrong: list[str] = []
    count = 0
    for model, rows in found.rows.items():
        name = results_file(model)
        told = read_jsonl(files[name]) if name in files else []
        count += len(rows)
        if len(told) != len(rows):
            wrong.append(f"{model.__name__} has {len(rows):,} rows now, {len(told):,} in the file")
            continue
        for at, (row, there) in enumerate(zip(rows, told, strict=True), 1):
            plain = json.loads(json.dumps(row))
            then = {key: there.get(key) for key in plain}
            where = differs(_without_newer(plain, then), then)
            if where:
                wrong.append(f"{model.__name__} row {at}, {where}")
    there = read_value(files[FIGURES])
    # A later version gives more; what this bundle says is held against its own figures alone.
    newer = sorted(set(found.told) - set(there))
    for name, data in found.told.items():
        if name in newer:
            continue
        where = differs(json.loads(json.dumps(data)), there[name])
        if where:
            wrong.append(f"figure {name}, {where}")
    if wrong:
        return False, f"Numbers: {plural(len(wrong), 'row')} differ: {'; '.join(wrong[:LISTED])}."
    shown = f"{plural(count, 'row')} and {plural(len(found.told) - len(newer), 'figure')}"
    more = f" Not in it, as it is older: {', '.join(newer)}." if newer else ""
    return True, f"Numbers: {shown} come out the same when the method runs again.{more}"


def _without_newer(now: dict[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """The row without the further figures that a later version gives it."""
    if not isinstance(now.get("extra"), dict) or not isinstance(then["extra"], dict):
        return now
    return {**now, "extra": {k: v for k, v in now["extra"].items() if k in then["extra"]}}


def differs(now: Any, then: Any, where: str = "") -> str:
    """Describe where two JSON values differ by more than the tolerance; "" if they agree."""
    if isinstance(now, dict) and isinstance(then, dict):
        pairs = [(key, now.get(key), then.get(key)) for key in {**now, **then}]
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        pairs = [(str(at), *both) for at, both in enumerate(zip(now, then, strict=True), 1)]
    else:
        plain = now is None or then is None or isinstance(now, bool) or isinstance(then, bool)
        if not plain and isinstance(now, int | float) and isinstance(then, int | float):
            alike = abs(now - then) <= TOLERANCE * max(1.0, abs(then))
        else:
            alike = now == then
        return "" if alike else f"{where or 'value'}: {_short(now)} now, {_short(then)} in the file"
    for key, one, other in pairs:
        found = differs(one, other, f"{where}.{key}" if where else str(key))
        if found:
            return found
    return ""


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]
