"""Plans over GPU generations, driver branches, Pythons, distributions and requests."""

import itertools

import pytest

from gpudoctor.knowledge import generations
from gpudoctor.maybe import Unknown
from gpudoctor.setup.plan import Wheel
from gpudoctor.setup.verification import step as proof_of
from gpudoctor.tasks import Command, Edit, FileSection, Task, is_lookup
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, plain_host, python
from tests.machines.registry import machines
from tests.setup.grounds import GPUS, distribution, machine
from tests.setup.plans import made, refused, step, wheels

ALL = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


@pytest.mark.parametrize(
    ("kind", "branch", "variant"),
    [
        ("pascal", 580, "cu126"),  # CUDA 13 has no Pascal, whatever the driver runs
        ("volta", 580, "cu126"),
        ("turing", 580, "cu130"),
        ("ampere", 535, "cu126"),  # minor-version compatibility within CUDA 12
        ("ampere", 550, "cu126"),
        ("ada", 570, "cu126"),
        ("ada", 580, "cu130"),
        ("hopper", 595, "cu130"),
        ("blackwell", 570, "cu128"),  # cu126 has no code for it, cu130 does not run on 570
        ("blackwell", 580, "cu130"),
    ],
)
def test_pytorch_fits_gpu_and_driver_as_it_is(kind: str, branch: int, variant: str) -> None:
    found = made(machine(kind, branch=branch), "torch")
    assert [w.variant for w in found.wheels] == [variant]
    assert [s.id for s in found.steps] == ["environment", "wheels", "proof"]
    assert found.refused == ()


def _argv(task: Task) -> tuple[str, ...]:
    assert isinstance(task, Command)
    return task.argv


def test_a_gpu_without_a_driver_gets_the_branch_the_flavor_and_the_packages() -> None:
    found = made(machine("blackwell", branch=None), "torch")
    driver = found.steps[0]
    assert (driver.group, driver.root, driver.reboot) == ("driver", True, True)
    assert list(typed(driver.commands)) == ["sudo apt-get update", "sudo apt-get install nvidia-driver-580-open"]
    assert "the only ones that support Blackwell" in driver.why
    assert found.driver_cuda == "13.0"
    assert found.cuda == "13"


def test_an_old_gpu_gets_the_last_branch_that_drives_it_with_the_proprietary_module() -> None:
    driver = made(distribution(machine("pascal", branch=None), "fedora", "42"), "torch").steps[0]
    assert "proprietary" in driver.title
    assert "580" in " ".join(typed(driver.commands)) + driver.title


def test_a_driver_of_cuda_11_is_replaced_and_one_of_cuda_12_stays() -> None:
    assert made(machine("ampere", branch=470), "torch").steps[0].id == "driver"
    assert all(s.id != "driver" for s in made(machine("ampere", branch=535), "torch").steps)
    assert made(machine("ampere", branch=535), "torch", driver="yes").steps[0].id == "driver"


def test_a_wish_that_a_newer_driver_meets_brings_it() -> None:
    found = made(machine("blackwell", branch=570), "onnxruntime")
    assert found.steps[0].id == "driver"
    kept = made(machine("blackwell", branch=570), "onnxruntime", driver="no")
    assert kept.steps == ()
    assert kept.refused[0].why.startswith(
        "ONNX Runtime is built for CUDA 13 here, but the driver supports CUDA up to 12.8."
    )


def test_one_cuda_major_serves_them_all_where_there_is_one() -> None:
    found = made(machine("ada"), *ALL)
    assert found.refused == ()
    assert found.cuda == "12"  # TensorFlow's
    assert {w.variant[:4] for w in found.wheels} == {"cu12"}
    assert wheels(found) == {
        "torch": "torch==2.14.*",
        "tensorflow": "tensorflow[and-cuda]>=2.20,<2.21",  # up to 2.19 it pins another cuDNN than PyTorch
        "cupy": "cupy-cuda12x[ctk]>=14,<15",
        "jax": "jax[cuda12]>=0.4.30",
        "onnxruntime": "onnxruntime-gpu[cuda,cudnn]>=1.22,<1.27",
    }


def test_without_tensorflow_the_newest_major_is_taken() -> None:
    found = made(machine("ada"), "torch", "cupy", "jax", "onnxruntime")
    assert found.cuda == "13"
    assert wheels(found)["jax"] == "jax[cuda13]>=0.7.2"
    assert wheels(found)["onnxruntime"] == "onnxruntime-gpu[cuda,cudnn]>=1.27"


