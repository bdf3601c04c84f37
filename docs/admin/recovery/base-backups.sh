#!/bin/sh
# Make a base backup now and every 24 hours; one that fails is tried again after ten minutes.
set -eu
while true; do
    if crowdqc-base-backup; then pause=86400; else pause=600; fi
    sleep "$pause" &
    wait $!
done
