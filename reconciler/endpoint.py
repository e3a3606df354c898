"""Which Neutron endpoint of a Keystone catalog is meant.

Follows the API-SIG text "Endpoint Discovery" where keystoneauth1 stops short of it: a region is
looked up by id and then by name, more than one endpoint left is a warning (or, strictly, an error),
an error lists what the catalog does offer, and an alias can be found by its version. Pure: the
catalog is an argument, nothing is fetched here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_service_types

INTERFACES = ("public", "internal", "admin")
_SUFFIX = re.compile(r"v([0-9]+)$")
_types = os_service_types.ServiceTypes()


class EndpointError(Exception):
    """No endpoint, or (strictly) no single endpoint, fits. The text says what was found instead."""


@dataclass(frozen=True, slots=True)
class CatalogEndpoint:
    """One endpoint of a catalog, of either identity version. Names that a version lacks are None."""

    service_type: str
    interface: str
    url: str
    region: str | None = None
    region_id: str | None = None
    service_name: str | None = None
    service_id: str | None = None

    def __str__(self) -> str:
        return f"{self.service_type} {self.interface} {self.region_id or self.region or '-'} {self.url}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. `interfaces` in order of preference; `version` as `2`, `2.1`, `2,4`, `latest`."""

    service_type: str = "network"
    interfaces: tuple[str, ...] = ("public",)
    region: str | None = None
    version: str | None = None
    service_name: str | None = None
    service_id: str | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The endpoint to use and those that fit just as well (a warning names them)."""

    endpoint: CatalogEndpoint
    others: tuple[CatalogEndpoint, ...] = ()

    @property
    def warning(self) -> str | None:
        """A sentence for the log when the choice was not the only one."""
        if not self.others:
            return None
        left = "; ".join(str(e) for e in (self.endpoint, *self.others))
        return f"more than one endpoint fits, the first one is used (set [neutron]region_name): {left}"


def read_catalog(catalog: Iterable[Mapping[str, Any]]) -> tuple[CatalogEndpoint, ...]:
    """The endpoints of a v3 `catalog` or a v2 `serviceCatalog`, in the catalog's order."""
    return tuple(found for entry in catalog for found in _entry_endpoints(entry))


def _entry_endpoints(entry: Mapping[str, Any]) -> Iterable[CatalogEndpoint]:
    def made(endpoint: Mapping[str, Any], interface: str, url: str) -> CatalogEndpoint:
        return CatalogEndpoint(
            entry["type"],
            interface,
            url,
            endpoint.get("region"),
            endpoint.get("region_id"),
            entry.get("name"),
            entry.get("id"),
        )

    for endpoint in entry.get("endpoints", ()):
        if "interface" in endpoint:
            yield made(endpoint, _plain(endpoint["interface"]), endpoint["url"])
            continue
        for interface in INTERFACES:
            if endpoint.get(f"{interface}URL"):
                yield made(endpoint, interface, endpoint[f"{interface}URL"])


def _plain(interface: str) -> str:
    return interface.removesuffix("URL")


def version_matches(required: str | None, candidate: str) -> bool:
    """Whether version `candidate` satisfies `required` ("Comparing Major Versions" of the text)."""
    have = _version(candidate)
    if required is None or required.strip() in ("", "latest"):
        return True
    low, comma, high = (part.strip() for part in str(required).partition(","))
    if not comma:
        return _same_major(_version(low), have)
    if low and have < _version(low):
        return False
    return high in ("", "latest") or have < _version(high) or _same_major(_version(high), have)


def _version(text: str) -> tuple[int, int]:
    major, _, minor = str(text).strip().lstrip("v").partition(".")
    return int(major), int(minor or 0)


def _same_major(required: tuple[int, int], candidate: tuple[int, int]) -> bool:
    return required[0] == candidate[0] and candidate[1] >= required[1]


def choose(catalog: Sequence[CatalogEndpoint], wanted: Wanted) -> Choice:
    """The endpoint for `wanted`.

    Raises EndpointError when nothing fits, or when several fit and `wanted.strict` is set.
    """
    refuse_impossible(wanted)
    found = _of_service(catalog, wanted)
    found = _of_interfaces(found, wanted)
    found = _of_region(found, wanted)
    found = _best_type(found, wanted)
    best = next(i for i in map(_plain, wanted.interfaces) if any(e.interface == i for e in found))
    first, *others = (e for e in found if e.interface == best)
    if others and wanted.strict:
        left = "; ".join(str(e) for e in (first, *others))
        raise EndpointError(f"{len(others) + 1} endpoints fit, and strict_endpoint allows one: {left}")
    return Choice(first, tuple(others))


