"""Paths are cut at 260 characters, and the packages lie deep."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.windows import windows_pythons
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Manual, cmd, sentence

# The longest paths in PyTorch's wheel have some 150 characters; beyond 260 Windows refuses a file.
_DEEP = 110
_STORE = "PythonSoftwareFoundation.Python"


@check(
    title="Long paths are off, and frameworks may not install here",
    severity=Severity.ADVICE,
    cause="Windows refuses paths of more than 260 characters unless they are switched on. Wheels of frameworks hold "
    "deep folders, and pip then ends with 'OSError: [Errno 2] No such file or directory'; Microsoft's Store puts "
    "Python's packages especially deep.",
    fixes=(
        Fix(
            "Switch long paths on (in a PowerShell that runs as administrator), then open a new terminal.",
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
            "Make a virtual environment in a short folder.", (cmd("py", "-m", "venv", "C:\\env"),), "reinstall-package"
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
    """They are off, the packages' folder is long, and no framework is there yet."""
    if on.python.frameworks or known(on.facts.nt.long_paths) is not False:
        return None
    folder = known(on.python.site_packages)
    if len(folder) < _DEEP:
        return None
    store = " (a Python of Microsoft's Store)" if _STORE in folder else ""
    return Problem(f"Packages of {on.python.path}{store} lie in a folder of {len(folder)} characters: {folder}.")
