"""`ovnlb run`: the daemon."""

from __future__ import annotations

import logging
import signal
import threading
from argparse import ArgumentParser, Namespace
from types import FrameType

from ovnlb.reconciler.commands.options import add_config, settings
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.logs import start_logging
from ovnlb.reconciler.sd_notify import notify
from ovnlb.reconciler.service import Service
from ovnlb.reconciler.settings import SettingsError

LOG = logging.getLogger(__name__)


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_config(parser)


def run(options: Namespace) -> Exit:
    """Run until SIGTERM or SIGINT. SIGHUP reads the configuration again."""
    found = settings(options)
    start_logging(found, options.debug)
    service, stop = Service(found), threading.Event()

    def finish(signum: int, frame: FrameType | None) -> None:
        stop.set()

    def reload(signum: int, frame: FrameType | None) -> None:
        threading.Thread(target=_reload, args=(service, options), name="reload", daemon=True).start()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, finish)
    signal.signal(signal.SIGHUP, reload)
    LOG.info("starting with %s", ", ".join(found.config_files) or "no configuration file")
    service.run(stop)
    LOG.info("stopped")
    return Exit.IN_SYNC


def _reload(service: Service, options: Namespace) -> None:
    notify("RELOADING=1")
    try:
        changed, restart = service.reload(settings(options))
    except SettingsError as error:
        LOG.error("the configuration stays as it was: %s", error)
    else:
        LOG.info("configuration read again: changed %s", ", ".join(changed) or "nothing")
        if restart:
            LOG.warning("a restart is needed for %s", ", ".join(restart))
    notify("READY=1")
