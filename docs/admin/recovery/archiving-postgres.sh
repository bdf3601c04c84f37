#!/bin/sh
# Start PostgreSQL so that it archives its log; the same settings as "crowdqc_recovery server".
set -eu
exec docker-entrypoint.sh "$@" \
    -c archive_mode=on -c wal_level=replica \
    -c "archive_command=pgbackrest --stanza=crowdqc archive-push %p" \
    -c "archive_timeout=$((CROWDQC_RECOVERY_SECONDS * 7 / 10))"
