"""Every write has its entry in the audit log, read from the code itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from annotation.records.selectors.audit_words import FAMILIES, SENTENCES
from tests.support.import_graph import is_part, module_name, sources
from tests.support.source import parse_source

WRITES = {
    "create",
    "bulk_create",
    "bulk_update",
    "update",
    "delete",
    "get_or_create",
    "save",
    "update_or_create",
}
RECORD = ("annotation.records.actions.audit", "record")
VERBS = re.compile(r"(?<!FOR )\b(INSERT INTO|UPDATE|DELETE FROM)\b")
# Writes without an entry of their own, and why.
EXCEPTIONS = {
    "work.actions.assignments.open_assignment": "the row holds when it was opened, once",
    "work.actions.assignments.show_item": "the row holds when it was shown, once",
    "work.actions.assignments.reveal_known_answer": "the row holds when it was told, once",
    "work.actions.assignments.save_draft": "every few seconds; only the worker's own draft",
    "work.actions.events.append_events": "every few seconds; append-only itself",
    "work.actions.events.open_stream": "part of the log, which is append-only itself",
    "notifications.actions.notices.mark_read": "a person reads what they were told",
    "notifications.actions.notices.mark_read_at": "a person reads what they were told",
    "conversations.actions.mark_seen": "a person reads what was written to them",
    "formats.uploads.actions.add_part": "a part of an upload, whose beginning is recorded",
    "payouts.actions.ledger.book_payment": "the books are append-only themselves",
    "payouts.actions.ledger.book_correction_payment": "the books are append-only themselves",
    "records.actions.replies.store_reply": "a copy of a reply, whose request records what it did",
    "evaluation.published.formats.crowdrag.queue_checks": (
        "a part of importing a study, which records"
    ),
    "work.actions.origins.record_origin": "a part of claiming, which records",
    "work.actions.origins.delete_due_origins": "the clock does it: kept for the days agreed to",
    "work.actions.leases.release_expired": "the clock does it; the lease says until when it held",
    "notifications.actions.webhook_delivery.deliver_due": "every delivery is a row with its tries",
    "privacy.actions.erasure.sweep": "payloads and files that have done their work",
    "evaluation.operations.actions.read_certificate": "what the site's address presents",
    "files.stored.actions.move_files": "of the machine's owner; what a file holds stays the same",
    "formats.actions.export_files.write": "the file was asked for, which records",
    "payouts.actions.rejections.remind_overdue": "a notice, which is a row",
    "payouts.actions.payments.remind_of_late": "a notice, which is a row",
    "records.actions.replies.delete_old_replies": "copies of answers that nobody asks for again",
    "notifications.actions.task_states.tell_complete": "a notice, which is a row",
    "traces.actions.alerts.send_alerts": "a notice, which is a row",
    "accounts.signing.actions.delete_stale_accounts": "the clock does it: unverified accounts",
    "accounts.signing.actions.release_address": "a part of proving an address, which records",
    "accounts.signing.actions.erase_account_data": "a part of closing an account, which records",
    "accounts.security.log.log_event": "a log itself, which is only added to",
    "accounts.signing.actions.end_sessions": "the security log says so",
    "recruitment.actions.key_sets.check_signature": "asks for keys, once a minute at most",
    "recruitment.actions.key_sets.refresh_key_sets": "the clock does it",
    "evaluation.moving.files.add_part": "bytes of an import that was asked for",
    "evaluation.moving.files.resume_archives": "the clock does it: archives kept for their days",
    "evaluation.embeddings.vectors.delete_unused": "the clock does it: vectors kept for their days",
    "evaluation.free_text.encoding.encode_next": "a part of a run, which was asked for",
    "evaluation.free_text.encoding.resume_waiting": "a part of a run, which was asked for",
    "evaluation.llm.endpoints.probe.request_probe": "the model says since when it is asked",
    "traces.actions.seen.log_views": "a log itself, which is only added to",
    "evaluation.traces.listing.trace_listing": "notes who saw what, in that log",
    "traces.actions.receive.receive": "a program sends them; every span is a row",
    "traces.actions.scores.receive_scores": "a program sends them; the trace holds them",
    "traces.actions.settle.delete_expired": "the clock does it: traces kept for their days",
    "evaluation.operations.actions.take_samples": "the clock does it: figures of the moment",
    "evaluation.llm.endpoints.probe.request_names": "the endpoint says since when it is asked",
}
# Where functions are called that are no part of another write.
ENTRANCES = ("views", "api", "jobs", "commands", "platforms")
PROOF = "annotation.accounts.security."  # beside the actions of accounts, and the log of them
READS = ("migrations", "views", "selectors", "methods", "models", "management", "reproduce", "urls")
PREVIEWS = {"evaluation.runs.exclusion_preview.effect"}  # all it writes is a cache of vectors
Place = tuple[str, str]  # module, function


@cache
def parsed(path: Path) -> ast.Module:
    """Each file once: parsing them anew for each rule took most of these tests."""
    return parse_source(path.read_text())


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield modules that write: the annotation app's actions, and evaluation but for its reads."""
    for path in sources("annotation"):
        name = module_name(path)
        inside = is_part(name, "actions", "formats") or name.startswith(PROOF)
        if inside and not is_part(name, "views", "api", "urls", "selectors"):
            yield name, parsed(path)
    for path in sources("evaluation"):
        if not is_part(module_name(path), *READS):
            yield module_name(path), parsed(path)


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Names of a module that come from elsewhere, with where from."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


