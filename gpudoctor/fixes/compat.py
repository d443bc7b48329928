"""Fixes where another libcuda, of the package cuda-compat or a stub of the toolkit, shadows the driver's own."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.verify_commands import cuda_proof
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, export, pipe, query, sentence, unset


def out_of_the_way(facts: Facts, path: str, what: str, alone: bool = True) -> Fix:
    """Hide a libcuda from the loader, so that it finds the driver's own.

    Args:
        facts: the machine.
        path: of the library that shadows it; empty: unknown.
        what: whose it is: "the package cuda-compat".
        alone: whether its directory is for such libraries only, so that the loader needs none of it.
    """
    folder = path.rpartition("/")[0]
    variable = facts.host.environment.get("LD_LIBRARY_PATH", "").split(":")
    if not folder or folder in [part.rstrip("/") for part in variable]:
        return _out_of_the_variable(facts, folder or "its directory", variable)
    return _out_of_the_configuration(facts, folder, what) if alone else _delete(facts, path)


def _out_of_the_variable(facts: Facts, folder: str, variable: list[str]) -> Fix:
    rest = ":".join(part for part in variable if part and part.rstrip("/") != folder)
    command = export("LD_LIBRARY_PATH", rest) if rest else unset("LD_LIBRARY_PATH")
    where = ", here and in the shell or module file that sets it"
    if in_container(facts):
        where = (
            ", here, and for new containers in the image (ENV, or the entrypoint that sets it) or with docker run -e "
            f"LD_LIBRARY_PATH={rest}"
        )
    message = f"Remove {folder} from LD_LIBRARY_PATH{where}, so that programs load the driver's own libcuda."
    return Fix(message, (command,), "change-environment", verify=cuda_proof(facts))


def _out_of_the_configuration(facts: Facts, folder: str, what: str) -> Fix:
    """Delete only the directory's own line; the copies (.bak) are not read by the loader."""
    files = query("grep", "-rl", "--include=*.conf", folder, "/etc/ld.so.conf", "/etc/ld.so.conf.d")
    line = rf"\#^[[:space:]]*{folder}/*[[:space:]]*$#d"
    message = (
        f"Remove the line {folder} (of {what}) from the loader's configuration, here and in the "
        "image, so that the driver's own libcuda comes first. Each changed file gets a backup that ends in .bak."
    )
    return Fix(
        message,
        (pipe(files, as_root("xargs", "-r", "sed", "-i.bak", line)), as_root("ldconfig")),
        "change-environment",
        root=True,
        needs="restart of the container" if in_container(facts) else None,
        undo=sentence("Restore the backups (.bak) and run ldconfig again."),
        verify=cuda_proof(facts),
    )


def _delete(facts: Facts, path: str) -> Fix:
    """The directory has other libraries, which programs need."""
    return Fix(
        f"Rename {path}, so that the driver's own libcuda is found; programs are linked against the one in stubs/.",
        (as_root("mv", path, f"{path}.bak"), as_root("ldconfig")),
        "change-environment",
        root=True,
        undo=(as_root("mv", f"{path}.bak", path), as_root("ldconfig")),
        verify=cuda_proof(facts),
    )
