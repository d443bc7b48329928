"""nvidia-smi is in WSL's directory, which is not on PATH."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import Edit, as_root, export, query, sentence

DIRECTORY = "/usr/lib/wsl/lib"


@check(
    title="nvidia-smi is not on PATH in WSL",
    severity=Severity.WARNING,
    cause="WSL puts nvidia-smi into /usr/lib/wsl/lib and adds this directory to PATH for login shells; a PATH that is "
    "overwritten in a shell startup file, by sudo, a service or appendWindowsPath=false lacks it. Tools that run "
    "nvidia-smi then report that there is no GPU, although CUDA works.",
    fixes=(
        Fix(
            "Add /usr/lib/wsl/lib to PATH; nothing has to be installed.",
            (
                export("PATH", DIRECTORY, "after"),
                Edit("~/.profile", add=(f'export PATH="$PATH:{DIRECTORY}"',)),
            ),
            "change-environment",
            needs="a new shell",
            undo=sentence("remove the line from ~/.profile"),
            verify=query("nvidia-smi"),
        ),
        Fix(
            "Create a symlink in a directory that is on every PATH, so that services and sudo find it too.",
            (as_root("ln", "-s", f"{DIRECTORY}/nvidia-smi", "/usr/local/bin/nvidia-smi"),),
            "change-environment",
            root=True,
            undo=(as_root("rm", "/usr/local/bin/nvidia-smi"),),
            verify=query("nvidia-smi"),
        ),
    ),
    references=(
        "https://docs.nvidia.com/cuda/wsl-user-guide/index.html",
        "https://github.com/ollama/ollama/issues/13604",
    ),
    targets=wsl_machine,
    caused_by=("driver.*", "device.*", "wsl.access-blocked", "wsl.host-files-incomplete", "wsl.linux-driver-installed"),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def smi_not_on_path(facts: Facts) -> Problem | None:
    """The program exists but is not on PATH."""
    elsewhere = known(facts.nvidia.nvml.smi_elsewhere)
    if in_container(facts) or known(facts.nvidia.nvml.smi) is not None or elsewhere is None:
        return None
    path = facts.host.environment.get("PATH", "")
    directory = elsewhere.rpartition("/")[0]
    return Problem(f"{elsewhere} exists, but {directory} is not on PATH.", (f"PATH={path}",))
