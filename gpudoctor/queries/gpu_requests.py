"""Whether a machine is without a GPU, and what on it asks for one anyway."""

import re
from collections.abc import Iterator

import msgspec

from gpudoctor.facts import Facts, Package, Python
from gpudoctor.knowledge.gpu_builds import conda_for_gpus, gpu_builds, labelled_for_gpus, named_for_gpus
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, known_or
from gpudoctor.name_pattern import stands_for
from gpudoctor.queries.clusters import system
from gpudoctor.queries.containers import gpu_nodes
from gpudoctor.targets import asks_for_nvidia, cards_of, gpus_of, has_dxg, has_rocm, in_container

_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class GpuRequest(msgspec.Struct, frozen=True):
    """Something that asks for a GPU.

    Attributes:
        what: for a sentence: "torch 2.9.1+cu128", "NVIDIA_VISIBLE_DEVICES=all".
        why: how it asks, and where.
        vendor: whose GPU; None: any.
    """

    what: str
    why: str
    vendor: str | None = "nvidia"


def without_gpu(facts: Facts) -> bool:
    """Whether programs here have no GPU to compute on, of any vendor.

    A container sees its host's PCI bus: there only a device node of NVIDIA's cards counts.

    Raises:
        UnknownFactError: it could not be checked.
    """
    if facts.host.system == "Darwin" or facts.host.platform == "jetson":  # every Mac and every Jetson has one
        return False
    if gpus_of(facts) or has_dxg(facts) or facts.nvidia.cuda.code == 0:
        return False
    known(facts.pci)
    if cards_of(facts, "amd") or cards_of(facts, "intel"):
        return False
    return not gpu_nodes(facts) if in_container(facts) else not cards_of(facts, "nvidia")


def requests(facts: Facts) -> tuple[GpuRequest, ...]:
    """What asks for a GPU: the scheduler, the container's variables, a driver, builds of frameworks chosen for GPUs.

    A GPU build that was not chosen is no request: on Linux PyPI's torch installs CUDA for everybody. Nor
    is an environment of a cluster, which its login nodes share: there the scheduler knows which job has GPUs. Nor the
    image of a hosted notebook, which is the same in sessions with a GPU and without.
    """
    found = [*_scheduler(facts), *_drivers(facts)]
    if isinstance(facts.cloud.notebook, str):
        return tuple(found)
    found += _variables(facts)
    if not any(isinstance(one, str) for one in (facts.cluster.scheduler, facts.cluster.client)):
        found += [one for python in facts.pythons for one in _builds(python)]
    return tuple(found)


def _scheduler(facts: Facts) -> Iterator[GpuRequest]:
    granted = known_or(facts.cluster.granted, None)
    if granted:
        job = known_or(facts.cluster.job, None)
        yield GpuRequest(granted, f"{granted}: {system(facts)} gave job {job or '?'} GPUs", None)


def _variables(facts: Facts) -> Iterator[GpuRequest]:
    """NVIDIA's and AMD's container runtimes read a variable, which images and Kubernetes' device plugin set.

    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html,
    https://instinct.docs.amd.com/projects/container-toolkit/en/latest/container-runtime/running-workloads.html
    """
    env = facts.host.environment
    if asks_for_nvidia(facts):
        what = f"NVIDIA_VISIBLE_DEVICES={env['NVIDIA_VISIBLE_DEVICES']}"
        yield GpuRequest(what, f"{what}: asks NVIDIA's container runtime or device plugin for GPUs")
    if env.get("AMD_VISIBLE_DEVICES", "void") not in ("", "void", "none"):
        what = f"AMD_VISIBLE_DEVICES={env['AMD_VISIBLE_DEVICES']}"
        yield GpuRequest(what, f"{what}: asks AMD's container runtime for GPUs", "amd")


