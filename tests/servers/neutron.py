"""A Neutron that speaks its REST API over HTTP from memory, with faults on demand.

Holds networks, subnets, ports and floating IPs in the API's own form (the `neutron` part of a
scenario), allocates addresses, refuses what Neutron refuses (taken addresses, unknown subnets), and
records every call. `fail(...)` makes the next matching calls end in a status code, a lost answer or
silence. Threads: one per connection; all state behind one lock.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

COLLECTIONS = {"networks": "network", "subnets": "subnet", "ports": "port", "floatingips": "floatingip"}
EXTENSIONS = ("allowed-address-pairs", "dns-integration", "port-security", "qos", "router")
OTHERS = {"qos/policies": "policies", "security-groups": "security_groups"}


@dataclass(frozen=True)
class Call:
    """One request that arrived, in arrival order. `body` without its outer key."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] | None
    status: int
    reply: dict[str, Any] | None = None

    @property
    def changes(self) -> bool:
        return self.method in ("POST", "PUT", "DELETE")


@dataclass
class Fault:
    """`status`: answer this without doing it. `lost`: do it, then drop the connection. `hang`: s."""

    method: str
    path: str
    status: int | None = None
    message: str = "injected fault"
    lost: bool = False
    hang: float = 0.0
    times: int = 1
    skip: int = 0
    when: Callable[[dict[str, Any] | None], bool] = field(default=lambda body: True)


class Refused(Exception):
    """An error answer of Neutron."""

    def __init__(self, status: int, message: str, kind: str = "NeutronError") -> None:
        super().__init__(message)
        self.status, self.message, self.kind = status, message, kind


