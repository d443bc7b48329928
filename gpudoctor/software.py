"""Questions about Python environments and frameworks that several checks ask, answered from facts alone."""

from collections.abc import Container, Iterable, Iterator

from gpudoctor.facts import Facts, Framework, Gpu, Library, Live, Need, Package, PciDevice, Python
from gpudoctor.judge import Problem
from gpudoctor.knowledge import rocm, torch
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import Maybe, Unknown, known
from gpudoctor.subjects import as_gpus, asked_for_nvidia, asks_for_nvidia, cards_of, gpus_of, has_rocm, in_container

# What lies below every framework: where it is ill, a framework can only repeat it in its own words.
SYSTEM = (
    "device.*",
    "driver.*",
    "wsl.*",
    "container.*",
    "rocm.*",
    "fabric.*",
    "mig.*",
    "visibility.*",
)
# What lies below every framework of one environment.
ENVIRONMENT = ("python.*", "libraries.*")


# -- packages ------------------------------------------------------------------------------------------------


def packages_of(python: Python) -> tuple[Package, ...]:
    """The distributions, each name once, as `import` takes them; none where they are unknown. For texts and hints."""
    found: dict[str, Package] = {}
    for package in () if isinstance(python.packages, Unknown) else python.packages:
        found.setdefault(package.name, package)
    return tuple(found.values())


def package(python: Python, name: str) -> Package | None:
    """A distribution of this name; None where it is not installed.

    Raises:
        UnknownFactError: nobody knows what is installed.
    """
    return next((p for p in known(python.packages) if p.name == name), None)


def wheels(python: Python, part: str | None = None) -> tuple[Package, ...]:
    """NVIDIA's wheels, "nvidia-cudnn-cu12" and, since CUDA 13, "nvidia-cublas"; those of one part, or all."""
    found = (p for p in packages_of(python) if p.name.startswith("nvidia-"))
    return tuple(p for p in found if part is None or stem(p.name) == f"nvidia-{part}")


def stem(name: str) -> str:
    """A wheel's name without the CUDA major: "nvidia-cudnn-cu12" is "nvidia-cudnn"."""
    head, _, tail = name.rpartition("-cu")
    return head if head and tail.isdigit() else name


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version; none where it does not begin with one."""
    try:
        return version(text)
    except ValueError:
        return ()


def major(text: str) -> int | None:
    """The first number of a version; None where it does not begin with one."""
    return next(iter(numbers(text)), None)


def release(text: str) -> str:
    """A version without its local part: "2.7.1" of "2.7.1+cu126"."""
    return text.partition("+")[0]


def one_of(python: Python, name: str) -> Framework | None:
    """A framework of the environment by its import name."""
    return next((f for f in python.frameworks if f.name == name), None)


def uses_gpu(framework: Framework | None) -> bool:
    """Whether a framework is known to be built for CUDA or ROCm."""
    return framework is not None and framework.variant in ("cuda", "rocm")


def is_sole(python: Python, framework: Framework) -> bool:
    """Whether no other framework of the environment can use a GPU: then this one has to."""
    return not any(uses_gpu(f) for f in python.frameworks if f.name != framework.name)


def compiles_kernels(facts: Facts, python: Python) -> bool:
    """Whether Triton is installed beside a PyTorch that uses the GPU here: then kernels are compiled at run time."""
    triton = any(p.name in ("triton", "pytorch-triton", "triton-nightly") for p in packages_of(python))
    return triton and uses_gpu(one_of(python, "torch")) and bool(nvidia_gpus(facts))


def other_works(python: Python, framework: Framework) -> bool:
    """Whether another framework of the environment was imported and uses a GPU: this one may be a by-product."""
    lives = (f.live for f in python.frameworks if f.name != framework.name)
    return any(live is not None and live.available is True for live in lives)


# -- GPUs ----------------------------------------------------------------------------------------------------


def nvidia_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The NVIDIA GPUs for computing: as the driver lists them, else as the bus does; not those given to a guest."""
    listed = gpus_of(facts, "nvidia")
    if listed or not _given(facts, "nvidia"):
        return listed
    return as_gpus("nvidia", _ours(facts, "nvidia"))


def _ours(facts: Facts, vendor: str) -> tuple[PciDevice, ...]:
    """The cards of a vendor that are not given to a guest."""
    return tuple(card for card in cards_of(facts, vendor) if card.driver != "vfio-pci")


