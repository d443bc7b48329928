"""Checks of the variables that hide GPUs."""

from typing import Any

import pytest

from gpudoctor.check_engine import Check, run
from gpudoctor.checks.visibility.cuda_duplicates import cuda_duplicates
from gpudoctor.checks.visibility.cuda_hides_all import cuda_hides_all
from gpudoctor.checks.visibility.cuda_out_of_range import cuda_out_of_range
from gpudoctor.checks.visibility.cuda_unknown_uuid import cuda_unknown_uuid
from gpudoctor.checks.visibility.hip_hides_all import hip_hides_all
from gpudoctor.checks.visibility.hip_out_of_range import hip_out_of_range
from gpudoctor.checks.visibility.hip_selects_integrated import hip_selects_integrated
from gpudoctor.checks.visibility.rocr_and_hip import rocr_and_hip
from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, gpu, nvidia_host
from tests.checks.amd_machines import IGPU, amd_host

CUDA = (cuda_hides_all, cuda_out_of_range, cuda_unknown_uuid, cuda_duplicates)
HIP = (hip_hides_all, hip_out_of_range, rocr_and_hip, hip_selects_integrated)


def masked(value: str, gpus: int = 2, seen: int = 0, **env: str) -> Facts:
    """A machine with GPUs of which the mask leaves some, as libcuda says."""
    facts = change(nvidia_host(gpus), "host.environment", {"CUDA_VISIBLE_DEVICES": value, **env})
    facts = change(facts, "nvidia.cuda.unmasked_code", 0)
    facts = change(facts, "nvidia.cuda.devices", facts.nvidia.cuda.devices[:seen])  # type: ignore[index]
    return change(facts, "nvidia.cuda.code", 0 if seen else 100)


def said(checks: tuple[Check[Any], ...], facts: Facts) -> dict[str, str]:
    """The problems that the checks see: id and sentence."""
    return {c.id: message for c in checks for outcome, message in ask(c, facts) if outcome == "problem"}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (nvidia_host(2), {}),
        (masked("1,0", seen=2), {}),
        (masked("1", seen=1), {}),
        (masked("GPU-00000001", seen=1), {}),
        (change(masked(""), "nvidia.cuda.unmasked_code", 999), {}),
        (change(masked("0,7", seen=1), "gpus.0.mig", True), {}),
        (
            masked(""),
            {
                "visibility.cuda-hides-all": "CUDA_VISIBLE_DEVICES is an empty string. It hides every GPU from CUDA "
                "programs; without it the driver shows 2 GPUs."
            },
        ),
        (
            masked("-1"),
            {
                "visibility.cuda-hides-all": "CUDA_VISIBLE_DEVICES is '-1': -1 ends the list. It hides every GPU from "
                "CUDA programs; without it the driver shows 2 GPUs."
            },
        ),
        (
            masked('"0"', gpus=1),
            {
                "visibility.cuda-hides-all": 'CUDA_VISIBLE_DEVICES is \'"0"\': "0" is neither an index nor a UUID. It '
                "hides every GPU from CUDA programs; without it the driver shows one GPU."
            },
        ),
        (
            masked("2", gpus=1),
            {
                "visibility.cuda-out-of-range": "CUDA_VISIBLE_DEVICES is '2': GPU 2 does not exist. It hides every "
                "GPU from CUDA programs; without it the driver shows one GPU."
            },
        ),
        (
            masked("0,2,1", seen=1),
            {
                "visibility.cuda-out-of-range": "CUDA_VISIBLE_DEVICES is '0,2,1': GPU 2 does not exist. CUDA ignores "
                "the entries after it (1). CUDA programs see GPU 0 of the 2 here."
            },
        ),
        (
            masked("GPU-99", gpus=1),
            {
                "visibility.cuda-unknown-uuid": "CUDA_VISIBLE_DEVICES is 'GPU-99': no GPU has a UUID that starts with "
                "GPU-99. It hides every GPU from CUDA programs; without it the driver shows one GPU."
            },
        ),
        (
            masked("MIG-1", gpus=1),
            {
                "visibility.cuda-unknown-uuid": "CUDA_VISIBLE_DEVICES is 'MIG-1'. It hides every GPU from CUDA "
                "programs; without it the driver shows one GPU."
            },
        ),
        (
            masked("0,0"),
            {
                "visibility.cuda-duplicates": "CUDA_VISIBLE_DEVICES is '0,0': 0 is listed twice, which hides all "
                "GPUs. It hides every GPU from CUDA programs; without it the driver shows 2 GPUs."
            },
        ),
    ],
)
def test_cuda(facts: Facts, message: dict[str, str]) -> None:
    assert said(CUDA, facts) == message


