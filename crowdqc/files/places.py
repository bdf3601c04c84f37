"""Storages that the environment configures, for files and backups."""

from __future__ import annotations

from typing import Any

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
