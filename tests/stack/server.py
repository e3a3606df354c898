"""``server.py NAME tcp|udp PORT READY``: answers each line or datagram with its name; a TCP connection
may ask many times.
"""

import socket
import socketserver
import sys
from pathlib import Path

NAME, PROTOCOL, PORT, READY = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])


class Lines(socketserver.StreamRequestHandler):
    """TCP: one answer a line, until the client closes."""

    def handle(self) -> None:
        for _line in self.rfile:
            self.wfile.write(f"{NAME}\n".encode())
            self.wfile.flush()


class Datagrams(socketserver.BaseRequestHandler):
    """UDP: one answer a datagram."""

    def handle(self) -> None:
        self.request[1].sendto(f"{NAME}\n".encode(), self.client_address)


class TcpServer(socketserver.ThreadingTCPServer):
    """IPv4 and IPv6 on one port."""

    address_family = socket.AF_INET6
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


class UdpServer(socketserver.UDPServer):
    """IPv4 and IPv6 on one port."""

    address_family = socket.AF_INET6
    allow_reuse_address = True


server = TcpServer(("::", PORT), Lines) if PROTOCOL == "tcp" else UdpServer(("::", PORT), Datagrams)
READY.touch()
server.serve_forever()