@pytest.mark.parametrize("check", CUDA)
def test_cuda_unknown(check: Check[Facts]) -> None:
    facts = masked("7")
    for path in ("nvidia.cuda.code", "nvidia.cuda.unmasked_code"):
        assert ask(check, change(facts, path, Unknown("it hung"))) == [("unknown", "it hung")]


def commands(check: Check[Any], facts: Facts) -> list[str]:
    """The commands of the fixes."""
    return [command for verdict in run(check, facts) for fix in verdict.fixes for command in fix.commands]


def test_fixes() -> None:
    assert commands(cuda_hides_all, masked('"1"')) == ["unset CUDA_VISIBLE_DEVICES", "export CUDA_VISIBLE_DEVICES=1"]
    assert commands(cuda_out_of_range, masked("7")) == ["unset CUDA_VISIBLE_DEVICES", "export CUDA_VISIBLE_DEVICES=0"]
    job = masked("", SLURM_JOB_ID="7")
    assert commands(cuda_hides_all, job) == ["srun --gpus=1 --pty bash", "sbatch --gpus=1 JOB_SCRIPT"]


CARDS = (gpu(0, vendor="amd", gfx="gfx1100", uuid="GPU-0123456789abcdef"), gpu(1, vendor="amd", gfx="gfx1100"))


@pytest.mark.parametrize(
    ("gpus", "env", "message"),
    [
        (CARDS, {}, {}),
        (CARDS, {"HIP_VISIBLE_DEVICES": "1"}, {}),
        (CARDS, {"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": ""}, {}),
        (CARDS, {"ROCR_VISIBLE_DEVICES": "1,0", "HIP_VISIBLE_DEVICES": "1"}, {}),
        (CARDS, {"ROCR_VISIBLE_DEVICES": "GPU-0123456789abcdef"}, {}),
        ((CARDS[0], IGPU), {"HIP_VISIBLE_DEVICES": "0"}, {}),
        ((IGPU,), {"HIP_VISIBLE_DEVICES": "0"}, {}),
        (
            CARDS,
            {"ROCR_VISIBLE_DEVICES": ""},
            {
                "visibility.hip-hides-all": "ROCR_VISIBLE_DEVICES is an empty string. It hides every AMD GPU from HIP "
                "programs; the kernel lists 2."
            },
        ),
        (
            CARDS,
            {"CUDA_VISIBLE_DEVICES": "-1"},
            {
                "visibility.hip-hides-all": "CUDA_VISIBLE_DEVICES is '-1': -1 ends the list. It hides every AMD GPU "
                "from HIP programs; the kernel lists 2."
            },
        ),
        (
            CARDS,
            {"HIP_VISIBLE_DEVICES": "2"},
            {"visibility.hip-out-of-range": "HIP_VISIBLE_DEVICES is '2': GPU 2 does not exist; no GPU is left."},
        ),
        (
            CARDS,
            {"HIP_VISIBLE_DEVICES": "0,2"},
            {
                "visibility.hip-out-of-range": "HIP_VISIBLE_DEVICES is '0,2': GPU 2 does not exist; HIP programs see "
                "1 of 2 GPUs."
            },
        ),
        (
            CARDS,
            {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"},
            {
                "visibility.rocr-and-hip": "ROCR_VISIBLE_DEVICES=1 leaves 1 of 2 GPUs, numbered from 0, and "
                "HIP_VISIBLE_DEVICES=1 counts within them: HIP programs see no GPU."
            },
        ),
        (
            (CARDS[0], IGPU),
            {"HIP_VISIBLE_DEVICES": "1"},
            {
                "visibility.hip-selects-integrated": "HIP_VISIBLE_DEVICES=1 leaves only GPU 1, Raphael (gfx1036), "
                "which is integrated into the CPU; the graphics card NVIDIA GeForce RTX 4090 (gfx1100) is GPU 0."
            },
        ),
    ],
)
def test_hip(gpus: tuple[Gpu, ...], env: dict[str, str], message: dict[str, str]) -> None:
    assert said(HIP, change(amd_host(gpus), "host.environment", env)) == message


def test_with_hips_mask_alone_rocrs_has_to_go() -> None:
    env = {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}
    free, only = run(rocr_and_hip, change(amd_host(CARDS), "host.environment", env))[0].fixes
    assert "HIP_VISIBLE_DEVICES, and remove them from where they are set" in free.message
    assert only.commands == ("unset ROCR_VISIBLE_DEVICES", "export HIP_VISIBLE_DEVICES=0,1")


def test_hip_unknown() -> None:
    facts = change(amd_host((CARDS[0], IGPU)), "host.environment", {"HIP_VISIBLE_DEVICES": "1"})
    assert ask(hip_selects_integrated, change(facts, "gpus.1.integrated", Unknown("no /sys"))) == [
        ("unknown", "no /sys")
    ]
