"""Plans where Linux is not, and for the GPUs of others than NVIDIA."""

import pytest

from gpudoctor.facts import Gpu
from gpudoctor.tasks import Manual, can_run
from gpudoctor.tasks.as_typed import shown, typed
from tests.builders import change, plain_host, python
from tests.setup.plans import known, made, refused, step, wheels

ALL = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


def test_amd_takes_the_build_that_has_code_for_the_gpu() -> None:
    radeon = Gpu(vendor="amd", index=0, name="Radeon RX 7900 XTX", gfx="gfx1100", integrated=False, capability=None)
    facts = change(change(plain_host(), "gpus", (radeon,)), "pythons", (python(version="3.12.4"),))
    found = made(change(facts, "amd.rocm", "7.2.1"), "torch", "jax", "tensorflow")
    assert found.cuda == "rocm7.2"
    assert wheels(found) == {"torch": "torch==2.14.*", "jax": "jax[rocm7-local]>=0.12"}
    assert list(refused(found)) == ["TensorFlow"]


@pytest.mark.parametrize(("rocm", "message"), [("6.3.4", "ROCm 6.3.4 is installed"), (None, "no ROCm is installed")])
def test_jaxs_plugin_takes_the_machines_rocm_which_has_to_be_its_own(rocm: str | None, message: str) -> None:
    found = made(change(known("rocm-workstation-with-an-igpu"), "amd.rocm", rocm), "torch", "jax")
    assert list(wheels(found)) == ["torch"]
    assert message in refused(found)["JAX"]
    assert found.refused[0].instead.startswith("Install a release 7 of ROCm first: https://")


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("user-not-in-render", "rocm.kfd-no-permission"),
        ("amdgpu-not-loaded", "rocm.not-loaded"),
        ("arc-b580-with-an-old-kernel", "intel.not-driven"),
        ("rocm-workstation-with-an-igpu", None),
        ("arc-without-level-zero", None),  # a step of the plan
        ("card-that-the-wheel-does-not-know", None),  # the new environment has another wheel
    ],
)
def test_what_keeps_programs_from_the_gpu_is_fixed_first(name: str, check: str | None) -> None:
    found = made(known(name), "torch")
    stopped = [one.instead for one in found.refused if " first (" in one.instead]
    assert [text.split()[1] for text in stopped] == ([check] if check else [])
    assert (found.wheels == (), [s.id for s in found.steps] == [check]) == (bool(check), bool(check))


def test_on_windows_it_is_powershells_words_and_pytorchs_own_index() -> None:
    found = made(known("windows-with-nvidia"), *ALL, manager="pip", place="gpu-env")
    assert list(wheels(found)) == ["torch", "cupy", "onnxruntime"]
    assert found.wheels[0].index == "https://download.pytorch.org/whl/cu126"  # PyPI's is for the CPU there
    assert refused(found).keys() == {"TensorFlow", "JAX"}
    assert "WSL 2" in found.refused[0].instead
    assert found.interpreter == "gpu-env/Scripts/python.exe"
    assert "--into C:\\env leaves it as it is" in found.notes[0]
    commands = [c for s in found.steps for c in (*s.commands, *s.verify, *s.undo)]
    assert {c.where for c in commands if isinstance(c, Manual)} == {"PowerShell"}
    assert not any(map(can_run, commands))
    assert "Remove-Item -Recurse -Force gpu-env" in typed(commands)
    assert "C:\\env\\Scripts\\python.exe -m venv gpu-env" in typed(commands)


def test_on_windows_a_driver_comes_from_nvidias_page() -> None:
    driver = step(made(known("windows-with-nvidia"), "torch", driver="yes"), "driver")
    assert "https://www.nvidia.com/en-us/drivers/" in driver.title
    assert "kernel modules" not in driver.why
    assert driver.commands == ()


def test_a_mac_takes_the_package_indexs_builds() -> None:
    found = made(known("macbook"), *ALL)
    assert {w.index for w in found.wheels} == {None}
    assert list(refused(found)) == ["CuPy"]
    assert "device mps" in found.wheels[0].why
    assert 'device="mps"' in shown(step(found, "proof").commands[0])
    intel = made(change(known("macbook"), "host.architecture", "x86_64"), "torch")
    assert "Intel Macs" in refused(intel)["PyTorch"]


def test_intels_gpus_get_pytorch_for_xpu_and_level_zero_where_it_is_missing() -> None:
    found = made(known("arc-workstation"), "torch", "jax")
    assert [(w.variant, w.index) for w in found.wheels] == [
        ("xpu", "https://download.pytorch.org/whl/xpu"),
        ("cpu", None),
    ]
    assert [s.id for s in found.steps] == ["environment", "wheels", "proof"]
    assert "torch.xpu.is_available()" in shown(step(found, "proof").commands[0])
    without = made(known("arc-without-level-zero"), "torch")
    assert list(typed(step(without, "level-zero").commands)) == ["sudo apt-get install libze1 libze-intel-gpu1"]
