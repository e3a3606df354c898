"""oslo.log as every OpenStack service sets it up, from the same files."""

from __future__ import annotations

from oslo_config import cfg
from oslo_log import log

from ovnlb.reconciler.settings import PROGRAM, PROJECT, Settings


def start_logging(settings: Settings, debug: bool = False) -> None:
    """Log as `[DEFAULT] debug, log_file, use_journal, ...` of the configuration files say.

    `debug` overrides. The options live in a ConfigOpts of their own.
    """
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([f"--config-file={file}" for file in settings.config_files], project=PROJECT, prog=PROGRAM)
    if debug:
        conf.set_override("debug", True)
    log.setup(conf, PROGRAM)
