"""Fixes where a libcuda of the package cuda-compat shadows the driver's own."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.queries.driver import loaded_libcuda
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, export, filtered, pipe, query, sentence, unset


def step_aside(facts: Facts) -> Fix:
    """Hide the directory of the loaded libcuda from the loader, so that it finds the driver's own."""
    found = loaded_libcuda(facts)
    folder = found.path.rpartition("/")[0] if found else "the compat directory"
    variable = facts.host.environment.get("LD_LIBRARY_PATH", "").split(":")
    if folder not in [part.rstrip("/") for part in variable]:
        return _out_of_the_configuration(facts, folder)
    rest = ":".join(part for part in variable if part and part.rstrip("/") != folder)
    command = export("LD_LIBRARY_PATH", rest) if rest else unset("LD_LIBRARY_PATH")
    message = f"Remove {folder} from LD_LIBRARY_PATH, so that programs load the driver's own libcuda."
    return Fix(message, (command,), "change-environment", verify=query("nvidia-smi"))


def _out_of_the_configuration(facts: Facts, folder: str) -> Fix:
    """Delete only the directory's own line; the copies (.bak) are not read by the loader."""
    files = query("grep", "-rl", "--include=*.conf", folder, "/etc/ld.so.conf", "/etc/ld.so.conf.d")
    line = rf"\#^[[:space:]]*{folder}/*[[:space:]]*$#d"
    message = (
        f"Remove the line {folder} (of the package cuda-compat) from the loader's configuration, here and in the "
        "image, so that the driver's own libcuda comes first. Each changed file gets a backup that ends in .bak."
    )
    return Fix(
        message,
        (pipe(files, as_root("xargs", "-r", "sed", "-i.bak", line)), as_root("ldconfig")),
        "change-environment",
        root=True,
        needs="restart of the container" if in_container(facts) else None,
        undo=sentence("Restore the backups (.bak) and run ldconfig again."),
        verify=filtered(query("ldconfig", "-p"), query("grep", "libcuda")),
    )
