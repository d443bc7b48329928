"""The driver keeps the machine from suspending, because it is not notified in time."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, of_this_week, texts
from gpudoctor.tasks import as_root, cmd

_UNITS = ("nvidia-suspend.service", "nvidia-hibernate.service", "nvidia-resume.service")


@check(
    title="NVIDIA's driver blocks suspend",
    severity=Severity.WARNING,
    cause="With the option NVreg_PreserveVideoMemoryAllocations the driver saves the GPU's memory before suspend, "
    "which the driver's systemd services have to trigger. They are not enabled or not installed, so the driver "
    "aborts with an error and the machine stays awake.",
    fixes=(
        Fix(
            "Enable the driver's services for suspend and resume.",
            (as_root("systemctl", "enable", *_UNITS),),
            "change-environment",
            root=True,
            impact="persistent",
            undo=(as_root("systemctl", "disable", *_UNITS),),
            verify=cmd("systemctl", "suspend"),
        ),
    ),
    references=(
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/powermanagement.html",
        "https://github.com/projectbluefin/dakota/issues/1118",
    ),
    targets=own_kernel,
    caused_by=("host.gpu-driver-oops",),
    affects=("display",),
    validated_on=("simulated 2026-11",),
)
def suspend_refused(facts: Facts) -> Problem | None:
    """The driver's own message in the log."""
    logged = of_this_week(facts, events(facts, "suspend-refused"))
    # A later attempt, which began and was not refused, succeeded.
    if not logged or events(facts, "suspend-refused", "suspend")[-1].kind == "suspend":
        return None
    return Problem("The driver refused to suspend: its services for suspend did not run.", texts(logged[-2:]))
