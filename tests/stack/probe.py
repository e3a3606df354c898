"""``probe.py ADDRESS PORT SECONDS``: opens a connection every few milliseconds and prints the monotonic time
of the first answer.

Ends with 1 when nobody answers for that long.
"""

import socket
import sys
import time

ADDRESS, PORT, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

deadline = time.monotonic() + SECONDS
while time.monotonic() < deadline:
    try:
        with socket.create_connection((ADDRESS, PORT), timeout=0.1) as connection:
            connection.sendall(b"?\n")
            if connection.recv(100):
                print(time.monotonic())
                sys.exit(0)
    except OSError:
        time.sleep(0.005)
sys.exit(1)
