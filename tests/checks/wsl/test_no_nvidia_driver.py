"""A CUDA build in WSL without NVIDIA's driver on Windows."""

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.wsl.no_nvidia_driver import no_nvidia_driver
from gpudoctor.facts import Facts, Wsl
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from gpudoctor.probes.wsl import files
from gpudoctor.recorded_machine import RecordedMachine
from tests.builders import ask, change, framework, live, plain_host, with_framework

WHY = Unknown("not to be seen")
PASS, SKIPPED = [("pass", "")], [("skipped", "")]
SAYS = "PyTorch 2.7.1 is built for NVIDIA's GPUs, and Windows has no NVIDIA driver{}."


def other(*vendors: str, gpus: int = 0, **changes: object) -> Facts:
    """WSL 2 on a machine with another vendor's GPU, and PyPI's PyTorch."""
    facts = with_framework(framework(live=live(gpus)), plain_host(pci=()))
    plain: dict[str, object] = {
        "host.wsl": 2,
        "host.distribution": Distribution(id="ubuntu", version="24.04"),
        "nvidia.kernel.wsl_drivers": (),
        "nvidia.cuda.libraries": (),
        "nvidia.nvml.libraries": (),
        "amd.rocm": None,
        "wsl": Wsl(gpu=True, ldconfig=True, vendors=vendors),
    }
    for path, value in (plain | {name.replace("__", "."): value for name, value in changes.items()}).items():
        facts = change(facts, path, value)
    return facts


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (other("amd"), [("problem", SAYS.format(", only AMD's"))], Severity.WARNING),
        (other("intel"), [("problem", SAYS.format(", only Intel's"))], Severity.ADVICE),
        (other("amd", "intel"), [("problem", SAYS.format(", only AMD's and Intel's"))], Severity.WARNING),
        (other(), [("problem", SAYS.format(""))], Severity.ADVICE),
        (other("amd", nvidia__kernel__wsl_drivers=("nv_dispi.inf_amd64_1",)), PASS, None),
        (other("amd", nvidia__kernel__wsl_drivers=None), PASS, None),  # Windows shows no store here
        (other("amd", gpus=1), PASS, None),
        (other("amd", nvidia__kernel__wsl_drivers=WHY), [("unknown", "not to be seen")], None),
        (other("amd", host__wsl=None), SKIPPED, None),
        (other("amd", host__container="docker"), SKIPPED, None),
    ],
)
def test_no_nvidia_driver(facts: Facts, verdict: list[tuple[str, str]], severity: Severity | None) -> None:
    assert ask(no_nvidia_driver, facts) == verdict
    if severity:
        assert run(no_nvidia_driver, facts)[0].severity is severity


def test_what_is_typed() -> None:
    rocm, nvidia = run(no_nvidia_driver, other("amd"))[0].fixes
    assert rocm.message.startswith("Install ROCm for WSL in release 6.4.2, install the PyTorch that AMD built for it")
    assert rocm.commands[0].startswith("wget https://repo.radeon.com/amdgpu-install/")
    assert nvidia.message.startswith("If the machine has an NVIDIA card")
    xpu, _ = run(no_nvidia_driver, other("intel"))[0].fixes
    assert "--index-url https://download.pytorch.org/whl/xpu" in xpu.commands[0]


def test_the_vendors_of_the_store() -> None:
    names = (
        "u0420529.inf_amd64_94ad5a6c4d1a04e2",
        "iigd_dch_d.inf_amd64_55f5",
        "wvms_pp.inf_amd64_1",
        "nvlt.inf_amd64_3",
    )
    store = RecordedMachine(folders=tuple(f"/usr/lib/wsl/drivers/{name}" for name in names))
    assert files.vendors(store) == ("amd", "intel")
    assert files.vendors(RecordedMachine()) == ()