def test_tensorflow_beside_a_blackwell_card_is_refused_with_what_would_do() -> None:
    found = made(machine("blackwell"), "torch", "tensorflow")
    assert list(wheels(found)) == ["torch"]
    assert "has code for compute capability 12.0 (Blackwell and newer)" in refused(found)["TensorFlow"]
    assert "nvcr.io/nvidia/tensorflow" in found.refused[0].instead


def test_pascal_has_no_cuda_13_and_is_served_by_12() -> None:
    found = made(machine("pascal", branch=580), *ALL)
    assert found.cuda == "12"
    assert found.refused == ()


def test_the_oldest_and_the_newest_gpu_are_both_served_or_both_named() -> None:
    together = made(machine("turing", "blackwell"), "torch")
    assert [w.variant for w in together.wheels] == ["cu130"]
    apart = made(machine("pascal", "blackwell"), "torch", driver="no")
    assert apart.wheels == ()
    assert refused(apart) == {
        "PyTorch": "No build of PyTorch has code for all GPUs of this machine (compute capabilities 6.1, 12.0)."
    }


def test_cards_that_no_driver_drives_together_are_told() -> None:
    found = made(machine("pascal", "blackwell", branch=None), "torch")
    assert "driver" in refused(found)


def test_kepler_keeps_its_last_driver_and_gets_the_last_build_for_it() -> None:
    found = made(machine("kepler", branch=470, minor="3.11"), "torch", "jax")
    assert wheels(found) == {"torch": "torch==2.7.*"}
    assert found.cuda == "11"
    assert all(s.id != "driver" for s in found.steps)
    assert "has code for 3.7 (Kepler)" in refused(found)["JAX"]


@pytest.mark.parametrize("manager", ["uv", "pip"])
def test_a_python_without_wheels_gives_way_to_another(manager: str) -> None:
    found = made(machine("ada", minor="3.9"), "torch", manager=manager)
    assert found.python == "3.12"
    shown = _argv(step(found, "environment").commands[0])
    assert shown[:2] == ("uv", "venv")
    assert "3.12" in shown


def test_without_uv_pip_brings_it_for_another_python() -> None:
    found = made(machine("ada", minor="3.9"), "torch", manager="pip", uv=False)
    argvs = [_argv(c) for c in step(found, "environment").commands]
    assert argvs[1] == ("/opt/gpu-env-uv/bin/python", "-m", "pip", "install", "uv")
    assert argvs[2][:2] == ("/opt/gpu-env-uv/bin/uv", "venv")


def test_a_wished_python_is_kept_and_what_has_no_wheels_for_it_is_told() -> None:
    found = made(machine("ada"), "torch", "tensorflow", python="3.14")
    assert found.python == "3.14"
    assert list(wheels(found)) == ["torch"]
    assert refused(found)["TensorFlow"] == "No wheel of TensorFlow for this GPU and driver exists for Python 3.14."
    assert "--python-version 3.12" in found.refused[0].instead


def test_into_an_environment_its_own_python_and_manager_count() -> None:
    facts = machine("ada")
    there = python(version="3.13.1", path="/srv/env/bin/python", prefix="/srv/env", manager="uv")
    found = made(change(facts, "pythons", (there,)), "torch", into="/srv/env/bin/python")
    assert (found.manager, found.python, found.environment) == ("uv", "3.13", "/srv/env")
    assert [s.id for s in found.steps] == ["wheels", "proof"]
    assert _argv(found.steps[0].commands[-1]) == (
        "uv", "pip", "install", "--python", "/srv/env/bin/python", "torch==2.14.*"
    )  # fmt: skip


def test_into_an_environment_what_stands_in_the_way_goes_first() -> None:
    from tests.builders import framework

    there = python(framework("torch", "2.7.1+cpu"), framework("cupy", "13.6.0", distribution="cupy-cuda11x"))
    facts = change(machine("ada", branch=570), "pythons", (there,))
    found = made(facts, "torch", "cupy", into="/opt/env/bin/python")
    pip = "/opt/env/bin/python -m pip"
    source = "--index-url https://download.pytorch.org/whl/cu126 'torch==2.14.*'"
    assert typed(found.steps[0].commands) == (
        f"{pip} uninstall --yes cupy-cuda11x",
        f"{pip} install --force-reinstall --no-deps {source}",
        f"{pip} install {source}",
        f"{pip} install 'torch==2.14.*' 'cupy-cuda12x[ctk]>=14,<15'",
    )


