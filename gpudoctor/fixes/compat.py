"""Fixes where another libcuda, of the package cuda-compat or a stub of the toolkit, shadows the driver's own."""

from pathlib import PurePath

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.loader_configuration import is_of_the_system, out_of_the_configuration
from gpudoctor.fixes.variables import places
from gpudoctor.fixes.verify_commands import cuda_proof
from gpudoctor.maybe import known_or
from gpudoctor.targets import in_container
from gpudoctor.tasks import Shell, as_root, export, filtered, query, unset


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
    if not folder:
        return _look(facts)
    if folder in [part.rstrip("/") for part in variable]:
        return _out_of_the_variable(facts, folder, variable)
    if alone and not _is_needed(facts, folder):
        return _out_of_the_configuration(facts, folder, what)
    return _delete(facts, path, what)


def _is_needed(facts: Facts, folder: str) -> bool:
    """Whether it is a directory of the system, or has the driver's own libraries."""
    own = known_or(facts.nvidia.nvml.libraries, ())
    return is_of_the_system(folder) or any(one.path.startswith(f"{folder}/lib") for one in own)


def _look(facts: Facts) -> Fix:
    directories = r"""echo "$LD_LIBRARY_PATH" | tr : '\n' | xargs -I{} find {} -maxdepth 1 -name 'libcuda.so*'"""
    return Fix(
        "Find the libcuda that comes before the driver's own: first in the directories of LD_LIBRARY_PATH, then in the "
        "loader's configuration. Take its directory out of them.",
        (Shell(directories, lookup=True), filtered(query("ldconfig", "-p"), query("grep", r"libcuda\.so"))),
        impact="none",
        verify=cuda_proof(facts),
    )


def _out_of_the_variable(facts: Facts, folder: str, variable: list[str]) -> Fix:
    rest = ":".join(part for part in variable if part and part.rstrip("/") != folder)
    command = export("LD_LIBRARY_PATH", rest) if rest else unset("LD_LIBRARY_PATH")
    message = (
        f"Remove {folder} from LD_LIBRARY_PATH, here and where it is set ({places(facts)}), so that programs load the "
        "driver's own libcuda."
    )
    return Fix(message, (command,), "change-environment", verify=cuda_proof(facts))


def _out_of_the_configuration(facts: Facts, folder: str, what: str) -> Fix:
    message = (
        f"Remove the line {folder} (of {what}) from the loader's configuration, here and in the "
        "image, so that the driver's own libcuda comes first."
    )
    return out_of_the_configuration(facts, (folder,), message, cuda_proof(facts))


def _delete(facts: Facts, path: str, what: str) -> Fix:
    """The directory has other libraries, which programs need.

    ldconfig links libcuda.so.1 to the newest file lib*.so* of that soname: the file itself goes, under another start.
    """
    real = next((one.real for one in known_or(facts.nvidia.cuda.libraries, ()) if one.path == path), path)
    same = PurePath(real.removeprefix("/usr")).parent == PurePath(path.removeprefix("/usr")).parent  # /lib is a link
    file = PurePath(real if same else path)
    aside = file.with_name(f"disabled-{file.name}")
    image = f"Remove {what} from the image. In this container: rename" if in_container(facts) else "Rename"
    return Fix(
        f"{image} {file} (of {what}), so that the driver's own libcuda is found.",
        (as_root("mv", str(file), str(aside)), as_root("ldconfig")),
        "change-environment",
        root=True,
        undo=(as_root("mv", str(aside), str(file)), as_root("ldconfig")),
        verify=cuda_proof(facts),
    )
