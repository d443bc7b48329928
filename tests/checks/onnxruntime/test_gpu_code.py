"""The GPU code in ONNX Runtime's CUDA provider."""

import pytest

from gpudoctor.checks.onnxruntime.arch_missing import arch_missing
from gpudoctor.maybe import Unknown
from tests.builders import framework
from tests.checks.environments import BLACKWELL, PASCAL, commands, environment, machine, one

# As they were read in the wheels of PyPI for Linux.
OF_1_23_0 = ("sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90a", "compute_90a")
OF_1_23_2 = (*OF_1_23_0[:-1], "compute_90")


@pytest.mark.parametrize(
    ("version", "kernels", "card", "outcome"),
    [
        ("1.23.0", OF_1_23_0, BLACKWELL, "problem"),
        ("1.23.2", OF_1_23_2, BLACKWELL, "pass"),
        ("1.23.2", OF_1_23_2, PASCAL, "pass"),
        ("1.30.0", ("sm_75", "compute_90"), PASCAL, "problem"),
        ("1.23.0", Unknown("it was not counted"), BLACKWELL, "pass"),
    ],
)
def test_gpu_code(version: str, kernels: object, card: dict[str, str], outcome: str) -> None:
    facts = environment(framework("onnxruntime", version, cuda="12.8", kernels=kernels), facts=machine(card=card))
    assert one(arch_missing, facts)[0] == outcome
    if outcome == "problem":
        assert ("onnxruntime-gpu[cuda,cudnn]<1.27" in commands(arch_missing, facts)) == (card is BLACKWELL)
