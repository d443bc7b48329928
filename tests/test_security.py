"""What docs/security.md says of the code as a whole: no network, no shell, nothing that turns text into code."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gpudoctor

PACKAGE = Path(gpudoctor.__file__).parent
FILES = [path for path in PACKAGE.rglob("*.py") if "checks" not in path.relative_to(PACKAGE).parts]
FILES += list((PACKAGE.parent / "checks").rglob("*.py"))
NETWORK = {
    "socket",
    "ssl",
    "http",
    "urllib",
    "ftplib",
    "smtplib",
    "socketserver",
    "xmlrpc",
    "requests",
    "aiohttp",
    "mcp",
}
# Who may: the servers that a user starts, the meeting of NCCL's ranks on this machine, a node of a fleet that looks up
# its neighbour for `fleet run --pairs`, `setup --run` before it lets the installer use an index, and the quoting of
# addresses and of names.
ALLOWED = {
    "cli/mcp_server/server.py": {"mcp"},
    "cli/web_server.py": {"aiohttp", "urllib"},
    "fleet/runner/report_store.py": {"urllib"},
    "fleet/runner/pair_node.py": {"socket"},
    "fleet/runner/protocol.py": {"urllib"},
    "workers/smoke/backends/pytorch/ranks.py": {"socket"},
    "report/renderers/sarif.py": {"urllib"},
    "setup/reachability.py": {"urllib"},
}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "eval", "exec"}
STARTS = ("subprocess.", "asyncio.create_subprocess")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """What is called by the whole of its name, such as os.system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def by_shell(name: str, call: ast.Call) -> bool:
    """Whether a call hands a text to a shell, or to Python, to be run."""
    given = {one.arg for one in call.keywords}
    return name in SHELLS or (name.startswith(STARTS) and ("shell" in given or "shell" in name))


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 300


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_what_is_allowed_is_used(name: str) -> None:
    used = {one.partition(".")[0] for one in imports(tree_of(PACKAGE / name))}
    assert used >= ALLOWED[name]


def test_nobody_else_could_go_over_the_network() -> None:
    found = {}
    for path in FILES:
        where = str(path.relative_to(PACKAGE)) if PACKAGE in path.parents else path.name
        used = {one.partition(".")[0] for one in imports(tree_of(path))} & NETWORK
        if used - ALLOWED.get(where, set()):
            found[where] = used
    assert found == {}


def test_of_urllib_only_the_parts_that_read_addresses_are_used() -> None:
    quoting = [path for path in FILES if path.name != "reachability.py"]
    used = {one for path in quoting for one in imports(tree_of(path)) if one.startswith("urllib")}
    assert used <= {"urllib.parse.quote", "urllib.parse.unquote", "urllib.parse.urlsplit"}


def test_no_text_goes_to_a_shell() -> None:
    found = []
    for path in FILES:
        for name, call in calls(tree_of(path)):
            if by_shell(name, call):
                found.append(f"{path.name}:{call.lineno}")
    assert found == []


@pytest.mark.parametrize(
    "code", ["os.system(x)", "subprocess.run(x, shell=True)", "asyncio.create_subprocess_shell(x)", "eval(x)"]
)
def test_it_would_be_found(code: str) -> None:
    ((name, call),) = calls(ast.parse(code))
    assert by_shell(name, call)


def test_the_files_that_the_page_names_are_there() -> None:
    page = (PACKAGE.parent / "docs" / "security.md").read_text()
    named = re.findall(r"`((?:gpudoctor|tests|scripts)/[\w/]+\.py)`", page)
    assert len(named) >= 7
    assert [name for name in named if not (PACKAGE.parent / name).exists()] == []


def test_the_limits_that_the_page_tells() -> None:
    from gpudoctor import machine
    from gpudoctor.children import output
    from gpudoctor.cli.mcp_server import tools
    from gpudoctor.expect import discovery, file_permissions
    from gpudoctor.facts import facts_file
    from gpudoctor.monitor import replay
    from gpudoctor.setup import journal

    page = (PACKAGE.parent / "docs" / "security.md").read_text()
    for words, limit in {
        "16 MiB of a file": machine.READ_LIMIT >> 20,
        "8 MiB of the kernel's log": machine.KMSG_LIMIT >> 20,
        "4 MiB of each output stream": output.OUTPUT_LIMIT >> 20,
        "32 MiB | none": facts_file.LIMIT >> 20,
        "256 KiB, 200 files": file_permissions.LIMIT >> 10,
        "8 MiB | refused": journal.LIMIT >> 20,
        "64 MiB": replay.LARGEST >> 20,
        "1 MiB | none, and it is never": tools.LARGEST_LOG >> 20,
    }.items():
        assert words in " ".join(page.split())
        assert words.startswith(str(limit))
    assert discovery.MOST == 200


def test_the_formats_that_the_page_calls_masked() -> None:
    from gpudoctor.report.formats import FORMATS

    page = (PACKAGE.parent / "docs" / "security.md").read_text()
    rows = [line for line in page.splitlines() if "`--format`" in line]
    for one in FORMATS.values():
        (row,) = [line for line in rows if re.search(rf"[ ,]{one.name}\b", line.partition("`--format`")[2])]
        assert ("`facts`" in row) is one.leaves, one.name
