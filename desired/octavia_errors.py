"""What goes wrong with Octavia's database, in two classes: come again, or change something first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import exc

OPTION = "ovnlb_option"  # execution option of our engines: the configuration option the URL is from

# Error numbers of MariaDB and MySQL that no waiting cures: access (1044, 1045, 1142, 1143, 1227, 1698,
# 3118), names (1049, 1054, 1146), authentication plugins and TLS demanded (1251, 2059, 2061, 3159).
TERMINAL_NUMBERS = frozenset(
    {1044, 1045, 1049, 1054, 1142, 1143, 1146, 1227, 1251, 1698, 2059, 2061, 3118, 3159}
)
TERMINAL_SQLITE = ("no such table", "no such column", "not a database", "unable to open", "malformed")


class DatabaseError(Exception):
    """Octavia's database cannot be read; the text names the option, the database and the cause."""


class DatabaseUnavailable(DatabaseError):
    """The server is away, busy or was lost in the middle: the same call may succeed later."""


class DatabaseUnusable(DatabaseError):
    """The URL, the schema or the user's rights are wrong: nothing changes by itself."""


def described(engine: sa.Engine) -> str:
    """The option and the URL of a database, without password and parameters."""
    option = engine.get_execution_options().get(OPTION, "database")
    return f"{option} ({engine.url.set(query={}).render_as_string(hide_password=True)})"


@contextmanager
def database_errors(engine: sa.Engine) -> Iterator[None]:
    """Turn what SQLAlchemy and the driver raise into DatabaseUnavailable and DatabaseUnusable."""
    try:
        yield
    except exc.DBAPIError as error:
        kind = DatabaseUnusable if _is_terminal(error) else DatabaseUnavailable
        raise kind(f"{described(engine)}: {_text(error)}") from error
    except exc.TimeoutError as error:
        raise DatabaseUnavailable(f"{described(engine)}: no free connection: {error}") from error
    except exc.SQLAlchemyError as error:
        raise DatabaseUnusable(f"{described(engine)}: {error}") from error


@contextmanager
def connected(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection, in a new transaction from its first statement on; errors as `database_errors`."""
    with database_errors(engine), _opened(engine) as connection:
        yield connection


def _opened(engine: sa.Engine) -> sa.Connection:
    try:
        return engine.connect()
    # PyMySQL raises these bare: unreadable key files, authentication that needs a missing package.
    except (OSError, RuntimeError) as error:
        raise DatabaseUnusable(f"{described(engine)}: {error}") from error


def _is_terminal(error: exc.DBAPIError) -> bool:
    number = error.orig.args[0] if error.orig is not None and error.orig.args else None
    if isinstance(number, int):
        return number in TERMINAL_NUMBERS
    if isinstance(error, exc.ProgrammingError):
        return True
    return any(text in str(error.orig) for text in TERMINAL_SQLITE)


def _text(error: exc.DBAPIError) -> str:
    """The driver's words without its tuple and without the statement."""
    arguments = error.orig.args if error.orig is not None else ()
    return str(arguments[1]) if len(arguments) > 1 else str(error.orig)
