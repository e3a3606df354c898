"""The two ways in which Neutron says no, whatever library spoke to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests.exceptions
import urllib3.exceptions
from keystoneauth1 import exceptions as ksa
from openstack import exceptions as sdk

_LATER = frozenset({401, 408, 429})
_NEVER_SENT = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
_CONNECTION = (ksa.ClientException, requests.exceptions.RequestException, OSError)


class NeutronError(Exception):
    """Base of both. `message` is Neutron's own text where it gave one."""

    def __init__(self, call: str, message: str, status: int | None = None) -> None:
        super().__init__(f"Neutron {call}: {message}" + (f" (HTTP {status})" if status else ""))
        self.call = call
        self.message = message
        self.status = status


class NeutronUnavailable(NeutronError):
    """No usable answer: unreachable, timed out, 401, 408, 429, 5xx, or no token. Try later.

    `maybe_done`: the request may have taken effect all the same, as its answer was lost.
    """

    def __init__(self, call: str, message: str, status: int | None = None, maybe_done: bool = True) -> None:
        super().__init__(call, message, status)
        self.maybe_done = maybe_done and status not in _LATER


class NeutronNotConfigured(NeutronUnavailable):
    """No connection could be made of the [neutron] options; `message` says why."""

    def __init__(self, message: str) -> None:
        super().__init__("connection", message, maybe_done=False)


class NeutronRefused(NeutronError):
    """Any other 4xx: asking the same again is of no use, except after a 409. `status` is never None."""

    @property
    def conflict(self) -> bool:
        """409: the address, name or revision is taken."""
        return self.status == 409

    @property
    def missing(self) -> bool:
        """404: the object has gone."""
        return self.status == 404

    @property
    def forbidden(self) -> bool:
        """403: Neutron's policy."""
        return self.status == 403


@contextmanager
def neutron_errors(call: str) -> Iterator[None]:
    """Turns every failure of the body, one Neutron call named `call`, into one of the two."""
    try:
        yield
    except sdk.HttpException as error:
        raise from_http(call, error) from error
    except ksa.HttpError as error:
        raise NeutronUnavailable(f"{call}: Keystone", str(error), error.http_status, False) from error
    except (sdk.SDKException, *_CONNECTION) as error:
        text = str(error) or type(error).__name__
        raise NeutronUnavailable(call, text, maybe_done=_was_sent(error)) from error


def from_http(call: str, error: sdk.HttpException) -> NeutronError:
    """The value for an HTTP error: 401, 408, 429 and 5xx are Unavailable, any other is Refused."""
    status = error.status_code
    message = str(error.details or error.message or "").strip() or f"HTTP {status}"
    if status is None or status in _LATER or status >= 500:
        return NeutronUnavailable(call, message, status)
    return NeutronRefused(call, message, status)


def _was_sent(error: BaseException | None) -> bool:
    """Whether the request may have reached the server: no if the connection was never made."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        inner = [error, *error.args, getattr(error, "reason", None)]
        inner += [getattr(found, "reason", None) for found in error.args]
        if any(isinstance(found, _NEVER_SENT) for found in inner):
            return False
        error = error.__cause__ or error.__context__
    return True
