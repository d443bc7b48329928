"""A libcuda of a compatibility package, of another version than the module's, comes first: cuInit 803 or 100."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes.compat import out_of_the_way
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.containers import gpu_nodes, needed_nodes
from gpudoctor.queries.driver import (
    CUDA_MISMATCH,
    CUDA_NO_DEVICE,
    OFF_PATH,
    found_through,
    installed_over_packages,
    libraries_beside,
    loaded_libcuda,
)
from gpudoctor.targets import gpus_of, in_container, nvidia_machine


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = loaded_libcuda(facts)
    return (out_of_the_way(facts, found.path if found else "", "the package cuda-compat"), *_else(facts, found))


def _else(facts: Facts, found: DriverLibrary | None) -> tuple[Fix, ...]:
    """An image without the package needs no setting."""
    if not in_container(facts):
        return ()
    version = known_or(found.version, None) if found else None
    message = (
        "Use an image whose cuda-compat is not older than the host's "
        f"driver{f' (this one has {version})' if version else ''}."
    )
    return (Fix(message, (), "restart-process", needs="restart of the container"),)


def _overlooks(facts: Facts, found: DriverLibrary, module: str) -> bool:
    """Whether a compatibility package's library, older than the module, finds none of the GPUs that NVML lists."""
    if found.kind != "compat" or version(known(found.version) or module) >= version(module):
        return False
    # An empty mask leaves no device either, nor does MIG without instances, nor a mode or a node that lets nobody in,
    # whatever the library.
    usable = [gpu for gpu in gpus_of(facts, "nvidia") if gpu.mig is not True and gpu.compute_mode != "prohibited"]
    return bool(usable) and known(facts.nvidia.cuda.unmasked_code) != 0 and _opens(facts)


def _opens(facts: Facts) -> bool:
    """Whether the nodes that computing needs open, of one GPU at least."""
    there = {node.path for node in needed_nodes(facts) if known(node.error) is None}
    return there >= {"/dev/nvidiactl", "/dev/nvidia-uvm"} and any(node.path in there for node in gpu_nodes(facts))


@check(
    title="cuda-compat's libcuda shadows the driver's and does not match it",
    severity=Severity.ERROR,
    cause="cuda-compat lets newer CUDA run on an older driver. Where the driver is newer than the package, its "
    "libcuda shadows the driver's own and does not match the kernel module: cuInit returns 803 (system driver "
    "mismatch), or 100 (no device) with a module that it does not know at all. Images' entrypoints choose the package "
    "by the driver's version, which they may read wrongly.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/cuda-compatibility/",
        "https://github.com/vllm-project/vllm/issues/34821",
        "https://github.com/huggingface/text-embeddings-inference/issues/870",
    ),
    targets=nvidia_machine,
    caused_by=("driver.stub-library", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def compat_mismatch(facts: Facts) -> Problem | None:
    """The result of cuInit is 803, or 100 by a library too old, and it is not of the module's version."""
    code = known(facts.nvidia.cuda.code)
    if code not in (CUDA_MISMATCH, CUDA_NO_DEVICE):
        return None
    found, module = loaded_libcuda(facts), known(facts.nvidia.kernel.loaded)
    if found is None or module is None or found.version in (module, None) or libraries_beside(facts):
        return None
    if installed_over_packages(facts):
        return None  # driver.mixed-installation
    if code == CUDA_NO_DEVICE and not _overlooks(facts, found, module):
        return None
    copies = known(facts.nvidia.cuda.libraries)
    own = [one for one in copies if one.version == module and one is not found]
    if found.kind not in ("compat", "toolkit", "wheel") and not own:
        return None
    if not own and "compat" not in found.real and found.found_by != "LD_LIBRARY_PATH":
        return None  # the driver's own library: mixed-installation or library-mismatch
    version = known_or(found.version, None) or "of another version"
    message = (
        f"Programs load {found.real} ({version}, found through {found_through(found)}) instead of the driver's own "
        f"libcuda. It does not match the loaded kernel module {module} (cuInit {code})."
    )
    return Problem(
        message, tuple(f"{one.path} -> {one.real} ({one.found_by})" for one in copies if one.found_by != OFF_PATH)
    )
