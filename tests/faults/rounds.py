"""How often a fault is repeated: OVNLB_FAULT_ROUNDS, 20 when it is not set (tox sets 5)."""

import os

ROUNDS = int(os.environ.get("OVNLB_FAULT_ROUNDS", "20"))
