"""A container with the GPU's device nodes and without the driver's libraries."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import gpu_nodes, has_cuda_wheel, nvidia_container
from gpudoctor.queries.driver import OFF_PATH
from gpudoctor.tasks import export, lines, query

_LOST = (
    "Engines without their own loader cache, such as Apptainer, pass the driver's libraries in through "
    "LD_LIBRARY_PATH: a module, a shell startup file or an image that overwrites this variable loses them. Images "
    "without ldconfig (Alpine, distroless) do not find them either."
)


# https://cloud.google.com/kubernetes-engine/docs/how-to/gpus#cuda
_GKE = "/usr/local/nvidia/"
_MOUNTED = (
    "GKE passes the node's driver into a pod as a directory, /usr/local/nvidia, without NVIDIA's runtime, which would "
    "put it on the loader's path. The image has to name it in LD_LIBRARY_PATH: NVIDIA's base images did so until CUDA "
    "12.8, others never did, and programs set the variable without it."
)


def _whole(one: DriverLibrary) -> bool:
    """Whether this copy can reach the driver: no stub and no empty file."""
    return one.kind != "stub" and one.size != 0


def _off(facts: Facts) -> DriverLibrary | None:
    """A copy that was passed in, where the loader does not look; a compatibility package's came with the image."""
    copies = (*known_or(facts.nvidia.cuda.libraries, ()), *known_or(facts.nvidia.nvml.libraries, ()))
    return next(
        (one for one in copies if one.kind in ("driver", "wsl") and one.size != 0 and one.found_by == OFF_PATH), None
    )


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    off = _off(facts)
    if off is None:
        return container.pass_gpus(facts)
    folder = off.path.rpartition("/")[0]
    lasting = (_in_pod(folder),) if facts.host.kubernetes is True else ()
    return (
        Fix(
            f"Prepend the directory {folder} to LD_LIBRARY_PATH; remove whatever overwrites the variable from shell "
            "startup files and module commands.",
            (export("LD_LIBRARY_PATH", folder, "before"),),
            "change-environment",
            needs="restart of the program",
            verify=query("nvidia-smi"),
        ),
        *lasting,
    )


def _in_pod(folder: str) -> Fix:
    text = f"spec:\n  containers:\n  - env:\n    - name: LD_LIBRARY_PATH\n      value: {folder}"
    return container.again(
        "Permanently: set the variable in the pod's specification, in front of what the image has there (or as ENV in "
        "its Dockerfile), and recreate the pod.",
        lines(text),
        needs=container.POD_AGAIN,
    )


@check(
    title="Driver libraries are missing in the container, which has the GPU's device nodes",
    severity=Severity.ERROR,
    cause="Device nodes alone are not enough: libcuda.so.1 and libnvidia-ml.so.1 belong to the host's driver and have "
    "to be passed in with them. Containers that share the host's /dev (Apptainer without --nv, Distrobox without "
    "--nvidia, --privileged, --device /dev/nvidia0) have only the nodes.",
    fixes=_fixes,
    references=(
        "https://apptainer.org/docs/user/main/gpu.html",
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
        "https://github.com/89luca89/distrobox/blob/main/docs/useful_tips.md",
        "https://github.com/containers/toolbox/issues/116",
        "https://github.com/GoogleCloudPlatform/compute-gpu-installation/issues/46",
    ),
    targets=nvidia_container,
    caused_by=("cluster.job-without-gpu",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def libraries_not_passed(facts: Facts) -> Problem | None:
    """Nodes of GPUs exist, no library does, and something here is meant to compute on a GPU."""
    nodes = gpu_nodes(facts) or tuple(n for n in known(facts.nvidia.kernel.nodes) if n.path == "/dev/dxg")
    asked = facts.host.environment.get("NVIDIA_VISIBLE_DEVICES", "void") not in ("", "void", "none")
    if not nodes or not (asked or has_cuda_wheel(facts)):
        return None
    copies = (*known(facts.nvidia.cuda.libraries), *known(facts.nvidia.nvml.libraries))
    if any(_whole(one) and one.found_by != OFF_PATH for one in copies):
        return None
    off = _off(facts)
    if off is not None:
        message = f"{off.path} is in this container ({container.engine(facts)}), but not on the loader's path."
        evidence = (f"LD_LIBRARY_PATH={facts.host.environment.get('LD_LIBRARY_PATH', '')}",)
        return Problem(message, evidence, cause=_MOUNTED if off.path.startswith(_GKE) else _LOST)
    message = (
        f"{nodes[0].path} is in this container ({container.engine(facts)}), but neither libcuda.so.1 nor "
        "libnvidia-ml.so.1 is: the host's driver libraries were not passed in."
    )
    return Problem(message, tuple(f"{one.path} ({one.kind}, {one.found_by})" for one in copies[:3]))
