"""Static files, stored files, imports, backups and documentation."""

from __future__ import annotations

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from crowdqc.deployment.installation import ASSETS, CHECKOUT
from crowdqc.files.places import configured_storages, imports_storage, s3_options
from crowdqc.settings.environment import BASE_DIR, CROWDQC_DEMO, HOME, PRODUCTION, env

STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(HOME / "static")))
STATICFILES_DIRS = [ASSETS / "static"]
STATICFILES_FINDERS = [
    "crowdqc.web.bundles.BundleFinder",
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
# Files (docs/admin/storage.md): those made for downloading, uploads, images and recordings.
CROWDQC_S3_OPTIONS = s3_options(env)
CROWDQC_FILE_PLACES = configured_storages(env, CROWDQC_S3_OPTIONS)
CROWDQC_FILES = env.str("CROWDQC_FILES", default="database")
if CROWDQC_FILES not in CROWDQC_FILE_PLACES:
    raise ImproperlyConfigured(
        "CROWDQC_FILES must be 'database', 'folder' (with CROWDQC_FILES_FOLDER) or 's3' (with "
        "CROWDQC_S3_BUCKET)."
    )
STORAGES = {
    **CROWDQC_FILE_PLACES,
    "default": CROWDQC_FILE_PLACES[CROWDQC_FILES],
    "staticfiles": {"BACKEND": f"crowdqc.web.static.{'Hashed' if PRODUCTION else 'Plain'}Storage"},
}
# Without a collected manifest the finders serve the files, so a fresh clone needs no extra step.
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = not PRODUCTION

# The built documentation, which is served at /docs/: in the wheel, or of a checkout.
CROWDQC_DOCS = Path(
    env.str(
        "CROWDQC_DOCS", default=str(BASE_DIR / "build" / "docs" if CHECKOUT else ASSETS / "docs")
    )
)

# Files that are imported: the most bytes, rows and columns of one.
CROWDQC_IMPORT_MAX_BYTES = env.int("CROWDQC_IMPORT_MAX_BYTES", default=64 * 1024 * 1024)
CROWDQC_IMPORT_MAX_ROWS = env.int("CROWDQC_IMPORT_MAX_ROWS", default=500_000)
CROWDQC_IMPORT_MAX_COLUMNS = env.int("CROWDQC_IMPORT_MAX_COLUMNS", default=500)
if CROWDQC_DEMO:
    CROWDQC_IMPORT_MAX_BYTES = min(CROWDQC_IMPORT_MAX_BYTES, 2 * 1024 * 1024)
    CROWDQC_IMPORT_MAX_ROWS = min(CROWDQC_IMPORT_MAX_ROWS, 5_000)
# The bucket, or bucket/folder, from which every requester may import; "": none.
CROWDQC_IMPORT_BUCKET = env.str("CROWDQC_IMPORT_BUCKET", default="").strip("/")
if CROWDQC_IMPORT_BUCKET:
    STORAGES |= imports_storage(CROWDQC_IMPORT_BUCKET, CROWDQC_FILE_PLACES, CROWDQC_S3_OPTIONS)

# Backups (docs/admin/backup.md):
# The folder or s3://bucket/folder they go to, and a file whose first line encrypts them.
CROWDQC_BACKUP_FOLDER = env.str("CROWDQC_BACKUP_FOLDER", default="")
CROWDQC_BACKUP_PASSPHRASE_FILE = env.str("CROWDQC_BACKUP_PASSPHRASE_FILE", default="")
# Hours between two, how many are kept, and days between two tests that restore one (0: none).
CROWDQC_BACKUP_HOURS = env.float("CROWDQC_BACKUP_HOURS", default=24.0)
CROWDQC_BACKUP_KEEP = env.int("CROWDQC_BACKUP_KEEP", default=14)
CROWDQC_BACKUP_TEST_DAYS = env.float("CROWDQC_BACKUP_TEST_DAYS", default=7.0)
# Point-in-time recovery: where the write-ahead log is archived ("": nowhere), the most seconds
# that may be lost, and the days that one can go back.
CROWDQC_RECOVERY_FOLDER = env.str("CROWDQC_RECOVERY_FOLDER", default="")
CROWDQC_RECOVERY_SECONDS = env.float("CROWDQC_RECOVERY_SECONDS", default=60.0)
CROWDQC_RECOVERY_DAYS = env.int("CROWDQC_RECOVERY_DAYS", default=14)
