"""NVIDIA's toolkit without the specification that Podman, or a runtime in CDI mode, needs."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ALLOCATABLE
from gpudoctor.maybe import known, known_or, phrases
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.containers import engine_host
from gpudoctor.tasks import as_root, cmd, query

_SPECIFICATION = "/etc/cdi/nvidia.yaml"
_GENERATE = as_root("nvidia-ctk", "cdi", "generate", f"--output={_SPECIFICATION}")
_LIST = query("nvidia-ctk", "cdi", "list")


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """Hosts whose containers get GPUs through CDI; next to Docker the toolkit is more likely there for Docker."""
    alone = isinstance(facts.containers.podman, str) and facts.containers.docker is None
    if alone or _by_mode(facts) or _by_service(facts):
        yield from engine_host(facts)


def _by_mode(facts: Facts) -> bool:
    """Whether NVIDIA's runtime is set to CDI alone."""
    return facts.containers.runtime_mode == "cdi"


def _by_service(facts: Facts) -> bool:
    """Whether the service that writes the specification at each boot is installed, and pods run here.

    Or it failed, and containerd or CRI-O, which run pods, are set up for NVIDIA's runtime.
    """
    own = facts.containers.cdi_service is True and facts.containers.runtime_mode in ("auto", None)
    ready = facts.cluster.runtime_configured
    return own and ((_is_node(facts) and ready is not False) or (ready is True and bool(_failed(facts))))


def _is_node(facts: Facts) -> bool:
    return facts.cluster.kubelet is True


def _failed(facts: Facts) -> tuple[str, ...]:
    """What the service wrote when it could not generate the specification."""
    return tuple(one.text for one in known_or(facts.services.lines, ()) if one.symptom == "cdi-not-generated")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    service, pods = _by_service(facts), _is_node(facts)
    log = (query("journalctl", "-u", "nvidia-cdi-refresh", "-n", "20", root=True),) if service else ()
    run = cmd("podman", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi")
    generate = Fix(
        "Generate the specification, and again after each driver change."
        + (
            " If that fails, it prints the device or library that is missing; the service's log has the same." * service
        ),
        (_GENERATE, _LIST, *log),
        "change-environment",
        root=True,
        undo=(as_root("rm", _SPECIFICATION),),
        verify=ALLOCATABLE if service and pods else _LIST if service or _by_mode(facts) else run,
    )
    if not service:
        return (generate,)
    legacy = Fix(
        "Until it can be generated: let NVIDIA's runtime pass the GPU without CDI (mode legacy), and restart "
        "containerd (for CRI-O: crio)." + " Then recreate the device plugin's pods." * pods,
        (
            as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-runtime.mode=legacy"),
            as_root("systemctl", "restart", "containerd"),
        ),
        "change-environment",
        root=True,
        needs="restart of containerd",
        undo=(as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-runtime.mode=auto"),),
        verify=ALLOCATABLE if pods else query("nvidia-ctk", "config"),
    )
    return (generate, legacy)


@check(
    title="CDI specification is missing; Podman, and runtimes in CDI mode, need it for the GPU",
    severity=Severity.WARNING,
    cause="Podman passes GPUs to containers through a CDI specification. The toolkit generates one on request, or "
    "from 1.18 on by a service; without it --device nvidia.com/gpu=all fails with 'unresolvable CDI devices'.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1537",
        "https://github.com/kaito-project/kaito/issues/2326",
        "https://github.com/Azure/aks-gpu/pull/175",
    ),
    targets=_hosts,
    only_with=(
        "queries.containers:engine_host",
        "containers.podman containers.runtime_mode=cdi containers.cdi_service",
    ),
    caused_by=("driver.*", "device.*", "container.cdi-generation-crashes"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def cdi_missing(facts: Facts) -> Problem | None:
    """The toolkit is installed and the GPU works; neither a specification nor, for Podman, the older hook exists."""
    found = facts.containers
    toolkit = known(found.toolkit) if may_serve(facts) else None
    if not may_serve(facts) or toolkit is None or known(found.cdi):
        return None
    evidence = ["/etc/cdi and /var/run/cdi: none"]
    if _by_mode(facts):
        message = "NVIDIA's container runtime is in the mode cdi, but there is no CDI specification: containers fail."
        return Problem(
            message, (*evidence, "/etc/nvidia-container-runtime/config.toml: mode = cdi"), severity=Severity.ERROR
        )
    if _by_service(facts):
        failed = _failed(facts)
        where = "Pods run on this node" if _is_node(facts) else "The runtime of pods is set up for NVIDIA's here"
        how = "failed" if failed else "failed or never ran"
        message = (
            f"{where}, and the service nvidia-cdi-refresh is installed to generate the CDI specification, but there is "
            f"none: `nvidia-ctk cdi generate` {how}."
        )
        why = (
            "In the mode auto NVIDIA's runtime passes GPUs by CDI, and from 1.18 on it generates a specification for "
            "each container itself, by the same code. Where that fails, containers get the driver's libraries without "
            "device nodes, and the device plugin finds no devices. A drop-in with SuccessExitStatus hides the failed "
            "unit; a unit that failed before the driver was ready is not always repeated."
        )
        seen = phrases(*evidence, *failed, f"NVIDIA Container Toolkit {toolkit}")
        return Problem(message, seen, cause=why, severity=Severity.ERROR if _is_node(facts) else None)
    if known(found.hook):
        return None
    message = f"Podman and the NVIDIA Container Toolkit {toolkit} are installed, but there is no CDI specification."
    return Problem(message, (*evidence,))