@cache
def graph() -> tuple[dict[Place, set[Place]], set[Place]]:
    """Which function calls which, and which ones write rows themselves."""
    calls: dict[Place, set[Place]] = {}
    writing: set[Place] = set()
    for module, tree in modules():
        names, texts = imported_names(tree), constants(tree)
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef):
                continue
            here = (module, node.name)
            calls[here] = set()
            for call in (one for one in ast.walk(node) if isinstance(one, ast.Call)):
                at = call.func
                if isinstance(at, ast.Name):
                    if _writes_compiled(names.get(at.id, ""), call, texts):
                        writing.add(here)
                    where = names.get(at.id, f"{module}.{at.id}").rpartition(".")
                    calls[here].add((where[0], where[2]))
                elif isinstance(at, ast.Attribute):
                    if isinstance(at.value, ast.Name) and at.value.id in names:
                        calls[here].add((names[at.value.id], at.attr))
                    elif at.attr in WRITES and _rows(ast.unparse(at.value), at.attr):
                        writing.add(here)
    return calls, writing


def constants(tree: ast.Module) -> dict[str, str]:
    """The texts that names at the top of a module are assigned."""
    return {
        ast.unparse(node.targets[0]): str(node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }


def _writes_compiled(called: str, call: ast.Call, texts: dict[str, str]) -> bool:
    """Whether this runs a statement of the hot path that writes."""
    where, _, name = called.rpartition(".")
    if where != "crowdqc.database.compiled":
        return False
    sql = ast.unparse(call.args[0])
    return name == "insert_row" or bool(VERBS.search(texts.get(sql, sql)))


def _rows(owner: str, verb: str) -> bool:
    """Whether this writes rows, and is no update of a dict, a set or a hash."""
    if verb in ("create", "bulk_create", "bulk_update", "get_or_create", "update_or_create"):
        return True
    if verb == "save":
        return "form" not in owner and "session" not in owner
    return "objects" in owner or "filter(" in owner or "exclude(" in owner or ".all()" in owner


def reaching(goals: set[Place]) -> set[Place]:
    """The functions that come to one of these, in however many calls."""
    calls, _ = graph()
    callers: dict[Place, set[Place]] = {}
    for here, called in calls.items():
        for there in called:
            callers.setdefault(there, set()).add(here)
    seen, ahead = set(goals), list(goals)
    while ahead:
        fresh = callers.get(ahead.pop(), set()) - seen
        seen |= fresh
        ahead += fresh
    return seen


def named(module: str, name: str) -> str:
    return f"{module.removeprefix('annotation.')}.{name}"


def entered() -> set[Place]:
    """Functions that somebody calls: those with an actor, and those called from outside."""
    found: set[Place] = set()
    for module, tree in modules():
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if "by" in {one.arg for one in [*node.args.args, *node.args.kwonlyargs]}:
                found.add((module, node.name))
    for path in sources("annotation", "evaluation"):
        if not is_part(module_name(path), *ENTRANCES):
            continue
        tree = parsed(path)
        names = imported_names(tree)
        for call in (one for one in ast.walk(tree) if isinstance(one, ast.Call)):
            at = call.func
            if isinstance(at, ast.Name) and at.id in names:
                where, _, name = names[at.id].rpartition(".")
                found.add((where, name))
            elif isinstance(at, ast.Attribute) and ast.unparse(at.value) in names:
                found.add((names[ast.unparse(at.value)], at.attr))
    return found


def test_every_write_that_somebody_does_stands_in_the_audit_log() -> None:
    calls, writing = graph()
    silent = (entered() & set(calls) & reaching(writing)) - reaching({RECORD})
    assert {named(*place) for place in silent} - PREVIEWS == set(EXCEPTIONS)


def test_every_action_has_a_sentence_and_every_sentence_an_action() -> None:
    said = set()
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("record"):
                for part in node.keywords:
                    if part.arg == "action" and isinstance(part.value, ast.Constant):
                        said.add(part.value.value)
    assert said - set(SENTENCES) == set()
    assert {one.partition(".")[0] for one in SENTENCES} <= set(FAMILIES)
