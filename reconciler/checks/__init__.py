"""The checks of `ovnlb check-config`: one module per area of the world that the service depends on.

Every check only looks: no row, port, lock or file is made or changed (but see `--write-test` in
`ovnlb.reconciler.checks.neutron`).
"""
