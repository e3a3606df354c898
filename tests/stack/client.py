"""``client.py tcp|udp ADDRESS PORT TIMES TIMEOUT``: prints ``NAME=COUNT`` for every server that answered,
errors by name.
"""

import collections
import socket
import sys

PROTOCOL, ADDRESS, PORT, TIMES, TIMEOUT = (
    sys.argv[1],
    sys.argv[2],
    int(sys.argv[3]),
    int(sys.argv[4]),
    float(sys.argv[5]),
)


def tcp() -> str:
    """One new connection, one question."""
    with socket.create_connection((ADDRESS, PORT), timeout=TIMEOUT) as connection:
        connection.sendall(b"?\n")
        return connection.makefile().readline().strip() or "EOF"


def udp() -> str:
    """One datagram from a new source port."""
    family = socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.sendto(b"?\n", (ADDRESS, PORT))
        return connection.recv(100).decode().strip()


answers: collections.Counter[str] = collections.Counter()
for _ in range(TIMES):
    try:
        answers[tcp() if PROTOCOL == "tcp" else udp()] += 1
    except OSError as error:
        answers[type(error).__name__] += 1
print(" ".join(f"{name}={count}" for name, count in sorted(answers.items())))
