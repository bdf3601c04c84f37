"""Addresses of pairwise studies."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.pairwise.views import adaptive, agreement, boards, pairs

STUDY = "tasks/<int:task_id>/study/"

urlpatterns = [
    path(STUDY, boards.board, name="pair_results"),
    path(f"{STUDY}collect/", boards.collect, name="pair_collect"),
    path(f"{STUDY}live/", boards.live_fragment, name="pair_live"),
    path(f"{STUDY}wins/", boards.wins, name="pair_wins"),
    path(f"{STUDY}export/", boards.export, name="pair_export"),
    path(f"{STUDY}pairs/", pairs.pair_list, name="pair_list"),
    path(f"{STUDY}pairs/<int:item_id>/", pairs.pair, name="pair"),
    path(f"{STUDY}workers/", pairs.worker_list, name="pair_workers"),
    path(f"{STUDY}workers/<int:worker_id>/", pairs.worker, name="pair_worker"),
    path(f"{STUDY}agreement/", agreement.agreement, name="pair_agreement"),
    path(f"{STUDY}panel/", agreement.panel, name="pair_panel"),
    path(f"{STUDY}order/", agreement.order, name="pair_order"),
    path(f"{STUDY}grades/", boards.grades, name="pair_grades"),
    path(f"{STUDY}published/", boards.published, name="pair_published"),
    path(f"{STUDY}judges/", agreement.judges, name="pair_judges"),
    path(f"{STUDY}adaptive/", adaptive.adaptive, name="pair_adaptive"),
    path("tasks/<int:task_id>/ratings/", boards.ratings, name="rating_results"),
]
