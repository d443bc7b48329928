"""CUDA's Multi-Process Service."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.driver.mps_unreachable import mps_unreachable
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, change, nvidia_host, plain_host

FOLDER = {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps_0"}


def answering(code: object, env: dict[str, str] | None = None, container: str | None = None) -> Facts:
    """A machine whose cuInit answers so."""
    facts = change(nvidia_host(), "nvidia.cuda.code", code)
    return change(change(facts, "host.environment", env or {}), "host.container", container)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (plain_host(), ("skipped", "")),
        (answering(0, FOLDER), ("pass", "")),
        (answering(None), ("pass", "")),
        (answering(999, FOLDER), ("pass", "")),
        (answering(Unknown("no answer")), ("unknown", "no answer")),
        (
            answering(805),
            (
                "problem",
                "cuInit returns 805: MPS client cannot reach the control daemon. CUDA_MPS_PIPE_DIRECTORY is not "
                "set, so /tmp/nvidia-mps is used.",
            ),
        ),
        (
            answering(807, FOLDER),
            (
                "problem",
                "cuInit returns 807: MPS server starting or recovering. CUDA_MPS_PIPE_DIRECTORY is /tmp/mps_0.",
            ),
        ),
    ],
)
def test_mps_unreachable(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(mps_unreachable, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        (answering(805), "nvidia-cuda-mps-control -d"),
        (answering(808), "echo get_server_list | nvidia-cuda-mps-control"),
        (
            answering(805, FOLDER, "docker"),
            "docker run --gpus all --ipc=host -v /tmp/mps_0:/tmp/mps_0 -e CUDA_MPS_PIPE_DIRECTORY=/tmp/mps_0 ...",
        ),
    ],
)
def test_what_to_do(facts: Facts, command: str) -> None:
    assert command in run(mps_unreachable, facts)[0].fixes[0].commands


def test_it_explains_what_cuda_says() -> None:
    facts = answering(805)
    report = build(facts, list(judge(facts, catalogue.load())))
    assert [finding.check for finding in report.findings] == ["driver.mps-unreachable"]
