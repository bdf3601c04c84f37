"""The application's settings, with little patience for a database that is away."""

from crowdqc.settings import *  # noqa: F403

DATABASES["default"]["OPTIONS"]["pool"] = CROWDQC_POOL | {  # noqa: F405
    "timeout": 1.5,
    "reconnect_timeout": 0.5,
}
