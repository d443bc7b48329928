"""What was changed and when: real files below a root of their own, real SQLite, real venvs."""

import gzip
import os
import sqlite3
import subprocess
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gpudoctor import pipeline
from gpudoctor.facts import CondaPackage, Facts, Package
from gpudoctor.facts.history import ChangeHistory, FrameworkChange
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.parallel import StepEnded
from gpudoctor.probes import cpu_builds, driver_fails, history
from gpudoctor.probes.history import clock, files
from tests.builders import change, framework, nvidia_host, plain_host, python, with_framework
from tests.checks.nvidia_machines import versions
from tests.parsers.test_package_logs import CONDA, UBUNTU

BERLIN = ZoneInfo("Europe/Berlin")
MISMATCH = versions("550.90.07", "550.107.02", "550.107.02")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def put(root: Path, path: str, content: str | bytes) -> Path:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def block(day: int, name: str = "nvidia-driver-550") -> str:
    return f"\nStart-Date: 2026-11-{day:02}  06:00:00\nUpgrade: {name}:amd64 (550.{day}, 550.{day + 1})\n"


def found(root: Path) -> list[tuple[str, str | None, str]]:
    changes = history.packages(Machine(str(root)), BERLIN)
    assert not isinstance(changes, Unknown)
    return [(c.time, c.new, c.source) for c in changes]


def test_rotated_logs_are_read_back_to_the_first_that_is_missing(root: Path) -> None:
    put(root, "/var/log/apt/history.log", block(20))
    put(root, "/var/log/apt/history.log.1.gz", gzip.compress(block(10).encode()))
    put(root, "/var/log/apt/history.log.2.gz", b"\x1f\x8b damaged")
    put(root, "/var/log/apt/history.log.3.gz", gzip.compress(block(5).encode()))
    assert found(root) == [
        ("2026-11-10 06:00:00", "550.11", "/var/log/apt/history.log.1.gz"),
        ("2026-11-20 06:00:00", "550.21", "/var/log/apt/history.log"),
    ]


def test_what_dpkg_repeats_is_there_once_and_dpkg_alone_counts_too(root: Path) -> None:
    put(root, "/var/log/apt/history.log", block(20))
    lines = "2026-11-20 06:00:05 upgrade nvidia-driver-550:amd64 550.20 550.21\n"
    lines += "2026-11-21 06:00:05 upgrade nvidia-driver-550:amd64 550.21 550.22\n"
    put(root, "/var/log/dpkg.log", lines)
    assert [new for _time, new, _source in found(root)] == ["550.21", "550.22"]


def test_of_a_long_log_the_end_is_read(root: Path) -> None:
    put(
        root,
        "/var/log/pacman.log",
        block(1) * 60_000 + "[2026-11-20 10:10] [ALPM] upgraded nvidia-utils (1-1 -> 2-1)\n",
    )
    assert [new for _time, new, _source in found(root)] == ["2-1"]
    assert len(files.tail(Machine(str(root)), "/var/log/pacman.log") or "") == 4 << 20


def test_no_log_is_unknown_and_an_empty_one_is_none(root: Path) -> None:
    assert history.packages(Machine(str(root)), BERLIN) == Unknown("no package manager's log is here")
    put(root, "/var/log/apt/history.log", "")
    assert found(root) == []