def _given(facts: Facts, vendor: str) -> bool:
    """Whether the bus may speak: a container sees the host's bus in /sys although no GPU was given to it."""
    if not in_container(facts):
        return True
    if vendor == "nvidia":
        nodes = facts.nvidia.kernel.nodes
        return asks_for_nvidia(facts) or asked_for_nvidia(facts) or (isinstance(nodes, tuple) and bool(nodes))
    return isinstance(facts.amd.kfd, tuple) and bool(facts.amd.kfd)


def visible_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The NVIDIA GPUs that CUDA shows to programs; all of them where libcuda could not be asked."""
    devices = facts.nvidia.cuda.devices
    everyone = nvidia_gpus(facts)
    if isinstance(devices, Unknown) or not devices:
        return everyone
    shown = {d.uuid for d in devices if isinstance(d.uuid, str)} | {
        d.address for d in devices if isinstance(d.address, str)
    }
    return tuple(g for g in everyone if g.uuid in shown or g.address in shown) or everyone


def amd_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The AMD GPUs that PyTorch's ROCm wheels have code for; those inside a processor only beside a ROCm."""
    listed = gpus_of(facts, "amd") or as_gpus("amd", _ours(facts, "amd"))
    return tuple(g for g in listed if _computes(facts, g)) if _given(facts, "amd") else ()


def _computes(facts: Facts, gpu: Gpu) -> bool:
    if gpu.integrated is True and not has_rocm(facts):
        return False
    return isinstance(gpu.gfx, str) and torch_gfx(gpu.gfx) is not None


def torch_gfx(gfx: str) -> str | None:
    """The gfx target with which PyTorch's wheels run on this GPU: its own, or a sibling's by an override; or None."""
    if torch.rocm_for(gfx):
        return gfx
    override = rocm.override_for(gfx)
    sibling = rocm.gfx_of_override(override) if override else None
    return sibling if sibling and torch.rocm_for(sibling) else None


def gpu_name(gpu: Gpu) -> str:
    """For people: "GPU 0 (NVIDIA GeForce RTX 4090)"."""
    return f"GPU {gpu.index} ({gpu.name})" if isinstance(gpu.name, str) else f"GPU {gpu.index}"


def is_data_centre(gpu: Gpu) -> bool:
    """Whether CUDA's forward compatibility packages may serve this GPU: those for data centres, by their names.

    https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
    """
    import re

    name = gpu.name if isinstance(gpu.name, str) else ""
    consumer = re.search(r"GeForce|RTX|GTX|Quadro|TITAN|\bMX", name)
    return bool(re.search(r"Tesla|\b(?:[ABHLPTV]|G[BH])\d{1,3}[A-Z]?\b", name)) and not consumer


# -- the driver ----------------------------------------------------------------------------------------------


def driver_cuda(facts: Facts) -> Maybe[str | None]:
    """The newest CUDA release that the driver runs, as libcuda says, else NVML; None: there is no driver."""
    said = facts.nvidia.cuda.version, facts.nvidia.nvml.cuda_version
    return next((v for v in said if isinstance(v, str)), said[0])


def driver_words(facts: Facts) -> str:
    """For people: "driver 550.54.14 (CUDA 12.4)"."""
    said = facts.nvidia.nvml.driver_version, facts.nvidia.kernel.loaded
    number = next((f" {v}" for v in said if isinstance(v, str)), "")
    cuda = driver_cuda(facts)
    return f"driver{number}" + (f" (CUDA {cuda})" if isinstance(cuda, str) else "")


def driver_runs(cuda: str, driver: str) -> bool:
    """Whether a driver of one CUDA release runs programs built with another: from CUDA 11 on the major decides.

    https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """
    built, has = numbers(cuda), numbers(driver)
    return has[:1] >= built[:1] if built[:1] >= (11,) else has[:2] >= built[:2]


def has_nvidia_driver(facts: Facts) -> bool:
    """Whether libcuda answers and shows a GPU."""
    devices = facts.nvidia.cuda.devices
    return facts.nvidia.cuda.code == 0 and (isinstance(devices, Unknown) or bool(devices))


# -- libraries -----------------------------------------------------------------------------------------------


def needs_of(framework: Framework) -> tuple[Need, ...]:
    """The libraries that a framework needs; none where that is unknown. For hints and evidence."""
    return () if isinstance(framework.needs, Unknown) else framework.needs


