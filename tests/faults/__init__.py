"""What goes wrong around the service: processes killed, servers lost, clocks and backups turned back.

Run by `tox -e faults`. Octavia's own driver-agent takes the statuses.
"""
