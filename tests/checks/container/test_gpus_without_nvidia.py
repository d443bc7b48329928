"""Containers with --gpus where there is no GPU of NVIDIA's."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.container.gpus_without_nvidia import gpus_without_nvidia
from gpudoctor.facts import Facts
from gpudoctor.facts.container_host import RefusedContainer
from tests.builders import ask, change, plain_host
from tests.checks.amd_machines import amd_host
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host
from tests.checks.intel_machines import arc_host

REFUSED = (RefusedContainer(name="fireshare", condition="gpus"),)
OLD = (RefusedContainer(name="tabby", condition="cuda>=12.8"),)
STOPPED = "Docker could not start fireshare: this machine has no NVIDIA GPU"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(plain_host(pci=()), refused=REFUSED), [("problem", f"{STOPPED} (it has no GPU).")]),
        (host(arc_host(), refused=REFUSED), [("problem", f"{STOPPED} (its GPU is UHD Graphics 770).")]),
        (host(amd_host(), refused=REFUSED), [("problem", f"{STOPPED} (its GPU is Radeon RX 7900 XTX).")]),
        (host(arc_host(), refused=OLD), PASS),
        (host(arc_host()), PASS),
        (host(arc_host(), refused=WHY), UNKNOWN),
        (host(refused=REFUSED), SKIPPED),  # with a GPU of NVIDIA's: the toolkit is missing
        (change(host(plain_host(pci=()), refused=REFUSED), "host.platform", "jetson"), SKIPPED),  # on no bus, and there
        (change(host(arc_host(), refused=REFUSED), "host.container", "docker"), SKIPPED),
        (change(host(arc_host(), refused=REFUSED), "pci", WHY), SKIPPED),
    ],
)
def test_gpus_without_nvidia(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(gpus_without_nvidia, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        (host(arc_host(), refused=REFUSED), "docker run --device /dev/dri ..."),
        (host(amd_host(), refused=REFUSED), "docker run --device /dev/kfd --device /dev/dri ..."),
    ],
)
def test_the_gpu_that_there_is(facts: Facts, command: str) -> None:
    ((fix,),) = (verdict.fixes for verdict in run(gpus_without_nvidia, facts))
    assert fix.commands == (command,)