def missing_beside_gpu(framework: Framework, facts: Facts) -> tuple[Need, ...]:
    """The libraries of a framework for CUDA that the loader does not find beside an NVIDIA GPU.

    Empty where the framework was imported and uses a GPU.

    Raises:
        UnknownFactError: nobody knows what it is built for or what it needs.
    """
    if known(framework.variant) != "cuda" or not nvidia_gpus(facts):
        return ()
    if framework.live is not None and framework.live.available is True:
        return ()
    return tuple(need for need in known(framework.needs) if need.path is None)


def rivals(framework: Framework, exclusive: Container[str]) -> tuple[str, ...]:
    """The installed distributions of a framework of which only one may be installed."""
    names = [framework.distribution or "", *(name for name, _ in framework.others)]
    return tuple(name for name in names if name in exclusive)


def system_libraries(facts: Facts) -> tuple[Library, ...]:
    """CUDA's libraries outside the environment; none where that is unknown. For hints and evidence."""
    found = facts.toolkits.libraries
    return () if isinstance(found, Unknown) else found


def family(soname: str) -> str:
    """A library's name without its version: "libcublasLt" of "libcublasLt.so.12"."""
    return soname.partition(".so")[0]


def other_majors(facts: Facts, python: Python, missing: Iterable[Need]) -> dict[str, str]:
    """For each missing library another major of it that is there: {"libcudart.so.11.0": "libcudart.so.12"}."""
    there = {lib.soname for lib in system_libraries(facts)}
    there |= {name for wheel in wheels(python) for name in wheel.libraries}
    return {
        need.soname: other
        for need in missing
        for other in sorted(there)
        if family(other) == family(need.soname) and other != need.soname
    }


def cuda_majors(facts: Facts, python: Python) -> dict[int, str]:
    """The CUDA majors whose run-time libraries are there, and where: {12: "/usr/local/cuda-12.1/lib64"}."""
    found: dict[int, str] = {}
    for lib in system_libraries(facts):
        if lib.kind != "stub" and family(lib.soname) in ("libcudart", "libcublas", "libcublasLt"):
            _add(found, lib.soname, lib.path.rpartition("/")[0])
    for wheel in wheels(python):
        for name in wheel.libraries:
            if family(name) in ("libcudart", "libcublas", "libcublasLt"):
                _add(found, name, wheel.name)
    return found


def _add(found: dict[int, str], soname: str, place: str) -> None:
    number = major(soname.partition(".so.")[2])
    if number is not None:
        found.setdefault(number, place)


# -- what a framework said -----------------------------------------------------------------------------------


def last_words(live: Live) -> str:
    """The shortest text with which a framework refuses: the error that it named, else the last line that it wrote."""
    if live.import_error:
        return first_line(live.import_error)
    if isinstance(live.error, str) and live.error:
        return first_line(live.error)
    lines = [line.strip() for line in live.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def first_line(text: str) -> str:
    """The line of an error that says what it is; JAX puts several together."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "error" in line]
    return next(iter(telling or lines), text)[:500]


def refusal(facts: Facts, name: str, live: Live, gpus: tuple[Gpu, ...]) -> Problem | None:
    """The problem of a framework that was built for GPUs, was imported, and uses none although one is there.

    Raises:
        UnknownFactError: it did not come so far as to say.
    """
    if not gpus or live.import_error or live.died or live.hung or known(live.available):
        return None
    words = last_words(live)
    says = f"{name} does not use {gpu_name(gpus[0])}" + (f": {words}" if words else ".")
    driver = f"The {driver_words(facts)} answers." if has_nvidia_driver(facts) else ""
    return Problem(says, evidence=tuple(e for e in (*_evidence(live), driver) if e))


def _evidence(live: Live) -> Iterator[str]:
    if isinstance(live.error, str):
        yield live.error[:1000]
    if isinstance(live.count, int) and live.count:
        yield f"It counts {live.count} GPUs, which it asks of NVML, and cannot use them."
    yield from live.warnings[:3]


def import_failure(name: str, live: Live) -> str | None:
    """The sentence about a framework whose import raises."""
    return f"{name} does not import: {first_line(live.import_error)}" if live.import_error else None


def crash(name: str, live: Live) -> str | None:
    """The sentence about a framework whose process dies."""
    if live.died is None:
        return None
    return f"{name} dies of {live.died} in the stage {live.stage}, before it says anything about GPUs."


def hang(name: str, live: Live) -> str | None:
    """The sentence about a framework that does not come back."""
    return f"{name} does not come back from the stage {live.stage}." if live.hung else None
