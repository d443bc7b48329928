"""Frameworks built for CUDA on machines with AMD's GPUs."""

from typing import Any

import pytest

from gpudoctor.check_engine import Check
from gpudoctor.checks.cupy.wrong_vendor import wrong_vendor as cupy_wrong_vendor
from gpudoctor.checks.tensorflow.wrong_vendor import wrong_vendor as tensorflow_wrong_vendor
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, nvidia_host, plain_host, python, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, one, severity

TF = framework("tensorflow", "2.19.0", cuda="12.5")
CUPY = framework("cupy", "13.4.0", distribution="cupy-cuda12x", cuda="12")
ROCM = framework("torch", "2.7.1", cuda=None, hip="6.3", variant="rocm")
CASES = [(tensorflow_wrong_vendor, TF), (cupy_wrong_vendor, CUPY)]


def test_what_is_said() -> None:
    facts = with_framework(TF, amd_host())
    message = (
        "TensorFlow 2.19.0 is built for CUDA 12.5, which is for NVIDIA GPUs; GPU 0 (Radeon RX 7900 XTX) is an AMD GPU."
    )
    assert one(tensorflow_wrong_vendor, facts) == ("problem", message)
    assert "-f https://repo.radeon.com/rocm/manylinux/rocm-rel-6.3/ tensorflow-rocm" in commands(
        tensorflow_wrong_vendor, facts
    )
    message = "CuPy 13.4.0 is built for CUDA 12, which is for NVIDIA GPUs; GPU 0 (Radeon RX 7900 XTX) is an AMD GPU."
    assert one(cupy_wrong_vendor, with_framework(CUPY, amd_host())) == ("problem", message)
    assert "uninstall -y cupy-cuda12x" in commands(cupy_wrong_vendor, with_framework(CUPY, amd_host()))
    assert severity(cupy_wrong_vendor, with_framework(CUPY, amd_host())) == "warn"


@pytest.mark.parametrize(("check", "found"), CASES)
def test_where_nothing_is_wrong(check: Check[Any], found: Any) -> None:
    def outcome(facts: Facts) -> str:
        return one(check, facts)[0]

    assert outcome(with_framework(found, nvidia_host())) == "pass"
    assert outcome(with_framework(found, plain_host())) == "pass"
    assert outcome(with_framework(found, amd_host(rocm=None, rocm_path=None))) == "pass"
    assert outcome(change(amd_host(), "pythons", (python(found, ROCM),))) == "pass"
    both = change(amd_host(), "pci", nvidia_host().pci)
    assert outcome(with_framework(found, both)) == "pass"
    closed = change(with_framework(found, amd_host()), "pythons.0.frameworks.0.variant", Unknown("closed"))
    assert one(check, closed) == ("unknown", "closed")
