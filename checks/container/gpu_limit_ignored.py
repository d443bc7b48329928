"""A share of a GPU whose limits are not enforced, because the loader ignores HAMi's library."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.host import IgnoredPreload
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import nvidia_container
from gpudoctor.tasks import as_root, cmd, query
from gpudoctor.tasks.placeholders import POD

# The variables and the library of Project-HAMi/HAMi-core (src/libvgpu.c, src/multiprocess/multiprocess_memory_limit.c).
_LIMIT = "CUDA_DEVICE_MEMORY_LIMIT"
_LIBRARY = "libvgpu.so"


def _ignored(facts: Facts) -> IgnoredPreload | None:
    return next((one for one in known_or(facts.host.ignored_preloads, ()) if one.path.endswith(_LIBRARY)), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    one = _ignored(facts)
    path = one.path if one else f"/usr/local/vgpu/{_LIBRARY}"
    restart = (
        cmd("kubectl", "--namespace", "kube-system", "rollout", "restart", "daemonset", "hami-device-plugin"),
        cmd("kubectl", "delete", "pod", POD),
    )
    message = (
        f"On the node: see what {path} is there (the pod's hostPath), remove it if it is a directory, restart HAMi's "
        "device plugin, which copies the library there, then recreate this pod."
    )
    tasks = (query("ls", "-ld", path), as_root("rmdir", path), *restart)
    return (
        Fix(
            message, tasks, "restart-process", root=True, needs="a new pod", place="outside", verify=query("nvidia-smi")
        ),
    )


@check(
    title="HAMi: libvgpu.so in /etc/ld.so.preload cannot be preloaded, GPU memory limit not enforced",
    severity=Severity.WARNING,
    cause="HAMi shares a GPU among pods with a library that /etc/ld.so.preload loads into each program, and that keeps "
    "the limits of CUDA_DEVICE_MEMORY_LIMIT and CUDA_DEVICE_SM_LIMIT. The kubelet creates a directory where the file "
    "of a hostPath does not exist on the node. The loader then ignores the entry (cannot be preloaded: ignored), and "
    "each program sees the whole GPU.",
    fixes=_fixes,
    references=("https://github.com/Project-HAMi/HAMi/issues/1346", "https://github.com/Project-HAMi/HAMi/issues/777"),
    targets=nvidia_container,
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def gpu_limit_ignored(facts: Facts) -> Problem | None:
    """A limit is set, and the library that keeps it is no library."""
    limits = [f"{name}={value}" for name, value in facts.host.environment.items() if name.startswith(_LIMIT)]
    if not limits:
        return None
    known(facts.host.ignored_preloads)
    one = _ignored(facts)
    if one is None:
        return None
    message = (
        f"The loader ignores {one.path} in /etc/ld.so.preload ({one.reason}), so {limits[0]} is not enforced: programs "
        "see the whole GPU."
    )
    return Problem(message, (f"{one.path}: {one.reason}", *limits))
