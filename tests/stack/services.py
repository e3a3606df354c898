"""Keystone, Neutron and Octavia of one stack: migrations, API servers under gunicorn, the catalog."""

from __future__ import annotations

import base64
import os
import shlex
import urllib.error
import urllib.request
from pathlib import Path

import openstack

from stack import settings
from stack.processes import Processes
from stack.settings import PASSWORD, REGION, Place

HERE = Path(__file__).resolve().parent
ROLES = (
    "admin",
    "service",
    "member",
    "reader",
    "load-balancer_admin",
    "load-balancer_member",
    "load-balancer_observer",
    "load-balancer_global_observer",
    "load-balancer_quota_admin",
)


def answers(url: str) -> bool:
    """True when an HTTP server answers there, with whatever status that is not a server error."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status < 500)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def serve(
    processes: Processes,
    venv: Path,
    name: str,
    app: str,
    port: int,
    arguments: str,
    env: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    workers: int = 1,
) -> None:
    """Start one API under gunicorn; the worker loads the application itself, after the fork."""
    processes.start(
        name,
        [
            *prefix,
            str(venv / "bin" / "gunicorn"),
            "--workers",
            str(workers),
            "--worker-class",
            "gthread",
            "--threads",
            "4",
            "--bind",
            f"127.0.0.1:{port}",
            "--timeout",
            "300",
            "--graceful-timeout",
            "3",
            "--keep-alive",
            "30",
            "--no-control-socket",
            "--pythonpath",
            str(HERE),
            "wsgi:application",
        ],
        {"OVNLB_STACK_APP": app, "OVNLB_STACK_ARGS": arguments, **(env or {})},
    )


def write(path: Path, sections: settings.Sections) -> Path:
    """Write a configuration file and return its path."""
    path.write_text(settings.render(sections))
    return path


class Keystone:
    """The identity service with the catalog of the stack."""

    def __init__(self, processes: Processes, place: Place, venv: Path, database: str) -> None:
        self.processes, self.place, self.venv = processes, place, venv
        self.conf = write(place.directory("etc") / "keystone.conf", settings.keystone(place, database))

    def _manage(self, *arguments: str) -> list[str]:
        return [str(self.venv / "bin" / "keystone-manage"), "--config-file", str(self.conf), *arguments]

    def begin_migration(self) -> None:
        """Start the schema migration and write the keys meanwhile."""
        self.processes.start("keystone-migration", self._manage("db_sync"))
        for repository in ("fernet-keys", "credential-keys"):
            keys = self.place.directory(f"etc/{repository}")
            for index in ("0", "1"):
                (keys / index).write_bytes(base64.urlsafe_b64encode(os.urandom(32)))
            keys.chmod(0o700)

    def start(self) -> None:
        """Finish the migration, make the administrator, serve."""
        self.processes.finish("keystone-migration")
        url = self.place.url("keystone")
        self.processes.run(
            "keystone bootstrap",
            self._manage(
                "bootstrap",
                "--bootstrap-password",
                PASSWORD,
                "--bootstrap-region-id",
                REGION,
                "--bootstrap-admin-url",
                url,
                "--bootstrap-internal-url",
                url,
                "--bootstrap-public-url",
                url,
            ),
        )
        serve(
            self.processes,
            self.venv,
            "keystone",
            "keystone",
            self.place.ports.keystone,
            f"--config-file {shlex.quote(str(self.conf))}",
            {"OS_KEYSTONE_CONFIG_FILES": str(self.conf)},
        )
        self.processes.wait_for("keystone", lambda: answers(url), 120)

    def fill_catalog(self) -> None:
        """Service users, roles, a plain project ``demo`` and the endpoints."""
        identity = connect(self.place).identity
        roles = {name: identity.find_role(name) or identity.create_role(name=name) for name in ROLES}
        service = identity.create_project(name="service", domain_id="default")
        demo = identity.create_project(name="demo", domain_id="default")
        grants = [(service, user, ("admin", "service")) for user in ("neutron", "octavia")]
        for project, name, granted in [*grants, (demo, "demo", ("member", "load-balancer_member"))]:
            user = identity.create_user(
                name=name, password=PASSWORD, domain_id="default", default_project_id=project.id
            )
            for role in granted:
                identity.assign_project_role_to_user(project, user, roles[role])
        identity.assign_project_role_to_user(
            identity.find_project("admin"), identity.find_user("admin"), roles["load-balancer_admin"]
        )
        for name, kind in (("neutron", "network"), ("octavia", "load-balancer")):
            entry = identity.create_service(name=name, type=kind)
            for interface in ("public", "internal", "admin"):
                identity.create_endpoint(
                    service_id=entry.id, interface=interface, url=self.place.url(name), region_id=REGION
                )


def connect(place: Place, user: str = "admin", project: str = "admin") -> openstack.connection.Connection:
    """An openstacksdk connection to the stack."""
    return openstack.connection.Connection(
        auth={
            "auth_url": place.url("keystone"),
            "username": user,
            "password": PASSWORD,
            "project_name": project,
            "user_domain_id": "default",
            "project_domain_id": "default",
        },
        region_name=REGION,
        identity_api_version="3",
    )


class Neutron:
    """The network service with ML2/OVN."""

    def __init__(
        self, processes: Processes, place: Place, venv: Path, database: str, nb: str, sb: str
    ) -> None:
        self.processes, self.place, self.venv = processes, place, venv
        self.conf = write(
            place.directory("etc") / "neutron.conf", settings.neutron(place, database, venv, nb, sb)
        )

    def begin_migration(self) -> None:
        """Start the schema migration."""
        manage = str(self.venv / "bin" / "neutron-db-manage")
        self.processes.start(
            "neutron-migration", [manage, "--config-file", str(self.conf), "upgrade", "heads"]
        )

    def begin(self) -> None:
        """Finish the migration and start the API; :meth:`wait` waits for it."""
        self.processes.finish("neutron-migration")
        serve(
            self.processes,
            self.venv,
            "neutron-api",
            "neutron",
            self.place.ports.neutron,
            "",
            {
                "OS_NEUTRON_CONFIG_DIR": str(self.conf.parent),
                "OS_NEUTRON_CONFIG_FILES": self.conf.name,
                "ASGI_WORKERS": "1",
            },
        )

    def begin_maintenance(self) -> None:
        """Start the maintenance worker: among other things it sets the options of NB_Global, without
        which clients on a VIP's own network get the MAC of a port that is bound nowhere.
        """
        self.processes.start(
            "neutron-maintenance",
            [
                str(self.venv / "bin" / "neutron-ovn-maintenance-worker"),
                "--config-file",
                str(self.conf),
                "--log-file",
                str(self.place.directory("logs") / "neutron-maintenance.log"),
            ],
        )

    def wait(self) -> None:
        """Wait until the API answers."""
        self.processes.wait_for("neutron-api", lambda: answers(self.place.url("neutron") + "/"), 180)

    def sync(
        self, venv: Path, mode: str, plugin: str | None = None, env: dict[str, str] | None = None
    ) -> str:
        """Run ``neutron-ovn-db-sync-util`` of an environment, for one sync plugin or all; returns its log."""
        log = self.place.directory("logs") / "neutron-sync.log"
        log.unlink(missing_ok=True)
        argv = [
            str(venv / "bin" / "neutron-ovn-db-sync-util"),
            "--config-file",
            str(self.conf),
            "--log-file",
            str(log),
            "--ovn-neutron_sync_mode",
            mode,
            *(["--sync_plugin", plugin] if plugin else []),
        ]
        said = self.processes.run("neutron-ovn-db-sync-util", argv, env)
        return said + (log.read_text() if log.exists() else "")
