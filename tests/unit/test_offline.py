"""Commands on bundles without any server: what they read, what they print, and where it cannot go."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.graph import from_dicts
from ovnlb.diff.plan import Plan
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.observed.bundle_form import BundleError
from ovnlb.reconciler import sync_util
from ovnlb.reconciler.bundles import write_bundle
from ovnlb.reconciler.cli import main
from ovnlb.reconciler.commands.output import printable
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.saved_plans import SavedPlanError, read, save
from ovnlb.reconciler.walk import World, walk

LB = "1b000000-0000-4000-8000-000000000001"
NETWORK, SUBNET, OTHER_SUBNET = "net1", "sub1", "sub2"


def octavia(**lb: Any) -> dict[str, list[dict[str, Any]]]:
    """One load balancer whose monitored pool has one address twice, on two subnets."""
    member = {"pool_id": "pool", "ip_address": "10.0.0.21", "operating_status": "NO_MONITOR"}
    return {
        "load_balancer": [{"id": LB, "provider": "ovn", **lb}],
        "vip": [
            {"load_balancer_id": LB, "ip_address": "10.0.0.10", "subnet_id": SUBNET, "network_id": NETWORK}
        ],
        "listener": [
            {"id": "listener", "load_balancer_id": LB, "protocol_port": 80, "default_pool_id": "pool"}
        ],
        "pool": [{"id": "pool", "load_balancer_id": LB}],
        "member": [
            {**member, "id": "m1", "protocol_port": 8080, "subnet_id": SUBNET},
            {**member, "id": "m2", "protocol_port": 8081, "subnet_id": OTHER_SUBNET},
        ],
        "health_monitor": [{"id": "hm", "pool_id": "pool", "type": "TCP"}],
    }


def northbound() -> dict[str, Any]:
    """Two networks whose ports have the members' address."""
    ports = [("p1", "vm1"), ("p2", "vm2")]
    return {
        "Logical_Switch": [
            {"_uuid": "s1", "name": f"neutron-{NETWORK}", "ports": ["p1"]},
            {"_uuid": "s2", "name": "neutron-net2", "ports": ["p2"]},
        ],
        "Logical_Switch_Port": [
            {"_uuid": uuid, "name": name, "addresses": ["fa:16:3e:00:00:01 10.0.0.21"]}
            for uuid, name in ports
        ],
    }


def neutron() -> dict[str, Any]:
    networks = {SUBNET: NETWORK, OTHER_SUBNET: "net2"}
    return {
        "subnets": [{"id": one, "network_id": net, "cidr": "10.0.0.0/24"} for one, net in networks.items()]
    }


def bundle(folder: Path, **parts: Any) -> str:
    file = folder / "bundle.json"
    file.write_text(json.dumps({"octavia": octavia(), "nb": northbound(), "neutron": neutron(), **parts}))
    return str(file)


@pytest.mark.parametrize(("status", "expected"), [("online", "ONLINE"), ("offline", "ERROR")])
def test_address_on_two_subnets_has_the_monitor_that_ovn_runs(status: str, expected: str) -> None:
    """ip_port_mappings has one LSP for an address: OVN probes both members there, each at its port."""
    keys = [MonitorKey("vm1", "10.0.0.21", port, "tcp") for port in (8080, 8081)]
    health = Health({keys[0]: "online", keys[1]: status}, complete=True)
    world = World(BundleNorthbound(northbound()), BundleNeutron(neutron()), lambda: health)
    desired = walk(from_dicts(octavia()).load_balancers[0], world).desired
    assert set(desired.monitors) == set(keys)
    assert desired.members == {"m1": "ONLINE", "m2": expected}
    assert "mapping_ambiguous" in {one.code for one in desired.warnings}


