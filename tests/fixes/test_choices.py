"""The build that is advised, over generations, drivers, Pythons and processors: it exists, runs, and is newest."""

import itertools
from typing import Any

import msgspec
import pytest

from gpudoctor.facts import CondaPackage, Facts, Python
from gpudoctor.fixes.frameworks import cupy_package, jax_extra, jax_with_plugin, newer_tensorflow, onnxruntime_spec
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import cupy, jax, tensorflow, torch
from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.maybe import Unknown
from gpudoctor.tasks.as_typed import shown
from tests.builders import change, framework
from tests.checks.environments import environment, machine, package

CAPABILITIES = ("3.7", "5.2", "6.1", "7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1")
DRIVERS = (None, "11.4", "12.2", "12.4", "12.8", "13.0", "13.2")
PYTHONS = ("3.7", "3.8", "3.10", "3.12", "3.13", "3.14", "3.15")
MACHINES = ("x86_64", "aarch64")
REST = list(itertools.product(DRIVERS, PYTHONS, MACHINES))


def _runs(
    found: torch.TorchRelease, variant: str, capability: str, driver: str | None, minor: str, processor: str
) -> bool:
    """Whether a wheel of the table exists, has code for the GPU, and starts on the driver, worked out anew."""
    if variant in found.assumed.split() or not version(found.python[0]) <= version(minor) <= version(found.python[1]):
        return False
    targets = found.wheels[variant] if processor == "x86_64" else torch.torch().aarch64.get(variant, "")
    major = int(variant.removeprefix("cu")[:2])
    return bool(targets) and bool(coverage(targets, capability)) and (driver is None or int(driver[:2]) >= major)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_advised_pytorch_runs_and_one_is_advised_wherever_one_runs(capability: str) -> None:
    for driver, minor, processor in REST:
        found = torch.wheel_for(capability, driver, minor, processor)
        fits = [
            (r.version, v)
            for r in torch.torch().release
            for v in r.wheels
            if _runs(r, v, capability, driver, minor, processor)
        ]
        if found is None:
            assert fits == [], (driver, minor, processor)
            continue
        assert (found.version, found.variant) in fits, (driver, minor, processor)
        same = [version(number) for number, variant in fits if variant == found.variant]
        assert version(found.version) == max(same)  # pip takes the newest of the index: that must be the one
        preferred = [version(number) for number, variant in fits if variant in torch.torch().index.preferred]
        assert not preferred or version(found.version) == max(preferred)


@pytest.mark.parametrize(
    ("capability", "driver", "minor", "expected"),
    [
        ("3.7", "11.4", "3.10", "2.7 cu118"),  # Tesla K80, driver 470
        ("5.2", "12.2", "3.12", "2.14 cu126"),  # Maxwell
        ("6.1", "13.0", "3.12", "2.14 cu126"),  # GTX 1080 Ti: builds for CUDA 12.8 and newer have no code for it
        ("7.0", "13.0", "3.12", "2.14 cu126"),  # V100
        ("7.5", "11.4", "3.12", "2.7 cu118"),  # T4, driver 470
        ("7.5", "13.0", "3.12", "2.14 cu130"),
        ("8.6", "12.2", "3.12", "2.14 cu126"),  # RTX 3090, driver 535: a newer minor of CUDA 12 is no problem
        ("9.0", "12.4", "3.9", "2.8 cu128"),  # H100 with an old Python
        ("12.0", "12.8", "3.12", "2.11 cu128"),  # RTX 5090, driver 570
        ("12.0", "13.0", "3.12", "2.14 cu130"),
        ("12.0", "12.8", "3.8", "None"),
        ("12.1", "13.0", "3.12", "2.14 cu130"),  # DGX Spark's GPU, beside an x86 processor
    ],
)
def test_the_advised_pytorch(capability: str, driver: str, minor: str, expected: str) -> None:
    found = torch.wheel_for(capability, driver, minor)
    assert (f"{found.version} {found.variant}" if found else "None") == expected


# -- commands ------------------------------------------------------------------------------------------------


