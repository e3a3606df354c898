"""The main job on private parts: a SQLite Octavia database and an ovsdb-server of its own.

The graphs, Neutron's facts and the Northbound topology are the JSON files beside this module; the
schema is Octavia's (`octavia_sqlite.sql`) and OVN's (from the ovn-central package).
"""