@pytest.mark.parametrize(
    ("nb", "place"),
    [
        ({"Load_Balancer": [{"_uuid": "r1", "health_check": [{}]}]}, "nb.Load_Balancer[0].health_check"),
        ({"Logical_Switch": [{"_uuid": "s1", "ports": [["set", []]]}]}, "nb.Logical_Switch[0].ports"),
        ({"attached_switches": {"neutron-n": [{}]}}, "nb.attached_switches.neutron-n"),
    ],
)
def test_column_that_no_database_has_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nb: dict[str, Any], place: str
) -> None:
    """One message for the bundle, not one failure for each load balancer."""
    assert main(["plan", "--from", bundle(tmp_path, nb=nb)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert place in err


@pytest.mark.parametrize("options", [3, [], ["x"], {"drain_on_zero_weight": "no"}])
def test_options_that_no_configuration_has_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: Any
) -> None:
    """Only an absent part has the default."""
    assert main(["plan", "--from", bundle(tmp_path, options=options)]) == 1
    assert "bundle: 'options' must be an object" in capsys.readouterr().err


def test_show_of_a_deleted_load_balancer_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no graph; empty rows would look as if all were well."""
    file = bundle(tmp_path, octavia=octavia(provisioning_status="DELETED"))
    assert main(["show", "--from", file, LB]) == 1
    assert f"load balancer {LB}: DELETED" in capsys.readouterr().err


def test_names_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A load balancer's name is its user's text."""
    file = bundle(tmp_path, octavia=octavia(name="a\x1b[2Jb\x9bc\rd\ne"))
    assert main(["show", "--from", file, LB]) == 2
    out = capsys.readouterr().out
    assert "a\\x1b[2Jb\\x9bc\\rd\\ne" in out.splitlines()[0]
    assert not set(out) & {"\x1b", "\x9b", "\r"}


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("a\tb\n", "utf-8", "a\tb\n"),
        ("\x1b[1;31mred\x1b[0m", "utf-8", "\x1b[1;31mred\x1b[0m"),
        ("\x1b[2J\x07\x7f", "utf-8", "\\u001b[2J\\u0007\\u007f"),
        ("caf\u00e9 \U0001f600", "utf-8", "caf\u00e9 \U0001f600"),
        ("caf\u00e9 \U0001f600", "ascii", "caf\\u00e9 \\ud83d\\ude00"),
        ("\ud800", "utf-8", "\\ud800"),
    ],
)
def test_printable(text: str, encoding: str, expected: str) -> None:
    """What is escaped is what JSON would read back."""
    assert printable(text, encoding) == expected
    assert expected.encode(encoding)


def command(tmp_path: Path, redirection: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    """`ovnlb plan` of the bundle as a process of its own, with its streams as a shell redirects them."""
    line = f'exec "$0" -m ovnlb.reconciler.cli plan --from {bundle(tmp_path)} --format json {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONIOENCODING": encoding},
        timeout=120,
    )


@pytest.mark.parametrize(
    ("redirection", "code", "words"),
    [(">/dev/full", 1, "ovnlb: standard output: [Errno 28]"), (">&-", 2, ""), ("<&-", 2, "")],
)
def test_streams_that_take_nothing(tmp_path: Path, redirection: str, code: int, words: str) -> None:
    """A full disk is a message, a closed stream is none of our business; never a traceback."""
    done = command(tmp_path, redirection)
    assert (done.returncode, done.stderr.startswith(words), done.stderr.count("\n")) == (
        code,
        True,
        bool(words),
    )


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["show"], ["plan", "--format", "pdf"]])
def test_wrong_arguments_end_as_an_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """2 says "differs": a slip of the pen in a monitoring script must not."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 1
    assert "usage: ovnlb" in capsys.readouterr().err


def test_wrong_arguments_of_the_sync_util_end_as_an_error() -> None:
    """Its exit code is that of `ovnlb apply`."""
    with pytest.raises(SystemExit) as ended:
        sync_util.main(["--bogus"])
    assert ended.value.code == 1


def test_configuration_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """oslo.config says neither which file it is nor that it is one."""
    file = tmp_path / "octavia.conf"
    file.write_bytes(b"\xff\xfe[database]")
    assert main(["plan", "--config-file", str(file)]) == 1
    assert f"configuration: {file} is no UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["folder", "missing/file", "/dev/full"])
def test_file_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    """Nothing half-written is left beside it, and a device is not replaced by a file."""
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / place)
    with pytest.raises(BundleError, match=place):
        write_bundle(path, {})
    with pytest.raises(SavedPlanError, match=place):
        save(path, [], Scope())
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(
    "part",
    [
        {"plans": {LB: 3}},
        {"plans": {LB: {}}},
        {"plans": {LB: {"effects": [3]}}},
        {"scope": {"load_balancers": 3}},
        {"scope": {"project": [LB]}},
        {"failed": 3},
        {"scope": None},
    ],
)
def test_damaged_saved_plan_is_named(tmp_path: Path, part: dict[str, Any]) -> None:
    """It is refused before anything is connected to."""
    file = tmp_path / "saved.plan"
    save(str(file), [Plan(LB)], Scope())
    whole = json.loads(file.read_text())
    assert read(str(file)).accept(Plan(LB)) == ""
    file.write_text(json.dumps({**whole, **part}))
    with pytest.raises(SavedPlanError, match=r"saved\.plan"):
        read(str(file))


def test_link_is_written_through(tmp_path: Path) -> None:
    """`/dev/stdout` is one: replacing it would break the host."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_bundle(str(tmp_path / "link"), {"nb": {}})
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "real").read_text()) == {"format_version": "1.0", "nb": {}}


def test_file_is_kept_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before stays."""
    file = tmp_path / "bundle.json"
    file.write_text("old")

    def full(*_: Any, **__: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(BundleError, match="No space left"):
        write_bundle(str(file), {})
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("bundle.json", "old")]
