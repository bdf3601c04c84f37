#!/bin/sh
# Make a base backup: a full one on Sundays and where there is none, otherwise what changed since.
# Runs as the user of the database server, with PGDATABASE set to the database of the app.
set -eu
type=incr
if [ "$(date -u +%u)" = 7 ]; then type=full; fi
pgbackrest --stanza=crowdqc stanza-create
pgbackrest --stanza=crowdqc --type="$type" backup
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --command="
    INSERT INTO crowdqc_recovery (base_at) VALUES (now())
    ON CONFLICT (single) DO UPDATE SET base_at = excluded.base_at"
