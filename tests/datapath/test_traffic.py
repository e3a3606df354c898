"""Traffic through load balancers that ovnlb programmed: real packets through OVN's userspace data path."""

from __future__ import annotations

import statistics
import time

import pytest

from datapath.lab import TCP_PORT, UDP_PORT, Lab

BOTH = {"b1", "b2"}


@pytest.mark.smoke
def test_tcp_from_everywhere(lab: Lab) -> None:
    """From the same switch, over the router, from a backend to its own VIP, and from outside over a
    floating IP.
    """
    lb = lab.balancer(lab.listener(lab.members("b1", "b2")))
    for client in ("c0", "c1", "b1"):
        assert set(lab.dataplane.ask(client, lb.vip_address, 80, 40)) == BOTH, client
    fip = lab.floating_ip(lb)
    assert set(lab.dataplane.ask("x0", fip, 80, 40)) == BOTH
    assert set(lab.dataplane.ask("c0", lb.vip_address, 80, 40)) == BOTH


def test_udp(lab: Lab) -> None:
    """Datagrams from both networks, and beside TCP on the same port."""
    lb = lab.balancer(
        lab.listener(lab.members("b1", "b2", port=UDP_PORT), "UDP", 80),
        lab.listener(lab.members("b1", "b2"), "TCP", 80),
    )
    for client in ("c0", "c1"):
        assert set(lab.dataplane.ask(client, lb.vip_address, 80, 40, "udp")) == BOTH, client
        assert set(lab.dataplane.ask(client, lb.vip_address, 80, 40)) == BOTH, client


def test_ipv6_and_dual_stack(lab: Lab) -> None:
    """An additional IPv6 VIP reaches the IPv6 members, the IPv4 VIP the IPv4 ones."""
    members = [*lab.members("b1", "b2"), *lab.members("b1", "b2", family=6)]
    lb = lab.balancer(lab.listener(members), additional_vips=[{"subnet_id": lab.net.private_v6}])
    v6 = lb.additional_vips[0]["ip_address"]
    assert set(lab.dataplane.ask("c0", v6, 80, 40)) == BOTH
    assert set(lab.dataplane.ask("c0", lb.vip_address, 80, 40)) == BOTH


def test_ipv6_alone(lab: Lab) -> None:
    """An IPv6 VIP by itself, with a UDP listener beside."""
    lb = lab.balancer(
        lab.listener(lab.members("b1", "b2", family=6)),
        lab.listener(lab.members("b1", "b2", family=6, port=UDP_PORT), "UDP", 53),
        vip_subnet_id=lab.net.private_v6,
    )
    assert set(lab.dataplane.ask("c0", lb.vip_address, 80, 40)) == BOTH
    assert set(lab.dataplane.ask("c0", lb.vip_address, 53, 40, "udp")) == BOTH


def test_member_in_another_subnet(lab: Lab) -> None:
    """A member behind the router serves clients of both networks."""
    lb = lab.balancer(lab.listener(lab.members("b1", "b3")))
    for client in ("c0", "c1"):
        assert set(lab.dataplane.ask(client, lb.vip_address, 80, 40)) == {"b1", "b3"}, client


@pytest.mark.smoke
def test_disabled_and_enabled(lab: Lab) -> None:
    """A disabled load balancer answers nobody; enabled again, it serves."""
    lb = lab.balancer(lab.listener(lab.members("b1", "b2")))
    lab.change(lb, lab.octavia.update_load_balancer, lb.id, is_admin_state_up=False)
    answers = lab.dataplane.ask("c1", lb.vip_address, 80, 3, timeout=1)
    assert not set(answers) & BOTH
    lab.change(lb, lab.octavia.update_load_balancer, lb.id, is_admin_state_up=True)
    assert set(lab.dataplane.ask("c1", lb.vip_address, 80, 40)) == BOTH


