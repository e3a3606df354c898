"""Every failure that ends a command with a message instead of a traceback."""

from __future__ import annotations

from ovnlb.desired.octavia import DatabaseError
from ovnlb.observed.bundle_form import BundleError
from ovnlb.observed.neutron_errors import NeutronError
from ovnlb.observed.remotes import Unreachable, WrongDatabase
from ovnlb.reconciler.errors import NotLeader, StalePlan, Terminal, Transient
from ovnlb.reconciler.inputs import UnknownLoadBalancer
from ovnlb.reconciler.orphans import Incomplete
from ovnlb.reconciler.saved_plans import SavedPlanError
from ovnlb.reconciler.settings import SettingsError

KNOWN_FAILURES: tuple[type[Exception], ...] = (
    BundleError,
    DatabaseError,
    Incomplete,
    NeutronError,
    NotLeader,
    SavedPlanError,
    SettingsError,
    StalePlan,
    Terminal,
    Transient,
    UnknownLoadBalancer,
    Unreachable,
    WrongDatabase,
)
