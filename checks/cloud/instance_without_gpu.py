"""Software for GPUs on an instance type without any."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cloud import another_type
from gpudoctor.maybe import known, present
from gpudoctor.queries.clouds import NAMES, cpu_instances
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.queries.gpu_requests import requests
from gpudoctor.targets import asked_for_nvidia, cards_of


@check(
    title="The instance type has no GPU",
    severity=Severity.WARNING,
    cause="The instance type decides which hardware a cloud machine has. An image with a GPU driver and frameworks "
    "boots on any of them, and then computes on the CPU.",
    fixes=(another_type("Change to an instance type with a GPU (AWS: series g and p; Azure: N), with the same disk."),),
    references=(
        "https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html",
        "https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated",
    ),
    targets=cpu_instances,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def instance_without_gpu(facts: Facts) -> Problem | None:
    """A warning where something asks for a GPU, as a driver does; advice where only a framework came with CUDA."""
    driver, wheel = asked_for_nvidia(facts), has_cuda_wheel(facts)
    if not (driver or wheel):
        return None
    known(facts.pci)
    if any(cards_of(facts, vendor) for vendor in ("nvidia", "amd")):
        return None
    what = "NVIDIA's driver is" if driver else "a framework built for CUDA is"
    provider = present(facts.cloud.provider)
    name = f"{NAMES.get(provider, provider)}'s {present(facts.cloud.instance)}"
    message = f"{name} is an instance type without a GPU, though {what} installed: everything runs on the CPU."
    return Problem(message, severity=None if requests(facts) else Severity.ADVICE)
