"""Addresses by which an owner moves projects."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.moving import views

urlpatterns = [
    path("installation/moves/", views.moves, name="installation_moves"),
    path(
        "uploads/archives/<int:archive_id>/", views.archive_part, name="installation_archive_part"
    ),
]
