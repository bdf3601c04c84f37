"""Addresses of files made in the background, under a project."""

from django.urls import path

from annotation.formats.views import files

urlpatterns = [
    path("files/", files.files_list, name="files_list"),
    path("files/now/", files.files_now, name="files_now"),
    path("files/<int:file_id>/", files.files_download, name="files_download"),
    path("files/<int:file_id>/manifest.json", files.files_manifest, name="files_manifest"),
    path("files/<int:file_id>/remove/", files.files_remove, name="files_remove"),
]