def test_the_distributions_own_python_is_left_alone() -> None:
    facts = change(machine("ada"), "pythons", (python(path="/usr/bin/python3", externally_managed=True),))
    found = made(facts, "torch", into="/usr/bin/python3")
    assert found.steps == ()
    assert "PEP 668" in refused(found)["PyTorch"]


def test_an_index_of_its_own_comes_first_and_its_package_stays_part_of_the_solution() -> None:
    found = made(machine("ada", branch=570), "torch", "jax", manager="pip")
    first, second = (_argv(c) for c in step(found, "wheels").commands)
    assert first[4:] == ("--index-url", "https://download.pytorch.org/whl/cu126", "torch==2.14.*")
    assert second[4:] == ("torch==2.14.*", "jax[cuda12]>=0.4.30")


@pytest.mark.parametrize("into", [None, "/opt/env/bin/python"])
def test_an_extra_index_of_the_user_does_not_choose_the_build(into: str | None) -> None:
    # pip takes the highest release of all indexes, whichever build of PyTorch that is.
    there = python(version="3.12.4", extra_index="/home/user/.config/pip/pip.conf")
    facts = change(machine("ada", branch=570), "pythons", (there,))
    found = made(facts, "torch", manager="pip", **({"into": into} if into else {}))
    first = step(found, "wheels").commands[0]
    assert isinstance(first, Command)
    assert first.env == (("PIP_EXTRA_INDEX_URL", "https://download.pytorch.org/whl/cu126"),)
    uv = step(made(facts, "torch", manager="uv"), "wheels").commands[0]
    assert isinstance(uv, Command)
    assert uv.env == ()  # pip's settings do not concern uv


@pytest.mark.parametrize(
    ("id_", "version", "requested", "why"),
    [
        ("alpine", "3.20", "PyTorch", "musl"),
        ("centos", "7", "PyTorch", "glibc 2.17"),
        ("ubuntu", "18.04", "PyTorch", "glibc 2.27"),
    ],
)
def test_an_old_or_other_c_library_is_told(id_: str, version: str, requested: str, why: str) -> None:
    found = made(distribution(machine("ada"), id_, version), "torch")
    assert why in refused(found)[requested]
    assert found.wheels == ()


def test_on_arm_there_are_fewer_wheels() -> None:
    found = made(change(machine("hopper"), "host.architecture", "aarch64"), "torch", "tensorflow", "jax")
    assert list(wheels(found)) == ["torch", "jax"]
    assert found.wheels[0].index == "https://download.pytorch.org/whl/cu130"
    assert "aarch64" in refused(found)["TensorFlow"]


def test_without_a_gpu_wheels_for_the_cpu_are_planned() -> None:
    found = made(change(plain_host(), "pythons", (python(version="3.12.4"),)), *ALL)
    assert found.cuda == "cpu"
    assert found.wheels[0].index == "https://download.pytorch.org/whl/cpu"
    assert list(refused(found)) == ["CuPy"]
    assert made(machine("ada"), "torch", cpu=True).cuda == "cpu"


def test_a_gpu_whose_capability_nobody_knows_is_not_guessed() -> None:
    facts = change(change(machine("ada"), "gpus.0.capability", None), "pci.0.capability", None)
    found = made(facts, "torch")
    assert found.wheels == ()
    assert "compute capability" in refused(found)["PyTorch"]


WISHES = [names for size in (1, 5) for names in itertools.combinations(ALL, size)]


@pytest.mark.parametrize("names", WISHES, ids="+".join)
@pytest.mark.parametrize("kind", GPUS)
def test_every_wish_is_met_or_told_and_never_mixed(kind: str, names: tuple[str, ...]) -> None:
    for branch, minor in itertools.product((None, 470, 535, 570, 580, 595), ("3.8", "3.12", "3.14")):
        generation = generations.generation_named(GPUS[kind][2])
        assert generation is not None
        if branch and not (generation.first_driver or 0) <= branch <= (generation.last_driver or 9999):
            continue
        found = made(machine(kind, branch=branch, minor=minor), *names)
        assert len(found.wheels) + len([r for r in found.refused if r.requested != "driver"]) == len(names)
        majors = {w.variant.removeprefix("cu")[:2] for w in found.wheels}
        assert len(majors) <= 1
        assert all(r.why and r.instead for r in found.refused)
        if found.wheels:
            assert found.driver_cuda is not None
            assert int(found.driver_cuda.split(".")[0]) >= int(next(iter(majors)))