def place(
    capability: str = "8.9", driver: str = "12.8", minor: str = "3.12", **changes: object
) -> tuple[Facts, Python]:
    """An environment with PyTorch and torchvision for the CPU beside a GPU."""
    broken = framework("torch", "2.7.1", cuda=None, variant="cpu", archs=())
    facts = environment(
        broken,
        packages=(package("torchvision", "0.22.1"),),
        facts=machine(driver, card={"capability": capability}),
        **{"version": f"{minor}.1", **changes},
    )
    return facts, facts.pythons[0]


CU126 = "https://download.pytorch.org/whl/cu126"
NAMES = "torch torchvision"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"manager": "pip"},
            (
                f"/opt/env/bin/python -m pip install --force-reinstall --no-deps --index-url {CU126} {NAMES}",
                f"/opt/env/bin/python -m pip install --index-url {CU126} {NAMES}",
            ),
        ),
        (
            {"manager": Unknown("silent")},
            (
                f"/opt/env/bin/python -m pip install --force-reinstall --no-deps --index-url {CU126} {NAMES}",
                f"/opt/env/bin/python -m pip install --index-url {CU126} {NAMES}",
            ),
        ),
        (
            {"manager": "uv"},
            (
                "uv pip install --python /opt/env/bin/python --reinstall-package torch --reinstall-package torchvision "
                f"--index-url {CU126} {NAMES}",
            ),
        ),
        (
            {"manager": "poetry", "project": "/code/app"},
            (
                f"poetry --directory /code/app source add --priority=explicit pytorch-cu126 {CU126}",
                "poetry --directory /code/app add --source pytorch-cu126 torch@latest torchvision@latest",
            ),
        ),
        (
            {
                "manager": "conda",
                "conda": (
                    CondaPackage(name="pytorch", version="2.5.1", build="cpu_mkl"),
                    CondaPackage(name="cpuonly", version="2.0", build="0"),
                ),
            },
            (
                "conda remove -p /opt/env cpuonly",
                "conda install -p /opt/env -c conda-forge pytorch-gpu cuda-version=12",
            ),
        ),
        (
            {"manager": "pixi", "conda": ()},
            (
                '# in pixi.toml:\n[system-requirements]\ncuda = "12"',
                "pixi add pytorch-gpu",
            ),
        ),
        (
            {"manager": "pixi", "conda": (), "prefix": "/code/w/.pixi/envs/default"},
            (
                '# in /code/w/pixi.toml:\n[system-requirements]\ncuda = "12"',
                "pixi add --manifest-path /code/w pytorch-gpu",
            ),
        ),
    ],
)
def test_the_command_of_each_installer(changes: dict[str, Any], expected: tuple[str, ...]) -> None:
    facts, python_ = place(**changes)
    (fix,) = reinstall_torch(facts, python_)
    assert fix.commands == expected
    assert fix.verify is not None


def test_a_project_of_uv() -> None:
    facts, python_ = place(manager="uv", project="/code/app")
    (fix,) = reinstall_torch(facts, python_)
    lines, *rest = fix.commands
    assert f'url = "{CU126}"' in lines
    assert 'torchvision = { index = "pytorch-cu126" }' in lines
    assert rest == [
        "uv lock --project /code/app --upgrade-package torch --upgrade-package torchvision",
        "uv sync --project /code/app",
    ]


@pytest.mark.parametrize("manager", ["pip", "uv"])
def test_no_wheel_for_this_python(manager: str) -> None:
    facts, python_ = place("12.0", "12.8", "3.8", manager=manager)
    (fix,) = reinstall_torch(facts, python_)
    assert "Create an environment with Python 3.12: PyTorch has no wheel" in fix.message
    uv, cu128 = "uv" if manager == "uv" else "/opt/env/bin/python -m uv", "https://download.pytorch.org/whl/cu128"
    assert fix.commands[-2:] == (
        f"{uv} venv --python 3.12 ~/gpu-env",
        f"{uv} pip install --python ~/gpu-env --index {cu128} --index-url {cu128} --index-strategy first-index "
        "'torch==2.11.*' torchvision",
    )
    assert (fix.commands[0] == "/opt/env/bin/python -m pip install uv") is (manager == "pip")


