"""The last step: whether each framework computes, and the smoke tests."""

import msgspec

from gpudoctor.facts import Python
from gpudoctor.fixes.frameworks import onnxruntime_verify, verify
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.maybe import present
from gpudoctor.queries.intel import VERIFY
from gpudoctor.registry import BY_MODULE
from gpudoctor.setup.plan import SetupStep, Wheel
from gpudoctor.tasks import Command, Task, cmd

_ON_MPS = 'import torch; print(torch.__version__, torch.ones(2, 2, device="mps") * 2)'


def step(interpreter: str, wheels: tuple[Wheel, ...], kernel: str | None = "Linux") -> SetupStep:
    """Prove it: the frameworks one by one, then the quick smoke tests with all checks."""
    return SetupStep(
        id="proof",
        group="proof",
        title="Verify the installation.",
        why="An installed framework proves nothing: it has to compute something, and correctly.",
        commands=tuple(_counts(_command(interpreter, w, kernel)) for w in wheels),
        verify=(_smoke(interpreter, wheels, kernel),),
    )


def _smoke(interpreter: str, wheels: tuple[Wheel, ...], kernel: str | None) -> Command:
    """The smoke tests: on the CPU where the wheels are for nothing else, since `check` never passes without a GPU."""
    if kernel != "Darwin" and wheels and all(wheel.variant == "cpu" for wheel in wheels):
        return cmd("gpudoctor", "smoke", "--device", "cpu", "--python", interpreter)
    return cmd("gpudoctor", "check", "--smoke", "--python", interpreter)


def _counts(task: Task) -> Task:
    """The proof by its exit code: here it is no look-up."""
    return msgspec.structs.replace(task, lookup=False) if isinstance(task, Command) else task


def _command(interpreter: str, wheel: Wheel, kernel: str | None) -> Task:
    python = Python(path=interpreter)
    if wheel.variant == "xpu":
        return verify(python, VERIFY)
    if wheel.framework == "torch" and kernel == "Darwin":
        return verify(python, _ON_MPS)
    if wheel.variant == "cpu":
        return verify(python, present(BY_MODULE[wheel.framework].cpu_proof))
    if wheel.framework == "onnxruntime":
        return onnxruntime_verify(python, preload=True)
    return framework_proof(python, wheel.framework) or cmd(interpreter, "--version")
