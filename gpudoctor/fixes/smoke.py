"""Fixes for the smoke tests' findings: test again, look closer, change a variable."""

import re

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Gpu, SmokeRun
from gpudoctor.fixes.python import install
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.queries.gpus import is_data_center
from gpudoctor.queries.smoke import MODULES, PLAIN
from gpudoctor.targets import framework_name, in_container
from gpudoctor.tasks import Command, Task, Tasks, Variable, export, filtered, query
from gpudoctor.tasks import unset as unset_variable

COLLECTIVE = ("allreduce", "data-parallel")  # tests that need a collective library
LONG = ("--seconds", "300")  # of stress: DCGM's own diagnostic takes three minutes


def again(run: SmokeRun, *tests: str) -> Command:
    """The command that reruns some tests, with the same backend on the same device."""
    arguments = ["gpudoctor", "smoke", *dict.fromkeys(tests)]
    number = re.match(r"GPU (\d+)", run.label)
    device = "cpu" if run.kind == "cpu" else number[1] if number else None
    arguments += ["--device", device] if device else []
    arguments += ["--backend", run.backend]
    arguments += ["--python", run.python] if run.python and run.backend not in PLAIN else []
    return query(*arguments)


def on_gpu(gpu: Gpu, *tests: str) -> Command:
    """The command that reruns some tests on a GPU."""
    return query("gpudoctor", "smoke", *tests, "--device", gpu.index)


def paths(run: SmokeRun, *tests: str) -> Fix:
    """Find out over which path between GPUs the collective library (NCCL, RCCL) fails."""
    verify = again(run, *tests)
    message = "Try without direct GPU-to-GPU copies, then without shared memory, to find the faulty path."
    settings = (("NCCL_P2P_DISABLE", "1"), ("NCCL_SHM_DISABLE", "1"), ("NCCL_DEBUG", "INFO"))
    tries = tuple(msgspec.structs.replace(verify, env=(one,)) for one in settings)
    return Fix(message, tries, impact="none", verify=verify)


def routing(verify: Task) -> tuple[Fix, Fix]:
    """Let PCIe route copies between GPUs directly; and what helps until then."""
    acs = Fix(
        "Disable IOMMU translation on the host (iommu=pt on the kernel command line), and Access Control Services "
        "(ACS) on the PCIe switches in the BIOS/UEFI setup.",
        (
            filtered(query("dmesg", root=True), query("grep", "-iE", "iommu|dmar")),
            filtered(query("lspci", "-vvv", root=True), query("grep", "-i", "acsctl")),
        ),
        "reboot",
        root=True,
        needs="reboot",
        verify=verify,
    )
    message = "Until then disable direct GPU-to-GPU copies in NCCL."
    return acs, Fix(
        message, (export("NCCL_P2P_DISABLE", "1"),), "change-environment", undo=(unset_variable("NCCL_P2P_DISABLE"),)
    )


def between(run: SmokeRun, *tests: str) -> tuple[Fix, ...]:
    """The search for the path, where one of these tests runs between GPUs."""
    mine = tuple(name for name in tests if name in COLLECTIVE)
    return (paths(run, *mine),) if mine and run.kind != "cpu" else ()


def hardware(facts: Facts, run: SmokeRun, gpu: Gpu | None) -> tuple[Fix, ...]:
    """Find out whether the hardware computes or stores numbers wrongly, and have it replaced if so."""
    if run.kind == "cpu":
        message = "Look for CPU and memory errors in the kernel log, and test the memory (memtest86+)."
        return (
            Fix(
                message,
                (filtered(query("dmesg", root=True), query("grep", "-iE", "mce|edac|hardware error")),),
                root=True,
                verify=again(run, "matmul"),
            ),
        )
    look = Fix("Look for errors that the hardware has reported.", _counters(run, gpu), root=True, impact="none")
    longer = query(*again(run, "stress").argv, *LONG)
    message = (
        "Reset clocks, voltages and fans to factory settings, let the card cool, and run a longer load; if results "
        "are wrong again, have the card replaced (RMA)."
    )
    fixes = [look, Fix(message, (longer,), "replace-hardware", verify=longer)]
    if gpu is not None and is_data_center(gpu) and not in_container(facts):
        message = "If DCGM is installed, run its diagnostic (15 minutes) with nothing else on the card."
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
    """See what throttles a GPU's clocks under load."""
    if run.kind == "rocm":
        return Fix(
            "Watch clocks, power and temperature under load.", (query("amd-smi", "monitor", "-ptum"),), impact="none"
        )
    index = ("-i", gpu.index) if gpu is not None else ()
    message = "Watch clocks, power and temperature under load, in a second terminal."
    return Fix(
        message,
        (query("nvidia-smi", "-q", "-d", "CLOCK,PERFORMANCE,POWER,TEMPERATURE", *index, "-l", "1"),),
        impact="none",
    )


def unset(facts: Facts, name: str, why: str, verify: Task) -> Fix:
    """Unset an environment variable.

    Args:
        facts: the machine.
        name: the variable, which is set.
        why: what it does, a clause.
        verify: the command that verifies the fix.
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
    """Update the framework for this machine; empty where the environment is not known."""
    module = MODULES.get(run.backend, run.backend)
    python = next((p for p in facts.pythons if p.path == run.python), None)
    framework = next((f for f in python.frameworks if f.name == module), None) if python else None
    if python is None or framework is None:
        return ()
    if module == "torch":
        return reinstall_torch(facts, python, framework)
    name = framework.distribution if isinstance(framework.distribution, str) else framework.name
    message = f"Update {framework_name(framework)}: newer releases add kernels for new GPUs and fix existing ones."
    return (Fix(message, (install(python, name, upgrade=True),), "reinstall-package", verify=verify),)
