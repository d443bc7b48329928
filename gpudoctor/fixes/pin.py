"""What keeps an installer from putting a build without GPU support in the place of one with it: optional, later."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts.history import FrameworkChange
from gpudoctor.maybe import text_of
from gpudoctor.queries.history import framework_change
from gpudoctor.targets import OnFramework
from gpudoctor.tasks import Edit, Shell, cmd, query
from gpudoctor.tasks.as_typed import quoted

_CONDA = "pytorch=*=*cuda*"


def keep_build(on: OnFramework) -> tuple[Fix, ...]:
    """Return how to pin PyTorch's build, where a record shows that something else brought the one without a GPU."""
    change = framework_change(on.facts, on.python, "torch")
    prefix = text_of(on.python.prefix)
    if change is None or not prefix:
        return ()
    if change.installer == "conda":
        return _conda(prefix, change)
    if change.asked_for is False and on.python.kind == "venv":
        return _pip(on.python.path, f"{prefix}/gpu-constraints.txt")
    return ()


def _pip(python: str, path: str) -> tuple[Fix, ...]:
    """https://pip.pypa.io/en/stable/user_guide/#constraints-files; --site is the environment's own pip.conf."""
    pip = (python, "-m", "pip")
    listed = f"{quoted(python)} -m pip list --format=freeze | grep -E '^torch(vision|audio)?==' > {quoted(path)}"
    config = (*pip, "config", "--site")
    fix = Fix(
        "Optional: pin the new build in this environment, so that no other package replaces it. pip then refuses what "
        "needs another version of it.",
        (Shell(listed), cmd(*config, "set", "global.constraint", path)),
        "change-environment",
        impact="persistent",
        undo=(cmd(*config, "unset", "global.constraint"), Edit(path, gone=True)),
        verify=query("cat", path),
        later=True,
    )
    return (fix,)


def _conda(prefix: str, change: FrameworkChange) -> tuple[Fix, ...]:
    """The file is read for its own environment, whichever is active (conda's user guide, "Preventing packages ...")."""
    if "cuda" not in (change.old or ""):
        return ()
    path = f"{prefix}/conda-meta/pinned"
    fix = Fix(
        "Optional: pin CUDA builds in this environment, so that conda does not choose a CPU build again. conda then "
        "refuses what has to have one.",
        (Edit(path, add=(_CONDA,)),),
        "change-environment",
        impact="persistent",
        undo=(Shell(f"sed -i '/^pytorch=.*cuda/d' {quoted(path)}"),),
        verify=query("cat", path),
        later=True,
    )
    return (fix,)
