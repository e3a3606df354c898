"""`ovnlb apply` on more load balancers than one transaction takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from clouds import cloud, lb_id
from ovnlb.reconciler.apply_once import BATCH
from ovnlb.reconciler.cli import main
from servers.neutron import FakeNeutron
from servers.octavia_db import write_tables, writer
from servers.ovsdb import OvsdbServer, insert_rows
from servers.status_agent import status_agent

COUNT = BATCH + 50


def test_what_is_right_has_no_part_in_a_repair(
    tmp_path: Path,
    nb_server: OvsdbServer,
    sb_server: OvsdbServer,
    fake_neutron: FakeNeutron,
    octavia_sqlite: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three damaged load balancers far apart are one transaction, however many there are between them."""
    made = cloud(COUNT, pools=1, members=1)
    write_tables(writer(octavia_sqlite), made.octavia)
    fake_neutron.load(made.neutron)
    insert_rows(nb_server.unix, "OVN_Northbound", {"NB_Global": [{"_uuid": "global"}], **made.topology})
    config = tmp_path / "octavia.conf"
    with status_agent(octavia_sqlite) as agent:
        sockets = "".join(f"{name}_socket_path = {agent.path(name)}\n" for name in ("status", "stats", "get"))
        config.write_text(
            f"[database]\nconnection = {octavia_sqlite}\n"
            f"[ovn]\novn_nb_connection = {nb_server.unix}\novn_sb_connection = {sb_server.unix}\n"
            f"[neutron]\nauth_type = none\nendpoint_override = {fake_neutron.url}\n[driver_agent]\n{sockets}"
        )
        assert main(["apply", "--config-file", str(config)]) == 0, capsys.readouterr()
        rows = nb_server.dump("Load_Balancer")
        assert len(rows["Load_Balancer"]) == COUNT
        before = nb_server.transactions()
        for number in (0, COUNT // 2, COUNT - 1):
            where = [["name", "==", lb_id(number)]]
            nb_server.transact(
                {"op": "update", "table": "Load_Balancer", "where": where, "row": {"vips": ["map", []]}}
            )
        capsys.readouterr()
        assert main(["apply", "--config-file", str(config)]) == 0
    assert f"{COUNT} load balancers looked at, 3 written" in capsys.readouterr().out
    assert nb_server.transactions() - before == 3 + 1
    assert nb_server.dump("Load_Balancer") == rows