@pytest.mark.smoke
def test_established_connection_outlives_drain_and_removal(lab: Lab) -> None:
    """Weight 0, then removal: new connections go elsewhere at once, the open one is served on."""
    lb = lab.balancer(lab.listener(lab.members("b1", "b2")))
    record = lab.dataplane.open_session("c0", "drain", lb.vip_address, 80)
    lab.eventually(lambda: record.exists() and len(record.read_text().split()) > 2, 20)
    served = record.read_text().split()[0]
    other = (BOTH - {served}).pop()
    member = lab.member(lb, served)
    lab.change(lb, lab.octavia.update_member, member.id, lab.pool(lb), weight=0)
    lab.eventually(
        lambda: lab.octavia.get_member(member.id, lab.pool(lb)).operating_status == "DRAINING", 20
    )
    assert set(lab.dataplane.ask("c0", lb.vip_address, 80, 20)) == {other}
    before = len(record.read_text().split())
    lab.eventually(lambda: len(record.read_text().split()) > before + 5, 10)
    lab.change(lb, lab.octavia.delete_member, member.id, lab.pool(lb))
    assert set(lab.dataplane.ask("c0", lb.vip_address, 80, 20)) == {other}
    before = len(record.read_text().split())
    lab.eventually(lambda: len(record.read_text().split()) > before + 5, 10)
    assert set(record.read_text().split()) == {served}


def _ask_affine(lab: Lab, lb: object, times: int) -> dict[str, int]:
    """Ask a sticky VIP: OVN drops the first connection of a client's window, so one connection before the
    counted ones.
    """
    address = str(getattr(lb, "vip_address", ""))
    lab.dataplane.ask("c0", address, 80, 1, timeout=1)
    return lab.dataplane.ask("c0", address, 80, times)


def test_affinity_and_a_member_disabled_inside_its_window(lab: Lab) -> None:
    """One client, one backend; a disabled backend is left at once, although its window has not ended."""
    lb = lab.balancer(lab.listener(lab.members("b1", "b2"), session_persistence={"type": "SOURCE_IP"}))
    answers = _ask_affine(lab, lb, 30)
    assert len(answers) == 1
    (chosen,) = answers
    assert chosen in BOTH
    member = lab.member(lb, chosen)
    lab.change(lb, lab.octavia.update_member, member.id, lab.pool(lb), is_admin_state_up=False)
    assert set(_ask_affine(lab, lb, 20)) == BOTH - {chosen}


def test_affinity_on_and_off_with_an_open_connection(lab: Lab) -> None:
    """Persistence is switched on and off; the connection that is open meanwhile is served on."""
    lb = lab.balancer(lab.listener(lab.members("b1", "b2")))
    record = lab.dataplane.open_session("c1", "affinity", lb.vip_address, 80)
    lab.eventually(lambda: record.exists() and len(record.read_text().split()) > 2, 20)
    persistence = {"type": "SOURCE_IP"}
    lab.change(lb, lab.octavia.update_pool, lab.pool(lb), session_persistence=persistence)
    assert len(_ask_affine(lab, lb, 30)) == 1
    lab.change(lb, lab.octavia.update_pool, lab.pool(lb), session_persistence=None)
    assert set(lab.dataplane.ask("c0", lb.vip_address, 80, 40)) == BOTH
    before = len(record.read_text().split())
    lab.eventually(lambda: len(record.read_text().split()) > before + 5, 10)
    assert len(set(record.read_text().split())) == 1


@pytest.mark.smoke
def test_health_monitor_takes_a_dead_member_out_and_back(lab: Lab) -> None:
    """VIP and floating IP lose the dead member, Octavia says ERROR and DEGRADED; all of it returns."""
    monitor = {"type": "TCP", "delay": 2, "timeout": 1, "max_retries": 2, "max_retries_down": 2}
    lb = lab.balancer(lab.listener(lab.members("b1", "b2"), healthmonitor=monitor))
    fip = lab.floating_ip(lb)
    states = lambda: {m.name: m.operating_status for m in lab.octavia.members(lab.pool(lb))}  # noqa: E731
    lab.eventually(lambda: set(states().values()) == {"ONLINE"})
    lab.dataplane.silence("b1", TCP_PORT)
    down = lab.eventually(lambda: states()["b1"] == "ERROR")
    assert states()["b2"] == "ONLINE"
    lab.eventually(lambda: lab.octavia.get_load_balancer(lb.id).operating_status == "DEGRADED", 10)
    for client, address in (("c0", lb.vip_address), ("x0", fip)):
        assert set(lab.dataplane.ask(client, address, 80, 15)) == {"b2"}, client
    lab.dataplane.serve("b1", TCP_PORT)
    up = lab.eventually(lambda: states()["b1"] == "ONLINE")
    lab.eventually(lambda: lab.octavia.get_load_balancer(lb.id).operating_status == "ONLINE", 10)
    for client, address in (("c0", lb.vip_address), ("x0", fip)):
        assert set(lab.dataplane.ask(client, address, 80, 40)) == BOTH, client
    print(f"member dead to ERROR {down:.1f} s, back to ONLINE {up:.1f} s")


