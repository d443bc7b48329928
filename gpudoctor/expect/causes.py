"""Which checks' problems explain that an expectation does not hold: a dead driver explains missing GPUs."""

from collections.abc import Sequence

from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM, VERSIONS

NO_GPU = ("device.no-gpu",)  # an advice where nothing asks for one but the expectation
AREAS = {"torch": "pytorch"}
# By the field: what explains that it has another value than it should.
OTHERWISE: dict[str, tuple[str, ...]] = {
    "ecc": ("device.ecc-off", "device.ecc-change-pending"),
    "link_generation": ("link.*",),
    "link_generation_max": ("link.*",),
    "link_width": ("link.*", "rocm.narrow-link"),
    "link_width_max": ("link.*", "rocm.narrow-link"),
    "mig": ("mig.*",),
    "mig_devices": ("mig.*",),
    "nvlinks": ("link.nvlink-down", "device.nvlink-fault", "fabric.*"),
    "fabric_manager": ("fabric.*",),
    "fabric_state": ("fabric.*",),
    "status": ("device.*", "rocm.*"),
    "shm": ("container.shm-small",),
    "power_limit": ("health.*",),
    "temperature": ("health.*", "rocm.overheated"),
}


def caused_by(
    steps: Sequence[str], missing: bool, package: str | None, pending: bool, installed: bool = True
) -> tuple[str, ...]:
    """Ids and areas of checks.

    Args:
        steps: of the path.
        missing: whether something is not there, or too few, or could not be asked, instead of having another value.
        package: the framework that it is about.
        pending: whether the driver that is installed, and not loaded yet, is as expected.
        installed: whether the framework is there: no driver and no container installs one.
    """
    own = (f"{AREAS.get(package, package)}.*",) if package else ()
    if steps[0] == "smoke":
        return (*NO_GPU, *SYSTEM, *ENVIRONMENT, "health.*", "link.*", "host.*", "packages.*", *own, "smoke.*")
    if steps[0] == "pythons":
        if steps[-1] == "version" and not missing:
            return ()  # another release is installed: no driver or container makes it so
        if not installed:
            return ()
        below = (*NO_GPU, *SYSTEM) if "live" in steps else ()
        return (*below, *ENVIRONMENT, "packages.*", *own)
    of_field = tuple(id_ for step in steps for id_ in OTHERWISE.get(step, ()))
    of_field += VERSIONS if pending else ()
    drivers = steps[0] in ("gpus", "nvidia", "amd", "pci") and missing
    return tuple(dict.fromkeys((*of_field, *((*NO_GPU, *SYSTEM) if drivers else ()))))
