"""`/metrics`, `/healthz` and `/readyz` over HTTP, where `[ovnlb] metrics_listen` says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST

Page = tuple[int, str, bytes]


class HealthPage:
    """A small HTTP server. healthy, ready: whether, and the body to show. Closed by `close`."""

    def __init__(
        self,
        listen: str,
        metrics: Callable[[], bytes],
        healthy: Callable[[], tuple[bool, Mapping[str, Any]]],
        ready: Callable[[], tuple[bool, Mapping[str, Any]]],
    ) -> None:
        """Listen on HOST:PORT. Raises OSError naming the option when that is not possible."""
        host, _, port = listen.rpartition(":")
        pages: dict[str, Callable[[], Page]] = {
            "/metrics": lambda: (200, CONTENT_TYPE_LATEST, metrics()),
            "/healthz": lambda: _json(*healthy()),
            "/readyz": lambda: _json(*ready()),
        }
        try:
            self._server = _server(host.strip("[]"), int(port), pages)
        except OSError as error:
            raise OSError(f"[ovnlb]metrics_listen {listen}: {error}") from error
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _json(good: bool, body: Mapping[str, Any]) -> Page:
    return (200 if good else 503), "application/json", json.dumps(body, default=str).encode()


def _server(host: str, port: int, pages: Mapping[str, Callable[[], Page]]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            """Serve one page."""
            page = pages.get(self.path.partition("?")[0])
            status, kind, body = page() if page is not None else (404, "text/plain", b"no such page\n")
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

    return Server((host, port), Handler)
