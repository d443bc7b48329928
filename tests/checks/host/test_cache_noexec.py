"""Caches of compiled kernels on a file system that is mounted noexec."""

from typing import Any

import pytest

from gpudoctor.checks.host.cache_noexec import cache_noexec
from gpudoctor.facts import Facts, WritableDirectory
from gpudoctor.maybe import Unknown
from tests.builders import change, plain_host
from tests.checks.environments import commands, environment, one, package, torch

SAID = "{}: mounted noexec, so what torch.compile and Triton compile there cannot be loaded."


def place(path: str, purpose: str, executable: Any = True) -> WritableDirectory:
    return WritableDirectory(path=path, purpose=purpose, free=50 << 30, writable=True, executable=executable)


def having(
    tmp: Any = False, *more: WritableDirectory, triton: Any = True, packages: tuple[str, ...] = ("triton",)
) -> Facts:
    facts = environment(torch(), packages=tuple(package(name, "3.3.1") for name in packages))
    found = (
        place("/home/ada/.cache/torch", "PyTorch"),
        place("/home/ada/.triton/cache", "Triton", triton),
        place("/tmp", "temporary files", tmp),
        *more,
    )
    return change(facts, "host.directories", found)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (having(), ("problem", SAID.format("/tmp (temporary files)"))),
        (having(tmp=True), ("pass", "")),
        (having(packages=()), ("pass", "")),  # nothing compiles kernels
        (change(plain_host(), "pythons", having().pythons), ("pass", "")),
        (having(False, place("/data/inductor", "torch.compile")), ("pass", "")),
        (
            having(True, place("/mnt/inductor", "torch.compile", False)),
            ("problem", SAID.format("/mnt/inductor (torch.compile)")),
        ),
        (having(True, triton=False), ("problem", SAID.format("/home/ada/.triton/cache (Triton)"))),
        (having(Unknown("closed")), ("unknown", "closed")),
        (change(having(), "host.environment", {"TRITON_CACHE_DIR": "/home/ada/.triton/cache"}), ("pass", "")),
    ],
)
def test_cache_noexec(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(cache_noexec, facts) == verdict


def test_another_place_is_named() -> None:
    typed = commands(cache_noexec, having())
    assert "export TORCHINDUCTOR_CACHE_DIR=/home/ada/.cache/torchinductor" in typed
    assert "sudo mount -o remount,exec /tmp" in typed
    inside = commands(cache_noexec, change(having(), "host.container", "docker"))
    assert "mount -o" not in inside
    assert "docker run --tmpfs /tmp:exec ..." in inside
    pod = change(change(having(), "host.container", "containerd"), "host.kubernetes", True)
    assert "docker run" not in commands(cache_noexec, pod)
    both = commands(cache_noexec, having(triton=False))
    assert "export TRITON_CACHE_DIR=/home/ada/.cache/triton" in both
