"""Requirements that do not hold."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from gpudoctor.facts import Package
from gpudoctor.probes.python.requirements import _holds_plainly, _marker_plainly, unmet

MARKERS = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.7",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "6.8.0",
    "platform_system": "Linux",
    "platform_version": "#1",
    "python_full_version": "3.11.7",
    "python_version": "3.11",
    "sys_platform": "linux",
}


def package(name: str, version: str = "1.0", *requires: str, installer: str = "pip") -> Package:
    return Package(name=name, version=version, directory="/s", requires=requires, installer=installer)


def broken(*packages: Package) -> list[tuple[str, str | None]]:
    return [(each.requires, each.found) for each in unmet(packages, MARKERS)]


@pytest.mark.parametrize(
    ("requirement", "installed", "expected"),
    [
        ("nvidia-cudnn-cu12==8.9.2.26 ; platform_system == 'Linux'", "9.5.1.17", "nvidia-cudnn-cu12==8.9.2.26"),
        ("nvidia-cudnn-cu12==9.5.1.17", "9.5.1.17", None),
        ("nvidia-cudnn-cu12 (>=9.1,<10.0)", "9.5.1.17", None),
        ("nvidia-cudnn-cu12<10.0,>=9.6", "9.5.1.17", "nvidia-cudnn-cu12<10.0,>=9.6"),
        ("nvidia-cudnn-cu12~=9.1", "9.5.1.17", None),
        ("nvidia-cudnn-cu12==9.*", "9.5", None),
        ("nvidia-cudnn-cu12", None, "nvidia-cudnn-cu12"),
        ("nvidia-cudnn-cu12==9; platform_machine == 'aarch64'", None, None),
        ("nvidia-cudnn-cu12==9; sys_platform == 'win32' or platform_system == 'Linux'", None, "nvidia-cudnn-cu12==9"),
        ("nvidia-cudnn-cu12==9; python_version < '3.9'", None, None),
        ("nvidia-cudnn-cu12[x]==9; extra == 'and-cuda'", None, None),
        ("nvidia-cudnn-cu12==9; extra == 'a' or extra == 'b'", None, None),
        ("requests>=99", None, "requests>=99"),
        ("requests>=99; python_version >= '3.12' and extra != 'x'", None, None),
        ("triton>=3; python_version<'3.12' and platform_machine != 'aarch64'", None, "triton>=3"),
        ("triton @ https://example.org/triton.whl", None, "triton"),
        ("!!! not a requirement", None, None),
        ("nvidia-cudnn-cu12 >>= 3", "9", None),
    ],
)
def test_one_requirement(requirement: str, installed: str | None, expected: str | None) -> None:
    others = [package("nvidia-cudnn-cu12", installed)] if installed else []
    assert broken(package("torch", "2.1.2", requirement), *others) == ([(expected, installed)] if expected else [])


ENDLESS = "9" * 5000  # more digits than int takes


@pytest.mark.parametrize(
    ("requirement", "installed"),
    [
        ('b>=1; python_version >= "3.9+"', "1.0"),
        (f'b>=1; python_version >= "{ENDLESS}"', "1.0"),
        (f'b>=1; python_full_version < "{ENDLESS}"', "1.0"),
        (f"b=={ENDLESS}", "1.0"),
        ("b>=1", ENDLESS),
    ],
)
def test_what_is_no_version_breaks_nothing(requirement: str, installed: str) -> None:
    assert broken(package("torch", "2", requirement), package("b", installed)) == []


def test_local_versions_and_release_candidates_hold() -> None:
    vision = package("torchvision", "0.20.1", "torch==2.5.1", "numpy>=2.0.0rc1")
    assert broken(vision, package("torch", "2.5.1+cu124"), package("numpy", "2.1.0rc1")) == []
    assert broken(vision, package("torch", "2.6.0+cu124"), package("numpy", "2.1")) == [("torch==2.5.1", "2.6.0+cu124")]


def test_of_two_copies_the_first_counts() -> None:
    vision = package("torchvision", "0.19.1", "torch==2.4.1")
    assert broken(vision, package("torch", "2.4.1"), package("torch", "2.5.1")) == []
    assert broken(vision, package("torch", "2.5.1"), package("torch", "2.4.1")) == [("torch==2.4.1", "2.5.1")]


def test_what_a_requirement_requires_in_turn_counts_too() -> None:
    """`pip check` names it as well: without mpmath, sympy does not import, and with it torch."""
    torch = package("torch", "2.7.1", "sympy>=1.13.3")
    sympy, colorama = package("sympy", "1.14.0", "mpmath<1.4,>=1.1.0"), package("colorama", "1.0", "pywin32")
    assert [(u.package, u.requires) for u in unmet([torch, sympy, colorama], MARKERS)] == [
        ("sympy", "mpmath<1.4,>=1.1.0")
    ]
    asked = unmet([torch, package("sympy", "1.14.0")], MARKERS, lambda p: {"sympy": ("gmpy2",)}.get(p.name, p.requires))
    assert [u.requires for u in asked] == ["gmpy2"]


def test_an_extra_counts_where_an_installed_package_asks_for_it() -> None:
    serve = package("ray", "2.50", "click>=7", "fastapi; extra == 'serve'", "pandas; extra == 'data'")
    vllm = package("vllm", "0.11", "ray[serve]>=2.48")
    others = (package("click", "8.1"),)
    assert broken(package("torch", "2.9", "ray"), serve, *others) == []
    assert broken(vllm, serve, *others) == [("fastapi", None)]
    assert broken(vllm, serve, *others, package("fastapi", "0.1")) == []


def test_the_examined_python_decides_and_not_ours() -> None:
    torch = package("torch", "2.7.1", "setuptools; python_version >= '3.12'")
    assert unmet([torch], MARKERS) == ()
    newer = MARKERS | {"python_version": "3.13", "python_full_version": "3.13.1"}
    assert [u.requires for u in unmet([torch], newer)] == ["setuptools"]


def test_another_distribution_of_the_module_stands_in() -> None:
    whisper = package("faster-whisper", "1.1.0", "onnxruntime<2,>=1.14")
    assert broken(whisper, package("onnxruntime-gpu", "1.22.0")) == []
    assert broken(whisper) == [("onnxruntime<2,>=1.14", None)]


def test_conda_meets_requirements_without_metadata() -> None:
    assert broken(package("cudf", "25.2", "cuda-python>=12", installer="conda")) == []


VERSIONS = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
CLAUSES = st.tuples(st.sampled_from(["==", ">=", "<=", "<", ">", "!=", "~="]), VERSIONS, st.sampled_from(["", ".*"]))


@given(VERSIONS, st.sampled_from(["", "+cu124"]), st.lists(CLAUSES, min_size=1, max_size=3))
def test_what_holds_plainly_holds_by_packaging_too(
    version: str, local: str, clauses: list[tuple[str, str, str]]
) -> None:
    specifier = ",".join("".join(clause) for clause in clauses)
    if _holds_plainly(specifier, package("torch", version + local), MARKERS):
        assert SpecifierSet(specifier).contains(version + local, prereleases=True), specifier


NAMES = st.sampled_from(["python_version", "platform_system", "sys_platform", "extra", "platform_release"])
TEXTS = st.sampled_from(["3.9", "3.11", "3.12", "Linux", "linux", "win32", "", "6.8.0"])
COMPARED = st.tuples(NAMES, st.sampled_from(["==", "!=", "<", ">="]), TEXTS)


CLAUSE = COMPARED.map(lambda clause: "{} {} '{}'".format(*clause))


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    parts = st.lists(inner | inner.map("({})".format), min_size=2, max_size=3)
    return st.tuples(parts, st.sampled_from([" and ", " or "])).map(lambda joined: joined[1].join(joined[0]))


@given(st.recursive(CLAUSE, _joined, max_leaves=6))
def test_a_marker_that_holds_plainly_holds_by_packaging_too(marker: str) -> None:
    plainly = _marker_plainly(marker, MARKERS)
    if plainly is not None:
        assert Marker(marker).evaluate({**MARKERS, "extra": ""}) is plainly, marker


def test_systems_and_an_extra_are_plain() -> None:
    systems = "(sys_platform == 'linux' and platform_machine == 'aarch64' or sys_platform == 'win32')"
    assert _marker_plainly(f" {systems} and extra == 'cublas'", MARKERS) is False
    assert _marker_plainly("sys_platform == 'win32' or sys_platform == 'linux'", MARKERS) is True


def test_a_healthy_environment_does_not_import_packaging() -> None:
    code = (
        "import sys; from gpudoctor.facts import Package; from gpudoctor.probes.python.requirements import unmet\n"
        "def p(n, v, *r): return Package(name=n, version=v, directory='/s', requires=r)\n"
        "found = unmet([p('torch', '2.5.1', 'triton==3.1.0; platform_system == \"Linux\"', 'filelock'),"
        " p('triton', '3.1.0'), p('filelock', '3.16')], {'platform_system': 'Linux'})\n"
        "assert found == () and 'packaging.requirements' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
