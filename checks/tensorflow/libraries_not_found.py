"""TensorFlow does not search the wheels that it installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_verify
from gpudoctor.knowledge import sonames
from gpudoctor.maybe import present, text_of
from gpudoctor.queries.tensorflow import in_wheels, missing, severity_of, words_of_dlopen
from gpudoctor.targets import OnFramework, tensorflows
from gpudoctor.tasks import export, unset


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    folders = dict.fromkeys(present(need.wheel).rpartition("/")[0] for need in missing(on))
    message = "Add the directories of the wheels to LD_LIBRARY_PATH before Python starts."
    command = export("LD_LIBRARY_PATH", ":".join(folders), "before")
    path = Fix(
        message, (command,), "change-environment", undo=(unset("LD_LIBRARY_PATH"),), verify=tensorflow_verify(on.python)
    )
    version = ".".join(text_of(on.framework.version).split(".")[:2])
    newer = [fix for fix in newer_tensorflow(on.facts, on.python) if f"TensorFlow {version} " not in fix.message]
    # Not every newer release has the whole search path: with the wheels on the loader's path each of them works.
    return (*newer, path) if version in sonames.sonames().tensorflow_wheels.but else (path, *newer)


@check(
    title="TensorFlow does not find the installed nvidia-* wheels",
    severity=Severity.ERROR,
    cause="TensorFlow opens the libraries by name, and the loader searches only the directories that are compiled into "
    "libtensorflow_framework.so.2 (RUNPATH). In TensorFlow 2.16 those of the wheels are missing, in 2.21.0 that of "
    "cuSOLVER. One library that is not found is enough for TensorFlow to skip all GPUs.",
    fixes=_fixes,
    references=(
        "https://github.com/tensorflow/tensorflow/issues/63362",
        "https://man7.org/linux/man-pages/man3/dlopen.3.html",
    ),
    targets=tensorflows,
    caused_by=("python.*", "libraries.wheel-incomplete"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    read_from_files=True,
)
def libraries_not_found(on: OnFramework) -> Problem | None:
    """Every missing library is in an installed wheel."""
    lacking = missing(on)
    if not in_wheels(lacking):
        return None
    names = ", ".join(need.soname for need in lacking)
    message = f"{on.name} does not find {names}, although the wheels that contain them are installed."
    folders = dict.fromkeys(present(n.wheel).rpartition("/")[0] for n in lacking)
    return Problem(message, (f"They are in {', '.join(folders)}", *words_of_dlopen(on)), severity=severity_of(on))
