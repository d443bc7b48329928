"""HAMi's library, and a limit that nothing keeps without it."""

import pytest

from gpudoctor.checks.container.gpu_limit_ignored import gpu_limit_ignored
from gpudoctor.facts import Facts, IgnoredPreload
from tests.builders import ask, change, nvidia_host
from tests.checks.container.test_container import inside
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY

LIMIT = {"CUDA_DEVICE_MEMORY_LIMIT_0": "10240m"}
LIBRARY = "/usr/local/vgpu/libvgpu.so"


def ignoring(*paths: str, **env: str) -> Facts:
    """A pod whose loader ignores these entries."""
    found = tuple(IgnoredPreload(path=path, reason="Is a directory") for path in paths)
    return change(inside(nvidia_host(), "kubernetes", **env), "host.ignored_preloads", found)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            ignoring(LIBRARY, **LIMIT),
            [
                (
                    "problem",
                    f"The loader ignores {LIBRARY} in /etc/ld.so.preload (Is a directory), so "
                    "CUDA_DEVICE_MEMORY_LIMIT_0=10240m is not enforced: programs see the whole GPU.",
                )
            ],
        ),
        (ignoring(**LIMIT), PASS),
        (ignoring(LIBRARY), PASS),  # nobody asked for a limit
        (ignoring("/usr/lib/libother.so", **LIMIT), PASS),
        (change(ignoring(**LIMIT), "host.ignored_preloads", WHY), UNKNOWN),
        (change(ignoring(), "host.ignored_preloads", WHY), PASS),
        (change(ignoring(LIBRARY, **LIMIT), "host.container", None), SKIPPED),
    ],
)
def test_gpu_limit_ignored(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(gpu_limit_ignored, facts) == verdict
