"""A PyTorch for ROCm below a directory whose name has a space."""

import pytest

from gpudoctor.checks.rocm.space_in_path import space_in_path
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, one, package, severity

PLACE = "/srv/AI stuff/venv/lib/python3.11/site-packages/torch"


def host(hip: object = "6.2.41133", place: str = PLACE, version: str = "2.5.1+rocm6.2") -> Facts:
    facts = change(amd_host(), "pythons.0.frameworks.0.location", place)
    facts = change(facts, "pythons.0.frameworks.0.version", version)
    facts = change(facts, "pythons.0.packages", (package("torch", version),))
    return change(facts, "pythons.0.frameworks.0.hip", hip)


SAYS = f"PyTorch 2.5.1+rocm6.2 is in {PLACE}, whose path has a space: its kernels do not load."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS)),
        (host("6.4.43482"), ("problem", SAYS)),
        (host("7.0.51831"), ("pass", "")),
        (host("5.7.31921"), ("pass", "")),
        (host(place="/srv/AI-stuff/venv/lib/python3.11/site-packages/torch"), ("pass", "")),
        (host(Unknown("not read")), ("unknown", "not read")),
        (change(change(host(), "gpus", ()), "pci", ()), ("pass", "")),
        (change(host(), "pythons.0.frameworks.0.variant", "cpu"), ("pass", "")),
        (change(with_framework(framework()), "pythons.0.frameworks.0.location", PLACE), ("pass", "")),  # for CUDA
    ],
)
def test_space_in_path(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(space_in_path, facts) == verdict


@pytest.mark.parametrize(("hip", "status"), [("6.1.40091", "fail"), ("6.3.42134", "fail"), ("6.4.43482", "warn")])
def test_a_release_that_nobody_reported_is_a_warning(hip: str, status: str) -> None:
    assert severity(space_in_path, host(hip)) == status


@pytest.mark.parametrize(("path", "unset"), [(PLACE, True), ("/opt/mine", False), ("", False)])
def test_the_environment_is_recreated(path: str, unset: bool) -> None:
    typed = commands(space_in_path, change(host(), "host.environment", {"PYTHONPATH": path}))
    assert "-m venv ~/gpu-env" in typed
    assert "--extra-index-url https://download.pytorch.org/whl/rocm6.2 -r /tmp/packages.txt" in typed
    assert ("unset PYTHONPATH" in typed) is unset


def test_a_build_of_no_index_is_installed_from_pypi() -> None:
    assert "index-url" not in commands(space_in_path, host(version="2.5.0a0+git1234"))


PIXI = "/srv/AI stuff/.pixi/envs/default"


@pytest.mark.parametrize(
    ("changes", "typed"),
    [
        (
            {"manager": "uv"},
            [
                "uv pip freeze --python /opt/env/bin/python > /tmp/packages.txt",
                "uv venv --python /opt/env/bin/python ~/gpu-env",
                "uv pip install --python ~/gpu-env/bin/python --extra-index-url https://download.pytorch.org/whl/rocm6.2"
                " --index-strategy unsafe-best-match -r /tmp/packages.txt",
            ],
        ),
        (
            {"manager": "uv", "project": "/srv/AI stuff"},
            ["UV_PROJECT_ENVIRONMENT=~/gpu-env uv sync --project '/srv/AI stuff'"],
        ),
        (
            {"manager": "poetry", "project": "/srv/AI stuff"},
            [
                "/opt/env/bin/python -m venv ~/gpu-env",
                "VIRTUAL_ENV=~/gpu-env poetry --directory '/srv/AI stuff' install",
            ],
        ),
        (
            {"manager": "conda", "prefix": "/srv/AI stuff/env"},
            ["conda create -p ~/gpu-env --clone '/srv/AI stuff/env'"],
        ),
        (
            {"manager": "pixi", "prefix": PIXI},
            [
                "pixi config set --local --manifest-path '/srv/AI stuff' detached-environments true",
                "pixi install --manifest-path '/srv/AI stuff'",
            ],
        ),
        (
            {"manager": "pixi", "prefix": "/srv/AI stuff/.pixi/envs/gpu"},
            [
                "pixi config set --local --manifest-path '/srv/AI stuff' detached-environments true",
                "pixi install --manifest-path '/srv/AI stuff' -e gpu",
            ],
        ),
    ],
)
def test_its_own_installer_recreates_it(changes: dict[str, str], typed: list[str]) -> None:
    facts = host()
    for name, value in changes.items():
        facts = change(facts, f"pythons.0.{name}", value)
    assert commands(space_in_path, facts).splitlines()[1 : len(typed) + 1] == typed
