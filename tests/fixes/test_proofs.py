"""Commands that verify: one line each, by the examined interpreter, of the very thing that was ill."""

import shlex

import pytest

from gpudoctor.facts import Python
from gpudoctor.fixes.frameworks import onnxruntime_verify
from gpudoctor.fixes.torch_build import torch_verify
from gpudoctor.fixes.verify_commands import cuda_proof, framework_proof, hip_proof
from gpudoctor.registry import IDENTITY
from gpudoctor.tasks import Command, Task
from gpudoctor.tasks.as_typed import shown
from gpudoctor.workers.ask_onnxruntime import identity_model
from tests.builders import framework, nvidia_host, with_framework

PYTHON = Python(path="/opt/my env/bin/python")


def code(task: Task | None) -> str:
    """The Python of a command, which must compile, and a shell must read it as it is meant."""
    assert isinstance(task, Command)
    assert "\n" not in shown(task)
    assert shlex.split(shown(task)) == list(task.argv)
    path, option, text = task.argv
    assert option == "-c"
    compile(text, path, "exec")
    return text


def test_pytorch_runs_a_kernel() -> None:
    assert code(torch_verify(PYTHON)).endswith('torch.ones(1, device="cuda") * 2)')


def test_onnx_runtime_makes_a_session() -> None:
    assert bytes.fromhex(IDENTITY) == identity_model()
    text = code(onnxruntime_verify(PYTHON))
    assert text.endswith(".get_providers(); print(p); assert p[0] in g")
    assert "o.preload_dlls(); g = " in code(onnxruntime_verify(PYTHON, preload=True))


@pytest.mark.parametrize("name", ["torch", "tensorflow", "cupy", "jax", "onnxruntime"])
def test_each_framework_is_run(name: str) -> None:
    python = with_framework(framework(name)).pythons[0]
    assert f"import {name}" in code(framework_proof(python))
    assert framework_proof(python) == framework_proof(python, name)


def test_an_environment_without_a_framework_has_no_proof() -> None:
    assert framework_proof(PYTHON) is None
    assert framework_proof(with_framework(framework(variant="cpu")).pythons[0]) is None


def test_cuda_is_asked_by_the_examined_interpreter() -> None:
    facts = with_framework(framework())
    assert shown(cuda_proof(facts)).startswith(f"{facts.pythons[0].path} -c ")
    assert "cuInit(0)" in code(cuda_proof(facts))
    assert shown(cuda_proof(nvidia_host())).startswith("python3 -c ")


def test_hip_is_asked_by_pytorch_for_rocm_or_by_rocminfo() -> None:
    assert "torch.cuda.device_count()" in code(hip_proof(with_framework(framework(variant="rocm"))))
    assert shown(hip_proof(with_framework(framework()))).startswith("rocminfo")