class FakeNeutron:
    """The store and its HTTP face. `url` is the endpoint for the catalog or endpoint_override."""

    def __init__(self, seed: Mapping[str, Any] | None = None) -> None:
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.ids: list[str] = []
        self.agents: dict[int, str] = {}  # by the client's TCP port, the User-Agent of its last request
        self.page_size: int | None = None  # Neutron's pagination_max_limit
        self.listings: dict[str, list[dict[str, Any]]] = {}  # by path, what can only be listed
        # Told of each call that was answered, before the answer goes out.
        self.told: Callable[[Call], None] = lambda call: None
        self._lock = threading.RLock()
        self.load(seed or {})
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def load(self, seed: Mapping[str, Any]) -> None:
        """Replaces everything by the `neutron` form of a scenario."""
        with self._lock:
            self.store = {kind: {o["id"]: deepcopy(o) for o in seed.get(kind, ())} for kind in COLLECTIONS}

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """Everything, in the `neutron` form."""
        with self._lock:
            return {kind: deepcopy(list(rows.values())) for kind, rows in self.store.items()}

    def fail(self, method: str, path: str, **how: Any) -> None:
        """The next `times` calls of that method whose path starts with `path` meet this fault."""
        with self._lock:
            self.faults.append(Fault(method, path, **how))

    def changes(self) -> list[Call]:
        """The recorded POST, PUT and DELETE calls."""
        return [call for call in self.calls if call.changes]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()

    # What a request does. Called by the handler with the lock held.

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        kind, _, object_id = path.partition("/")
        if method == "GET" and path in self.listings:
            found = [row for row in self.listings[path] if _fits(row, query)]
            return 200, {path.replace("-", "_"): found}
        if path in OTHERS:
            return 200, {OTHERS[path]: []}
        if kind == "extensions":
            known = [{"alias": a, "name": a} for a in EXTENSIONS]
            one = {"extension": {"alias": object_id, "name": object_id}}
            return 200, one if object_id else {"extensions": known}
        if kind not in COLLECTIONS:
            raise Refused(404, f"The resource {path} could not be found.", "HTTPNotFound")
        name = COLLECTIONS[kind]
        if method == "GET" and not object_id:
            return 200, self._page(kind, [o for o in self.store[kind].values() if _fits(o, query)], query)
        if method == "POST":
            return 201, {name: self._create(kind, body[name])}
        found = self.store[kind].get(object_id)
        if found is None:
            raise Refused(404, f"{name.capitalize()} {object_id} could not be found.", f"{name}NotFound")
        if method == "DELETE":
            del self.store[kind][object_id]
            return 204, None
        if method == "PUT":
            found.update(body[name], updated_at=_now())
        return 200, {name: found}

    def _page(self, kind: str, rows: list[Any], query: Mapping[str, str]) -> dict[str, Any]:
        """One page by id after the marker, with the link to the next while there may be one."""
        if self.page_size is None:
            return {kind: rows}
        marker = query.get("marker", "")
        after = [row for row in sorted(rows, key=lambda row: row["id"]) if row["id"] > marker]
        page = after[: self.page_size]
        if len(page) < self.page_size:
            return {kind: page}
        kept = [(key, one) for key, value in query.items() if key != "marker" for one in value.split(",")]
        following = urlencode([*kept, ("marker", page[-1]["id"])])
        links = [{"rel": "next", "href": f"http://wrong.example/v2.0/{kind}?{following}"}]
        return {kind: page, f"{kind}_links": links}

    def _create(self, kind: str, wanted: dict[str, Any]) -> dict[str, Any]:
        made = {"id": self.ids.pop(0) if self.ids else str(uuid.uuid4()), "created_at": _now(), **wanted}
        if kind == "ports":
            made = self._port(made)
        self.store[kind][made["id"]] = made
        return made

    def _port(self, port: dict[str, Any]) -> dict[str, Any]:
        if port["network_id"] not in self.store["networks"]:
            raise Refused(404, f"Network {port['network_id']} could not be found.", "NetworkNotFound")
        defaults = {
            "name": "", "device_id": "", "device_owner": "", "admin_state_up": True, "status": "DOWN",
            "mac_address": self._free_mac(), "security_groups": [],
            "port_security_enabled": True, "binding:host_id": "", "binding:vnic_type": "normal",
        }
        port = {**defaults, **port}
        self._refuse_taken_mac(port)
        wanted = port.get("fixed_ips") or self._any_subnet(port)
        port["fixed_ips"] = [self._fixed_ip(port, ip) for ip in wanted]
        return port

    def _free_mac(self) -> str:
        taken = {port.get("mac_address") for port in self.store["ports"].values()}
        numbers = itertools.count(len(self.store["ports"]) + 1)
        macs = (f"fa:16:3e:ff:{n // 256:02x}:{n % 256:02x}" for n in numbers)
        return next(mac for mac in macs if mac not in taken)

    def _refuse_taken_mac(self, port: dict[str, Any]) -> None:
        for other in self.store["ports"].values():
            if other["network_id"] == port["network_id"] and other.get("mac_address") == port["mac_address"]:
                raise Refused(409, f"Mac address {port['mac_address']} is in use.", "MacAddressInUse")

    def _any_subnet(self, port: dict[str, Any]) -> list[dict[str, str]]:
        subnets = [s for s in self.store["subnets"].values() if s["network_id"] == port["network_id"]]
        return [{"subnet_id": subnets[0]["id"]}] if subnets else []

    def _fixed_ip(self, port: dict[str, Any], wanted: dict[str, str]) -> dict[str, str]:
        subnet = self.store["subnets"].get(wanted["subnet_id"])
        if subnet is None or subnet["network_id"] != port["network_id"]:
            raise Refused(400, f"Invalid input for operation: subnet {wanted['subnet_id']}.", "InvalidInput")
        taken = self._taken(subnet["id"])
        address = wanted.get("ip_address") or _free(subnet["cidr"], taken)
        if ipaddress.ip_address(address) not in ipaddress.ip_network(subnet["cidr"]):
            message = f"IP address {address} is not a valid IP for the specified subnet."
            raise Refused(400, message, "InvalidIpForSubnet")
        if str(ipaddress.ip_address(address)) in taken:
            message = f"IP address {address} already allocated in subnet {subnet['id']}"
            raise Refused(409, message, "IpAddressAlreadyAllocated")
        return {"subnet_id": subnet["id"], "ip_address": address}

    def _taken(self, subnet_id: str) -> set[str]:
        return {
            str(ipaddress.ip_address(ip["ip_address"]))
            for port in self.store["ports"].values()
            for ip in port.get("fixed_ips", ())
            if ip["subnet_id"] == subnet_id
        }

    def fault_for(self, method: str, path: str, body: Any) -> Fault | None:
        for fault in self.faults:
            if fault.method == method and path.startswith(fault.path) and fault.when(body):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if fault.times <= 0:
                    self.faults.remove(fault)
                return fault
        return None


