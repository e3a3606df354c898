"""Fifty clients at once against two API processes: no failure of ours, nothing that grows, all ends."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from octavia_api.api import PROJECT
from octavia_api.conftest import SUBNET
from octavia_api.footprint import footprint, workers
from octavia_api.test_lifecycle import is_clean
from servers.ovsdb import wait_until

CLIENTS = 50
# Octavia's driver-agent commits each status by itself: on a busy machine fifty trees take it a minute.
PATIENCE = 180
SECONDS = float(os.environ.get("OVNLB_PARALLEL_SECONDS", "60"))
# Our connections to Neutron and Keystone in one process.
OURS = 4
# Octavia makes a connection to Neutron as the user of each request, and leaves it to Python's collector
# (octavia/common/clients.py, get_user_neutron_client): hundreds of these come and go, and none is ours.
OCTAVIAS = "tcp as octavia"
ROUNDS = int(os.environ.get("OVNLB_PARALLEL_ROUNDS", "1"))


def held(octavia):
    """What each worker of the API holds when nothing is asked of it."""
    octavia.settle(PATIENCE)
    pids = workers(octavia.processes.pid("octavia-api"))
    agents = {**octavia.neutron.agents, **octavia.keystone.agents}
    # A connection that a client has closed is the worker's until its next turn.
    wait_until(
        lambda: not any(kind.startswith("tcp from") for pid in pids for kind in footprint(pid, agents)),
        "the API to close what clients have closed",
        30,
    )
    return {pid: footprint(pid, agents) for pid in pids}


class Client:
    """Creates a tree in one call, waits for it, changes it, deletes it, and again."""

    def __init__(self, octavia, until):
        self.octavia, self.until = octavia, until
        self.answers = Counter()
        self.ours = []
        self.others = []

    def ask(self, method, path, body=None):
        reply = self.octavia.lbaas(method, path, body)
        self.answers[method, reply.status] += 1
        if reply.status >= 500:
            (self.ours if "Provider" in reply.text else self.others).append(reply.text)
        return reply

    def run(self):
        while time.monotonic() < self.until:
            pool = {
                "name": "p",
                "protocol": "TCP",
                "lb_algorithm": "SOURCE_IP_PORT",
                "members": [{"address": "10.0.3.1", "protocol_port": 80}],
            }
            listener = {"protocol": "TCP", "protocol_port": 80, "default_pool": pool}
            body = {
                "vip_subnet_id": SUBNET,
                "provider": "ovn",
                "project_id": PROJECT,
                "listeners": [listener],
            }
            made = self.ask("POST", "/loadbalancers", {"loadbalancer": body})
            if made.status != 201:
                continue
            lb = made.body["loadbalancer"]
            self.settled(lb["id"])
            members = [{"address": f"10.0.3.{n}", "protocol_port": 80} for n in range(2, 6)]
            self.ask("PUT", f"/pools/{lb['pools'][0]['id']}/members", {"members": members})
            self.settled(lb["id"])
            self.ask("DELETE", f"/loadbalancers/{lb['id']}?cascade=true")

    def settled(self, lb_id):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            shown = self.octavia.lbaas("GET", f"/loadbalancers/{lb_id}").body.get("loadbalancer", {})
            if not shown.get("provisioning_status", "").startswith("PENDING"):
                return
            time.sleep(0.2)
        raise AssertionError(f"{lb_id} stays PENDING")


def asked(octavia, seconds):
    """The clients, after so many seconds of theirs."""
    until = time.monotonic() + seconds
    clients = [Client(octavia, until) for _ in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        for each in [pool.submit(client.run) for client in clients]:
            each.result()
    return clients


@pytest.mark.timeout(900)
def test_fifty_clients(octavia, capsys):
    asked(octavia, SECONDS / 4)
    footprints = [held(octavia)]
    clients = []
    for _ in range(ROUNDS):
        clients += asked(octavia, SECONDS)
        footprints.append(held(octavia))
    answers = sum((client.answers for client in clients), Counter())
    others = {text for client in clients for text in client.others}
    before, after = footprints[0], footprints[-1]
    with capsys.disabled():
        print(f"\n{CLIENTS} clients, {ROUNDS} x {SECONDS:.0f} s: {dict(answers)} {others or ''}")
        for pid in after:
            print(f"{pid}: {dict(before[pid])} -> {dict(after[pid])}")
    assert [text for client in clients for text in client.ours] == []
    assert answers["POST", 201] > CLIENTS / 2
    assert set(after) == set(before), "no worker died"
    for pid, kinds in after.items():
        assert kinds["tcp as ovnlb"] <= OURS, kinds
        grown = kinds - before[pid]
        del grown[OCTAVIAS]
        # What a pool had not needed before; sixty seconds of a leak would be hundreds.
        assert grown.total() <= 4, grown
        assert kinds["threads"] == before[pid]["threads"]
    for lb in octavia.lbaas("GET", "/loadbalancers").body["loadbalancers"]:
        octavia.lbaas("DELETE", f"/loadbalancers/{lb['id']}?cascade=true")
    octavia.settle(PATIENCE)
    is_clean(octavia)
