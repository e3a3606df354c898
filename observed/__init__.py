"""World to values: what the OVN databases and Neutron hold today, as frozen values.

Reads only. Nothing here decides what should be there, and nothing here writes.
"""