class _Server(ThreadingHTTPServer):
    """Remembers its connections, so that a closed server leaves none of them answering."""

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        self._open: set[Any] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for request in list(self._open):
            self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is not worth a traceback; a fault of this server is."""
        if not isinstance(sys.exception(), OSError | ValueError):
            super().handle_error(request, client_address)


def _free(cidr: str, taken: set[str]) -> str:
    hosts = ipaddress.ip_network(cidr).hosts()
    next(hosts)  # the gateway's, whether there is one or not
    return str(next(h for h in hosts if str(h) not in taken))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _query(text: str) -> dict[str, str]:
    """The query's parameters; one that is given several times has its values joined by commas."""
    found: dict[str, str] = {}
    for key, value in parse_qsl(text):
        found[key] = f"{found[key]},{value}" if key in found else value
    return found


def _fits(found: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    """Neutron's filters: equality with any of the values, `fixed_ips=ip_address%3D...`; others ignored."""
    for key, value in query.items():
        if key in ("fields", "limit", "marker", "sort_key", "sort_dir", "page_reverse"):
            continue
        if key == "fixed_ips":
            name, _, wanted = value.partition("=")
            if not any(ip.get(name) == wanted for ip in found.get("fixed_ips", ())):
                return False
        elif str(found.get(key, "")).lower() not in value.lower().split(","):
            return False
    return True


def _handler(neutron: FakeNeutron) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def do_PUT(self) -> None:
            self._serve("PUT")

        def do_DELETE(self) -> None:
            self._serve("DELETE")

        def _serve(self, method: str) -> None:
            url = urlsplit(self.path)
            neutron.agents[self.client_address[1]] = self.headers.get("User-Agent", "")
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else None
            path = url.path.strip("/")
            if path in ("", "v2.0"):
                self._reply(200 if path else 300, _versions(neutron.url))
                return
            path = path.removeprefix("v2.0/").removesuffix(".json")
            inner = next(iter(body.values())) if body else None
            with neutron._lock:
                fault = neutron.fault_for(method, path, inner)
            if fault and fault.hang:
                time.sleep(fault.hang)
            status, reply = self._done(method, path, _query(url.query), body, fault)
            if fault and fault.lost:
                self.close_connection = True
                self.connection.shutdown(2)
                return
            self._reply(status, reply)

        def _done(
            self, method: str, path: str, query: dict[str, str], body: Any, fault: Fault | None
        ) -> tuple[int, Any]:
            with neutron._lock:
                try:
                    if fault and fault.status:
                        raise Refused(fault.status, fault.message)
                    status, reply = neutron.answer(method, path, query, body)
                except Refused as error:
                    status = error.status
                    reply = {"NeutronError": {"type": error.kind, "message": error.message, "detail": ""}}
                reply = deepcopy(reply)
                inner = next(iter(body.values())) if body else None
                call = Call(method, path, query, inner, status, reply)
                neutron.calls.append(call)
                neutron.told(call)
            return status, reply

        def _reply(self, status: int, reply: Any) -> None:
            text = b"" if reply is None else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _versions(url: str) -> dict[str, Any]:
    links = [{"rel": "self", "href": f"{url}/v2.0/"}]
    return {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]}


@contextmanager
def serving(seed: Mapping[str, Any] | None = None) -> Iterator[FakeNeutron]:
    """A FakeNeutron for the length of a block."""
    neutron = FakeNeutron(seed)
    try:
        yield neutron
    finally:
        neutron.close()


@pytest.fixture
def fake_neutron() -> Iterator[FakeNeutron]:
    """An empty Neutron; fill it with `load`."""
    with serving() as neutron:
        yield neutron
