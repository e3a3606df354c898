"""Two virtual environments: one OpenStack with the original provider, one with ovnlb and without the
original.

They live below ``OVNLB_STACK_DIR`` (the tox env directory, else a directory of the user's cache) and are
made once; a marker with the requirements decides whether they are up to date. ovnlb is installed
afresh from the checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from stack.processes import StackError

CHECKOUT = Path(__file__).resolve().parents[2]
CONSTRAINTS = CHECKOUT / "tests" / "constraints" / "openstack-2026.2.txt"
# pyroute2 by name: the wheels of neutron and octavia lost the requirements that carry an environment marker
OPENSTACK = (
    "octavia==19.0.0",
    "octavia-lib==3.12.0",
    "neutron==29.0.0",
    "PyMySQL",
    "pyroute2",
    "gunicorn",
)
KEYSTONE = ("keystone==30.0.0",)
ORIGINAL = ("ovn-octavia-provider==11.0.0",)
TEMPEST = ("tempest==47.0.0", "octavia-tempest-plugin==3.5.0", "stestr")


def home() -> Path:
    """Where environments are kept: OVNLB_STACK_DIR, the tox env directory, or the user's cache directory."""
    for variable in ("OVNLB_STACK_DIR", "TOX_ENV_DIR"):
        if os.environ.get(variable):
            return Path(os.environ[variable]).resolve() / "stack"
    return Path.home() / ".cache" / "ovnlb" / "stack"


def _uv() -> str | None:
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def _installer(venv: Path) -> list[str]:
    uv, python = _uv(), str(venv / "bin" / "python")
    return [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackError(f"{' '.join(argv)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def _ensure(name: str, requirements: tuple[str, ...]) -> Path:
    """The environment ``name`` with these requirements under the constraints; made when absent or out of
    date.
    """
    venv = home() / name
    wanted = hashlib.sha256(
        "\n".join((*requirements, CONSTRAINTS.read_text(), sys.version)).encode()
    ).hexdigest()
    marker = venv / ".ovnlb-requirements"
    if marker.exists() and marker.read_text() == wanted:
        return venv
    shutil.rmtree(venv, ignore_errors=True)
    venv.parent.mkdir(parents=True, exist_ok=True)
    uv = _uv()
    _run(
        [uv, "venv", "-q", "--seed", "--python", sys.executable, str(venv)]
        if uv
        else [sys.executable, "-m", "venv", str(venv)]
    )
    _run([*_installer(venv), "-c", str(CONSTRAINTS), *requirements])
    marker.write_text(wanted)
    return venv


def original() -> Path:
    """Keystone, Neutron and Octavia with ovn-octavia-provider; also runs what does not depend on the
    provider.
    """
    return _ensure("original", (*OPENSTACK, *KEYSTONE, *ORIGINAL))


def ovnlb() -> Path:
    """Neutron and Octavia with ovnlb from this checkout (a copy is installed, as a user would have it)."""
    venv = _ensure("ovnlb", OPENSTACK)
    _run([*_installer(venv), "-c", str(CONSTRAINTS), str(CHECKOUT)])
    _run([*_installer(venv), "--force-reinstall", "--no-deps", str(CHECKOUT)])
    return venv


def octavia() -> Path:
    """Octavia alone with what ovnlb needs, whether ovnlb is there or not: for its driver-agent."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    needed = (one for one in OPENSTACK if not one.startswith("neutron"))
    return _ensure("octavia-api", (*needed, *project["dependencies"]))


def octavia_api() -> Path:
    """Octavia alone with ovnlb from this checkout: what a suite needs that fakes Neutron and Keystone."""
    venv = octavia()
    _run([*_installer(venv), "--force-reinstall", "--no-deps", str(CHECKOUT)])
    return venv


def tempest() -> Path:
    """tempest with Octavia's plugin."""
    return _ensure("tempest", TEMPEST)
