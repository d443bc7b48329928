"""What to do about what the smoke tests found: test again, look closer, change a variable."""

import re

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Gpu, SmokeRun
from gpudoctor.fixes.python import install, reinstall_torch
from gpudoctor.queries.gpus import is_data_center
from gpudoctor.queries.smoke import MODULES, PLAIN
from gpudoctor.targets import framework_name, in_container
from gpudoctor.tasks import Command, Task, Tasks, Variable, export, filtered, query

LONG = ("--seconds", "300")  # of stress: DCGM's own diagnostic takes three minutes


def again(run: SmokeRun, *tests: str) -> Command:
    """The command that runs some tests once more, with the same backend on the same device."""
    words = ["gpudoctor", "smoke", *dict.fromkeys(tests)]
    number = re.match(r"GPU (\d+)", run.label)
    device = "cpu" if run.kind == "cpu" else number[1] if number else None
    words += ["--device", device] if device else []
    words += ["--backend", run.backend]
    words += ["--python", run.python] if run.python and run.backend not in PLAIN else []
    return query(*words)


def on_gpu(gpu: Gpu, *tests: str) -> Command:
    """The command that runs some tests once more on a GPU."""
    return query("gpudoctor", "smoke", *tests, "--device", gpu.index)


def hardware(facts: Facts, run: SmokeRun, gpu: Gpu | None) -> tuple[Fix, ...]:
    """Find out whether the hardware computes or keeps numbers wrongly, and have it replaced if it does."""
    if run.kind == "cpu":
        message = "Look for errors of processor and memory, and test the memory (memtest86+)."
        return (
            Fix(
                message,
                (filtered(query("dmesg", root=True), query("grep", "-iE", "mce|edac|hardware error")),),
                root=True,
                verify=again(run, "matmul"),
            ),
        )
    look = Fix("Look for errors that the hardware has told of itself.", _counters(run, gpu), root=True, impact="none")
    longer = query(*again(run, "stress").argv, *LONG)
    message = (
        "Set clocks, voltages and fans back to the maker's, let the card cool, and load it for longer; if numbers are "
        "wrong again, have the card replaced (RMA)."
    )
    fixes = [look, Fix(message, (longer,), "replace-hardware", verify=longer)]
    if gpu is not None and is_data_center(gpu) and not in_container(facts):
        message = "Where DCGM is installed, let it test the card for a quarter of an hour; nothing else may run on it."
        fixes.append(Fix(message, (query("dcgmi", "diag", "-r", "3", "-i", gpu.index, root=True),), root=True))
    return tuple(fixes)


def _counters(run: SmokeRun, gpu: Gpu | None) -> Tasks:
    if run.kind == "rocm":
        return (
            filtered(query("dmesg", root=True), query("grep", "-iE", "amdgpu|ras")),
            query("amd-smi", "metric", "--ecc"),
        )
    index = ("-i", gpu.index) if gpu is not None else ()
    return (
        filtered(query("dmesg", root=True), query("grep", "-iE", "xid|nvrm|aer")),
        query("nvidia-smi", "-q", "-d", "ECC,ROW_REMAPPER", *index),
    )


def clocks(gpu: Gpu | None, run: SmokeRun) -> Fix:
    """See what holds a GPU's clocks while it works."""
    if run.kind == "rocm":
        return Fix(
            "Watch clocks, power and heat while it works.", (query("amd-smi", "monitor", "-ptum"),), impact="none"
        )
    index = ("-i", gpu.index) if gpu is not None else ()
    message = "Watch clocks, power and heat while it works, in a second terminal."
    return Fix(
        message,
        (query("nvidia-smi", "-q", "-d", "CLOCK,PERFORMANCE,POWER,TEMPERATURE", *index, "-l", "1"),),
        impact="none",
    )


def unset(facts: Facts, name: str, why: str, verify: Task) -> Fix:
    """Take a variable out of the environment.

    Args:
        facts: the machine.
        name: the variable, which is set.
        why: what it does, a clause.
        verify: the command that shows that it helped.
    """
    value = facts.host.environment.get(name, "")
    return Fix(
        f"Unset {name}: {why}.",
        (Variable(name),),
        "change-environment",
        needs="restart of the program",
        undo=(export(name, value),),
        verify=verify,
    )


def updated(facts: Facts, run: SmokeRun, verify: Task) -> tuple[Fix, ...]:
    """Take the framework's newest build for this machine; nothing where the environment is not known."""
    module = MODULES.get(run.backend, run.backend)
    python = next((p for p in facts.pythons if p.path == run.python), None)
    framework = next((f for f in python.frameworks if f.name == module), None) if python else None
    if python is None or framework is None:
        return ()
    if module == "torch":
        return reinstall_torch(facts, python, framework)
    name = framework.distribution if isinstance(framework.distribution, str) else framework.name
    message = f"Take a newer {framework_name(framework)}: kernels for new GPUs, and mended ones, come with it."
    return (Fix(message, (install(python, name, upgrade=True),), "reinstall-package", verify=verify),)
