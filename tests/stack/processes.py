"""Processes of one stack: started with a log each, awaited with a reason, stopped in reverse order.

Every process gets SIGTERM from the kernel when the process that started it dies, so a killed test run
leaves nothing.
Start processes from the main thread only: that signal follows the thread, not the process.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class StackError(RuntimeError):
    """A piece of the stack did not start, died, or a command of its set-up failed; says which and shows
    its log.
    """


def _die_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def tail(path: Path, lines: int = 30) -> str:
    """The last lines of a log, or a line that says there is none."""
    if not path.exists():
        return f"(no log {path.name})"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


class Processes:
    """Named child processes of one stack, below one log directory."""

    def __init__(self, logs: Path, env: Mapping[str, str]) -> None:
        self.logs = logs
        self.env = dict(env)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        atexit.register(self.stop_all)

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
        """Start ``argv`` under ``name``, output to ``<logs>/<name>.out``; returns the pid."""
        if self.alive(name):
            raise StackError(f"{name} runs already")
        with (self.logs / f"{name}.out").open("ab") as out:
            self._running[name] = subprocess.Popen(
                list(argv),
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                env={**self.env, **(env or {})},
            )
        return self._running[name].pid

    def alive(self, name: str) -> bool:
        """True while the process of that name runs."""
        return name in self._running and self._running[name].poll() is None

    def pid(self, name: str) -> int:
        """The pid of a running process; StackError when it does not run."""
        if not self.alive(name):
            raise StackError(f"{name} does not run:\n{tail(self.logs / f'{name}.out')}")
        return self._running[name].pid

    def names(self) -> tuple[str, ...]:
        """Names of the running processes, oldest first."""
        return tuple(name for name in self._running if self.alive(name))

    def wait_for(self, name: str, ready: Callable[[], object], seconds: float = 60) -> None:
        """Poll ``ready`` until it is true; StackError with the log when ``name`` dies or time runs out."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.alive(name):
                raise StackError(f"{name} died while starting:\n{tail(self.logs / f'{name}.out')}")
            if time.monotonic() > deadline:
                raise StackError(
                    f"{name} is not ready after {seconds:.0f} s:\n{tail(self.logs / f'{name}.out')}"
                )
            time.sleep(0.05)

    def finish(self, name: str, seconds: float = 300) -> None:
        """Wait for a one-off command started with :meth:`start`; StackError with its log when it fails."""
        process = self._running.pop(name)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise StackError(f"{name} still runs after {seconds:.0f} s") from None
        if code != 0:
            raise StackError(f"{name} ended with {code}:\n{tail(self.logs / f'{name}.out')}")

    def run(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None, seconds: float = 300
    ) -> str:
        """Run a command to its end and return its standard output; StackError with all output when it
        fails.
        """
        done = subprocess.run(
            list(argv),
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**self.env, **(env or {})},
            check=False,
        )
        if done.returncode != 0:
            raise StackError(
                f"{name} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
            )
        return done.stdout

    def signal(self, name: str, number: int) -> None:
        """Send a signal to the process alone."""
        os.kill(self.pid(name), number)

    def stop(self, name: str, seconds: float = 30) -> None:
        """SIGTERM, then SIGKILL to its whole group after ``seconds``; nothing when it is not running."""
        process = self._running.pop(name, None)
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)

    def stop_all(self) -> None:
        """Stop everything, youngest first."""
        for name in reversed(tuple(self._running)):
            self.stop(name)
        atexit.unregister(self.stop_all)
