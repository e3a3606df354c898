"""What operators read and install, against the code, in both directions."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from ovnlb.desired import octavia_errors
from ovnlb.diff import disruption, effects
from ovnlb.diff.plan import Reason
from ovnlb.reconciler import cli
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.options import GROUPS
from ovnlb.reconciler.rounds import Result
from ovnlb.reconciler.settings import SettingsError, load_settings

TOP = Path(__file__).resolve().parents[2]
DOCS, ETC = TOP / "docs", TOP / "etc"
PAGES = sorted(
    [*DOCS.rglob("*.md"), *TOP.glob("*.md"), *(TOP / ".github").rglob("*.md")], key=lambda path: str(path)
)
SOURCES = [
    path for name in ("desired", "diff", "observed", "reconciler") for path in (TOP / name).rglob("*.py")
]
# Shell blocks without a mark are run by this test, but for these: CI is what runs them.
RUN_BY_CI = frozenset({"tools/demo.sh", "tools/test.sh", "tools/test.sh lint mypy unit"})


def _module(path: Path) -> ModuleType:
    """A script of the checkout as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    """tools/generate.py, whose imports come from folders that it puts on sys.path."""
    before = list(sys.path)
    yield _module(TOP / "tools" / "generate.py")
    sys.path[:] = before


@pytest.fixture(scope="module")
def metrics(generate: ModuleType) -> dict[str, Any]:
    """Name of a series -> its metric."""
    found = importlib.import_module("metric_list").metrics()
    return {series: metric for metric in found for series in metric.series}


def _page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def _section(text: str, title: str) -> str:
    """The text below a heading, up to the next heading."""
    return text.partition(f"# {title}\n")[2].partition("\n#")[0]


def _first_cells(table: str) -> list[str]:
    """The words in code quotes in the first column of a table's rows."""
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


# Options, commands, exit codes


def test_every_group_of_options_is_listed_once() -> None:
    """The configuration page lists the options of every group that is read, from the code."""
    assert sorted(re.findall(r"{ovnlb-options} (\w+)", _page("configuration.md"))) == sorted(GROUPS)


def test_options_that_are_named_exist() -> None:
    """`[group]option` anywhere is an option of that group."""
    known = {group: {option.dest for option in options} for group, options in GROUPS.items()}
    named = [
        (page.name, group, option)
        for page in PAGES
        for group, option in re.findall(rf"\[({'|'.join(known)})\]([a-z_]+)", page.read_text())
    ]
    assert len(named) >= 8
    assert [each for each in named if each[2] not in known[each[1]]] == []


def test_every_command_is_listed_once(generate: ModuleType) -> None:
    """The commands page lists every command with its options, and no other."""
    listed = re.findall(r"{ovnlb-command} (\S+)", _page("commands.md"))
    assert sorted(listed) == sorted([*cli.COMMANDS, generate.cli.SYNC_UTIL])
    assert set(generate.EXITS) == set(listed)


def test_exit_codes_are_those_of_the_code() -> None:
    """The table has one row for each exit code; the manual page's sentences name no other."""
    rows = re.findall(r"^\| (\d+) \|", _page("commands.md"), re.MULTILINE)
    assert [int(row) for row in rows] == sorted(Exit)


