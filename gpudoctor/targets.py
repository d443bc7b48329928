"""What a check is asked about: the machine, each GPU, each framework, each framework on each GPU.

Loops live here: one unknown GPU cannot hide a bad one, and no check is asked about a vendor that is not there.
"""

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import Facts, Framework, Gpu, LiveFramework, PciDevice, Python
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.registry import FRAMEWORKS

NVIDIA, AMD, INTEL = "10de", "1002", "8086"
VENDORS = {"nvidia": NVIDIA, "amd": AMD, "intel": INTEL}
ANY_GPU = "gpus pci.role=gpu nvidia.cuda.devices"  # in `only_with`: as one of these facts every GPU is seen
NAMES = {one.module: one.title for one in FRAMEWORKS}


class OnGpu(msgspec.Struct, frozen=True):
    """One GPU of the machine."""

    facts: Facts
    gpu: Gpu


class OnCard(msgspec.Struct, frozen=True):
    """One GPU as the PCI bus shows it, whether or not a driver answers."""

    facts: Facts
    card: PciDevice


class OnPython(msgspec.Struct, frozen=True):
    """One examined interpreter."""

    facts: Facts
    python: Python


class OnFramework(msgspec.Struct, frozen=True):
    """One framework in one interpreter."""

    facts: Facts
    python: Python
    framework: Framework

    @property
    def name(self) -> str:
        """For people: "PyTorch 2.7.1"."""
        return _placed(self.facts, self.python, self.framework)


class OnLive(msgspec.Struct, frozen=True):
    """One framework that was imported, and what it said."""

    facts: Facts
    python: Python
    framework: Framework
    live: LiveFramework

    @property
    def name(self) -> str:
        """For people: "PyTorch 2.7.1"."""
        return _placed(self.facts, self.python, self.framework)


class OnPair(msgspec.Struct, frozen=True):
    """One framework and one GPU that it would have to run on."""

    facts: Facts
    python: Python
    framework: Framework
    gpu: Gpu

    @property
    def name(self) -> str:
        """For people: "PyTorch 2.7.1"."""
        return _placed(self.facts, self.python, self.framework)


def built_for(framework: Framework) -> str | None:
    """Whose GPUs a framework is built for; None where it is built for none, or nobody can say."""
    if isinstance(framework.cuda, str):
        return "nvidia"
    if isinstance(framework.hip, str):
        return "amd"
    return "intel" if framework.variant == "xpu" else None


def framework_name(framework: Framework) -> str:
    """The framework's name and version for people."""
    version = "" if isinstance(framework.version, Unknown) else framework.version
    return f"{NAMES.get(framework.name, framework.name)} {version or ''}".strip()


def _placed(facts: Facts, python: Python, framework: Framework) -> str:
    """The framework for people, with its environment where several are examined."""
    where = f" in {python.path}" if len(facts.pythons) > 1 else ""
    return f"{framework_name(framework)}{where}"


def gpu_name(gpu: Gpu) -> str:
    """For people: "GPU 0 (NVIDIA GeForce RTX 4090)"."""
    return f"GPU {gpu.index} ({gpu.name})" if isinstance(gpu.name, str) else f"GPU {gpu.index}"


def gpu_key(gpu: Gpu) -> str:
    """What tells a GPU from others in every fact: its PCI address, else vendor and index."""
    return gpu.address if isinstance(gpu.address, str) else f"{gpu.vendor} {gpu.index}"


# -- hardware ------------------------------------------------------------------------------------------------


def cards_of(facts: Facts, vendor: str) -> tuple[PciDevice, ...]:
    """The GPUs of a vendor ("nvidia", "amd", "intel") on PCI; empty where PCI could not be read."""
    devices = () if isinstance(facts.pci, Unknown) else facts.pci
    return tuple(d for d in devices if d.vendor == VENDORS[vendor] and d.role == "gpu")


def switches_of(facts: Facts) -> tuple[PciDevice, ...]:
    """The NVSwitches on PCI."""
    devices = () if isinstance(facts.pci, Unknown) else facts.pci
    return tuple(d for d in devices if d.role == "switch")


def gpus_of(facts: Facts, vendor: str | None = None) -> tuple[Gpu, ...]:
    """The GPUs that a driver lists, of one vendor or of all; empty where none could be asked."""
    gpus = () if isinstance(facts.gpus, Unknown) else facts.gpus
    return tuple(g for g in gpus if vendor is None or g.vendor == vendor)


def on_wsl(facts: Facts) -> bool:
    """Whether this is WSL 2, where no PCI device and no kernel module is visible by design."""
    return facts.host.wsl == 2