# libdnf's libdnf/transaction/sql/create_tables.sql, and dnf5's of the same name, as far as they are read.
DNF4 = """
CREATE TABLE trans (id INTEGER PRIMARY KEY AUTOINCREMENT, dt_begin INTEGER NOT NULL, dt_end INTEGER,
    rpmdb_version_begin TEXT, rpmdb_version_end TEXT, releasever TEXT NOT NULL, user_id INTEGER NOT NULL, cmdline TEXT,
    state INTEGER NOT NULL);
CREATE TABLE item (id INTEGER PRIMARY KEY, item_type INTEGER NOT NULL);
CREATE TABLE trans_item (id INTEGER PRIMARY KEY AUTOINCREMENT, trans_id INTEGER REFERENCES trans(id),
    item_id INTEGER REFERENCES item(id), repo_id INTEGER, action INTEGER NOT NULL, reason INTEGER NOT NULL,
    state INTEGER NOT NULL);
CREATE TABLE rpm (item_id INTEGER UNIQUE NOT NULL, name TEXT NOT NULL, epoch INTEGER NOT NULL, version TEXT NOT NULL,
    release TEXT NOT NULL, arch TEXT NOT NULL);
INSERT INTO trans VALUES (1, 1795152712, NULL, NULL, NULL, '9', 4294967295, '/usr/bin/dnf-automatic --timer', 1);
INSERT INTO rpm VALUES (1, 'nvidia-driver', 3, '550.90.07', '1.el9', 'x86_64');
INSERT INTO rpm VALUES (2, 'nvidia-driver', 3, '550.107.02', '1.el9', 'x86_64');
INSERT INTO rpm VALUES (3, 'curl', 0, '8', '1.el9', 'x86_64');
INSERT INTO rpm VALUES (4, 'kernel-core', 0, '5.14.0', '503.el9', 'x86_64');
INSERT INTO trans_item VALUES (1, 1, 2, 1, 6, 0, 1), (2, 1, 1, 1, 7, 0, 1), (3, 1, 3, 1, 6, 0, 1),
    (4, 1, 4, 1, 1, 0, 1);
"""
DNF5 = """
CREATE TABLE trans (id INTEGER PRIMARY KEY AUTOINCREMENT, dt_begin INTEGER NOT NULL, dt_end INTEGER,
    rpmdb_version_begin TEXT, rpmdb_version_end TEXT, releasever TEXT NOT NULL, user_id INTEGER NOT NULL,
    description TEXT, comment TEXT, state_id INTEGER);
CREATE TABLE {names} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE trans_item_action (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO trans_item_action VALUES (1, 'Install'), (2, 'Upgrade'), (3, 'Downgrade'), (4, 'Reinstall'), (5, 'Remove'),
    (6, 'Replaced'), (7, 'Reason Change');
CREATE TABLE trans_item (id INTEGER PRIMARY KEY AUTOINCREMENT, trans_id INTEGER, item_id INTEGER, repo_id INTEGER,
    action_id INTEGER NOT NULL, reason_id INTEGER NOT NULL, state_id INTEGER NOT NULL);
CREATE TABLE rpm (item_id INTEGER NOT NULL UNIQUE, name_id INTEGER NOT NULL, epoch INTEGER NOT NULL,
    version TEXT NOT NULL, release TEXT NOT NULL, arch_id INTEGER NOT NULL);
INSERT INTO trans VALUES (1, 1795152712, NULL, NULL, NULL, '42', 1000, 'dnf upgrade', NULL, 2);
INSERT INTO {names} VALUES (1, 'akmod-nvidia');
INSERT INTO rpm VALUES (1, 1, 3, '550.90.07', '1.fc42', 1), (2, 1, 3, '550.107.02', '1.fc42', 1);
INSERT INTO trans_item VALUES (1, 1, 2, 1, 2, 0, 2), (2, 1, 1, 1, 6, 0, 2);
"""


def database(root: Path, path: str, script: str) -> None:
    place = put(root, path, b"")
    connection = sqlite3.connect(place)
    connection.executescript(script)
    connection.close()


def test_dnf_4(root: Path) -> None:
    database(root, "/var/lib/dnf/history.sqlite", DNF4)
    put(root, "/var/log/dnf.rpm.log", "2026-11-20T06:31:52+0000 SUBDEBUG Installed: nvidia-driver-3:1-1.el9.x86_64\n")
    changes = history.packages(Machine(str(root)), BERLIN)
    assert not isinstance(changes, Unknown)
    driver, kernel = sorted(changes, key=lambda c: c.name, reverse=True)
    assert (driver.time, driver.action, driver.old, driver.new) == (
        *("2026-11-20 06:31:52", "upgrade"),
        *("550.90.07-1.el9", "550.107.02-1.el9"),
    )
    assert (driver.command, driver.user) == ("/usr/bin/dnf-automatic --timer", None)
    assert (kernel.name, kernel.action, kernel.old) == ("kernel-core", "install", None)
    assert sorted(p.name for p in (root / "var/lib/dnf").iterdir()) == ["history.sqlite"]  # nothing was written


