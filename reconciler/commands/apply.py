"""`ovnlb apply`: the whole walk of everything in scope, or of a saved plan, once.

Only the holder of the lock writes: without it the work is handed to the daemon of this host, and a
saved plan, of which a daemon knows nothing, is not applied. Source: architecture.md section 7.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from ovnlb.diff import html, report
from ovnlb.reconciler import holder
from ovnlb.reconciler.apply_once import Once, apply_once, document, ids_of, plan_once, remaining, told
from ovnlb.reconciler.commands.options import add_inputs, add_report, scope, settings
from ovnlb.reconciler.commands.output import emit, made, progress, rendered, say
from ovnlb.reconciler.errors import NotLeader
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import LiveInputs, live_inputs
from ovnlb.reconciler.passes import pass_document
from ovnlb.reconciler.saved_plans import SavedPlan, SavedPlanError, read
from ovnlb.reconciler.walk import walk_all

TIMEOUT = 300.0
_GOING_AWAY = 5.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="apply this plan (ovnlb plan --out), if nothing has moved since",
    )
    add_inputs(parser)
    add_report(parser)
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"how long the daemon that holds the lock may take for what it is handed (default {TIMEOUT:g})",
    )
    parser.add_argument(
        "--take-lock", action="store_true", help="take the lock from its holder: for one that hangs"
    )


def run(options: Namespace, pause: Callable[[float], None] = time.sleep) -> Exit:
    """Apply what is in scope, then say what was done and what remains different."""
    saved = _saved(options)
    wanted = scope(options) if saved is None else saved.scope
    with live_inputs(settings(options), lock=True, notice=say) as found:
        if not holder.take_lock(found, options.take_lock, say):
            if saved is not None or options.take_lock:
                raise NotLeader(f"{holder.taken(found)}: nothing was written")
            if not _handed_over(found, wanted, options.timeout, pause):
                return _left(found, wanted, options)
        if saved is not None and (moved := _moved(found, saved)):
            for lb_id, why in moved.items():
                say(f"load balancer {lb_id}: {why}")
            say(
                f"{options.file}: {len(moved)} load balancers have moved since it was saved: "
                "nothing was written"
            )
            return Exit.REFUSED
        once = apply_once(
            found, wanted, say, progress, saved.accept if saved else None, pictured=options.format == "html"
        )
    emit(_text(once, options))
    return once.exit


def _saved(options: Namespace) -> SavedPlan | None:
    """The saved plan that was named, None without one. Raises SavedPlanError."""
    if options.file is None:
        return None
    if options.lb or options.project:
        raise SavedPlanError(f"saved plan {options.file}: its scope is its own, without --lb and --project")
    return read(options.file)


def _moved(found: LiveInputs, saved: SavedPlan) -> dict[str, str]:
    """What has moved since, by load balancer id: asked before anything is done at all."""
    done = plan_once(found, saved.scope)
    return dict(saved.moved([one.plan for one in done.walked], [failure.lb_id for failure in done.failed]))


def _handed_over(found: LiveInputs, wanted: Scope, timeout: float, pause: Callable[[float], None]) -> bool:
    """Let the holder of the lock do it; True when the lock became ours instead.

    Raises NotLeader when nobody on this host takes the work.
    """
    say(f"{holder.taken(found)}: it does the work")
    ids = ids_of(found, wanted)
    if not holder.hand_over(found, ids):
        # A holder that is just going away answers nothing, and its lock is free in a moment.
        if found.nb.wait_for(lambda: found.nb.has_lock, _GOING_AWAY):
            return True
        raise NotLeader(
            f"{holder.taken(found)}: nothing was written; stop it, let it do the work, or use --take-lock "
            "when it hangs"
        )
    say(f"{len(ids)} load balancers handed over, waiting up to {timeout:g} s")
    holder.until(lambda: found.nb.has_lock or _in_sync(found, wanted), timeout, pause)
    return found.nb.has_lock


def _in_sync(found: LiveInputs, wanted: Scope) -> bool:
    """Whether every load balancer is as it must be; orphans are nobody's work here."""
    found.neutron.refresh()
    done = walk_all(found.graph(wanted), found.world)
    return plan_exit(pass_document(done, with_desired=False)["summary"]) is Exit.IN_SYNC


def _left(found: LiveInputs, wanted: Scope, options: Namespace) -> Exit:
    """What the holder has left undone."""
    left = remaining(found, wanted)[1]
    emit(rendered(left, options.format, options.verbose))
    code = plan_exit(left["summary"])
    return Exit.ERROR if code is Exit.DIFFERS else code


def _text(once: Once, options: Namespace) -> str:
    if options.format == "json":
        return report.dumps(document(once))
    if options.format == "html":
        written = report.document(once.plans, with_desired=False)
        return html.apply_page(document(once), written, made=made())
    return told(once, lambda found: rendered(found, options.format, options.verbose), once.plans)
