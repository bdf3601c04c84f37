"""Storages that the environment configures, for files and backups."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

Place = dict[str, Any]


def s3_options(env: Any) -> dict[str, Any]:
    """Return the address and keys of the service, or AWS's own lookup."""
    given = {
        "endpoint_url": env.str("CROWDQC_S3_ENDPOINT", default=""),
        "region_name": env.str("CROWDQC_S3_REGION", default=""),
        "access_key": env.str("CROWDQC_S3_ACCESS_KEY", default=""),
        "secret_key": env.str("CROWDQC_S3_SECRET_KEY", default=""),
    }
    return {name: value for name, value in given.items() if value}


def configured_storages(env: Any, s3: dict[str, Any]) -> dict[str, Place]:
    """Return storages by the names that CROWDQC_FILES and move_files accept."""
    found: dict[str, Place] = {"database": {"BACKEND": "crowdqc.files.storages.DatabaseStorage"}}
    if folder := env.str("CROWDQC_FILES_FOLDER", default=""):
        found["folder"] = {
            "BACKEND": "crowdqc.files.storages.FolderStorage",
            "OPTIONS": {
                "location": folder,
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        }
    if bucket := env.str("CROWDQC_S3_BUCKET", default=""):
        found["s3"] = {
            "BACKEND": "crowdqc.files.s3.Bucket",
            "OPTIONS": {
                "bucket_name": bucket,
                "location": env.str("CROWDQC_S3_FOLDER", default=""),
                **s3,
            },
        }
    return found


def imports_storage(name: str, places: dict[str, Place], s3: dict[str, Any]) -> dict[str, Place]:
    """Return the storage of the bucket that requesters import from, ``bucket/folder``.

    Raises ImproperlyConfigured where it is where the installation keeps its own files: those that
    it does not know are deleted there.
    """
    bucket, _, folder = name.partition("/")
    own = places.get("s3", {}).get("OPTIONS", {})
    if own.get("bucket_name") == bucket:
        mine = f"{own['location'].strip('/')}/" if own["location"].strip("/") else ""
        if f"{folder}/".startswith(mine) or mine.startswith(f"{folder}/" if folder else ""):
            raise ImproperlyConfigured(
                "CROWDQC_IMPORT_BUCKET must not hold CROWDQC_S3_FOLDER, nor lie in it."
            )
    options = {"bucket_name": bucket, "location": folder, **s3}
    return {"imports": {"BACKEND": "crowdqc.files.s3.Bucket", "OPTIONS": options}}