def _drivers(facts: Facts) -> Iterator[GpuRequest]:
    nvidia = facts.nvidia
    copies = (copy for found in (nvidia.cuda.libraries, nvidia.nvml.libraries) for copy in known_or(found, ()))
    library = next((copy for copy in copies if copy.kind in ("driver", "wsl")), None)
    if isinstance(nvidia.kernel.loaded, str) and not in_container(facts):  # in a container it is the host's
        yield GpuRequest(f"NVIDIA's driver {nvidia.kernel.loaded}", f"NVIDIA's module {nvidia.kernel.loaded} is loaded")
    elif library:
        version = f" {library.version}" if isinstance(library.version, str) else ""
        yield GpuRequest(f"NVIDIA's driver{version}", f"{library.path}: NVIDIA's driver{version} is installed")
    if has_rocm(facts):
        release = f"ROCm {facts.amd.rocm}" if isinstance(facts.amd.rocm, str) else "ROCm"
        yield GpuRequest(release, f"{release} is installed", "amd")


def _builds(python: Python) -> Iterator[GpuRequest]:
    """The builds chosen for GPUs in an environment, each once, even if conda and pip both list it."""
    packages = known_or(python.packages, ())
    found: dict[str, GpuRequest] = {}
    for package in packages:
        if extra := _extra_of(package, packages):
            name, why = f"{package.name}[{extra}]", "all that the extra installs is there, and nothing else needs it"
            found[package.name] = _build(name, package.version, why, python)
        elif wheel := _added_to(package, packages):
            why = f"{wheel} is installed for it, which nothing requires"
            found[package.name] = _build(package.name, package.version, why, python)
        elif why := _chosen(package):
            found[package.name] = _build(package.name, package.version, why, python)
    for one in known_or(python.conda, None) or ():
        if conda_for_gpus(one.name, one.build) and not found:
            found[one.name] = _build(one.name, one.version, f"conda's build {one.build} is for GPUs", python)
    yield from found.values()


def _build(name: str, version: str, why: str, python: Python) -> GpuRequest:
    vendor = "amd" if "rocm" in f"{name} {version} {why}" else None if "xpu" in version else "nvidia"
    return GpuRequest(f"{name} {version}", f"{name} {version} in {python.path}: {why}", vendor)


def _chosen(package: Package) -> str:
    """How this build for GPUs was chosen; empty: it is the default build, or is for the CPU."""
    if named_for_gpus(package.name):
        return "it has no CPU build" if package.name.startswith("cupy") else "its name selects a GPU"
    if label := labelled_for_gpus(package.name, package.version):
        return f"only the index or wheel {label} has this version, PyPI does not"
    return ""


def _extra_of(package: Package, packages: tuple[Package, ...]) -> str:
    """The extra for GPUs with which it was installed; empty: none."""
    extras = (one.extra for one in gpu_builds().extra if one.distribution == package.name)
    return next((extra for extra in extras if _brought(package, extra, packages)), "")


def _added_to(package: Package, packages: tuple[Package, ...]) -> str:
    """The wheel with a CUDA library that somebody added to a package for a GPU; empty: none."""
    wheels = [wheel for row in gpu_builds().by_hand if row.distribution == package.name for wheel in row.wheels]
    required = {_name(text) for one in packages for text in one.requires} if wheels else set()
    added = (one.name for one in packages if any(stands_for(wheel, one.name) for wheel in wheels))
    return next((name for name in added if name not in required), "")


def _brought(package: Package, extra: str, packages: tuple[Package, ...]) -> bool:
    """Whether the packages of an extra are all there, and nothing else explains at least one of them."""
    wanted = {_name(text) for text in package.requires if _extra(text) == extra}
    others = {_name(text) for one in packages if one is not package for text in one.requires if not _extra(text)}
    return bool(wanted) and wanted <= {one.name for one in packages} and bool(wanted - others)


def _extra(requirement: str) -> str:
    found = re.search(r"extra\s*==\s*[\"']([^\"']*)[\"']", requirement)
    return found[1] if found else ""


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""
