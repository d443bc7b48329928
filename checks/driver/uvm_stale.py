"""nvidia_uvm did not survive suspend and resume: nvidia-smi works, cuInit returns 999."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, nixos
from gpudoctor.fixes.module_option import in_configuration, set_option
from gpudoctor.fixes.verify_commands import cuda_proof
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cards import THEN
from gpudoctor.queries.cause_groups import DEAD, SURROUNDINGS, VERSIONS
from gpudoctor.queries.driver import CUDA_UNKNOWN, not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks import as_root, query

_PRESERVE = "NVreg_PreserveVideoMemoryAllocations=1 NVreg_TemporaryFilePath=/var/tmp"
_SERVICES = as_root(
    "systemctl", "enable", "nvidia-suspend.service", "nvidia-hibernate.service", "nvidia-resume.service"
)
_AGAIN = (as_root("rmmod", "nvidia_uvm"), as_root("modprobe", "nvidia_uvm"))
_KEEP = "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/powermanagement.html"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        message = "On the host: stop the programs that use the GPU, reload nvidia_uvm, then start the container again."
        return (module.on_the_host(message, *_AGAIN),)
    now = Fix(
        "Stop every process that uses CUDA (fuser lists them, also those in containers), then reload nvidia_uvm; a "
        "reboot helps too.",
        (
            query("fuser", "-v", "/dev/nvidia-uvm", root=True, note=THEN),
            *_AGAIN,
        ),
        "reload-module",
        root=True,
        verify=cuda_proof(facts),
    )
    preserved = facts.nvidia.kernel.parameters.get("PreserveVideoMemoryAllocations", "0")
    return (now, _preserve(facts)) if preserved != "1" else (now,)


def _preserve(facts: Facts) -> Fix:
    message = "Let the driver save its memory across suspend, so that it does not happen again"
    if nixos.is_nixos(facts):
        return in_configuration(f"{message}.", "hardware.nvidia.powerManagement.enable = true;")
    return set_option(facts, message, _PRESERVE, "nvidia-suspend", also=(_SERVICES,))


def _lost(facts: Facts) -> bool:
    """Whether a GPU itself does not respond, which is reason enough for cuInit's 999."""
    faulty = any(isinstance(g.status, str) and g.status != "ok" for g in gpus_of(facts, "nvidia"))
    return faulty or bool(events(facts, "fallen-off-bus"))


@check(
    title="nvidia_uvm is in a bad state, often after suspend and resume",
    severity=Severity.ERROR,
    cause="A CUDA program was open while the machine slept; the module nvidia_uvm resumed in a stale state, and "
    "cuInit returns 999 until it is reloaded. NVML does not use it, so nvidia-smi works.",
    fixes=_fixes,
    references=("https://github.com/pytorch/pytorch/issues/88639", _KEEP),
    targets=not_wsl,
    caused_by=(*DEAD, *VERSIONS, "driver.uvm-missing", "device.xid-hardware", "device.xid-driver", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def uvm_stale(facts: Facts) -> Problem | None:
    """The result of cuInit is 999 while NVML works and the module is loaded; a resume in the log confirms it."""
    if known(facts.nvidia.cuda.code) != CUDA_UNKNOWN or facts.nvidia.nvml.code != 0 or _lost(facts):
        return None
    kernel = facts.nvidia.kernel
    modules = known_or(kernel.modules, ())
    if known(kernel.loaded) is None or not ("nvidia_uvm" in modules or isinstance(kernel.uvm_major, int)):
        return None
    slept = events(facts, "suspend", "resume")
    after = " since the machine resumed from suspend" if slept else ""
    message = (
        f"cuInit returns 999 (unknown error){after} while NVML works: the loaded module nvidia_uvm is in a stale state."
    )
    return Problem(message, texts(slept[-2:]))
