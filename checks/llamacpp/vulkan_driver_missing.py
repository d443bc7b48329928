"""llama.cpp that computes with Vulkan, where no driver of Vulkan for a GPU is registered."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import llama_cpp as fixes
from gpudoctor.fixes import system
from gpudoctor.fixes.driver_capabilities import driver_capability
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import lasting
from gpudoctor.maybe import known
from gpudoctor.queries.intel import card_name, driven
from gpudoctor.queries.llama_cpp import for_these_gpus, name_of, vulkan_vendors, with_vulkan
from gpudoctor.targets import gpu_name, gpus_of, in_container


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    vendor = vulkan_vendors(facts)[0]
    if vendor == "nvidia":
        return _of_nvidia(facts)
    from gpudoctor.knowledge.llama_cpp import table

    family = system.family_of(facts)
    name = table().vulkan.packages[vendor].get(family) if family else None
    if name is None:
        message = (
            f"Install Mesa's Vulkan driver for this GPU, in the package that this system has for it.{lasting(facts)}"
        )
        return (Fix(message, (), "reinstall-package", root=True, verify=fixes.proof(facts)),)
    message = f"Install Mesa's Vulkan driver for this GPU.{lasting(facts)}"
    return (Fix(message, install_system(facts, name), "reinstall-package", root=True, verify=fixes.proof(facts)),)


def _of_nvidia(facts: Facts) -> tuple[Fix, ...]:
    """Its driver for Vulkan is a part of the driver; a build with CUDA needs none."""
    cuda = fixes.image(facts, "cuda") or fixes.build(facts, "cuda")
    if in_container(facts):
        return (cuda, *driver_capability(facts, "graphics", "libGLX_nvidia"))
    message = (
        "Install the part of NVIDIA's driver with its Vulkan driver, in the release of the rest: libnvidia-gl-BRANCH "
        "on Ubuntu, nvidia-vulkan-icd on Debian. Drivers for computing alone are without it."
    )
    return (cuda, Fix(message, (), "reinstall-package", root=True, verify=fixes.proof(facts)))


@check(
    title="llama.cpp computes with Vulkan, and no Vulkan driver for the GPU is registered (No devices found)",
    severity=Severity.WARNING,
    cause="libvulkan.so.1 is only Vulkan's loader: it takes the GPU's driver from manifests in vulkan/icd.d, which the "
    "packages of Mesa and NVIDIA's driver install. Without one for the GPU, as in images and on servers, a program "
    "with Vulkan finds no GPU, or Mesa's llvmpipe, which is the CPU: 'ggml_vulkan: No devices found'.",
    fixes=_fixes,
    references=(
        "https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md",
        "https://github.com/mostlygeek/llama-swap/issues/247",
        "https://github.com/withcatai/node-llama-cpp/issues/600",
        "https://github.com/ollama/ollama/issues/17549",
    ),
    targets=with_vulkan,
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def vulkan_driver_missing(facts: Facts) -> Problem | None:
    """Vulkan is its only backend for these GPUs, and each registered driver is known to serve none of them."""
    ours = for_these_gpus(facts)
    if {one.kind for one in ours} != {"vulkan"} or any(one.missing for one in ours):
        return None
    there = known(facts.llama_cpp.vulkan_drivers)
    if there is None:
        return None
    from gpudoctor.knowledge.llama_cpp import served_by

    here, served = vulkan_vendors(facts), {served_by(one) for one in there}
    if None in served or served & set(here):
        return None
    gpus = [gpu_name(gpu) for vendor in here for gpu in gpus_of(facts, vendor)]
    gpu = next(iter([*gpus, *map(card_name, driven(facts))]), "the GPU")
    only = f"; there is only {', '.join(there)}" if there else ""
    return Problem(
        f"{name_of(facts)} computes with Vulkan alone, and no Vulkan driver for {gpu} is registered{only}.",
        tuple(there),
    )
