"""Packages that need another one on some GPUs, or next to others, and do not name it."""

import pytest

from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import commands, environment, one, package, severity, torch

PIP = "/opt/env/bin/python -m pip"
HOPPER, ADA = "9.0", "8.9"


def having(capability: object, **packages: str) -> Facts:
    names = {name.replace("_", "-"): version for name, version in packages.items()}
    facts = environment(torch("2.11.0", cuda="13.0"), packages=tuple(package(*row) for row in names.items()))
    return change(facts, "gpus.0.capability", capability)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (having(HOPPER, fla_core="0.5.1", triton="3.6.0"), "problem"),
        (having(HOPPER, fla_core="0.5.1", triton="3.7.1"), "problem"),  # its guard has no upper bound
        (having(HOPPER, fla_core="0.5.2", triton="3.7.0"), "problem"),
        (having(HOPPER, fla_core="0.5.2", triton="3.7.1"), "pass"),
        (having(HOPPER, fla_core="0.5.2", triton="3.3.1"), "pass"),
        (having(HOPPER, fla_core="0.5.2"), "pass"),
        (having(HOPPER, fla_core="0.5.2", triton="3.6.0", tilelang="0.1.12"), "pass"),
        (having(ADA, fla_core="0.5.2", triton="3.6.0"), "pass"),
        (having("10.0", fla_core="0.5.2", triton="3.6.0"), "pass"),
        (having(Unknown("closed"), fla_core="0.5.2", triton="3.6.0"), "unknown"),
        (having(HOPPER, flash_linear_attention="0.4.1", fla_core="0.4.1", triton="3.5.1"), "problem"),
        (having(HOPPER, flash_linear_attention="0.4.1", fla_core="0.4.1", triton="3.7.1"), "pass"),
        (having(ADA, flash_linear_attention="0.4.1", fla_core="0.4.1", triton="3.5.1"), "pass"),
    ],
)
def test_flash_linear_attention_on_hopper(facts: Facts, verdict: str) -> None:
    assert one(undeclared_requirement, facts)[0] == verdict


def test_what_it_says_of_it() -> None:
    facts = having(HOPPER, fla_core="0.5.2", triton="3.6.0")
    message = one(undeclared_requirement, facts)[1]
    assert message.startswith("fla-core 0.5.2 needs tilelang, which is not installed in this environment: training of ")
    typed = commands(undeclared_requirement, facts)
    assert "Install tilelang.\n" in typed
    assert f"{PIP} install tilelang" in typed
    older = having(HOPPER, flash_linear_attention="0.4.1", triton="3.5.1")
    assert "training goes on with wrong gradients" in one(undeclared_requirement, older)[1]
    assert f"{PIP} install 'flash-linear-attention>=0.5'" in commands(undeclared_requirement, older)


def test_vllms_plugin_for_bitsandbytes() -> None:
    facts = having(ADA, vllm="0.30.0", bitsandbytes="0.49.1")
    assert one(undeclared_requirement, facts)[1].startswith(
        "vllm 0.30.0 needs vllm-bnb-plugin, which is not installed "
    )
    assert severity(undeclared_requirement, facts) == "advice"
    assert f"{PIP} install vllm-bnb-plugin" in commands(undeclared_requirement, facts)
    for other in (
        having(ADA, vllm="0.30.0"),
        having(ADA, vllm="0.27.1", bitsandbytes="0.49.1"),
        having(ADA, vllm="0.30.0", bitsandbytes="0.49.1", vllm_bnb_plugin="0.0.3"),
    ):
        assert one(undeclared_requirement, other) == ("pass", "")
