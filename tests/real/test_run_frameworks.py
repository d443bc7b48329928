"""Real programs with real frameworks that fail for want of a GPU, run by gpudoctor: it names the cause."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(1500)]

TENSORFLOW = """
import tensorflow as tf
gpus = tf.config.list_physical_devices("GPU")
tf.config.experimental.set_memory_growth(gpus[0], True)
"""


@pytest.fixture
def fail(interpreter: Callable[..., str], tmp_path: Path) -> Callable[..., tuple[dict[str, Any], str]]:
    """Runs a script in an environment; gives the report, and what was written on standard error."""

    def run(name: str, requirements: str, script: str, **env: str) -> tuple[dict[str, Any], str]:
        python = interpreter(name, requirements)
        (tmp_path / "script.py").write_text(script)
        argv = [sys.executable, "-m", "gpudoctor", "run", "-o", str(tmp_path / "why.json"), "--", python, "script.py"]
        bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"} | env
        ended = subprocess.run(argv, capture_output=True, text=True, env=bare, cwd=tmp_path, timeout=600)
        alone = subprocess.run(
            [python, "script.py"], capture_output=True, text=True, env=bare, cwd=tmp_path, timeout=600
        )
        assert (ended.returncode, ended.stdout) == (alone.returncode, alone.stdout)
        report = json.loads((tmp_path / "why.json").read_text())
        assert report["python"]["path"] == python
        return report, ended.stderr

    return run


def _cause(report: dict[str, Any]) -> tuple[str, str, str]:
    """The message that is the root, what explains it, and the first finding."""
    root = report["symptoms"][0]
    return root["id"], (root["explained_by"] or [""])[0], report["findings"][0]["check"]


def test_pytorch_for_the_cpu(fail: Callable[..., Any]) -> None:
    report, said = fail("torchcpu", "torch==2.13.0+cpu", "import torch\ntorch.zeros(1, device='cuda')\n")
    assert _cause(report) == ("torch-cpu-build", "device.no-gpu", "device.no-gpu")
    assert said.index("AssertionError: Torch not compiled") < said.index("\nCAUSE     No GPU found\n")


def test_a_scripts_own_assertion(fail: Callable[..., Any]) -> None:
    report, _ = fail("torchcpu", "torch==2.13.0+cpu", "import torch\nassert torch.cuda.is_available()\n")
    assert _cause(report) == ("", "device.no-gpu", "device.no-gpu")


def test_tensorflow_and_its_noise(fail: Callable[..., Any]) -> None:
    report, said = fail("tf", "tensorflow", TENSORFLOW)
    assert _cause(report) == ("tf-no-drivers", "device.no-gpu", "device.no-gpu")
    assert {one["id"] for one in report["symptoms"] if one["role"] == "harmless"} >= {"tf-onednn", "tf-cpu-features"}
    assert "Omitted as harmless: " in said


def test_jax_that_must_use_cuda(fail: Callable[..., Any]) -> None:
    report, _ = fail("jax", "jax", "import jax\nprint(jax.devices())\n", JAX_PLATFORMS="cuda")
    assert _cause(report)[1:] == ("device.no-gpu", "device.no-gpu")


def test_cupy(fail: Callable[..., Any]) -> None:
    report, _ = fail("cupy", "cupy-cuda12x", "import cupy\ncupy.zeros(3)\n")
    assert _cause(report) == ("cuda-driver-old", "device.no-gpu", "device.no-gpu")


def test_a_program_that_fails_of_itself_is_not_blamed_on_the_gpu(fail: Callable[..., Any]) -> None:
    report, said = fail("torchcpu", "torch==2.13.0+cpu", "import torch\n{}['labels']\n")
    assert _cause(report)[:2] == ("", "")
    assert "\nMESSAGE   An error in the program's own code that gpudoctor does not know;" in said


def test_shapes_that_do_not_fit_are_the_programs_own(fail: Callable[..., Any]) -> None:
    script = "import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)\n"
    report, _ = fail("torchcpu", "torch==2.13.0+cpu", script)
    assert _cause(report)[:2] == ("own-shapes", "")


def test_a_worker_that_is_killed(fail: Callable[..., Any]) -> None:
    script = (
        "import os, torch\nfrom torch.utils.data import DataLoader, Dataset\n"
        "class Data(Dataset):\n    def __len__(self): return 8\n    def __getitem__(self, i): os.kill(os.getpid(), 9)\n"
        "if __name__ == '__main__':\n    list(DataLoader(Data(), num_workers=1))\n"
    )
    report, _ = fail("torchcpu", "torch==2.13.0+cpu", script)
    assert _cause(report)[0] == "loader-killed"


def test_the_first_of_several_ranks(fail: Callable[..., Any], interpreter: Callable[..., str], tmp_path: Path) -> None:
    """The launcher's summary hides the traceback of the rank that failed: that one is the root."""
    python = interpreter("torchcpu", "torch==2.13.0+cpu")
    (tmp_path / "rank.py").write_text(
        "import os, torch\nif os.environ['RANK'] == '1': torch.zeros(1, device='cuda')\nimport time; time.sleep(30)\n"
    )
    argv = [sys.executable, "-m", "gpudoctor", "run", "--quick", "-o", str(tmp_path / "why.json"), "--"]
    argv += [os.path.join(os.path.dirname(python), "torchrun"), "--standalone", "--nproc-per-node=2", "rank.py"]
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    ended = subprocess.run(argv, capture_output=True, text=True, env=bare, cwd=tmp_path, timeout=600)
    report = json.loads((tmp_path / "why.json").read_text())
    assert ended.returncode == 1
    assert os.path.dirname(report["python"]["path"]) == os.path.dirname(python)
    assert report["symptoms"][0]["id"] == "torch-cpu-build"
    assert {one["id"]: one["role"] for one in report["symptoms"]}["torchrun"] == "follows"
