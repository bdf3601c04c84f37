"""Addresses of a project's deletion and of its books."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.deletion import api as endpoints
    from evaluation.deletion import views

PROJECT = "installation/projects/<int:project_id>/"
urlpatterns = [
    path(f"{PROJECT}delete/", views.deletion, name="installation_deletion"),
    path(f"{PROJECT}books/", views.books, name="installation_books"),
    path(f"{PROJECT}books.zip", views.books_file, name="installation_books_file"),
]
api = [
    path(f"{PROJECT}{address}/", view.as_view(), name=f"api_installation_{name}")
    for address, view, name in (
        ("deletion", endpoints.DeletionState, "deletion"),
        ("deletion/cancel", endpoints.DeletionCancel, "deletion_cancel"),
        ("books", endpoints.BooksFile, "books"),
    )
]