@pytest.mark.parametrize("names", ["pkg_name", "pkg_names"])
def test_dnf_5(root: Path, names: str) -> None:
    database(root, "/usr/lib/sysimage/libdnf5/transaction_history.sqlite", DNF5.format(names=names))
    (change_,) = history.packages(Machine(str(root)), BERLIN)  # type: ignore[misc]
    assert (change_.name, change_.old, change_.new) == ("akmod-nvidia", "550.90.07-1.fc42", "550.107.02-1.fc42")
    assert (change_.command, change_.user) == ("dnf upgrade", "uid 1000")


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(200)])
def test_a_database_that_is_none_leaves_the_log(root: Path, content: bytes) -> None:
    put(root, "/var/lib/dnf/history.sqlite", content)
    put(root, "/var/log/dnf.rpm.log", "2026-11-20T06:31:52+0000 SUBDEBUG Installed: nvidia-driver-3:550-1.el9.x86_64\n")
    assert found(root) == [("2026-11-20 06:31:52", "550-1.el9", "/var/log/dnf.rpm.log")]


def test_the_boot_by_the_machines_own_clock(root: Path) -> None:
    machine = Machine(str(root))
    assert clock.boot(machine, clock.zone(machine)) == Unknown("/proc/stat: No such file or directory")
    put(root, "/proc/stat", "cpu  1 2 3\nbtime 1795152712\n")
    assert clock.boot(machine, clock.zone(machine)) == "2026-11-20 05:31:52"
    put(root, "/etc/localtime", Path("/usr/share/zoneinfo/Europe/Berlin").read_bytes())
    assert clock.boot(machine, clock.zone(machine)) == "2026-11-20 06:31:52"
    put(root, "/etc/localtime", b"no zone")
    put(root, "/proc/stat", "btime now\n")
    assert clock.boot(machine, clock.zone(machine)) == Unknown("/proc/stat names no boot time")


def test_a_healthy_machine_is_not_asked() -> None:
    healthy = with_framework(framework(), nvidia_host())
    for facts in (healthy, plain_host(), Facts()):
        assert not driver_fails(facts)
        assert cpu_builds(facts) == []
    assert driver_fails(MISMATCH)
    for path, value in (("host.container", "docker"), ("host.wsl", 2), ("host.system", "Windows"), ("pci", ())):
        assert not driver_fails(change(MISMATCH, path, value))
    assert cpu_builds(with_framework(framework(variant="cpu"), nvidia_host()))
    assert not cpu_builds(with_framework(framework(variant="cpu"), plain_host()))


def test_it_is_read_last_and_only_where_something_is_broken(root: Path) -> None:
    put(root, "/var/log/apt/history.log", UBUNTU)
    events = pipeline._with_history(Machine(str(root)), MISMATCH)
    keys = []
    try:
        while True:
            event = next(events)
            keys += [event.key] if isinstance(event, StepEnded) else []
    except StopIteration as end:
        facts = end.value
    assert keys == ["history"]
    assert facts.history.packages[0].name == "nvidia-driver-550"
    with pytest.raises(StopIteration) as ended:
        next(pipeline._with_history(Machine(str(root)), nvidia_host()))
    assert ended.value.value.history == ChangeHistory()


# -- environments ------------------------------------------------------------------------------------


