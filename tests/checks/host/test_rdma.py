"""The library and the plugin by which programs reach RDMA adapters, and the memory that they may lock."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.environment.nccl_plugin_off_path import nccl_plugin_off_path
from gpudoctor.checks.host.memlock_small import memlock_small
from gpudoctor.checks.host.rdma_library_missing import rdma_library_missing
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.tasks.as_typed import shown
from tests.builders import ask, change, nvidia_host

WHY = Unknown("/etc/ld.so.cache: cut short")
MESSAGE = "RDMA network adapters can be used in {}, but libibverbs is not installed: NCCL uses TCP sockets."
FOLDER = "/opt/amazon/aws-ofi-nccl/lib"


def _having(**host: Any) -> Facts:
    facts = nvidia_host(2)
    plain = {"rdma": True, "rdma_devices": ("mlx5_0",), "rdma_library": True}
    return change(facts, "host", msgspec.structs.replace(facts.host, **(plain | host)))


@pytest.mark.parametrize(
    ("facts", "place", "severity"),
    [
        (_having(rdma_library=False, container="docker"), "this container", None),
        (_having(rdma_library=False, environment={"SLURM_JOB_ID": "7"}), "this machine", None),
        (_having(rdma_library=False, environment={"FI_PROVIDER": "efa"}), "this machine", None),
        (_having(rdma_library=False), "this machine", Severity.ADVICE),
    ],
)
def test_library_is_missing(facts: Facts, place: str, severity: Severity | None) -> None:
    (verdict,) = run(rdma_library_missing, facts)
    assert verdict.problem is not None
    assert (verdict.problem.message, verdict.problem.severity) == (MESSAGE.format(place), severity)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (_having(), ("pass", "")),
        (_having(rdma=False, rdma_library=False), ("pass", "")),  # nothing can be opened here
        (_having(rdma_library=None), ("pass", "")),
        (_having(rdma_library=WHY), ("unknown", WHY.unknown)),
    ],
)
def test_library_is_there_or_not_needed(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(rdma_library_missing, facts) == [verdict]


def test_library_is_installed_with_its_providers() -> None:
    facts = _having(rdma_library=False, container="docker")
    commands = [shown(task, sudo=False) for fix in rdma_library_missing.fixes(facts) for task in fix.tasks]  # type: ignore[operator]
    assert any("libibverbs1 ibverbs-providers" in command for command in commands)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            _having(plugin_off_path=FOLDER),
            (
                "problem",
                f"AWS's NCCL plugin is in {FOLDER}, where the loader does not look: NCCL uses TCP sockets, not EFA.",
            ),
        ),
        (_having(plugin_off_path=None), ("pass", "")),
        (_having(plugin_off_path=FOLDER, rdma=False), ("pass", "")),
        (_having(plugin_off_path=WHY), ("unknown", WHY.unknown)),
    ],
)
def test_plugin_off_path(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(nccl_plugin_off_path, facts) == [verdict]


def test_jobs_inherit_the_limit_of_slurms_daemon() -> None:
    facts = _having(memlock=8 << 20, may_lock=False, environment={"SLURM_JOB_ID": "7"})
    (fix,) = memlock_small.fixes(facts)  # type: ignore[operator]
    assert [shown(task, sudo=False) for task in fix.tasks[1:]] == [
        "systemctl daemon-reload",
        "systemctl restart slurmd",
    ]
    assert "limits.d" in fix.message
