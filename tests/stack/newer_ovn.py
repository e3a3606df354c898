"""A newer OVN and OVS than the installed ones: packages of the next Debian, unpacked beside the system,
nothing installed.

Every program gets a wrapper that starts it with the unpacked loader and libraries.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from stack.ovn import Release

PACKAGES = ("ovn-central", "ovn-host", "openvswitch-switch")
PROGRAMS = ("usr/bin/ovn-*", "usr/bin/ovs-*", "usr/bin/ovsdb-*", "usr/sbin/ovs-*", "usr/sbin/ovsdb-*")
LOADER = (
    "lib64/ld-linux-x86-64.so.2",
    "usr/lib64/ld-linux-x86-64.so.2",
    "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
)


class Unobtainable(RuntimeError):
    """Another suite's packages cannot be had here; says why."""


def _run(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise Unobtainable(f"{argv[0]}: {error}") from None
    if done.returncode != 0:
        raise Unobtainable(f"{argv[0]} {argv[-1]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _mirror() -> str:
    """The Debian archive that this machine's apt uses."""
    for line in _run("apt-get", "indextargets", "--format", "$(SITE) $(CREATED_BY)").splitlines():
        site, _, kind = line.partition(" ")
        if kind == "Packages" and site.rstrip("/").endswith("/debian"):
            return site
    raise Unobtainable("apt of this machine names no Debian archive")


def _download(suite: str, directory: Path) -> list[Path]:
    """The packages and what they need, with package lists of their own."""
    apt = directory / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "suite.sources").write_text(
        f"Types: deb\nURIs: {_mirror()}\nSuites: {suite}\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )
    options = {
        "Dir::Etc::sourcelist": apt / "suite.sources",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": apt / "lists",
        "Dir::Cache": apt / "cache",
        "Dir::State::status": apt / "status",
        "APT::Sandbox::User": "root",
        "Dir::Etc::preferencesparts": "/dev/null",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    _run("apt-get", *words, "-qq", "update")
    _run(
        "apt-get", *words, "-qq", "-y", "--no-install-recommends", "--download-only", "install", *PACKAGES
    )
    return sorted((apt / "cache" / "archives").glob("*.deb"))


def _wrap(root: Path, programs: Path) -> None:
    loader = next((root / path for path in LOADER if (root / path).exists()), None)
    if loader is None:
        raise Unobtainable("the unpacked packages hold no loader for this machine")
    libraries = f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"
    found = [path for pattern in PROGRAMS for path in root.glob(pattern)]
    for path in (*found, root / "usr/lib/openvswitch-switch/ovs-vswitchd"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            wrapper = programs / path.name
            wrapper.write_text(
                f'#!/bin/sh\nexec {loader} --library-path {libraries} --argv0 {path.name} {path} "$@"\n'
            )
            wrapper.chmod(0o755)


def unpack(suite: str, directory: Path) -> Release:
    """That suite's release below ``directory``, downloaded at the first call; Unobtainable when it cannot
    be had.
    """
    marker = directory / "complete"
    if not marker.exists():
        root, programs = directory / "root", directory / "bin"
        root.mkdir(parents=True, exist_ok=True)
        programs.mkdir(exist_ok=True)
        for package in _download(suite, directory):
            _run("dpkg-deb", "-x", str(package), str(root))
        _wrap(root, programs)
        marker.touch()
    return Release(directory)
