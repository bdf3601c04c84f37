"""Databases, the pool of connections and caches."""

from __future__ import annotations

from crowdqc.settings.environment import DATABASE_URL, env

DATABASES = {"default": env.db_url_config(DATABASE_URL)}
DATABASES["default"]["ENGINE"] = "crowdqc.database.postgresql"
_database = DATABASES["default"].setdefault("OPTIONS", {})
# Rows are read to the end: no plan favours the first tenth. What is prepared looks rows up by keys.
_plans = "-c cursor_tuple_fraction=1 -c plan_cache_mode=force_generic_plan"
_database["options"] = f"{_database.get('options', '')} {_plans}".strip()
# Statements of crowdqc.database.compiled are prepared after so many uses of a connection.
DATABASES["default"]["OPTIONS"]["prepare_threshold"] = 3
# A pooled connection is tested before use: none outlives a restart of the server.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# A server that is gone without a word is noticed: by a new connection, and by one that waits.
for _name, _seconds in {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}.items():
    DATABASES["default"]["OPTIONS"].setdefault(_name, _seconds)
# Threads of one web process share these connections (crowdqc.web.server); jobs, commands and tests
# open their own, whatever is set here.
CROWDQC_POOL = {
    "min_size": 1,
    "max_size": env.int("CROWDQC_POOL_SIZE", default=10),
    "timeout": 1.0,  # seconds that a request waits for a connection
    # The breaker tries until the database is back; the pool gives up, and is free to try then.
    "reconnect_timeout": 0.5,
}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # What all web processes must agree on, and may lose. Limits have a table of their own.
    "shared": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "crowdqc_cache",
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
