"""Podman with NVIDIA's toolkit and without the specification that Podman needs."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.cards import any_works
from gpudoctor.targets import in_container, on_wsl
from gpudoctor.tasks import as_root, cmd, query


def _podman_hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """Podman only: next to Docker the toolkit is more likely there for Docker."""
    found = facts.containers
    if isinstance(found.podman, str) and found.docker is None and not in_container(facts) and not on_wsl(facts):
        yield MACHINE, facts


@check(
    title="CDI specification is missing; Podman needs it for the GPU",
    severity=Severity.WARNING,
    cause="Podman passes GPUs to containers through a CDI specification. The toolkit generates one on request, or "
    "from 1.18 on by a service; without it --device nvidia.com/gpu=all fails with 'unresolvable CDI devices'.",
    fixes=(
        Fix(
            "Generate the specification, and again after each driver change.",
            (
                as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),
                query("nvidia-ctk", "cdi", "list"),
            ),
            "change-environment",
            root=True,
            undo=(as_root("rm", "/etc/cdi/nvidia.yaml"),),
            verify=cmd("podman", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),
        ),
    ),
    references=("https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html",),
    targets=_podman_hosts,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def cdi_missing(facts: Facts) -> Problem | None:
    """Podman and the toolkit are installed and the GPU works; neither a specification nor the older hook exists."""
    found = facts.containers
    toolkit = known(found.toolkit) if any_works(facts) else None
    if not any_works(facts) or toolkit is None or known(found.cdi) or known(found.hook):
        return None
    message = f"Podman and the NVIDIA Container Toolkit {toolkit} are installed, but there is no CDI specification."
    return Problem(message, ("/etc/cdi and /var/run/cdi: none",))
