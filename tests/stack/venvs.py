"""Two virtual environments: one OpenStack with the original provider, one with ovnlb and without the
original.

They live below ``OVNLB_STACK_DIR`` (beside the tox environments, which share them, else in the user's cache)
and are made once; a marker with the requirements decides whether they are up to date, and one with the
product's files whether ovnlb is installed afresh from the checkout.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
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
    """Where environments are kept: OVNLB_STACK_DIR, beside the tox environments, or the user's cache."""
    if kept := os.environ.get("OVNLB_STACK_DIR"):
        return Path(kept).resolve()
    if environment := os.environ.get("TOX_ENV_DIR"):
        return Path(environment).resolve().parent / "openstack"
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


@contextlib.contextmanager
def _alone(venv: Path) -> Iterator[None]:
    """Holds a lock on an environment, so that two test runs do not make it at the same time."""
    venv.parent.mkdir(parents=True, exist_ok=True)
    with venv.with_name(f"{venv.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ensure(name: str, requirements: tuple[str, ...]) -> Path:
    """The environment ``name`` with these requirements under the constraints; made when absent or out of
    date.
    """
    venv = home() / name
    with _alone(venv):
        if not _is(venv, "requirements", wanted := _digest(*requirements, CONSTRAINTS, sys.version)):
            shutil.rmtree(venv, ignore_errors=True)
            _make(venv)
            _run([*_installer(venv), "-c", str(CONSTRAINTS), *requirements])
            _mark(venv, "requirements", wanted)
    return venv


def _make(venv: Path) -> None:
    uv = _uv()
    _run(
        [uv, "venv", "-q", "--seed", "--python", sys.executable, str(venv)]
        if uv
        else [sys.executable, "-m", "venv", str(venv)]
    )


def _digest(*parts: str | Path) -> str:
    texts = (part.read_bytes() if isinstance(part, Path) else part.encode() for part in parts)
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _is(venv: Path, what: str, wanted: str) -> bool:
    marker = venv / f".ovnlb-{what}"
    return marker.exists() and marker.read_text() == wanted


def _mark(venv: Path, what: str, value: str) -> None:
    (venv / f".ovnlb-{what}").write_text(value)


def _install_ovnlb(venv: Path) -> None:
    """Install the checkout without its requirements; nothing when that environment has these very files."""
    files = [CHECKOUT / "pyproject.toml"]
    for package in ("desired", "diff", "observed", "reconciler"):
        inside = (CHECKOUT / package).rglob("*")
        files += sorted(path for path in inside if path.is_file() and path.suffix != ".pyc")
    wanted = _digest(*(part for path in files for part in (str(path.relative_to(CHECKOUT)), path)))
    with _alone(venv):
        if not _is(venv, "product", wanted):
            _run([*_installer(venv), "--force-reinstall", "--no-deps", str(CHECKOUT)])
            _mark(venv, "product", wanted)


def _needed_by_ovnlb() -> tuple[str, ...]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    return tuple(project["dependencies"])


def original() -> Path:
    """Keystone, Neutron and Octavia with ovn-octavia-provider; also runs what does not depend on the
    provider.
    """
    return _ensure("original", (*OPENSTACK, *KEYSTONE, *ORIGINAL))


def ovnlb() -> Path:
    """Neutron and Octavia with ovnlb from this checkout (a copy is installed, as a user would have it)."""
    venv = _ensure("ovnlb", (*OPENSTACK, *_needed_by_ovnlb()))
    _install_ovnlb(venv)
    return venv


def octavia() -> Path:
    """Octavia alone with what ovnlb needs, whether ovnlb is there or not: for its driver-agent."""
    needed = (one for one in OPENSTACK if not one.startswith("neutron"))
    return _ensure("octavia-api", (*needed, *_needed_by_ovnlb()))


def octavia_api() -> Path:
    """Octavia alone with ovnlb from this checkout: what a suite needs that fakes Neutron and Keystone."""
    venv = octavia()
    _install_ovnlb(venv)
    return venv


def tempest() -> Path:
    """tempest with Octavia's plugin."""
    return _ensure("tempest", TEMPEST)
