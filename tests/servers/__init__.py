"""Private servers that the tests start and stop: OVSDB, MariaDB and later the rest of the stack."""
