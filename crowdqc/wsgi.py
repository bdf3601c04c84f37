"""The WSGI application that gunicorn serves."""

from __future__ import annotations

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver, reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
application = get_wsgi_application()
get_resolver().check()  # loads every view, which the first request would wait for
reverse("login")  # walks every address, which would copy 13 MB of what is shared in each process
# What is loaded by now stays; walking it at every full collection took a page 150 ms.
gc.collect()
gc.freeze()
