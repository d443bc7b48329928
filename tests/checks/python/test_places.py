"""Frameworks in the wrong place: in another interpreter, over conda's own, without the compiler that they need."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.checks.cuda.nvvm_missing import nvvm_missing
from gpudoctor.checks.python.conda_and_pip import conda_and_pip
from gpudoctor.checks.python.environment_moved import environment_moved
from gpudoctor.checks.python.framework_elsewhere import framework_elsewhere
from gpudoctor.facts import CondaPackage, Facts, Remnant
from gpudoctor.facts.python import Elsewhere
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import change, plain_host
from tests.checks.environments import (
    bare_python,
    blind,
    change_toolkits,
    commands,
    environment,
    machine,
    one,
    package,
    severity,
    torch,
    verifies,
)

VENV = Elsewhere(path="/home/me/.venv/bin/python", frameworks=("torch",))
BOTH = Elsewhere(path="/opt/conda/bin/python", frameworks=("tensorflow", "torch"))


def empty(elsewhere: object = (VENV,), pip: object = None) -> Facts:
    return change(change(environment(), "pythons.0.elsewhere", elsewhere), "pythons.0.pip", pip)


def test_a_framework_elsewhere() -> None:
    message = "/opt/env/bin/python has no framework; PyTorch is in /home/me/.venv/bin/python."
    assert one(framework_elsewhere, empty()) == ("problem", message)
    assert "gpudoctor check --python /home/me/.venv/bin/python" in commands(framework_elsewhere, empty())
    assert "/opt/env/bin/python -m pip install ..." in commands(framework_elsewhere, empty())
    managed = change(empty(), "pythons.0.externally_managed", True)
    assert "/opt/env/bin/python -m venv ~/gpu-env" in commands(framework_elsewhere, managed)
    assert severity(framework_elsewhere, empty()) == "advice"
    more = one(framework_elsewhere, empty((BOTH, VENV), "/usr/bin/python3"))[1]
    assert more == (
        "/opt/env/bin/python has no framework; TensorFlow and PyTorch are in /opt/conda/bin/python. "
        "`pip` on PATH installs for /usr/bin/python3."
    )


SPLIT = "PyTorch is in /home/me/.venv/bin/python. `pip` on PATH installs for that one, but `python` starts this one."
HERE = "/opt/env/bin/python -m pip install"
OLDER = "--index-url https://download.pytorch.org/whl/cu126 torch"


@pytest.mark.parametrize(
    ("driver", "manager", "typed"),
    [
        ("12.8", "pip", f"{HERE} {OLDER}"),
        ("13.0", "pip", f"{HERE} torch"),  # PyPI's build is of that CUDA major
        ("13.0", "pixi", "pixi add pytorch-gpu"),
    ],
)
def test_which_pytorch_is_installed(driver: str, manager: str, typed: str) -> None:
    facts = change(change(empty((VENV,), VENV.path), "pythons.0.first_on_path", True), "pythons.0.manager", manager)
    facts = change(change(facts, "nvidia.nvml.cuda_version", driver), "nvidia.cuda.version", driver)
    assert typed in commands(framework_elsewhere, facts).split("\n")


@pytest.mark.parametrize(
    ("first_on_path", "pip", "level", "said"),
    [
        (True, VENV.path, "warn", SPLIT),
        (False, VENV.path, "advice", f"PyTorch is in {VENV.path}. `pip` on PATH installs for {VENV.path}."),
        (Unknown("no answer"), VENV.path, "advice", f"`pip` on PATH installs for {VENV.path}."),
        (True, "/usr/bin/python3", "advice", "`pip` on PATH installs for /usr/bin/python3."),
        (True, None, "advice", f"PyTorch is in {VENV.path}."),
        (True, Unknown("a shim"), "advice", f"PyTorch is in {VENV.path}."),
    ],
)
def test_pip_and_python_on_path_are_of_two(first_on_path: object, pip: object, level: str, said: str) -> None:
    facts = change(empty((VENV,), pip), "pythons.0.first_on_path", first_on_path)
    assert one(framework_elsewhere, facts)[1].endswith(said)
    assert severity(framework_elsewhere, facts) == level
    lines = [line for line in commands(framework_elsewhere, facts).split("\n") if "pip install" in line]
    assert lines == [f"{HERE} {OLDER if level == 'warn' else '...'}"]


@pytest.mark.parametrize(
    ("module", "spec"),
    [
        ("torch", OLDER),
        ("tensorflow", "'tensorflow[and-cuda]==2."),
        ("jax", "'jax[cuda12]'"),
        ("cupy", "'cupy-cuda12x[ctk]'"),
        ("onnxruntime", "'onnxruntime-gpu["),
    ],
)
def test_what_pip_put_elsewhere_is_installed_here(module: str, spec: str) -> None:
    facts = change(
        empty((Elsewhere(path=VENV.path, frameworks=(module,)),), VENV.path), "pythons.0.first_on_path", True
    )
    typed = commands(framework_elsewhere, facts).replace("--upgrade ", "").split("\n")
    assert [line.startswith(f"{HERE} {spec}") for line in typed if "pip install" in line] == [True]
    managed = change(facts, "pythons.0.externally_managed", True)
    assert f"\n/opt/env/bin/python -m venv ~/gpu-env\n~/gpu-env/bin/python -m pip install {spec}" in commands(
        framework_elsewhere, managed
    ).replace("--upgrade ", "")


def test_a_framework_that_pip_left_half_removed_is_no_matter_of_another_python() -> None:
    torn = Remnant(module="torch", path="/opt/env/lib/python3.12/site-packages/~orch", reason="~orch")
    assert one(framework_elsewhere, change(empty(), "pythons.0.remnants", (torn,)))[0] == "pass"
    helper = Remnant(module="requests", path="/opt/env/lib/python3.12/site-packages/~equests", reason="~equests")
    assert one(framework_elsewhere, change(empty(), "pythons.0.remnants", (helper,)))[0] == "problem"


SYSTEM = Elsewhere(path="/usr/bin/python3.12", frameworks=("torch",))
NEEDS = (package("vllm", "0.12.0", requires=("torch==2.9.0",)),)
MAY = (package("einops", "0.8", requires=('torch>=2; extra == "test"',)),)


@pytest.mark.parametrize(
    ("packages", "variables", "first", "level"),
    [
        ((), {}, "/opt/conda/bin/python", "advice"),
        (MAY, {"PYTORCH_VERSION": "2.9"}, "/opt/conda/bin/python", "advice"),
        (NEEDS, {}, "/opt/conda/bin/python", "warn"),  # has PyTorch as well
        ((), {"NVIDIA_PYTORCH_VERSION": "25.09"}, "/opt/conda/bin/python", "warn"),
        ((), {"NVIDIA_JAX_VERSION": "25.09"}, "/opt/conda/bin/python", "advice"),  # nobody has it
        ((), {"NVIDIA_TENSORFLOW_VERSION": "25.02"}, "/opt/conda/bin/python", "warn"),
    ],
)
def test_whether_it_is_meant_to_be_here(packages: Any, variables: dict[str, str], first: str, level: str) -> None:
    facts = change(empty((BOTH, SYSTEM)), "pythons.0.packages", packages)
    facts = change(facts, "host.environment", variables)
    assert f" in {first}." in one(framework_elsewhere, facts)[1]
    assert severity(framework_elsewhere, facts) == level


def test_what_computes_without_a_framework_lacks_none() -> None:
    alone = change(empty((BOTH, SYSTEM)), "pythons.0.packages", (package("xgboost", "3.0.5"),))
    assert one(framework_elsewhere, alone)[0] == "pass"
    tool = Elsewhere(path="/usr/bin/python3.10", frameworks=("onnxruntime",))
    assert one(framework_elsewhere, empty((tool,)))[0] == "pass"
    needs = (package("rembg", "2.0", requires=("onnxruntime>=1.20",)),)
    assert one(framework_elsewhere, change(empty((tool,)), "pythons.0.packages", needs))[0] == "problem"


def test_a_framework_of_another_python_release() -> None:
    keras = Elsewhere(path="/home/me/.venv/bin/python", frameworks=("tensorflow",))
    facts = change(empty((keras, SYSTEM)), "host.environment", {"NVIDIA_PYTORCH_VERSION": "25.09"})
    facts = change(facts, "pythons.0.version", "3.11.7")
    assert one(framework_elsewhere, facts)[1] == (
        "/opt/env/bin/python has no framework; PyTorch is in /usr/bin/python3.12. What is installed for Python 3.12 "
        "cannot be imported here, by Python 3.11.7. This container's image is made for PyTorch."
    )
    assert "/usr/bin/python3.12 -m venv --system-site-packages" in commands(framework_elsewhere, facts)
    same = one(framework_elsewhere, change(facts, "pythons.0.version", "3.12.3"))[1]
    assert "cannot be imported" not in same


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (empty(()), ("pass", "")),
        (empty(Unknown("no answer")), ("unknown", "no answer")),
        (change(environment(torch()), "pythons.0.elsewhere", Unknown("no answer")), ("pass", "")),
        (change(plain_host(), "pythons", empty().pythons), ("pass", "")),
    ],
)
def test_no_framework_elsewhere(facts: Facts, expected: tuple[str, str]) -> None:
    assert one(framework_elsewhere, facts) == expected


def test_its_scripts_get_its_own_path(tmp_path: Path) -> None:
    """By the command as it is typed, on real files; one whose path only begins alike stays."""
    old, new = tmp_path / "env", tmp_path / "env-2"
    (new / "bin").mkdir(parents=True)
    (new / "bin" / "pip").write_text(f"#!{old}/bin/python\nimport sys\n")
    (new / "bin" / "activate").write_text(f"VIRTUAL_ENV='{old}'\nexport VIRTUAL_ENV\nOTHER={old}-3\n")
    (new / "bin" / "mine").write_text("#!/bin/sh\n")
    facts = change(environment(torch()), "pythons.0.own_pip", f"{old}/bin/python")
    facts = change(facts, "pythons.0.prefix", str(new))
    command = commands(environment_moved, facts).splitlines()[1]
    subprocess.run(["bash", "-c", command], check=True)
    assert (new / "bin" / "pip").read_text() == f"#!{new}/bin/python\nimport sys\n"
    assert (new / "bin" / "activate").read_text() == f"VIRTUAL_ENV='{new}'\nexport VIRTUAL_ENV\nOTHER={old}-3\n"
    odd = change(facts, "pythons.0.prefix", "/my env")
    assert "sed" not in commands(environment_moved, odd)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            "/old/env/bin/python",
            (
                "problem",
                "`pip` of /opt/env runs /old/env/bin/python, so what it installs does not end up in this environment.",
            ),
        ),
        (None, ("pass", "")),
        (Unknown("not gathered"), ("unknown", "not gathered")),
    ],
)
def test_a_copied_environment(own: object, expected: tuple[str, str]) -> None:
    facts = change(environment(torch()), "pythons.0.own_pip", own)
    assert one(environment_moved, change(facts, "pythons.0.kind", "conda")) == ("pass", "")
    assert one(environment_moved, facts) == expected
    if own == "/old/env/bin/python":
        assert "/opt/env/bin/python -m pip freeze > /tmp/packages.txt" in commands(environment_moved, facts)
        assert "/opt/env/bin/python -m venv /opt/env-new" in commands(environment_moved, facts)  # of the same release
        assert verifies(environment_moved, facts) == [
            "head -1 /opt/env/bin/pip",
            "head -1 /opt/env-new/bin/pip",
            "/opt/env/bin/python -m pip --version",
        ]
        assert severity(environment_moved, facts) == "warn"
        assert severity(environment_moved, change(facts, "host.container", "docker")) == "advice"
        built = change(facts, "pythons.0.packages", (package("torch", "2.7.1+cu126"), package("numpy", "2.3.4")))
        assert "--extra-index-url https://download.pytorch.org/whl/cu126 -r /tmp/" in commands(environment_moved, built)
        lines = commands(environment_moved, change(built, "pythons.0.manager", "uv"))
        assert "uv pip freeze --python /opt/env/bin/python > /tmp/packages.txt" in lines
        assert "uv venv --python /opt/env/bin/python /opt/env-new" in lines
        assert "uv pip install --python /opt/env-new/bin/python --extra-index-url https://" in lines
        assert "/cu126 --index-strategy unsafe-best-match -r /tmp/packages.txt" in lines


@pytest.mark.parametrize(
    ("manager", "typed"),
    [
        ("uv", "uv sync --project /srv/p"),
        ("poetry", "POETRY_VIRTUALENVS_IN_PROJECT=true poetry --directory /srv/p install"),
    ],
)
def test_a_copied_environment_of_a_project(manager: str, typed: str) -> None:
    facts = environment(torch(), manager=manager, project="/srv/p", prefix="/srv/p/.venv")
    lines = commands(environment_moved, change(facts, "pythons.0.own_pip", "/old/bin/python"))
    assert f"mv /srv/p/.venv /srv/p/.venv-moved\n{typed}" in lines
    assert "freeze" not in lines


def conda(version: str, installer: str = "pip", record: str = "2.5.1", **changes: object) -> Facts:
    records = (CondaPackage(name="pytorch", version=record, build="cuda126_py311_300"),)
    found = environment(torch(version, **changes), conda=records, prefix="/opt/conda/envs/a")
    return change(found, "pythons.0.packages", (package("torch", version, installer=installer),))


def test_pip_over_conda() -> None:
    message = "conda's record lists pytorch 2.5.1, but pip installed torch 2.7.1+cu126 over it."
    assert one(conda_and_pip, conda("2.7.1+cu126")) == ("problem", message)
    assert severity(conda_and_pip, conda("2.7.1")) == "advice"
    assert severity(conda_and_pip, conda("2.7.1", live=blind(import_error="ImportError: x"))) == "warn"
    assert "conda remove -p /opt/conda/envs/a --force pytorch" in commands(conda_and_pip, conda("2.7.1"))
    assert one(conda_and_pip, conda("2.5.1", "conda")) == ("pass", "")
    assert one(conda_and_pip, conda("2.5.1+cu124")) == ("pass", "")
    assert one(conda_and_pip, conda("2.5.1.post302")) == ("pass", "")  # how conda-forge's own build calls itself
    pixi = change(conda("2.7.1"), "pythons.0.manager", "pixi")
    assert "conda remove" not in commands(conda_and_pip, pixi)
    assert "pixi install" in commands(conda_and_pip, pixi)
    other = change(pixi, "pythons.0.prefix", "/src/p/.pixi/envs/gpu")
    typed = commands(conda_and_pip, other)
    assert "pixi clean --manifest-path /src/p -e gpu" in typed
    assert "pixi install --manifest-path /src/p -e gpu" in typed
    assert one(conda_and_pip, environment(torch())) == ("pass", "")
    closed = change(conda("2.7.1"), "pythons.0.packages", Unknown("closed"))
    assert one(conda_and_pip, closed) == ("unknown", "closed")


def numba(*packages: str, facts: Facts | None = None, **changes: object) -> Facts:
    installed = tuple(package(name, "12.8.93") for name in ("numba-cuda", *packages))
    return environment(packages=installed, facts=facts, **changes)


def test_numba_without_nvvm() -> None:
    message = "numba-cuda 12.8.93 is installed, but CUDA's compiler library libNVVM was not found."
    assert one(nvvm_missing, numba()) == ("problem", message)
    assert "'numba-cuda[cu12]'" in commands(nvvm_missing, numba())
    own = (CondaPackage(name="python", version="3.11", build="h1"),)
    assert "cuda-nvvm" in commands(nvvm_missing, numba(conda=own))


def test_numba_of_a_release_without_extras() -> None:
    old = package("numba-cuda", "0.2.0")
    assert "pip install 'numba-cuda[cu12]>=0.14'" in commands(nvvm_missing, environment(packages=(old,)))
    pinned = package("cudf-cu12", "25.2.2", requires=("numba-cuda<0.3,>=0.2.0",))
    typed = commands(nvvm_missing, environment(packages=(old, pinned))).splitlines()
    assert "sudo apt-get install cuda-toolkit-12-8" in typed
    assert "export CUDA_HOME=/usr/local/cuda-12.8" in typed


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (numba("nvidia-cuda-nvcc-cu12"), ("pass", "")),
        (numba("nvidia-nvvm"), ("pass", "")),
        (numba(conda=(CondaPackage(name="cuda-nvvm-impl", version="12.8", build="h1"),)), ("pass", "")),
        (
            numba(facts=machine(toolkits=change_toolkits(installed=(("/usr/local/cuda-12.4", "12.4"),)))),
            ("pass", ""),
        ),
        (numba(facts=plain_host()), ("pass", "")),
        (environment(torch()), ("pass", "")),
        (numba(facts=machine(toolkits=change_toolkits(installed=Unknown("closed")))), ("unknown", "closed")),
        (change(numba(), "pythons.0", bare_python(packages=Unknown("closed"))), ("unknown", "closed")),
    ],
)
def test_numba_with_nvvm_or_without_a_wish_for_it(facts: Facts, expected: tuple[str, str]) -> None:
    assert one(nvvm_missing, facts) == expected


def test_a_copied_environment_explains_no_package() -> None:
    cpu = torch("2.7.1+cpu", cuda=None, variant="cpu", archs=())
    facts = change(environment(cpu), "pythons.0.own_pip", "/old/env/bin/python")
    report = build(facts, judge(facts, catalogue.load(["pytorch.cpu-build", "python.environment-moved"])))
    assert [f.check for f in report.findings] == ["pytorch.cpu-build", "python.environment-moved"]
