"""Paths are limited to 260 characters, and site-packages has a long path."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.windows import windows_pythons
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Manual, cmd, sentence

# The longest paths in PyTorch's wheel have some 150 characters; beyond 260 Windows refuses a file.
_DEEP = 110
_STORE = "PythonSoftwareFoundation.Python"


@check(
    title="Windows long paths are disabled: installing a framework may fail",
    severity=Severity.ADVICE,
    cause="Windows rejects paths of more than 260 characters unless long paths are enabled. Framework wheels contain "
    "deep directories, and pip then fails with 'OSError: [Errno 2] No such file or directory'; Python from the "
    "Microsoft Store has an especially long path.",
    fixes=(
        Fix(
            "Enable long paths (in PowerShell as administrator), then open a new terminal.",
            (
                Manual(
                    "New-ItemProperty -Path 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\FileSystem' "
                    "-Name LongPathsEnabled -Value 1 -PropertyType DWORD -Force",
                    "PowerShell",
                ),
            ),
            root=True,
            impact="persistent",
            undo=sentence("Set the value to 0."),
        ),
        Fix(
            "Create a virtual environment in a directory with a short path.",
            (cmd("py", "-m", "venv", "C:\\env"),),
            "reinstall-package",
        ),
    ),
    references=(
        "https://learn.microsoft.com/en-us/windows/win32/fileio/maximum-file-path-limitation",
        "https://docs.python.org/3/using/windows.html",
    ),
    targets=windows_pythons,
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def long_paths_off(on: OnPython) -> Problem | None:
    """They are disabled, the path of site-packages is long, and no framework is installed yet."""
    if on.python.frameworks or known(on.facts.windows.long_paths) is not False:
        return None
    directory = known(on.python.site_packages)
    if len(directory) < _DEEP:
        return None
    store = " (Python from the Microsoft Store)" if _STORE in directory else ""
    return Problem(f"The site-packages path of {on.python.path}{store} has {len(directory)} characters: {directory}.")
