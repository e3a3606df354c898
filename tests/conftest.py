"""Fixtures for every suite: private servers that a test run starts and stops by itself."""

pytest_plugins = [
    "sampling",
    "servers.ovsdb",
    "servers.mariadb",
    "servers.neutron",
    "service_world",
    "repair_world",
]
