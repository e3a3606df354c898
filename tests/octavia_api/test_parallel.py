"""Fifty clients at once against two API processes: no failure of ours, nothing that grows, all ends."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from octavia_api.api import PROJECT
from octavia_api.conftest import SUBNET
from octavia_api.test_lifecycle import is_clean

CLIENTS = 50
# Octavia's driver-agent commits each status by itself: on a busy machine fifty trees take it a minute.
PATIENCE = 180
SECONDS = float(os.environ.get("OVNLB_PARALLEL_SECONDS", "60"))


def workers(octavia):
    """Pids of the API's worker processes."""
    master = octavia.processes.pid("octavia-api")
    return [int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()]


def footprint(octavia):
    """(open descriptors, threads) of each worker."""
    return {
        pid: (len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")))
        for pid in workers(octavia)
    }


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


@pytest.mark.timeout(900)
def test_fifty_clients(octavia, capsys):
    warm = time.monotonic() + min(15, SECONDS / 4)
    until = time.monotonic() + SECONDS
    clients = [Client(octavia, until) for _ in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(client.run) for client in clients]
        while time.monotonic() < warm:
            time.sleep(0.1)
        before = footprint(octavia)
        for each in running:
            each.result()
    after = footprint(octavia)
    octavia.settle(PATIENCE)
    answers = sum((client.answers for client in clients), Counter())
    others = {text for client in clients for text in client.others}
    with capsys.disabled():
        print(f"\n{CLIENTS} clients, {SECONDS:.0f} s: {dict(answers)}; {before} -> {after} {others or ''}")
    assert [text for client in clients for text in client.ours] == []
    assert answers["POST", 201] > CLIENTS / 2
    assert set(after) == set(before), "no worker died"
    for pid, (descriptors, threads) in after.items():
        assert descriptors <= before[pid][0] + 10
        assert threads <= before[pid][1] + 1
    for lb in octavia.lbaas("GET", "/loadbalancers").body["loadbalancers"]:
        octavia.lbaas("DELETE", f"/loadbalancers/{lb['id']}?cascade=true")
    octavia.settle(PATIENCE)
    is_clean(octavia)