def test_no_wheel_at_all() -> None:
    facts, python_ = place("3.0")
    assert reinstall_torch(facts, python_) == ()


def test_a_python_that_the_distribution_manages() -> None:
    facts, python_ = place(externally_managed=True, path="/usr/bin/python3", prefix="/usr", kind="system")
    (fix,) = reinstall_torch(facts, python_)
    assert all("--break-system-packages" in command for command in fix.commands)
    plain = msgspec.structs.replace(python_, externally_managed=Unknown("silent"), manager="uv")
    assert not any("break-system" in word for word in (*install(plain, "torch").argv, *uninstall(plain, "torch").argv))
    uv = msgspec.structs.replace(plain, externally_managed=True)
    assert shown(install(uv, "torch")) == "uv pip install --python /usr/bin/python3 --break-system-packages torch"
    assert shown(uninstall(uv, "torch")) == "uv pip uninstall --python /usr/bin/python3 --break-system-packages torch"


def test_pytorch_of_the_distribution() -> None:
    facts, python_ = place(externally_managed=True, path="/usr/bin/python3", prefix="/usr", kind="system")
    own = msgspec.structs.replace(package("torch", "2.1.2"), directory="/usr/lib/python3/dist-packages")
    (fix,) = reinstall_torch(
        change(facts, "pythons.0.packages", (own,)), msgspec.structs.replace(python_, packages=(own,))
    )
    assert fix.commands == (
        "/usr/bin/python3 -m venv ~/gpu-env",
        f"~/gpu-env/bin/python -m pip install --index-url {CU126} torch",
    )


# -- TensorFlow, JAX, CuPy and ONNX Runtime ------------------------------------------------------------------


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_other_frameworks_fit_driver_and_gpu(capability: str) -> None:
    for driver, minor, processor in REST:
        cuda = driver or "12.8"
        made = machine(cuda, card={"capability": capability})
        facts = change(environment(facts=made, version=f"{minor}.1"), "host.architecture", processor)
        major, python_ = version(cuda)[0], facts.pythons[0]
        row = tensorflow.release_for(minor, cuda, capability)
        assert row is None or (version(row.cuda)[0] <= major and version(row.python[0]) <= version(minor))
        assert row is None or f"=={row.version}.*" in newer_tensorflow(facts, python_)[0].commands[0]
        plugin = jax.plugin_for(capability, cuda)
        assert plugin is None or (jax_extra(facts, None) == plugin and int(plugin[4:]) <= major)
        name = cupy_package(facts, python_)
        chosen = cupy.package(name) if name else None
        assert chosen is None or (chosen.major <= major and cupy.kernels_for(chosen.name, capability))


