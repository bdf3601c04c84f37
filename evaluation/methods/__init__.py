"""Methods: arrays in, frozen results out; no framework, clock or global random state in here."""
