"""nvidia-smi lies in WSL's folder, and PATH does not name it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import Edit, as_root, export, query, sentence

FOLDER = "/usr/lib/wsl/lib"


@check(
    title="PATH in WSL does not lead to nvidia-smi",
    severity=Severity.WARNING,
    cause="WSL puts nvidia-smi into /usr/lib/wsl/lib and adds this folder to PATH for login shells; a PATH set anew in "
    "a shell's start file, by sudo, a service or appendWindowsPath=false lacks it. Tools that run nvidia-smi then "
    "conclude that there is no GPU, though CUDA works.",
    fixes=(
        Fix(
            "Add /usr/lib/wsl/lib to PATH (nothing has to be installed).",
            (
                export("PATH", FOLDER, "after"),
                Edit("~/.profile", add=(f'export PATH="$PATH:{FOLDER}"',)),
            ),
            "change-environment",
            needs="a new shell",
            undo=sentence("remove the line from ~/.profile"),
            verify=query("nvidia-smi"),
        ),
        Fix(
            "For services and sudo as well, link it into a folder that is on every PATH.",
            (as_root("ln", "-s", f"{FOLDER}/nvidia-smi", "/usr/local/bin/nvidia-smi"),),
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
    """The program is there and PATH does not lead to it."""
    elsewhere = known(facts.nvidia.nvml.smi_elsewhere)
    if in_container(facts) or known(facts.nvidia.nvml.smi) is not None or elsewhere is None:
        return None
    path = facts.host.environment.get("PATH", "")
    folder = elsewhere.rpartition("/")[0]
    return Problem(f"{elsewhere} exists, but PATH does not name {folder}.", (f"PATH={path}",))
