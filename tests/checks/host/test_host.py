"""Checks of what a machine needs beside its GPUs."""

from typing import Any

import pytest

from gpudoctor.check_engine import Check, Severity, run
from gpudoctor.checks.host.disk_full import disk_full
from gpudoctor.checks.host.memory_limit import memory_limit
from gpudoctor.checks.host.out_of_memory_kills import out_of_memory_kills
from gpudoctor.checks.host.shm_not_writable import shm_not_writable
from gpudoctor.checks.host.shm_small import shm_small
from gpudoctor.facts import Facts, LogEvent, WritableDirectory
from gpudoctor.facts.host import Shm
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework, nvidia_host, plain_host, with_framework

WHY = Unknown("not to be seen")
USUAL = Shm(size=32 << 30, free=32 << 30, mode="1777", writable=True)
ROOM = (
    WritableDirectory(path="/home/ada/.triton/cache", purpose="Triton", free=50 << 30, writable=True),
    WritableDirectory(path="/home/ada/.cupy/kernel_cache", purpose="CuPy", free=1 << 20, writable=False),
    WritableDirectory(path="/tmp", purpose="temporary files", free=50 << 30, writable=True),
)
TORCH = change(change(with_framework(framework()), "host.shm", USUAL), "host.directories", ROOM)
PLAIN = change(change(plain_host(), "host.shm", Shm(size=1, mode="755", writable=False)), "host.directories", ROOM)


def killed(*names: str) -> tuple[LogEvent, ...]:
    """Kernel messages about ended processes."""
    return tuple(LogEvent(kind="oom-kill", text=f"Killed process 7 ({n})", what={"process": n}) for n in names)


@pytest.mark.parametrize(
    ("check", "facts", "message"),
    [
        (shm_small, TORCH, None),
        (shm_small, PLAIN, None),
        (shm_small, change(TORCH, "host.shm.size", 64 << 20), "/dev/shm (shared memory) has only 64 MiB."),
        (
            shm_small,
            change(TORCH, "host.shm", Shm(size=None, mode=None, writable=None)),
            "/dev/shm does not exist: NCCL and PyTorch's DataLoader need it.",
        ),
        (shm_small, change(change(TORCH, "host.shm.size", 64 << 20), "host.container", "docker"), None),
        (shm_not_writable, TORCH, None),
        (shm_not_writable, PLAIN, None),
        (
            shm_not_writable,
            change(TORCH, "host.shm", Shm(size=1 << 30, mode="755", writable=False)),
            "You cannot write to /dev/shm (mode 755): creating shared memory fails with permission denied.",
        ),
        (
            shm_not_writable,
            change(TORCH, "host.shm.mode", "755"),
            "/dev/shm has mode 755 instead of 1777: you can write there, other users cannot.",
        ),
        (disk_full, TORCH, None),
        (disk_full, PLAIN, None),
        (
            disk_full,
            change(TORCH, "host.directories.0.free", 200 << 20),
            "/home/ada/.triton/cache (Triton): 200 MiB free.",
        ),
        (
            disk_full,
            change(TORCH, "host.directories.2.writable", False),
            "/tmp (temporary files): not writable.",
        ),
        (out_of_memory_kills, TORCH, None),
        (out_of_memory_kills, change(TORCH, "log.events", killed("firefox")), None),
        (
            out_of_memory_kills,
            change(TORCH, "log.events", killed("python3", "python3", "ray::IDLE")),
            "Since boot the kernel's OOM killer ended python3, ray::IDLE 3 times (out of memory). The machine has 64 "
            "GiB.",
        ),
        (memory_limit, TORCH, None),
        (memory_limit, change(TORCH, "host.memory_limit", 16 << 30), None),
        (
            memory_limit,
            change(TORCH, "host.memory_limit", 4 << 30),
            "The cgroup limits memory to 4 GiB; the GPU has 24 GiB.",
        ),
    ],
)
def test_checks(check: Check[Any], facts: Facts, message: str | None) -> None:
    assert ask(check, facts) == [("problem", message) if message else ("pass", "")]


@pytest.mark.parametrize(
    ("check", "path"),
    [
        (shm_small, "host.shm.size"),
        (shm_not_writable, "host.shm.writable"),
        (disk_full, "host.directories.0.free"),
        (out_of_memory_kills, "log.events"),
        (memory_limit, "host.memory_limit"),
    ],
)
def test_unknown(check: Check[Any], path: str) -> None:
    assert ask(check, change(TORCH, path, WHY)) == [("unknown", "not to be seen")]


def test_processes_that_were_killed_at_the_limit() -> None:
    facts = change(change(TORCH, "host.memory_limit", 16 << 30), "host.memory_kills", 4)
    [verdict] = run(memory_limit, facts)
    assert verdict.severity is Severity.WARNING
    assert verdict.message == (
        "The OOM killer ended processes of this cgroup 4 times, when its memory limit of 16 GiB was reached."
    )
    for kills in (0, None, WHY):
        assert ask(memory_limit, change(facts, "host.memory_kills", kills)) == [("pass", "")]
    pod = change(change(facts, "host.container", "containerd"), "host.kubernetes", True)
    assert "memory: 128Gi" in run(memory_limit, pod)[0].fixes[0].commands[0]
    assert ask(memory_limit, change(PLAIN, "host.memory_kills", 4)) == [("pass", "")]  # no GPU


def test_a_closed_shm_is_an_error_only_where_it_is_needed() -> None:
    closed = Shm(size=1 << 30, mode="755", writable=False)
    needed, idle = change(TORCH, "host.shm", closed), change(nvidia_host(), "host.shm", closed)
    assert [v.severity for v in run(shm_not_writable, needed)] == [Severity.ERROR]
    assert [v.severity for v in run(shm_not_writable, idle)] == [Severity.WARNING]


def test_caches_move_to_where_there_is_room() -> None:
    facts = change(TORCH, "host.directories.0.writable", False)
    found = [c for v in run(disk_full, facts) for fix in v.fixes for c in fix.commands]
    assert found == ["export TRITON_CACHE_DIR=/PATH/WITH/ROOM/triton_cache_dir"]

    roomy = WritableDirectory(path="/tmp", purpose="temporary files", free=50 << 30, writable=True, executable=True)
    facts = change(facts, "host.directories.2", roomy)
    found = [c for v in run(disk_full, facts) for fix in v.fixes for c in fix.commands]
    assert found == ["export TRITON_CACHE_DIR=/tmp/triton_cache_dir"]


def test_wsl_gets_more_memory_from_windows() -> None:
    facts = change(change(TORCH, "log.events", killed("python3")), "host.wsl", 2)
    [verdict] = run(out_of_memory_kills, facts)
    assert ".wslconfig" in verdict.fixes[0].message
    [plain] = run(out_of_memory_kills, change(TORCH, "log.events", killed("python3")))
    assert not any(".wslconfig" in fix.message for fix in plain.fixes)
