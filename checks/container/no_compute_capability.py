"""A container with NVML but without libcuda."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container, driver_capabilities
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import nvidia_container

OFF_PATH = "not on the loader's path"


@check(
    title="libcuda is missing in the container: compute was not requested",
    severity=Severity.ERROR,
    cause="NVIDIA_DRIVER_CAPABILITIES selects which driver libraries the runtime injects: utility adds nvidia-smi and "
    "NVML, compute adds libcuda.so.1. Without compute nvidia-smi works and no program can use CUDA. The "
    "capabilities of `docker run --gpus` and of Compose's reserved devices go before the variable.",
    fixes=driver_capabilities.compute_capability,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html#driver-capabilities",
        "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/348",
    ),
    targets=nvidia_container,
    caused_by=("container.no-gpus-passed",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_compute_capability(facts: Facts) -> Problem | None:
    """NVML's library exists and libcuda does not."""
    nvml, cuda = known(facts.nvidia.nvml.libraries), known(facts.nvidia.cuda.libraries)
    if not any(one.kind in ("driver", "wsl") for one in nvml):
        return None
    if any(one.kind in ("driver", "wsl", "compat") and one.found_by != OFF_PATH for one in cuda):
        return None
    value = facts.host.environment.get("NVIDIA_DRIVER_CAPABILITIES")
    setting = "not set" if value is None else f"{value!r}"
    why = f"the driver capability compute was not requested (NVIDIA_DRIVER_CAPABILITIES is {setting})."
    if driver_capabilities.has_capability(facts, "compute"):
        why = (
            f"NVIDIA_DRIVER_CAPABILITIES is {setting}, so what started the container asked for other capabilities, "
            "which take precedence over it."
        )
        if container.engine(facts) == "kubernetes":
            why = f"NVIDIA_DRIVER_CAPABILITIES is {setting}, so the node's runtime did not find the library."
    message = f"libnvidia-ml.so.1 is in the container, but libcuda.so.1 was not injected: {why}"
    text = known_or(facts.nvidia.cuda.text, None)
    return Problem(message, (*(f"{one.path}" for one in nvml[:1]), *((text,) if text else ())))
