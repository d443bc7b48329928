"""A cloud machine with fewer GPUs than its instance type has."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cloud import AWS_STOP, another_host
from gpudoctor.maybe import known
from gpudoctor.queries.clouds import Rented, gpu_instances
from gpudoctor.targets import cards_of


def _fixes(on: Rented) -> tuple[Fix, ...]:
    tell = Fix(
        "Report to the cloud's support which GPU is missing, so that the host is taken out of service.",
        (),
        "ask-vendor",
    )
    return (another_host(on.facts), tell)


@check(
    title="The machine has fewer GPUs than its instance type",
    severity=Severity.ERROR,
    cause="The hypervisor passes the GPUs of the instance type through to the machine. One that is not on the PCI bus "
    "has failed on the host and cannot be fixed from inside the machine.",
    fixes=_fixes,
    references=(
        "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html",
        "https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated",
        AWS_STOP,
    ),
    targets=gpu_instances,
    caused_by=("device.fallen-off-the-bus", "device.switched-off"),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def fewer_gpus(on: Rented) -> Problem | None:
    """Compare the vendor's cards on PCI with the table."""
    known(on.facts.pci)
    cards = cards_of(on.facts, on.has.vendor)
    if len(cards) >= on.has.number:
        return None
    many = f"{on.has.number} GPUs" if on.has.number > 1 else "one GPU"
    message = f"{on.name} has {many} ({on.has.gpu}), but the PCI bus shows {len(cards) or 'none'}."
    return Problem(message, tuple(f"PCI: {card.address}" for card in cards))