def in_container(facts: Facts) -> bool:
    """Whether this is known to be a container."""
    return isinstance(facts.host.container, str)


def in_system_container(facts: Facts) -> bool:
    """Whether this is a container that holds a whole system, with logins, groups and services of its own."""
    return facts.host.container in ("lxc", "systemd-nspawn") and facts.host.kubernetes is not True


def wants_nvidia(facts: Facts) -> bool:
    """Whether NVIDIA hardware or NVIDIA's driver is there or asked for: then its checks apply.

    A CUDA wheel alone is no reason: PyTorch's default wheel is one on every CPU-only server.
    """
    return has_nvidia(facts) or asked_for_nvidia(facts)


def has_nvidia(facts: Facts) -> bool:
    """Whether NVIDIA hardware or its loaded driver is there."""
    return bool(
        cards_of(facts, "nvidia")
        or gpus_of(facts, "nvidia")
        or isinstance(facts.nvidia.kernel.loaded, str)
        or facts.host.platform == "jetson"
        or (has_dxg(facts) and _libraries(facts))
        or asks_for_nvidia(facts)
    )


def asks_for_nvidia(facts: Facts) -> bool:
    """Whether the variable by which an image or a user asks NVIDIA's container runtime for GPUs names any.

    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    return facts.host.environment.get("NVIDIA_VISIBLE_DEVICES", "void") not in ("", "void", "none")


def on_jetson_kernel(facts: Facts) -> bool:
    """Whether the kernel is Jetson Linux's ("5.15.148-tegra"), which a container shows as well."""
    return known_or(facts.host.kernel.release, "").endswith("-tegra")


def has_dxg(facts: Facts) -> bool:
    """Whether the GPU comes from a Windows host, through WSL 2 or GPU paravirtualization.

    A container on WSL 2 has it only where the node was passed in.
    """
    nodes = facts.nvidia.kernel.nodes
    if isinstance(nodes, tuple) and any(n.path == "/dev/dxg" for n in nodes):
        return True
    return on_wsl(facts) and not (in_container(facts) and isinstance(nodes, tuple))


def asked_for_nvidia(facts: Facts) -> bool:
    """Whether NVIDIA's user-space driver is installed, so that somebody wants it to work."""
    return bool(_libraries(facts))


def _libraries(facts: Facts) -> bool:
    found = facts.nvidia.nvml.libraries, facts.nvidia.cuda.libraries
    return any(isinstance(copies, tuple) and any(c.kind != "stub" for c in copies) for copies in found)


def has_amd(facts: Facts) -> bool:
    """Whether AMD hardware is there; the amdgpu module in a container without /sys counts."""
    return bool(cards_of(facts, "amd") or gpus_of(facts, "amd") or facts.amd.loaded is True)


def has_rocm(facts: Facts) -> bool:
    """Whether ROCm is known to be installed; of a distribution's own packages no file tells the release."""
    return isinstance(facts.amd.rocm, str) or isinstance(facts.amd.rocm_path, str)


# -- subjects ------------------------------------------------------------------------------------------------


