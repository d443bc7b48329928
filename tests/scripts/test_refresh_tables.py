"""The tables against sources that say the same, something newer, or nothing."""

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.knowledge.cupy import cupy
from gpudoctor.knowledge.drivers import drivers, newest_branch
from gpudoctor.knowledge.jax import jax
from gpudoctor.knowledge.newest import newest
from gpudoctor.knowledge.onnxruntime import onnxruntime
from gpudoctor.knowledge.tensorflow import tensorflow
from gpudoctor.knowledge.torch import release
from gpudoctor.toml import tomllib
from scripts import refresh_tables
from scripts.refreshing import drivers as driver_source
from scripts.refreshing import pci, pypi
from scripts.refreshing.difference import Difference, Fetch

Projects = dict[str, tuple[str, list[str], list[str]]]


def projects() -> Projects:
    """What PyPI would say if it agreed with the tables: version, lowest and highest Python, requirements."""
    known = newest().framework
    torch = release(known["torch"])
    assert torch is not None
    pin = torch.cudnn[torch.default]
    last = {p.package: list(p.lowest_cudnn.items())[-1] for p in jax().plugin.values()}
    found: Projects = {
        "torch": (
            known["torch"],
            [*torch.python],
            [f"nvidia-cudnn-cu13=={pin}; sys_platform == 'linux'"],
        ),
        "tensorflow": (known["tensorflow"], [*tensorflow().release[-1].python], []),
        "jax": (known["jax"], ["3.12", "3.14"], []),
        "onnxruntime-gpu": (
            known["onnxruntime"],
            [*onnxruntime().row[-1].python],
            [f"nvidia-cudnn-cu{onnxruntime().row[-1].cuda}~=9.0; extra == 'cudnn'"],
        ),
    }
    for package in cupy().package:
        found[package.name] = (known["cupy"], [*package.python], [])
    for name, (since, cudnn) in last.items():
        found[name] = (since, ["3.12", "3.14"], [f"nvidia-cudnn-cu12<10,>={cudnn}"])
    return found


def answers(of: Projects, branches: dict[str, str] | None = None, ids: str = "") -> Fetch:
    """A network that has only these."""
    said = {pypi.ADDRESS.format(name=name): _project(name, *one) for name, one in of.items()}
    kinds = {kind: name for name, kind in driver_source.KINDS.items()}
    known = {str(n): kinds.get(row[1], "") for n, row in drivers().branch.items()}
    said[driver_source.ADDRESS] = {n: {"type": kind, "driver_info": []} for n, kind in (branches or known).items()}

    def fetch(address: str) -> bytes:
        return ids.encode() if address == pci.ADDRESS else json.dumps(said[address]).encode()

    return fetch


def _project(name: str, version: str, pythons: list[str], requires: list[str]) -> dict[str, Any]:
    tags = [f"cp{python.replace('.', '')}" for python in pythons]
    files = [{"filename": f"{name}-{version}-{tag}-{tag}-manylinux_2_28_x86_64.whl"} for tag in tags]
    more = {f"{version}rc1": files, "99.0": []}  # a pre-release, and a release that was taken back
    return {"info": {"requires_dist": requires}, "releases": {version: files, "0.1": files, **more}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in refresh_tables.TABLES.glob("*.toml"):
        shutil.copy(path, tmp_path)
    return tmp_path


def run(fetch: Fetch, folder: Path, *words: str) -> int:
    return refresh_tables.main(list(words), fetch, folder)


def test_sources_that_say_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert run(answers(projects()), folder, "--write") == 0
    assert capsys.readouterr().out == ""
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_what_a_machine_may_write_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = projects()
    version, _, requires = found["torch"]
    found["torch"] = (f"{version.rpartition('.')[0]}.9", ["3.9", "3.20"], [*requires, "nvidia-cudnn-cu13==9.99"])
    assert run(answers(found), folder, "--only", "pypi", "--write") == 1
    out = capsys.readouterr().out
    assert "newest.toml framework.torch:" in out
    assert "-> ['3.9', '3.20'] (https://pypi.org/pypi/torch/json)" in out
    table = tomllib.loads((folder / "torch.toml").read_text())
    assert table["release"][-1]["python"] == ["3.9", "3.20"]
    assert table["meta"]["collected"] == datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    assert "# Newest last. python:" in (folder / "torch.toml").read_text(), "comments stay"
    assert tomllib.loads((folder / "newest.toml").read_text())["framework"]["torch"] == found["torch"][0]


def test_a_new_release_is_a_persons_work(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "torch.toml").read_text()
    found = projects()
    found["torch"] = ("99.1.0", ["3.12", "3.15"], [])
    assert run(answers(found), folder, "--only", "pypi", "--write") == 1
    assert "'99.1' (https://pypi.org/pypi/torch/json; by hand: its variants" in capsys.readouterr().out
    assert (folder / "torch.toml").read_text() == before


def test_pins_are_followed(folder: Path) -> None:
    found = projects()
    name = jax().plugin["cuda13"].package
    found[name] = ("99.0.1", ["3.12", "3.15"], ["nvidia-cudnn-cu13<10,>=9.77"])
    assert run(answers(found), folder, "--only", "pypi", "--write") == 1
    table = tomllib.loads((folder / "jax.toml").read_text())
    assert table["plugin"]["cuda13"]["lowest_cudnn"]["99.0.1"] == "9.77"


def test_a_driver_branch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = newest_branch() + 5
    branches = {str(new): "Production Branch", "580": "lts branch", "535": "new feature branch", "300": "legacy"}
    assert run(answers(projects(), branches), folder, "--only", "drivers", "--write") == 1
    out = capsys.readouterr().out
    assert f"drivers.toml branch.{new}: None -> 'PB'" in out
    assert "branch.535.1: 'LTSB' -> 'NFB'" in out
    assert "580" not in out
    assert "300" not in out
    assert tomllib.loads((folder / "drivers.toml").read_text())["branch"]["535"][1] == "NFB"


def test_pci_ids(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "10de  NVIDIA Corporation",
        "\t2684  AD102 [GeForce RTX 4090]",
        "\tfff1  GB999 [GeForce RTX 9090]",
        "\tfff2  GB999 High Definition Audio Controller",
        "\t\tfff3 0001  GB999 [A board]",
        "10ee  Xilinx Corporation",
        "\tfff4  GB999 [not ours]",
    ]
    assert run(answers(projects(), ids="\n".join(lines)), folder, "--only", "pci_ids") == 1
    assert capsys.readouterr().out.splitlines() == [
        "pci_ids.toml nvidia.fff1: None -> 'GB999 [GeForce RTX 9090]' (https://pci-ids.ucw.cz/v2.2/pci.ids; "
        "by hand: add the id to the chip's ranges, and a new chip to generations.toml)"
    ]


def test_a_table_that_would_not_fit_its_type_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "newest.toml").read_text()
    wrong = Difference("newest", ("framework", "torch"), "2", ["no", "text"], "here")
    lines = list(refresh_tables.write([wrong], folder, datetime.date(2026, 1, 1)))
    assert lines[0].startswith("newest.toml stays as it is: ")
    assert (folder / "newest.toml").read_text() == before


def test_a_source_that_does_not_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def silent(address: str) -> bytes:
        raise OSError(f"no route to {address}")

    assert run(silent, folder) == 3
    assert capsys.readouterr().err.count("no route") == 3
