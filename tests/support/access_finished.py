"""The part of the table of roles and addresses that needs a finished run (see test_access.py).

tests/evaluation/runs/test_public_boards.py has such runs, and plays it.
"""

from __future__ import annotations

STAFF, REQUESTER, PUBLIC, API = "LNFOO", "LNFOF", "OOOOO", "CNFOO"
WRITE_STAFF, WRITE_REQUESTER = "LNFXX", "LNFXF"
# Name -> the method of the run it needs, and the letters of GET or POST there.
FINISHED: dict[str, tuple[str, str]] = {
    "label_worker": ("labels", STAFF), "label_export": ("labels", STAFF),
    "run_export": ("labels", STAFF), "run_official": ("labels", STAFF),
    "run_share": ("labels", STAFF), "api_official": ("labels", API),
    "api_task_scores_labels": ("labels", API), "api_task_scores_workers": ("labels", API),
    "api_task_scores_items": ("labels", API), "shared_results": ("labels", PUBLIC),
    "public_board": ("labels", PUBLIC), "public_board_file": ("labels", PUBLIC),
    "files_download": ("labels", STAFF), "files_manifest": ("labels", STAFF),
    "api_file_content": ("labels", API),
    "task_results_export": ("aqer", STAFF), "panel_choose": ("aqer", REQUESTER),
    "api_task_scores_answers": ("aqer", API), "api_task_scores_systems": ("aqer", API),
    "pair_export": ("pairwise", STAFF),
    "replacement_judges": ("replacement", STAFF), "replacement_export": ("replacement", STAFF),
    "replacement_ask": ("replacement", STAFF),
}  # fmt: skip
FINISHED_POST: dict[str, tuple[str, str]] = {
    "run_official": ("labels", WRITE_STAFF), "run_stop_sharing": ("labels", WRITE_STAFF),
    "panel_choose": ("aqer", WRITE_REQUESTER), "replacement_ask": ("replacement", WRITE_REQUESTER),
}  # fmt: skip
QUERIES = {"replacement_export": "?table=person"}
