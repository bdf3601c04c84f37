"""The WSGI application that gunicorn serves."""

from __future__ import annotations

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
gc.disable()  # what loading leaves is 10,000 objects, and to look for them took half of the start
application = get_wsgi_application()
get_resolver().check()  # loads every view, which the first request would wait for
# Walks every address now; a walk after the fork would copy 13 MB that processes share.
get_resolver().reverse_dict  # noqa: B018
# What is loaded by now stays; walking it at every full collection took a page 150 ms.
gc.freeze()
gc.enable()
# What pages leave behind is freed 2,000 objects at a time: at the 50,000 of loading, one request in
# forty waited 40 to 90 ms for what the others had left.
gc.set_threshold(2_000, 20, 50)
