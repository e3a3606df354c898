"""A private, real OpenStack control plane (Keystone, Neutron, Octavia) on MariaDB and OVN, for tests.

``python -m stack`` (with ``tests`` on the import path) builds its environments or runs one in the foreground.
Needs root (network and mount namespaces) and the system packages that ``bindep.txt`` lists under ``stack``.
"""