def machine(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine, always."""
    yield MACHINE, facts


def nvidia_machine(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where NVIDIA hardware or its driver is there."""
    if wants_nvidia(facts):
        yield MACHINE, facts


def nvidia_hardware(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where NVIDIA hardware is there."""
    if has_nvidia(facts):
        yield MACHINE, facts


def nvidia_host(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where an NVIDIA GPU is on PCI and the kernel is ours: no WSL; containers share the host's."""
    if cards_of(facts, "nvidia") and not on_wsl(facts):
        yield MACHINE, facts


def amd_compute(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where AMD hardware is there and somebody wants to compute on it: ROCm, a ROCm wheel, an image for it.

    Raises:
        UnknownFactError: the hardware is there, and nobody could look for ROCm.
    """
    wheel = any(isinstance(f.hip, str) for p in facts.pythons for f in p.frameworks)
    if has_amd(facts) and (wheel or has_rocm(facts) or _is_rocm_image(facts) or known(facts.amd.rocm_path)):
        yield MACHINE, facts


def _is_rocm_image(facts: Facts) -> bool:
    """Whether this is a container with Ollama's library for ROCm, or a llama.cpp with no other.

    On a host, Ollama's service has an account of its own.
    """
    ollama, own = facts.ollama.backends, facts.llama_cpp.backends
    llama = isinstance(own, tuple) and {backend.kind for backend in own} == {"hip"}
    return in_container(facts) and (llama or (isinstance(ollama, tuple) and "hip" in ollama))


def wsl_machine(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where it is WSL, 1 or 2."""
    if isinstance(facts.host.wsl, int):
        yield MACHINE, facts


def nvidia_gpus(facts: Facts) -> Iterator[tuple[About, OnGpu]]:
    """Each GPU that NVML lists."""
    yield from _gpus(facts, "nvidia")


def amd_gpus(facts: Facts) -> Iterator[tuple[About, OnGpu]]:
    """Each GPU that KFD lists."""
    yield from _gpus(facts, "amd")


def gpus(facts: Facts) -> Iterator[tuple[About, OnGpu]]:
    """Each GPU that a driver lists."""
    yield from _gpus(facts, None)


def _gpus(facts: Facts, vendor: str | None) -> Iterator[tuple[About, OnGpu]]:
    for gpu in gpus_of(facts, vendor):
        yield About(label=f"GPU {gpu.index}", gpu=gpu_key(gpu)), OnGpu(facts, gpu)


def nvidia_cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """Each NVIDIA GPU on PCI, whether or not a driver answers."""
    for card in cards_of(facts, "nvidia"):
        yield About(label=f"the GPU at {card.address}", gpu=card.address), OnCard(facts, card)


def pythons(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    """Each examined interpreter that answered."""
    for python in facts.pythons:
        if python.error is None:
            yield About(label=python.path, python=python.path), OnPython(facts, python)


def about_modules(about: About, modules: Iterable[str]) -> About:
    """The same, narrowed to a framework where only that has the problem: it explains nothing about another one."""
    names = set(modules)
    if len(names) != 1 or not names <= set(NAMES):
        return about
    return About(about.label, about.gpu, about.python, names.pop())


def frameworks(facts: Facts, name: str | None = None) -> Iterator[tuple[About, OnFramework]]:
    """Each framework of each interpreter, or those of one import name."""
    for about, on in pythons(facts):
        for framework in on.python.frameworks:
            if name in (None, framework.name):
                label = _placed(facts, on.python, framework)
                yield (
                    About(label, python=about.python, package=framework.name, vendor=built_for(framework)),
                    OnFramework(facts, on.python, framework),
                )


def torches(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each PyTorch."""
    yield from frameworks(facts, "torch")


def tensorflows(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each TensorFlow."""
    yield from frameworks(facts, "tensorflow")


def cupys(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each CuPy."""
    yield from frameworks(facts, "cupy")


def jaxes(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each JAX."""
    yield from frameworks(facts, "jax")


def onnxruntimes(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each ONNX Runtime."""
    yield from frameworks(facts, "onnxruntime")


def lives(facts: Facts, name: str | None = None) -> Iterator[tuple[About, OnLive]]:
    """Each framework that was imported, or those of one name."""
    for about, on in frameworks(facts, name):
        if on.framework.live is not None:
            yield about, OnLive(facts, on.python, on.framework, on.framework.live)


def pairs(facts: Facts, name: str | None = None) -> Iterator[tuple[About, OnPair]]:
    """Each framework built for a vendor with each GPU of that vendor that the machine can name.

    Where no driver answers, the PCI device's compute capability stands in for the GPU's.
    """
    for about, on in frameworks(facts, name):
        for gpu in _runs_on(facts, on.framework):
            label = f"{about.label} on GPU {gpu.index}"
            yield (
                About(label, gpu_key(gpu), about.python, on.framework.name, about.vendor),
                OnPair(facts, on.python, on.framework, gpu),
            )


def _runs_on(facts: Facts, framework: Framework) -> tuple[Gpu, ...]:
    if isinstance(framework.cuda, str):
        return gpus_of(facts, "nvidia") or as_gpus("nvidia", cards_of(facts, "nvidia"))
    if isinstance(framework.hip, str):
        return gpus_of(facts, "amd") or as_gpus("amd", cards_of(facts, "amd"))
    return ()


def as_gpus(vendor: str, cards: Iterable[PciDevice]) -> tuple[Gpu, ...]:
    """A vendor's cards as GPUs of which only what the bus shows is known: no driver answered."""
    return tuple(
        Gpu(
            vendor=vendor,
            index=index,
            address=card.address,
            name=card.name if isinstance(card.name, str) else Unknown("no driver responded"),
            capability=card.capability,
            gfx=card.gfx,
            generation=card.generation,
            integrated=card.integrated,
        )
        for index, card in enumerate(cards)
    )


def compute_gpus(facts: Facts, vendor: str) -> tuple[Gpu, ...]:
    """The GPUs of a vendor as a driver lists them, else as PCI does.

    Raises:
        UnknownFactError: neither could be read.
    """
    found = gpus_of(facts, vendor) or as_gpus(vendor, cards_of(facts, vendor))
    if not found:
        known(facts.pci)
    return found
