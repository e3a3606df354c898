"""``session.py ADDRESS PORT INTERVAL FILE``: one TCP connection that asks again and again; a line per
answer or error.

Ends at the first error: what becomes of an established connection is what the caller reads in FILE.
"""

import socket
import sys
import time

ADDRESS, PORT, INTERVAL, FILE = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]

with open(FILE, "w", buffering=1, encoding="ascii") as record:
    try:
        with socket.create_connection((ADDRESS, PORT), timeout=3) as connection:
            answers = connection.makefile()
            while True:
                connection.sendall(b"?\n")
                print(answers.readline().strip() or "EOF", file=record)
                time.sleep(INTERVAL)
    except OSError as error:
        print(f"error:{type(error).__name__}", file=record)
