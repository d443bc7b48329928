"""A CDI specification with fields that this Podman does not know, so that it refuses the whole file."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import toolkit_install
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.containers import engine_host
from gpudoctor.queries.packages import numbers
from gpudoctor.tasks import Edit, Tasks, as_root, cmd, query

# Fields of nvidia-ctk cdi generate, and of the service that generates the specification at each boot.
_FLAG = "no-additional-gids-for-device-nodes"
_ENV = "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"
_PROOF = cmd("podman", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi")


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with a Podman or a Docker that reads CDI specifications."""
    found = facts.containers
    if isinstance(found.podman, str) or found.docker_cdi is True:
        yield from engine_host(facts)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    without = Fix(
        "Generate the specification without the field additionalGids. Users in a container who are not root then lose "
        "device nodes that only their groups open (video, render).",
        (*_generate(facts), query("nvidia-ctk", "cdi", "list")),
        "change-environment",
        root=True,
        verify=_PROOF,
    )
    first = container_toolkit().cdi.engines
    message = f"Upgrade to Podman {first['Podman']} or Docker {first['Docker']}, where the distribution has it."
    return (without, *_older_toolkit(facts), Fix(message, (), "reinstall-package", root=True, verify=_PROOF))


def _generate(facts: Facts) -> Tasks:
    """With the flag; the service that writes into /var/run reads it from its own file."""
    paths = [path for path in known_or(facts.containers.cdi, ()) if "nvidia" in path]
    once = tuple(
        as_root("nvidia-ctk", "cdi", "generate", f"--feature-flag={_FLAG}", f"--output={path}")
        for path in paths
        if path.startswith("/etc/")
    )
    if once and len(once) == len(paths):
        return once
    line = f"NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS={_FLAG}"
    return (*once, Edit(_ENV, add=(line,), root=True), as_root("systemctl", "restart", "nvidia-cdi-refresh.service"))


def _older_toolkit(facts: Facts) -> tuple[Fix, ...]:
    """The release before, where apt has it from NVIDIA's repository."""
    if numbers(known_or(facts.containers.toolkit, "") or "")[:2] < numbers(container_toolkit().cdi.writes_groups):
        return ()
    before = container_toolkit().cdi.last_without
    message = f"Install toolkit {before}, which does not write that field, and hold it."
    generate = as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml")
    return toolkit_install.older_toolkit(facts, before, message, generate)


def _refusing(facts: Facts) -> list[str]:
    """The engines here that do not know the fields, with their versions."""
    found = facts.containers
    engines = [("Podman", found.podman_version)] if isinstance(found.podman, str) else []
    engines += [("Docker", found.docker_version)] if found.docker_cdi is True else []
    versions = [(name, known(version) or "0") for name, version in engines]
    return [
        f"{name} {have}" for name, have in versions if numbers(have) < numbers(container_toolkit().cdi.engines[name])
    ]


@check(
    title="Podman or Docker cannot parse the CDI specification: unresolvable CDI devices",
    severity=Severity.WARNING,
    cause="An engine refuses a CDI specification with any field that it does not know (failed to unmarshal CDI Spec: "
    "unknown field), and then knows no nvidia.com/gpu device. From 1.19 on the toolkit writes fields of CDI 0.7.0.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1860",
        "https://github.com/NVIDIA/nvidia-container-toolkit/pull/1419",
    ),
    targets=_hosts,
    only_with=(
        "queries.containers:engine_host",
        "containers.podman containers.docker_cdi",
    ),
    caused_by=("container.podman-too-old", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_not_parsed(facts: Facts) -> Problem | None:
    """The later fields that NVIDIA's specification has, and the engines that know them."""
    found = facts.containers
    refusing = _refusing(facts) if found.cdi_fields and may_serve(facts) else []
    if not refusing:
        return None
    fields = " and ".join(f"{name} (CDI {version})" for name, version in found.cdi_fields.items())
    message = f"{' and '.join(refusing)} cannot parse NVIDIA's CDI specification: it has the field {fields}."
    toolkit = phrases(phrase("NVIDIA Container Toolkit {}", found.toolkit))
    return Problem(message, (*known_or(found.cdi, ()), *toolkit))
