"""Addresses of imports, exports and files made in the background, under a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.formats.views import exports, files, imports

TASK = "tasks/<int:task_id>/"
FILE = f"{TASK}import/<int:file_id>/"
urlpatterns = [path("uploads/<int:file_id>/", imports.upload_part, name="upload_part")]
project_patterns = [
    path(FILE, imports.task_import_file, name="task_import_file"),
    path(f"{FILE}bad-rows.csv", imports.task_import_bad_rows, name="task_import_bad_rows"),
    path(f"{TASK}import/<slug:kind>/", imports.task_import, name="task_import"),
    path(f"{TASK}export/<slug:what>.<slug:form>", exports.task_export, name="task_export"),
    path("files/", files.files_list, name="files_list"),
    path("files/now/", files.files_now, name="files_now"),
    path("files/<int:file_id>/", files.files_download, name="files_download"),
    path("files/<int:file_id>/manifest.json", files.files_manifest, name="files_manifest"),
    path("files/<int:file_id>/remove/", files.files_remove, name="files_remove"),
]
