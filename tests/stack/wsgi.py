"""The WSGI application that a gunicorn worker of the stack serves: OVNLB_STACK_APP names it,
OVNLB_STACK_ARGS its arguments.

The services read their arguments from ``sys.argv``, which is gunicorn's: it is replaced before they are
imported.
"""

import importlib
import os
import shlex
import sys

sys.argv = [os.environ["OVNLB_STACK_APP"], *shlex.split(os.environ.get("OVNLB_STACK_ARGS", ""))]
application = importlib.import_module(f"{sys.argv[0]}.wsgi.api").application