@pytest.mark.parametrize(
    ("capability", "driver", "extra", "of_cupy", "of_onnxruntime"),
    [
        ("6.1", "13.0", "cuda12", "cupy-cuda12x", "onnxruntime-gpu[cuda,cudnn]>=1.19,<1.27"),
        ("8.6", "12.2", "cuda12", "cupy-cuda12x", "onnxruntime-gpu[cuda,cudnn]>=1.19,<1.27"),
        ("8.6", "13.0", "cuda13", "cupy-cuda13x", "onnxruntime-gpu[cuda,cudnn]"),
        ("12.0", "12.8", "cuda12", "cupy-cuda12x", "onnxruntime-gpu[cuda,cudnn]>=1.19,<1.27"),
        ("12.0", "13.0", "cuda13", "cupy-cuda13x", "onnxruntime-gpu[cuda,cudnn]"),
        ("7.5", "11.4", "cuda12", "cupy-cuda11x", "onnxruntime-gpu<1.19"),
    ],
)
def test_what_is_advised_of_the_others(
    capability: str, driver: str, extra: str, of_cupy: str, of_onnxruntime: str
) -> None:
    facts = environment(facts=machine(driver, card={"capability": capability}), version="3.12.1")
    assert jax_extra(facts, None) == extra
    assert cupy_package(facts, facts.pythons[0]) == of_cupy
    assert onnxruntime_spec(facts, facts.pythons[0]) == of_onnxruntime


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"manager": "pip"}, ("/opt/env/bin/python -m pip install {}",)),
        ({"manager": "uv"}, ("uv pip install --python /opt/env/bin/python {}",)),
        ({"manager": "uv", "project": "/code/my app"}, ("uv add --project '/code/my app' {}",)),
        ({"manager": "poetry", "project": "/code/app"}, ("poetry --directory /code/app add {}",)),
        ({"manager": "poetry"}, ("/opt/env/bin/python -m pip install {}",)),
        ({"manager": "conda"}, ("/opt/env/bin/python -m pip install {}",)),
        ({"manager": "pixi"}, ("pixi add --pypi {}",)),
    ],
)
def test_where_a_package_is_added(changes: dict[str, Any], expected: tuple[str, ...]) -> None:
    facts = environment(facts=machine("12.8"), version="3.12.1", **changes)
    spec = "'jax[cuda12]==0.9.2'"
    fix = jax_with_plugin(facts, facts.pythons[0], "0.9.2", "Install it.")
    assert fix.commands == tuple(line.format(spec) for line in expected)
    if changes.get("project") == "/code/app":
        (tf,) = newer_tensorflow(facts, facts.pythons[0])
        assert tf.commands == ("poetry --directory /code/app add 'tensorflow[and-cuda]==2.20.*'",)


def test_tensorflow_has_no_wheel_for_this_python() -> None:
    facts = environment(facts=machine("12.8"), version="3.15.0")
    (fix,) = newer_tensorflow(facts, facts.pythons[0])
    assert fix.message.startswith("Make an environment with Python 3.12: no TensorFlow")
    assert fix.commands[-1].endswith("pip install --python ~/gpu-env 'tensorflow[and-cuda]==2.20.*'")
    # 2.14 itself has wheels for 3.11; what its extra and-cuda pins has not
    eleven = environment(facts=machine("11.4"), version="3.11.7")
    (fix,) = newer_tensorflow(eleven, eleven.pythons[0])
    assert fix.message.startswith("Make an environment with Python 3.10: no TensorFlow")
    assert "'tensorflow[and-cuda]==2.14.*'" in fix.commands[-1]
    old = environment(facts=machine("11.4", card={"capability": "3.0"}), version="3.15.0")
    assert newer_tensorflow(old, old.pythons[0]) == ()


@pytest.mark.parametrize(
    ("changes", "plain", "newer"),
    [
        (
            {"manager": "uv", "project": "/code/my app"},
            "uv add --project '/code/my app' 'numpy<2'",
            "uv add --project '/code/my app' --upgrade-package numba numba",
        ),
        (
            {"manager": "poetry", "project": "/code/app"},
            "poetry --directory /code/app add 'numpy<2'",
            "poetry --directory /code/app add numba@latest",
        ),
        ({"manager": "pixi"}, "pixi add --pypi 'numpy<2'", "pixi add --pypi numba"),
        (
            {"manager": "uv"},
            "uv pip install --python /opt/env/bin/python 'numpy<2'",
            "uv pip install --python /opt/env/bin/python --upgrade numba",
        ),
    ],
)
def test_what_a_project_locks_is_changed_in_its_file(changes: dict[str, Any], plain: str, newer: str) -> None:
    (python,) = environment(**changes).pythons
    assert shown(install(python, "numpy<2")) == plain
    assert shown(install(python, "numba", upgrade=True)) == newer
    assert "install" in install(python, "numba", force=True).argv  # mends files, and leaves versions as they are locked


def test_a_project_undoes_what_its_file_does_not_say() -> None:
    project = environment(manager="uv", project="/code/app")
    undone = " Add it to /code/app/pyproject.toml too, or the next `uv sync` or `uv run` will undo it."
    assert lasting(project) == undone
    assert "`poetry sync`" in lasting(change(project, "pythons.0.manager", "poetry"))
    assert lasting(environment(manager="uv")) == ""
    assert "image's Dockerfile" in lasting(change(project, "host.container", "docker"))
