"""A container that was started without the GPU."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.queries.containers import gpu_nodes, nvidia_container, requests_gpu
from gpudoctor.queries.gpu_requests import requests, without_gpu
from gpudoctor.targets import cards_of, gpus_of, on_wsl


def _sees_gpu(facts: Facts) -> bool:
    """Whether the host's running driver is visible: its module in /proc, or a GPU in sysfs that it drives."""
    return isinstance(facts.nvidia.kernel.loaded, str) or any(c.driver == "nvidia" for c in cards_of(facts, "nvidia"))


def _severity(facts: Facts) -> Severity | None:
    """ERROR where a GPU exists and is wanted, less where only one of both is so; None: nothing to report."""
    off = facts.host.environment.get("NVIDIA_VISIBLE_DEVICES") in ("", "none", "void")
    if on_wsl(facts) or _sees_gpu(facts):
        wanted = requests_gpu(facts) or any(one.vendor == "nvidia" for one in requests(facts))
        return Severity.ADVICE if not wanted else Severity.WARNING if off else Severity.ERROR
    if isinstance(facts.pci, Unknown):  # without a trace of the hardware only the variable, or a library, counts
        return Severity.WARNING if gpus_of(facts) else Severity.ERROR
    # Where the host's own bus shows no GPU at all (a CI runner), there is none to pass: device.no-gpu reports it.
    # Where it shows AMD's alone, an image made for both vendors has set the variable.
    found = cards_of(facts, "nvidia") or cards_of(facts, "amd")
    return None if found or without_gpu(facts) else Severity.ADVICE


@check(
    title="The container was started without the GPU",
    severity=Severity.ERROR,
    cause="The container runtime has to inject NVIDIA's device nodes and driver libraries when the container starts. "
    "This one was started without the nvidia runtime or without a request for GPUs, so nothing was passed in.",
    fixes=container.pass_gpus,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
        "https://github.com/NVIDIA/k8s-device-plugin/issues/23",
    ),
    targets=nvidia_container,
    caused_by=("cloud.notebook-without-gpu",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_gpus_passed(facts: Facts) -> Problem | None:
    """No node of a GPU is in the container, though its host has one or something asks for it."""
    nodes = known(facts.nvidia.kernel.nodes)
    if gpu_nodes(facts) or any(n.path == "/dev/dxg" for n in nodes):
        return None
    severity = _severity(facts)
    if severity is None:
        return None
    return Problem(_message(facts), _evidence(facts), cause=_cause(facts), severity=severity)


def _message(facts: Facts) -> str:
    libraries = known_or(facts.nvidia.cuda.libraries, ())
    what = "the node /dev/dxg" if on_wsl(facts) else "a device node such as /dev/nvidia0"
    also = "" if libraries else " and no driver library (libcuda.so.1) was injected"
    where = "pod" if facts.host.kubernetes is True else "container"
    return f"This {where} ({container.engine(facts)}) has no GPU: {what} was not passed in{also}."


def _cause(facts: Facts) -> str | None:
    value = facts.host.environment.get("NVIDIA_VISIBLE_DEVICES")
    if value in ("", "none", "void"):
        shown = "set to an empty string" if value == "" else value
        return (
            f"NVIDIA_VISIBLE_DEVICES is {shown}, so the NVIDIA container runtime injects no GPU; Kubernetes and some "
            "images set it on purpose where no GPU was requested."
        )
    return None


def _evidence(facts: Facts) -> tuple[str, ...]:
    env, loaded = facts.host.environment, facts.nvidia.kernel.loaded
    lines = [f"/proc/driver/nvidia/version of the host: {loaded}"] if isinstance(loaded, str) else []
    lines += [f"PCI: {c.address} {known_or(c.name, None) or c.device}" for c in cards_of(facts, "nvidia")[:1]]
    lines += [f"{n}={env[n]}" for n in ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES") if n in env]
    paths = [n.path for n in known_or(facts.nvidia.kernel.nodes, ())]
    return (*lines, f"/dev/nvidia*: {', '.join(paths) or 'none'}")
