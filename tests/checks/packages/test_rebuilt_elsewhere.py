"""Extensions for another PyTorch that PyPI does not have: what the fix installs in their place."""

import pytest

from gpudoctor.checks.packages.built_for_another_torch import built_for_another_torch
from tests.checks.environments import commands, environment, one, package, torch


def typed(name: str, version: str) -> str:
    facts = environment(torch("2.10.0", cuda="12.8"), packages=(package(name, version),))
    assert one(built_for_another_torch, facts)[0] == "problem"
    return commands(built_for_another_torch, facts)


@pytest.mark.parametrize(
    ("name", "version", "spec"),
    [
        ("sageattention", "2.2.0+cu128torch2.8", "git+https://github.com/thu-ml/SageAttention.git"),
        ("detectron2", "0.6+18f6958pt2.8.0cu128", "git+https://github.com/facebookresearch/detectron2.git"),
        ("apex", "0.1+torch2.8", "git+https://github.com/NVIDIA/apex.git"),
    ],
)
def test_it_is_built_from_its_repository(name: str, version: str, spec: str) -> None:
    said = typed(name, version)
    assert f"--no-build-isolation --no-cache-dir {spec}" in said
    assert "--no-binary" not in said
    assert ("FORCE_CUDA=1 " in said) == (name == "detectron2")


def test_a_project_with_another_ones_name_comes_from_its_releases() -> None:
    said = typed("nunchaku", "1.0.2+torch2.9")
    wheel = "releases/download/vRELEASE/nunchaku-RELEASE+torch2.10-cp311-cp311-linux_x86_64.whl"
    assert f"--force-reinstall --no-deps https://github.com/nunchaku-ai/nunchaku/{wheel}" in said
    assert "nunchaku==" not in said


def test_what_pypi_has_is_built_from_there() -> None:
    assert "--no-binary sageattention sageattention==1.0.6" in typed("sageattention", "1.0.6+torch2.8")
    assert "--no-binary mamba-ssm mamba-ssm==2.2.5" in typed("mamba-ssm", "2.2.5+cu128torch2.8")
