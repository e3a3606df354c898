"""Fixtures for every suite: private servers that a test run starts and stops by itself."""

pytest_plugins = ["servers.ovsdb", "servers.mariadb"]