def test_udp_health_monitor(lab: Lab) -> None:
    """UDP-CONNECT: a closed port is found and left out."""
    monitor = {"type": "UDP-CONNECT", "delay": 4, "timeout": 1, "max_retries": 2, "max_retries_down": 2}
    lb = lab.balancer(
        lab.listener(lab.members("b1", "b2", port=UDP_PORT), "UDP", 53, healthmonitor=monitor)
    )
    states = lambda: {m.name: m.operating_status for m in lab.octavia.members(lab.pool(lb))}  # noqa: E731
    lab.eventually(lambda: set(states().values()) == {"ONLINE"})
    lab.dataplane.silence("b2", UDP_PORT, "udp")
    lab.eventually(lambda: states() == {"b1": "ONLINE", "b2": "ERROR"})
    lab.settle()
    assert set(lab.dataplane.ask("c0", lb.vip_address, 53, 15, "udp")) == {"b1"}


def test_twenty_fresh_monitors_without_one_false_error(lab: Lab) -> None:
    """A monitor on members that serve goes ONLINE and is never ERROR, twenty times over."""
    lb = lab.balancer(lab.listener(lab.members("b1", "b2")))
    pool, online = lab.pool(lb), []
    for number in range(20):
        lab.dataplane.ask("c0", lb.vip_address, 80, 4)
        begin = time.monotonic()
        monitor = lab.cloud.timed(
            "monitor",
            lb.id,
            lab.octavia.create_health_monitor,
            pool_id=pool,
            type="TCP",
            delay=2,
            timeout=1,
            max_retries=2,
            max_retries_down=2,
        )
        while (states := [m.operating_status for m in lab.octavia.members(pool)]) != ["ONLINE", "ONLINE"]:
            assert "ERROR" not in states, f"round {number}: {states} of serving members"
            assert time.monotonic() - begin < 60, f"round {number}: {states}"
            time.sleep(0.1)
        online.append(time.monotonic() - begin)
        watched = time.monotonic()
        while time.monotonic() - watched < 3:
            assert [m.operating_status for m in lab.octavia.members(pool)] == ["ONLINE", "ONLINE"], (
                f"round {number}"
            )
            time.sleep(0.3)
        lab.cloud.timed("monitor", lb.id, lab.octavia.delete_health_monitor, monitor.id)
    print(f"fresh monitor to ONLINE: median {statistics.median(online):.1f} s, worst {max(online):.1f} s")


def test_how_long_after_active_the_data_path_follows(lab: Lab) -> None:
    """ACTIVE means that NB has the rows. Measured: when the first connection through the router is answered,
    and when hv_cfg says that every chassis has them.
    """
    answered, confirmed, idle = [], [], []
    for number in range(10):
        address = f"10.20.0.{200 + number}"
        probe = lab.dataplane.begin_probe("c1", address, 80, 60)
        lb = lab.balancer(lab.listener(lab.members("b1", "b2")), settle=False, vip_address=address)
        for waits in (confirmed, idle):
            begin = time.monotonic()
            lab.stack.ovn.sync("hv")
            waits.append(time.monotonic() - begin)
        answered.append(lab.dataplane.first_answer("c1", probe) - lab.cloud.settled_at)
        lab.cloud.delete(lb.id, cascade=True)
    for what, seconds in (
        ("ACTIVE to the first answer", answered),
        ("ACTIVE to hv_cfg", confirmed),
        ("hv_cfg with nothing to do", idle),
    ):
        print(
            f"{what}: median {statistics.median(seconds):.2f} s, "
            f"{min(seconds):.2f} to {max(seconds):.2f} s"
        )
    assert max(answered) < 10
