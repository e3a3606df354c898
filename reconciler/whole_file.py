"""Files that are there complete or not at all: bundles and saved plans."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: str, text: str) -> None:
    """Write a file beside its place and move it there; what was there before stays until then.

    A device, a pipe or a link (`/dev/stdout`) is written through: it must not be replaced by a file.
    Raises OSError, and leaves nothing half-written then.
    """
    target = Path(path)
    if target.is_symlink() or (target.exists() and not target.is_file()):
        with target.open("w", encoding="utf-8") as through:
            through.write(text)
        return
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        raise