def installed(site: Path, name: str, second: int, requires: tuple[str, ...] = (), requested: bool = False) -> None:
    """A dist-info as pip leaves it: the wheel's own files have the time of their build."""
    info = put(site, f"{name.replace('-', '_')}-1.0.dist-info/METADATA", "").parent
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    put(info, "METADATA", head + "".join(f"Requires-Dist: {one}\n" for one in requires))
    os.utime(put(info, "RECORD", ""), (1795152712 + second, 1795152712 + second))
    if requested:
        put(info, "REQUESTED", "")


def environment(site: Path, installer: str = "pip", **changes: object) -> Facts:
    package = Package(name="torch", version="1.0", directory=str(site), installer=installer)
    one = python(framework(variant="cpu", distribution="torch"), packages=(package,), **changes)
    return change(nvidia_host(), "pythons", (one,))


def brought(facts: Facts) -> FrameworkChange | None:
    (one,) = history.probe(Machine("/"), facts).builds or (None,)
    return one


def test_pip_records_what_brought_a_requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "zone", lambda _machine: BERLIN)
    installed(tmp_path, "torch", 0)
    installed(tmp_path, "thop", 20, ("torch",))
    installed(tmp_path, "ultralytics", 40, ("thop>=1", "numpy"), requested=True)
    installed(tmp_path, "black", 50, ("click", 'torch; extra == "d"'), requested=True)
    installed(tmp_path, "lightning", 90_000, ("torch",), requested=True)  # a day later
    installed(tmp_path, "timm", -500, ("torch",), requested=True)  # before
    found = brought(environment(tmp_path))
    assert found is not None
    assert (found.time, found.installer, found.asked_for) == ("2026-11-20 06:31:52", "pip", False)
    assert found.wanted_by == ("ultralytics 1.0",)


def test_what_was_named_itself_was_brought_by_nobody(tmp_path: Path) -> None:
    installed(tmp_path, "torch", 0, requested=True)
    installed(tmp_path, "ultralytics", 40, ("torch",), requested=True)
    found = brought(environment(tmp_path))
    assert found is not None
    assert (found.asked_for, found.wanted_by) == (True, ())
    uv = brought(environment(tmp_path, installer="uv"))  # it marks everything as requested
    assert uv is not None
    assert (uv.asked_for, uv.wanted_by) == (None, ())


def test_a_package_without_a_record_says_nothing(tmp_path: Path) -> None:
    assert brought(environment(tmp_path)) is None


def test_conda_records_what_it_replaced(tmp_path: Path) -> None:
    put(tmp_path, "conda-meta/history", CONDA)
    build = CondaPackage(name="pytorch", version="2.4.0", build="cpu_generic_py311h123_1")
    found = brought(environment(tmp_path, conda=(build,), prefix=str(tmp_path)))
    assert found is not None
    assert (found.time, found.old) == ("2026-11-20 14:03:11", "2.3.0 py3.11_cuda12.1_cudnn8.9.2_0")
    assert found.command == "/opt/conda/bin/conda install ultralytics"
    other = CondaPackage(name="pytorch", version="2.4.0", build="other_build")  # somebody unpacked it: not by conda
    assert brought(environment(tmp_path, conda=(other,), prefix=str(tmp_path))) is None


def test_a_real_pip_marks_what_was_named(tmp_path: Path) -> None:
    """A real pip of this machine installs a wheel that requires another."""
    import sys
    from zipfile import ZipFile

    for name, needs in (("torch", ()), ("ultralytics", ("torch",))):
        info = f"{name}-1.0.dist-info"
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n" + "".join(f"Requires-Dist: {n}\n" for n in needs)
        with ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", "")
            wheel.writestr(f"{info}/METADATA", head)
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-index", "--find-links", str(tmp_path), "--target")
    ended = subprocess.run([*pip, str(tmp_path / "site"), "ultralytics"], capture_output=True, text=True, check=False)
    if "No module named pip" in ended.stderr:
        pytest.skip("this environment has no pip")
    assert ended.returncode == 0, ended.stderr
    found = brought(environment(tmp_path / "site"))
    assert found is not None
    assert (found.asked_for, found.wanted_by) == (False, ("ultralytics 1.0",))