def refuse_impossible(wanted: Wanted) -> None:
    """Raises EndpointError when the type names a version that `version` excludes; needs no catalog."""
    suffix = _SUFFIX.search(wanted.service_type)
    if suffix and wanted.version and not version_matches(wanted.version, suffix[1]):
        raise EndpointError(
            f"service type {wanted.service_type} is version {suffix[1]}, not {wanted.version} as asked"
        )


def _of_service(catalog: Sequence[CatalogEndpoint], wanted: Wanted) -> list[CatalogEndpoint]:
    found = [e for e in catalog if _is_candidate(e.service_type, wanted)]
    found = _named(found, "service_name", wanted.service_name, wanted.strict)
    found = _named(found, "service_id", wanted.service_id, wanted.strict)
    if not found:
        types = ", ".join(sorted({e.service_type for e in catalog})) or "none"
        named = f" named {wanted.service_name}" if wanted.service_name else ""
        raise EndpointError(
            f"no service of type {wanted.service_type}{named} in the catalog (found: {types})"
        )
    return found


def _named(
    found: list[CatalogEndpoint], attribute: str, value: str | None, strict: bool
) -> list[CatalogEndpoint]:
    """Keeps the entries of that name or id; a catalog without the field is not held against it."""
    if value is None or (not strict and all(getattr(e, attribute) is None for e in found)):
        return found
    return [e for e in found if getattr(e, attribute) == value]


def _is_candidate(entry_type: str, wanted: Wanted) -> bool:
    asked = wanted.service_type
    if entry_type == asked:
        return True
    official = _types.get_service_type(asked)
    if official == asked:
        return entry_type in _types.get_aliases(asked)
    if official is None:
        return False
    return entry_type == official or _alias_fits(entry_type, official, wanted.version)


def _alias_fits(entry_type: str, official: str, version: str | None) -> bool:
    suffix = _SUFFIX.search(entry_type)
    known = entry_type in _types.get_aliases(official)
    return bool(version and suffix and known and version_matches(version, suffix[1]))


def _of_interfaces(found: list[CatalogEndpoint], wanted: Wanted) -> list[CatalogEndpoint]:
    asked = {_plain(i) for i in wanted.interfaces}
    kept = [e for e in found if e.interface in asked]
    if not kept:
        have = ", ".join(sorted({e.interface for e in found}))
        raise EndpointError(
            f"service {wanted.service_type} has no {' or '.join(wanted.interfaces)} endpoint: "
            f"the catalog has {have} ([neutron]valid_interfaces)"
        )
    return kept


def _of_region(found: list[CatalogEndpoint], wanted: Wanted) -> list[CatalogEndpoint]:
    if not wanted.region:
        return found
    by_id = [e for e in found if e.region_id == wanted.region]
    kept = by_id or [e for e in found if e.region == wanted.region]
    if not kept:
        have = ", ".join(sorted({e.region_id or e.region or "-" for e in found}))
        raise EndpointError(
            f"service {wanted.service_type} has no endpoint in region {wanted.region}: "
            f"the catalog has {have} ([neutron]region_name)"
        )
    return kept


def _best_type(found: list[CatalogEndpoint], wanted: Wanted) -> list[CatalogEndpoint]:
    for service_type in _preference(wanted):
        kept = [e for e in found if e.service_type == service_type]
        if kept:
            return kept
    have = ", ".join(sorted({e.service_type for e in found}))
    raise EndpointError(f"no endpoint is safely a {wanted.service_type} (found: {have})")


def _preference(wanted: Wanted) -> list[str]:
    """Service types in the order in which they stand for the one asked for."""
    asked = wanted.service_type
    official = _types.get_service_type(asked)
    if official is None:
        return [asked]
    aliases = list(_types.get_aliases(official))
    versioned = sorted(
        (a for a in aliases if _alias_fits(a, official, wanted.version)),
        key=lambda a: int(_SUFFIX.search(a)[1]),  # type: ignore[index]
        reverse=True,
    )
    if asked == official:
        return [asked, *(versioned if wanted.version else aliases)]
    return [asked, *versioned, official]