def _named_commands(text: str) -> Iterator[list[str]]:
    """Calls of ovnlb in code quotes and code blocks, as words; the path of the program is cut."""
    quoted = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    lines = [
        line.strip()
        for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    for line in [*quoted, *lines]:
        found = re.match(r"(?:\S*/)?(ovnlb|octavia-ovn-db-sync-util) (.+)", line)
        if found and not line.startswith("|"):
            yield [found[1], *shlex.split(found[2], comments=True)]


def test_commands_that_are_shown_exist(generate: ModuleType) -> None:
    """Every `ovnlb COMMAND --option` on any page is a command that has the option."""
    shown = [(page.name, words) for page in PAGES for words in _named_commands(page.read_text())]
    assert len(shown) > 40
    for page, (program, *words) in shown:
        if words[0] in ("--version", "--help"):
            continue
        name = program if program != "ovnlb" else words[0]
        assert name in cli.COMMANDS or name == "octavia-ovn-db-sync-util", (page, words)
        known = {option for one in generate.cli.arguments(name) for option in one.names}
        used = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert used <= known, (page, words)


# Shell blocks


def _blocks(page: Path) -> Iterator[tuple[str, str]]:
    """(mark, block) of every shell block: `<!-- needs: a cloud -->` before it marks it."""
    pattern = re.compile(r"(?:<!-- needs: ([^>]+) -->\n)?[ ]*```(?:sh|console|bash)\n(.*?)```", re.DOTALL)
    yield from pattern.findall(page.read_text())


def test_unmarked_shell_commands_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is shown without a mark works in a checkout, as it stands."""
    monkeypatch.chdir(TOP)
    commands = {
        line for page in PAGES for mark, block in _blocks(page) if not mark for line in block.splitlines()
    }
    assert commands >= RUN_BY_CI
    for command in commands - RUN_BY_CI:
        program, *words = shlex.split(command)
        assert program == "ovnlb", command
        assert cli.main(words) in (Exit.IN_SYNC, Exit.DIFFERS), command
        assert capsys.readouterr().out


def test_ci_runs_what_it_is_said_to_run() -> None:
    """The two scripts are there, can be started, and the demonstration's ends in `ovnlb demo`."""
    for name in ("tools/demo.sh", "tools/test.sh"):
        assert (TOP / name).stat().st_mode & 0o111
    assert '/bin/ovnlb" demo' in (TOP / "tools" / "demo.sh").read_text()
    assert "tools/test.sh" in (TOP / ".ci" / "run").read_text()


def test_shell_blocks_are_shell() -> None:
    """Bash accepts every block, marked or not."""
    blocks = [block for page in PAGES for _, block in _blocks(page)]
    assert len(blocks) > 15
    for block in blocks:
        done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


# Words of plans and reports


@pytest.mark.parametrize(
    ("title", "words"),
    [
        pytest.param("Reasons", {str(reason) for reason in Reason}, id="reasons"),
        pytest.param(
            "Effects in Neutron",
            {
                value
                for name, value in vars(effects).items()
                if name.isupper()
                and isinstance(value, str)
                and name.partition("_")[0] in ("CREATE", "REPAIR", "DELETE", "MARK", "REFRESH")
            },
            id="effects",
        ),
        pytest.param("What clients notice", {str(impact) for impact in disruption.Impact}, id="impacts"),
    ],
)
def test_words_of_a_plan_are_explained(title: str, words: set[str]) -> None:
    """Every word that a plan uses has its row, each once."""
    listed = _first_cells(_section(_page("operations.md"), title))
    assert sorted(listed) == sorted(words)


def _warning_codes() -> set[str]:
    """The first argument of every PlanWarning in the code."""
    codes: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PlanWarning":
                code = node.args[0] if node.args else None
                if isinstance(code, ast.Constant):
                    codes.add(str(code.value))
                elif isinstance(code, ast.JoinedStr):
                    assert ast.unparse(code) == "f'{kind}_refused'"
                    codes |= {f"{kind}_refused" for kind in (effects.REPAIR_HM_PORT, effects.MARK_VIP_PORT)}
    return codes


def test_warnings_are_explained() -> None:
    """Every code of a warning has its row, and every row is a code."""
    listed = _first_cells(_section(_page("operations.md"), "Warnings"))
    assert sorted(listed) == sorted(_warning_codes())


def _finding_codes() -> set[str]:
    """The first argument of every Finding about a load balancer or a member."""
    calls = (
        node
        for path in [*(TOP / "desired").glob("*.py"), *(TOP / "diff").glob("*.py")]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    )
    return {str(call.args[0].value) for call in calls if isinstance(call.args[0], ast.Constant)}


def test_findings_of_show_are_explained() -> None:
    """Every code of a finding has its row; those about OVN's releases are listed from the code."""
    listed = _first_cells(_section(_page("operations.md"), "Why is it so?"))
    assert sorted(listed) == sorted(_finding_codes())
    assert "{ovnlb-limits}" in _page("limits.md")


def test_results_of_a_walk_are_explained() -> None:
    """The values of the label are those of the code."""
    row = re.search(
        r"^\| `result` of `ovnlb_reconcile_total` \|(.*)\|$", _page("monitoring.md"), re.MULTILINE
    )
    assert row is not None
    assert set(re.findall(r"`(\w+)`", row[1])) == {str(result) for result in Result}


def test_log_lines_are_those_of_the_code() -> None:
    """The fixed parts of every log line that is explained are in the code."""
    code = " ".join(" ".join(path.read_text().split()) for path in SOURCES).replace('" "', "")
    listed = _first_cells(_section(_page("monitoring.md"), "Log lines"))
    assert len(listed) >= 10
    for line in listed:
        for part in re.split(r"\.\.\.|\b(?:ID|WHY|N|S)\b", line):
            assert part.strip(" ():") in code, line


# Metrics, alerts, dashboard


def test_metrics_that_are_named_exist(metrics: dict[str, Any]) -> None:
    """A word that begins with `ovnlb_` on any page is a metric."""
    known = {metric.name for metric in metrics.values()}
    words = {(page.name, word) for page in PAGES for word in re.findall(r"\bovnlb_[a-z_]+", page.read_text())}
    assert len(words) > 5
    assert {each for each in words if each[1] not in known | {"ovnlb_reader", "ovnlb_reference"}} == set()
    assert "{ovnlb-metrics}" in _page("monitoring.md")


def _rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((ETC / "prometheus" / "ovnlb.rules.yaml").read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def _expressions() -> list[str]:
    board = json.loads((ETC / "grafana" / "ovnlb.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in _rules())]


def test_expressions_use_metrics_and_labels_that_exist(metrics: dict[str, Any]) -> None:
    """Alert rules and dashboard ask for series of ours, by labels and values that they have."""
    for expression in _expressions():
        series = re.findall(r"\bovnlb_[a-z_]+", expression)
        assert set(series) <= set(metrics), expression
        labels = {label for name in series for label in metrics[name].labels} | {"le", "job", "instance"}
        grouped = [
            word for words in re.findall(r"by \(([^)]*)\)", expression) for word in re.split(r"[, ]+", words)
        ]
        matched = re.findall(r"[{,]\s*(\w+)=", expression)
        assert set(grouped) | set(matched) <= labels, expression
        assert expression.count("(") == expression.count(")")
    values = [value for expression in _expressions() for value in re.findall(r'result="(\w+)"', expression)]
    assert set(values) <= {str(result) for result in Result}


def test_every_metric_is_on_the_dashboard(metrics: dict[str, Any]) -> None:
    """Nothing is measured in vain."""
    board = (ETC / "grafana" / "ovnlb.json").read_text()
    assert [metric.name for metric in metrics.values() if metric.name not in board] == []


def test_alerts_are_explained() -> None:
    """Every rule has a summary and its row on the page."""
    rules = _rules()
    assert _first_cells(_section(_page("monitoring.md"), "Alerts")) == [rule["alert"] for rule in rules]
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)


# Links, numbers


def test_links_between_files_lead_somewhere() -> None:
    """Relative links of pages that are read outside the built documentation."""
    links = [
        (page, target.partition("#")[0])
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
        if not target.startswith(("http", "#"))
    ]
    assert len(links) > 30
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


def test_files_that_are_named_exist() -> None:
    """Paths of the checkout in code quotes."""
    named = [
        (page.name, path)
        for page in PAGES
        for path in re.findall(
            r"`((?:etc|docs|tests|tools|devstack|reconciler|desired|diff|observed)/[\w./-]+)`",
            page.read_text(),
        )
    ]
    assert len(named) > 60
    assert [each for each in named if not (TOP / each[1]).exists()] == []


def test_differences_are_numbered_as_the_tests_number_them() -> None:
    """Sixteen differences, and every exception of a test is one of them."""
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", _page("differences.md"), re.MULTILINE)]
    assert numbers == list(range(1, 17))
    used = {
        item["number"]
        for path in (TOP / "tests" / "cases").glob("*exceptions.json")
        for item in json.loads(path.read_text())
    }
    assert used
    assert used <= set(numbers)


def test_revision_that_is_named_is_the_one_that_is_needed() -> None:
    """The schema revision of the installation page is that of the code."""
    assert f"`{_needed_revision()}`" in _page("installation.md")


def _needed_revision() -> str:
    source = (Path(octavia_errors.__file__).parent / "octavia_schema.py").read_text()
    found = re.search(r'NEEDED_REVISION = "(\w+)"', source)
    assert found is not None
    return found[1]


# Files that are installed


def test_files_made_from_the_code_are_current(generate: ModuleType) -> None:
    """Manual pages, completion, sample configuration, ...: run tools/generate.py when this fails."""
    old = [name for name, make in generate.FILES.items() if (TOP / name).read_text() != make()]
    assert old == []


def test_sample_configuration_has_every_option() -> None:
    """Every option of ours and of `[ovn]`, commented out."""
    sample = (ETC / "ovnlb.conf.sample").read_text()
    names = re.findall(r"^#(\w+) =", sample, re.MULTILINE)
    assert sorted(names) == sorted(option.dest for group in ("ovnlb", "ovn") for option in GROUPS[group])


def test_manual_page_has_every_option(generate: ModuleType) -> None:
    """Every option of every command."""
    page = (ETC / "man" / "ovnlb.1").read_text().replace("\\-", "-")
    for name in cli.COMMANDS:
        section = page.partition(f".SS {name}\n")[2].partition(".SS ")[0]
        for one in generate.cli.arguments(name):
            assert f".B {one.shown}\n" in section


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param(["ovnlb", "check"], {"check-config"}, id="command"),
        pytest.param(["ovnlb", "plan", "--fo"], {"--format"}, id="option"),
        pytest.param(["ovnlb", "plan", "--format", ""], {"text", "json", "markdown"}, id="choice"),
        pytest.param(
            ["ovnlb", "check-config", "--format", ""], {"text", "json"}, id="choice-of-another-command"
        ),
        pytest.param(["octavia-ovn-db-sync-util", "--de"], {"--debug"}, id="sync-util"),
    ],
)
def test_completion(words: list[str], offered: set[str]) -> None:
    """Bash offers what the command line takes."""
    listed = " ".join(shlex.quote(word) for word in words)
    script = (
        f"source {ETC / 'bash-completion' / 'ovnlb'}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; "
        'COMPREPLY=(); _ovnlb; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True)
    found = set(done.stdout.split())
    assert offered <= found
    assert len(found) <= len(offered) + 1


BASE = """[database]
connection = mysql+pymysql://octavia:secret@192.0.2.1/octavia
[service_auth]
auth_type = none
endpoint = http://192.0.2.1
"""


@pytest.mark.parametrize("name", sorted(path.name for path in (ETC / "octavia.conf.d").glob("*.conf")))
def test_snippets_load(name: str, tmp_path: Path) -> None:
    """Each snippet works after an ordinary octavia.conf, and has no option that does not exist."""
    base, snippet = tmp_path / "octavia.conf", tmp_path / name
    base.write_text(BASE)
    key = tmp_path / "key.pem"
    key.write_text("")
    snippet.write_text(
        re.sub(r"/etc/octavia/ovn/\w+\.pem", str(key), (ETC / "octavia.conf.d" / name).read_text())
    )
    settings = load_settings([str(base), str(snippet)])
    assert settings.warnings == ()
    if name != "observe-only.conf":
        assert settings.nb.remotes.count("192.0.2.1") == 3


def test_snippet_for_tls_names_a_missing_file(tmp_path: Path) -> None:
    """As the security page says: a missing key is an error at the start."""
    base = tmp_path / "octavia.conf"
    base.write_text(BASE)
    with pytest.raises(SettingsError, match="ovn_nb_private_key"):
        load_settings([str(base), str(ETC / "octavia.conf.d" / "tls.conf")])


def _unit() -> dict[str, list[str]]:
    """Option -> values of the service section."""
    found: dict[str, list[str]] = {}
    text = (
        (ETC / "systemd" / "ovnlb.service").read_text().partition("[Service]\n")[2].partition("[Install]")[0]
    )
    for line in text.splitlines():
        if line and not line.startswith("#"):
            option, _, value = line.partition("=")
            found.setdefault(option, []).append(value)
    return found


def test_unit_starts_a_command_that_tells_systemd() -> None:
    """The command sends READY and WATCHDOG, as Type=notify needs; its directories are made."""
    unit = _unit()
    [start] = unit["ExecStart"]
    program, *words = shlex.split(start)
    assert Path(program).name == "ovnlb"
    assert cli.parser(words[0]).parse_args(words).command == "run"
    assert unit["Type"] == ["notify"]
    assert int(unit["WatchdogSec"][0]) >= 10
    made = (ETC / "tmpfiles.d" / "ovnlb.conf").read_text()
    [writable] = unit["ReadWritePaths"]
    assert all(f"d {path.lstrip('-')} " in made for path in writable.split())
    assert unit["User"] == ["octavia"]
    assert "\nu octavia " in (ETC / "sysusers.d" / "ovnlb.conf").read_text()


def test_unit_stops_later_than_the_service_gives_up() -> None:
    """systemd waits longer than all threads of the service may take together."""
    source = (TOP / "reconciler" / "service.py").read_text()
    found = re.search(r"^_STOP_PATIENCE = ([\d.]+)$", source, re.MULTILINE)
    assert found is not None
    workers = next(option.default for option in GROUPS["ovnlb"] if option.dest == "workers")
    assert int(_unit()["TimeoutStopSec"][0]) >= workers * float(found[1])


def test_devstack_plugin_configures_octavia(tmp_path: Path) -> None:
    """With stand-ins for DevStack's functions: the original goes first, and octavia.conf is usable."""
    conf, log = tmp_path / "octavia.conf", tmp_path / "calls"
    conf.write_text(BASE)
    script = f"""
    set -eu
    DEST=/opt/stack SERVICE_HOST=192.0.2.9 OCTAVIA_CONF={conf} NEUTRON_AGENT=ovn
    is_service_enabled() {{ return 1; }}
    pip_uninstall() {{ echo "uninstall $1" >> {log}; }}
    setup_develop() {{ echo "install $1" >> {log}; }}
    iniset() {{ printf '[%s]\\n%s = %s\\n' "$2" "$3" "$4" >> "$1"; }}
    source {TOP}/devstack/settings
    source {TOP}/devstack/plugin.sh stack install
    source {TOP}/devstack/plugin.sh stack post-config
    """
    subprocess.run([shutil.which("bash") or "bash", "-c", script], check=True)
    assert log.read_text().splitlines() == ["uninstall ovn-octavia-provider", "install /opt/stack/ovnlb"]
    settings = load_settings([str(conf)])
    assert settings.nb.remotes == "tcp:192.0.2.9:6641"
    assert settings.sb.remotes == "tcp:192.0.2.9:6642"
    assert settings.enabled_provider_agents == ("ovn",)
    assert set(settings.enabled_provider_drivers) == {"amphora", "ovn"}


def test_tox_environments_are_listed() -> None:
    """CONTRIBUTING lists every environment, and no other."""
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.read(TOP / "tox.ini")
    names = {section.partition(":")[2] for section in parsed.sections() if section.startswith("testenv:")}
    names = {part for name in names for part in name.strip("{}").split(",")}
    named = _first_cells((TOP / "CONTRIBUTING.md").read_text())
    assert names <= set(named)
    assert set(named) - names <= {"py312", "py313"}
