"""Checks are found by their files, selected by id or area, and never lost in silence."""

import shutil
import sys
from pathlib import Path

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, Outcome, run
from gpudoctor.facts import Facts

# Names that are written so by those who made them.
LOWER_CASE = {
    "bitsandbytes", "cuDNN", "import", "jax-metal", "tensorflow-metal", "libNVVM", "libcuda.so", "libdevice.10.bc",
    "gVisor", "libnvrtc",
    "nvcc", "nvidia-uvm", "nvidia_peermem", "nvidia_uvm", "ptxas", "tensorflow-gpu",
}  # fmt: skip
LOWER_CASE.add("torchvision")
LOWER_CASE |= {
    "containerd",
    "cuInit",
    "cuda-compat's",
    "libcuda",
    "llama.cpp",
    "no-cgroups",
    "nouveau",
    "nova_core",
    "nvidia-imex",
}
LOWER_CASE |= {"nvidia-smi", "vGPU", "cgroup", "intel-extension-for-pytorch", "transformers", "llama-cpp-python"}
LOWER_CASE |= {"torchaudio", "torchcodec", "pip", "ninja", "nvrtc", "amdgpu", "libnvdxgdmal.so.1"}
EVERY = ["device.none", "driver.library-mismatch", "driver.not-loaded", "pytorch.cpu-build"]


@pytest.mark.parametrize(
    ("only", "skip", "left"),
    [
        ((), (), EVERY),
        (("driver",), (), EVERY[1:3]),
        (("driver.not-loaded", "device"), (), [EVERY[0], EVERY[2]]),
        (("driver,device",), ("driver.not-loaded",), EVERY[:2]),
        (("driver.*",), (), EVERY[1:3]),
        ((), ("pytorch",), EVERY[:3]),
    ],
)
def test_select(only: tuple[str, ...], skip: tuple[str, ...], left: list[str]) -> None:
    assert catalogue.select(EVERY, only, skip) == left


@pytest.mark.parametrize(
    ("only", "skip", "sentence"),
    [
        (("driver.library-mismach",), (), 'Did you mean "driver.library-mismatch"?'),
        (("library-mismatch",), (), 'Did you mean "driver.library-mismatch"?'),
        (("pytorc",), (), 'Did you mean "pytorch"?'),
        (("zzz",), (), "`gpudoctor checks` lists them all."),
        ((), ("zzz",), 'Unknown check or area "zzz".'),
        (("driver",), ("driver",), "No checks left"),
    ],
)
def test_selectors_that_match_nothing_are_told_with_the_nearest_name(
    only: tuple[str, ...], skip: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(catalogue.SelectionError) as caught:
        catalogue.select(EVERY, only, skip)
    assert sentence in str(caught.value)


def test_every_check_of_ours_loads_under_the_id_of_its_file() -> None:
    wanted = [i for i in catalogue.ids() if i not in {c.id for c in catalogue.others()}]
    loaded = catalogue.load(wanted)
    assert [one.id for one in loaded] == wanted
    assert [one.id for one in loaded if one.title == "A check could not be loaded"] == []


def test_causes_name_checks_or_areas_that_exist() -> None:
    ids = catalogue.ids()
    areas = {i.split(".")[0] for i in ids}
    for one in catalogue.load():
        for why in one.caused_by:
            area, _, name = why.partition(".")
            assert why in ids or (name == "*" and area in areas), f"{one.id} names {why}"


def test_every_check_says_what_a_person_needs() -> None:
    for one in catalogue.load():
        assert one.references, one.id
        assert all(r.startswith("https://") for r in one.references), one.id
        first = one.title.split()[0].rstrip(":")
        assert first[0].isupper() or first[0] == "/" or first in LOWER_CASE, one.id
        assert not one.title.endswith("."), one.id
        assert one.cause.endswith("."), one.id
        assert one.affects, one.id
        assert one.validated_on, one.id
        assert one.fixes, one.id


def test_every_area_has_its_place_in_the_order_of_mending() -> None:
    from gpudoctor.registry import AREAS

    assert {i.split(".")[0] for i in catalogue.ids()} <= {area.name for area in AREAS}


def test_a_check_that_does_not_import_is_broken_not_silent() -> None:
    (one,) = catalogue.load(["driver.no-such-check"])
    (verdict,) = run(one, Facts())
    assert verdict.outcome is Outcome.BROKEN
    assert "No module named" in verdict.message


OTHER = """
from gpudoctor.check_engine import Severity, check
from gpudoctor.targets import machine

@check(title="T", severity=Severity.ADVICE, cause="C.", targets=machine)
def hot(facts):
    return "hot"
"""


def test_other_packages_offer_checks_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_gpu").mkdir()
    (tmp_path / "acme_gpu" / "__init__.py").write_text("")
    (tmp_path / "acme_gpu" / "hot.py").write_text(OTHER)
    info = tmp_path / "acme_gpu-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nx = y:z\n[gpudoctor.checks]\nhot = acme_gpu.hot:hot\nbad = acme_gpu.none:x\nno = os:sep\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copytree(info, tmp_path / "source" / "acme_gpu.egg-info")
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path / "source")])
    catalogue.others.cache_clear()
    try:
        found = {one.id: one for one in catalogue.others()}
    finally:
        catalogue.others.cache_clear()
    assert sorted(found) == ["acme-gpu.hot", "bad", "no"]
    assert isinstance(found["acme-gpu.hot"], Check)
    assert run(found["acme-gpu.hot"], Facts())[0].message == "hot"
    assert run(found["bad"], Facts())[0].outcome is Outcome.BROKEN
    assert "not a check" in run(found["no"], Facts())[0].message
