"""A Keystone that hands out tokens with a catalog over HTTP: version document and POST /v3/auth/tokens.

The password decides: `secret` is right, anything else is a 401. Calls are recorded.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "secret"


def endpoint(
    interface: str, url: str, region: str = "RegionOne", region_id: str | None = None
) -> dict[str, str]:
    """One endpoint of a v3 catalog."""
    return {
        "id": f"{interface}-{region}",
        "interface": interface,
        "region": region,
        "region_id": region_id or region,
        "url": url,
    }


def network(endpoints: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The catalog's entry for Neutron."""
    return {"type": "network", "name": "neutron", "id": "neutron", "endpoints": list(endpoints)}


class FakeKeystone:
    """`url` is the auth_url. `catalog` may be changed at any time."""

    def __init__(self, catalog: Sequence[dict[str, Any]]) -> None:
        self.catalog = list(catalog)
        self.calls: list[str] = []
        self.agents: dict[int, str] = {}  # by the client's TCP port, the User-Agent of its last request
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v3"

    @property
    def options(self) -> dict[str, str]:
        """keystoneauth options of a user that it knows, as for `[service_auth]`."""
        return {
            "auth_type": "password",
            "auth_url": self.url,
            "username": "octavia",
            "password": PASSWORD,
            "project_name": "service",
            "user_domain_id": "default",
            "project_domain_id": "default",
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def token(self) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        return {
            "methods": ["password"],
            "user": {"id": "u", "name": "octavia", "domain": domain},
            "project": {"id": "service", "name": "service", "domain": domain},
            "roles": [{"id": "r", "name": "admin"}],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "audit_ids": ["a"],
            "catalog": self.catalog,
        }


def _handler(keystone: FakeKeystone) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._note()
            version = {
                "id": "v3.14",
                "status": "stable",
                "links": [{"rel": "self", "href": f"{keystone.url}/"}],
            }
            self._reply(200, {"version": version})

        def do_POST(self) -> None:
            self._note()
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            user = body["auth"]["identity"]["password"]["user"]
            if user["password"] != PASSWORD:
                self._reply(
                    401, {"error": {"code": 401, "title": "Unauthorized", "message": "wrong password"}}
                )
                return
            self._reply(201, {"token": keystone.token()}, {"X-Subject-Token": "token"})

        def _note(self) -> None:
            keystone.calls.append(f"{self.command} {self.path}")
            keystone.agents[self.client_address[1]] = self.headers.get("User-Agent", "")

        def _reply(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(catalog: Sequence[dict[str, Any]]) -> Iterator[FakeKeystone]:
    """A FakeKeystone for the length of a block."""
    keystone = FakeKeystone(catalog)
    try:
        yield keystone
    finally:
        keystone.close()
