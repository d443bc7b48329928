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

# Code that fails where the framework does not use the GPU: each of these would fall back to the CPU and succeed.
_ON_GPU = {
    "tensorflow": "import tensorflow as tf; "
    'g = tf.config.list_physical_devices("GPU"); print(g); assert g, "TensorFlow uses no GPU"',
    "jax": 'import jax; print(jax.devices("gpu"))',
}
# PyTorch's companions: importing them loads what is compiled against PyTorch.
_COMPANIONS = {
    "torchvision": "import torch, torchvision; "
    "print(torchvision.__version__, torchvision.ops.nms(torch.ones(1, 4), torch.ones(1), 0.5))",
    "torchaudio": "import torchaudio; print(torchaudio.__version__, torchaudio.functional.create_dct(2, 2, None))",
    "torchcodec": "from torchcodec.decoders import AudioDecoder; print(AudioDecoder)",
}
_ON_MPS = 'import torch; print(torch.__version__, torch.ones(2, 2, device="mps") * 2)'


def step(interpreter: str, wheels: tuple[Wheel, ...], kernel: str | None = "Linux") -> SetupStep:
    """Prove it: the frameworks one by one, then the quick smoke tests of those that have a backend for them."""
    smokable = any(w.framework in _COMPANIONS or BY_MODULE[w.framework].smoke_order is not None for w in wheels)
    return SetupStep(
        id="proof",
        group="proof",
        title="Verify the installation.",
        why="An installed framework proves nothing: it has to compute something, and correctly.",
        commands=tuple(_counts(_command(interpreter, w, kernel)) for w in wheels),
        verify=(_smoke(interpreter, wheels, kernel),) if smokable else (),
    )


def _smoke(interpreter: str, wheels: tuple[Wheel, ...], kernel: str | None) -> Command:
    """The smoke tests of what was made, and not `check`, which is about the machine; on the CPU where that is all."""
    if kernel != "Darwin" and wheels and all(wheel.variant == "cpu" for wheel in wheels):
        return cmd("gpudoctor", "smoke", "--device", "cpu", "--python", interpreter)
    return cmd("gpudoctor", "smoke", "--python", interpreter)


def _counts(task: Task) -> Task:
    """The proof by its exit code: here it is no look-up."""
    return msgspec.structs.replace(task, lookup=False) if isinstance(task, Command) else task


def _command(interpreter: str, wheel: Wheel, kernel: str | None) -> Task:
    python = Python(path=interpreter)
    if wheel.framework in _COMPANIONS:
        return verify(python, _COMPANIONS[wheel.framework])
    if wheel.variant == "xpu":
        return verify(python, VERIFY)
    if wheel.framework == "torch" and kernel == "Darwin":
        return verify(python, _ON_MPS)
    if wheel.variant == "cpu":
        return verify(python, present(BY_MODULE[wheel.framework].cpu_proof))
    if wheel.framework in _ON_GPU:
        return verify(python, _ON_GPU[wheel.framework])
    if wheel.framework == "onnxruntime":
        return onnxruntime_verify(python, preload=True)
    return framework_proof(python, wheel.framework) or cmd(interpreter, "--version")
