"""The built pages against the code, the systemd unit against systemd. `tox -e docs` builds and runs this."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

TOP = Path(__file__).resolve().parents[2]
HTML = Path(os.environ.get("OVNLB_DOCS_HTML", ""))
UNIT = TOP / "etc" / "systemd" / "ovnlb.service"
# systemd-analyze security: 0 is locked down, 10 is not at all. Releases weigh slightly differently.
WORST_EXPOSURE = 2.0

sys.path.insert(0, str(TOP / "docs" / "_ext"))

import cli_parsers  # noqa: E402
import metric_list  # noqa: E402

from ovnlb.reconciler.exits import Exit  # noqa: E402
from ovnlb.reconciler.options import GROUPS  # noqa: E402


class Page(HTMLParser):
    """Ids, targets and text of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what can be linked to, and what is linked to."""
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(str(found["id"]))
        target = found.get("href" if tag in ("a", "link") else "src")
        if target:
            self.targets.append(target)

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """The text, with single spaces."""
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    """Every built page."""
    found = {path: Page(path) for path in HTML.rglob("*.html")}
    assert len(found) > 15, f"no pages below OVNLB_DOCS_HTML = {HTML}"
    return found


def _page(pages: dict[Path, Page], name: str) -> Page:
    return pages[HTML / f"{name}.html"]


def _anchored(page: Page, kind: str) -> set[str]:
    return {one for one in page.ids if one.startswith(f"{kind}-")}


def test_every_option_has_its_entry(pages: dict[Path, Page]) -> None:
    """An anchor for each option, and none without one; its help is on the page."""
    page = _page(pages, "configuration")
    options = [(group, option) for group, options in GROUPS.items() for option in options]
    wanted = {f"option-{group}-{option.dest}".replace("_", "-") for group, option in options}
    assert {one.replace("_", "-") for one in _anchored(page, "option")} == wanted
    assert [option.dest for _, option in options if " ".join(option.help.split()) not in page.text] == []


def test_every_command_option_has_its_entry(pages: dict[Path, Page]) -> None:
    """An anchor for each argument of each command, and none without one."""
    wanted = {
        f"command-{name}-{one.names[-1].lstrip('-').lower()}"
        for name in (*cli_parsers.commands(), cli_parsers.SYNC_UTIL)
        for one in cli_parsers.arguments(name)
    }
    assert _anchored(_page(pages, "commands"), "command") == wanted


def test_every_metric_has_its_row(pages: dict[Path, Page]) -> None:
    """Name and meaning of each metric are on the page, and no other name."""
    text = _page(pages, "monitoring").text
    metrics = metric_list.metrics()
    assert set(re.findall(r"\bovnlb_[a-z_]+", text)) == {metric.name for metric in metrics}
    assert [metric.name for metric in metrics if metric.help not in text] == []


def test_every_exit_code_has_its_row(pages: dict[Path, Page]) -> None:
    """The table of the commands page has the codes in their order."""
    text = _page(pages, "commands").text
    table = text.partition("Exit codes")[2].partition("When several apply")[0]
    assert re.findall(r"(?<![\d.])([0-9])(?= (?:in sync|an error|something|refused))", table) == [
        str(int(code)) for code in Exit
    ]


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    """Every link to a page, a place on it or a file of the documentation."""
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith("data:"):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (parts.fragment and to in pages and parts.fragment not in pages[to].ids):
                broken.append((path.name, target))
    assert broken == []


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """systemd-analyze finds nothing to say about the unit, with a program that exists here."""
    unit = tmp_path / UNIT.name
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text(), flags=re.MULTILINE)
    unit.write_text(re.sub(r"^(Documentation|EnvironmentFile)=.*\n", "", text, flags=re.MULTILINE))
    done = subprocess.run([_systemd_analyze(), "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_unit_is_locked_down() -> None:
    """The score of systemd-analyze security stays where the installation page has it."""
    done = subprocess.run(
        [_systemd_analyze(), "security", "--offline=true", "--no-pager", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    assert float(found[1]) <= WORST_EXPOSURE


def _systemd_analyze() -> str:
    found = shutil.which("systemd-analyze")
    assert found is not None, "systemd-analyze is missing: install the package systemd"
    return found