@pytest.mark.parametrize("one", machines(), ids=lambda m: m.name)
def test_every_machine_has_a_plan(one: object) -> None:
    facts = one.make()  # type: ignore[attr-defined]
    found = made(facts, *ALL, container=True)
    assert len({s.id for s in found.steps}) == len(found.steps)
    assert all(s.why and s.title for s in found.steps)
    order = ["driver", "container", "environment", "proof"]
    groups = [order.index(s.group) for s in found.steps]
    assert groups == sorted(groups)


def test_the_distributions_python_may_lack_venv() -> None:
    own = change(machine("ada"), "pythons", (python(version="3.12.3", path="/usr/bin/python3"),))
    assert "apt-get install python3-venv" in step(made(own, "torch", manager="pip"), "environment").why
    assert "python3-venv" not in step(made(own, "torch", manager="uv"), "environment").why
    other = distribution(own, "fedora", "43")
    assert "python3-venv" not in step(made(other, "torch", manager="pip"), "environment").why


def test_into_a_workspace_of_pixi_the_index_of_the_driver_stays() -> None:
    place = "/srv/w/.pixi/envs/default"
    there = python(version="3.12.4", path=f"{place}/bin/python", prefix=place, manager="pixi")
    facts = change(machine("ada", branch=570), "pythons", (there,))
    one = step(made(facts, "torch", "jax", into=there.path), "wheels")
    edit, *rest = one.commands
    line = 'torch = { version = "==2.14.*", index = "https://download.pytorch.org/whl/cu126" }'
    assert edit == Edit("/srv/w/pixi.toml", sections=(FileSection("[pypi-dependencies]", (line,)),))
    assert typed(rest) == (
        "pixi add --manifest-path /srv/w --pypi 'jax[cuda12]>=0.4.30'",
        "pixi install --manifest-path /srv/w",
    )


def test_a_driver_whose_version_nobody_knows_is_not_called_none() -> None:
    facts = machine("ada", branch=418)
    for path in ("nvidia.kernel.loaded", "nvidia.nvml.driver_version"):
        facts = change(facts, path, Unknown("no answer"))
    facts = change(change(facts, "nvidia.cuda.version", "10.1"), "nvidia.nvml.cuda_version", "10.1")
    why = next(step.why for step in made(facts, "torch").steps if step.id == "driver")
    assert why.startswith("The driver supports CUDA up to 10.1; branch ")


@pytest.mark.parametrize(
    ("kernel", "variant", "device"),
    [
        ("Linux", "cpu", ["--device", "cpu"]),
        ("Windows", "cpu", ["--device", "cpu"]),
        ("Darwin", "cpu", []),
        ("Linux", "cu128", []),
    ],
)
def test_a_plan_is_proven_by_what_it_made(kernel: str, variant: str, device: list[str]) -> None:
    """Not by `check`, whose findings are about the whole machine; a Mac's wheels for the CPU serve its GPU."""
    wheel = Wheel(framework="torch", requirement="torch", variant=variant)
    found = proof_of("/env/bin/python", (wheel,), kernel)
    assert [_argv(task) for task in found.verify] == [("gpudoctor", "smoke", *device, "--python", "/env/bin/python")]


@pytest.mark.parametrize("variant", ["cpu", "cu130"])
def test_onnx_runtime_alone_is_proven_by_a_session(variant: str) -> None:
    """The smoke tests have no backend for it: they would find no framework in the new environment."""
    wheel = Wheel(framework="onnxruntime", requirement="onnxruntime", variant=variant)
    found = proof_of("/env/bin/python", (wheel,))
    assert found.verify == ()
    (task,) = found.commands
    assert "InferenceSession" in _argv(task)[-1]
    assert not is_lookup(task)
    both = proof_of("/env/bin/python", (wheel, Wheel(framework="torch", requirement="torch", variant=variant)))
    assert both.verify
