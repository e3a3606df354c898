#!/usr/bin/env bash
# Installs what is missing and runs the demonstration: arguments go to `ovnlb demo`.
set -euo pipefail
# shellcheck source=tools/prepare.sh
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

install_packages demo
make_venv "$TOP/.venv" -c "$TOP/tests/constraints/2026.2.txt" -e "$TOP"
exec "$TOP/.venv/bin/ovnlb" demo "$@"
