"""A container without a GPU is the worse the more clearly something in it asks for one."""

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.container.no_gpus_passed import no_gpus_passed
from gpudoctor.facts import Facts, Package
from tests.builders import change, nvidia_host, plain_host, python
from tests.checks.container.test_container import TORCH, WHY, bare, inside
from tests.checks.intel_machines import UHD


def with_packages(*names: str) -> Facts:
    """The machine with these distributions, which require nothing."""
    found = tuple(Package(name=name, version="4.5.0", directory="/s") for name in names)
    return change(nvidia_host(), "pythons", (python(packages=found),))


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (inside(bare(TORCH)), Severity.ERROR),
        (inside(bare(TORCH), NVIDIA_VISIBLE_DEVICES="void"), Severity.WARNING),
        (inside(bare(nvidia_host())), Severity.ADVICE),  # nobody there wants a GPU
        (inside(bare(with_packages("ctranslate2", "nvidia-cublas-cu12"))), Severity.ERROR),
        (inside(bare(with_packages("ctranslate2"))), Severity.ADVICE),
        (inside(bare(plain_host(pci=(UHD,))), NVIDIA_VISIBLE_DEVICES="all"), Severity.ADVICE),  # another vendor's GPU
        (inside(bare(plain_host(pci=WHY)), NVIDIA_VISIBLE_DEVICES="all"), Severity.ERROR),
    ],
)
def test_how_bad_a_container_without_gpu_is(facts: Facts, severity: Severity) -> None:
    assert [v.severity for v in run(no_gpus_passed, facts)] == [severity]


@pytest.mark.parametrize(("kernel", "option"), [("5.15.148-tegra", "--runtime=nvidia"), ("6.8.0-60-generic", "--gpus")])
def test_on_a_jetson_the_runtime_passes_the_gpu(kernel: str, option: str) -> None:
    facts = change(inside(bare(plain_host(pci=WHY)), NVIDIA_VISIBLE_DEVICES="all"), "host.kernel.release", kernel)
    first = run(no_gpus_passed, facts)[0].fixes[0]
    assert f"docker run {option}" in first.commands[0]
