"""Intent to values: what Octavia's users asked for, and the Northbound rows that must exist for it.

Pure, but for `ovnlb.desired.octavia`, the only module that talks to a database. Nothing here knows
what the Northbound database holds today.
"""
