"""Kinds of environments, and who installs packages in them."""

import pytest

from gpudoctor.facts import CondaPackage, Package
from gpudoctor.probes.python.manager import conda, kind, manager, project, unlinked_libstdcxx
from gpudoctor.recorded_machine import RecordedMachine


def packages(*installers: str) -> list[Package]:
    return [Package(name=f"p{i}", version="1", directory="/s", installer=each) for i, each in enumerate(installers)]


@pytest.mark.parametrize(
    ("files", "prefix", "expected"),
    [
        ({"/p/.venv/pyvenv.cfg": ""}, "/p/.venv", "venv"),
        ({"/opt/conda/conda-meta/history": ""}, "/opt/conda", "conda"),
        ({}, "/root/.pyenv/versions/3.11.7", "pyenv"),
        ({}, "/home/me/.local/share/uv/python/cpython-3.12.8-linux-x86_64-gnu", "standalone"),
        ({}, "/usr", "system"),
    ],
)
def test_kind(files: dict[str, str], prefix: str, expected: str) -> None:
    assert kind(RecordedMachine(files), prefix) == expected


@pytest.mark.parametrize(
    ("files", "prefix", "expected"),
    [
        ({"/p/pyproject.toml": "", "/p/uv.lock": ""}, "/p/.venv", ("/p", "uv")),
        ({"/p/pyproject.toml": "", "/p/uv.lock": ""}, "/p/envs/gpu", ("/p", "uv")),
        ({"/p/pyproject.toml": "", "/p/uv.lock": ""}, "/p/a/b/c", None),
        ({"/p/pyproject.toml": "", "/p/poetry.lock": ""}, "/p/.venv", ("/p", "poetry")),
        ({"/p/pixi.toml": ""}, "/p/.pixi/envs/default", ("/p", "pixi")),
        ({"/p/pyproject.toml": "", "/p/pixi.lock": ""}, "/p/.pixi/envs/default", ("/p", "pixi")),
        ({"/p/pyproject.toml": ""}, "/p/.venv", None),
        ({"/p/uv.lock": ""}, "/p/.venv", None),
        ({"/pyproject.toml": "", "/uv.lock": ""}, "/opt/env", None),
    ],
)
def test_project(files: dict[str, str], prefix: str, expected: tuple[str, str] | None) -> None:
    assert project(RecordedMachine(files), prefix) == expected


@pytest.mark.parametrize(
    ("prefix", "of", "lock", "installers", "config", "expected"),
    [
        ("/opt/conda", "conda", None, ("conda", "pip"), "", "conda"),
        ("/p/.pixi/envs/default", "conda", "pixi", (), "", "pixi"),
        ("/p/.venv", "venv", "poetry", ("uv",), "", "poetry"),
        ("/home/me/.cache/pypoetry/virtualenvs/x-py3.11", "venv", None, (), "", "poetry"),
        ("/p/.venv", "venv", "uv", (), "", "uv"),
        ("/p/.venv", "venv", None, (), "home = /usr/bin\nuv = 0.9.2\n", "uv"),
        ("/p/.venv", "venv", None, ("uv", "uv", "pip"), "home = /usr/bin\n", "uv"),
        ("/p/.venv", "venv", None, ("pip", "uv", "pip"), "home = /home/uv = x\n", "pip"),
        ("/usr", "system", None, (), "", "pip"),
    ],
)
def test_manager(
    prefix: str, of: str, lock: str | None, installers: tuple[str, ...], config: str, expected: str
) -> None:
    machine = RecordedMachine({f"{prefix}/pyvenv.cfg": config} if config else {})
    assert manager(machine, prefix, of, lock, packages(*installers)) == expected


def test_where_uv_is_not_on_this_machine_the_environments_own_pip_installs() -> None:
    config = {"/p/.venv/pyvenv.cfg": "home = /usr/bin\nuv = 0.9.2\n"}
    pip = Package(name="pip", version="25.0", directory="/s", installer="uv")
    bare, with_uv = RecordedMachine(config), RecordedMachine(config, commands={"uv": ""})
    assert manager(bare, "/p/.venv", "venv", None, (pip,)) == "pip"
    assert manager(with_uv, "/p/.venv", "venv", None, (pip,)) == "uv"
    assert manager(bare, "/p/.venv", "venv", None, ()) == "uv"


def test_condas_libstdcxx_without_its_link() -> None:
    files = {"/c/conda-meta/history": "", "/c/lib/libstdc++.so.6.0.34": "", "/c/lib/libstdc++.so.6.0.34.py": ""}
    assert unlinked_libstdcxx(RecordedMachine(files), "/c") == ("/c/lib/libstdc++.so.6.0.34",)
    assert unlinked_libstdcxx(RecordedMachine({**files, "/c/lib/libstdc++.so.6": ""}), "/c") == ()
    assert unlinked_libstdcxx(RecordedMachine({"/v/lib/libstdc++.so.6.0.34": ""}), "/v") == ()


def test_condas_records_are_read_by_their_names() -> None:
    channel = '{"build": "x", "channel": "https://conda.anaconda.org/pytorch/linux-64", "files": []}'
    machine = RecordedMachine(
        {
            "/c/conda-meta/history": "",
            "/c/conda-meta/pytorch-2.5.1-py3.11_cuda12.4_0.json": channel,
            "/c/conda-meta/pytorch-mutex-1.0-cpu.json": "{}",
            "/c/conda-meta/zlib-1.3.1-hb9d3cd8_2.json": channel,
            "/c/conda-meta/broken.json": "",
        }
    )
    assert conda(machine, "/c") == (
        CondaPackage(
            name="pytorch",
            version="2.5.1",
            build="py3.11_cuda12.4_0",
            channel="https://conda.anaconda.org/pytorch/linux-64",
        ),
        CondaPackage(name="pytorch-mutex", version="1.0", build="cpu"),
        CondaPackage(name="zlib", version="1.3.1", build="hb9d3cd8_2"),
    )
    assert conda(machine, "/elsewhere") is None
