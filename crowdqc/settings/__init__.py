"""Settings, all from the environment; production refuses to start on anything left out."""

from crowdqc.settings.accounts import *  # noqa: F403
from crowdqc.settings.api import *  # noqa: F403
from crowdqc.settings.database import *  # noqa: F403
from crowdqc.settings.environment import *  # noqa: F403
from crowdqc.settings.files import *  # noqa: F403
from crowdqc.settings.jobs import *  # noqa: F403
from crowdqc.settings.reporting import *  # noqa: F403
from crowdqc.settings.web import *  # noqa: F403
