"""Which driver runs which CUDA version."""

import pytest

from gpudoctor.knowledge import drivers


@pytest.mark.parametrize(
    ("branch", "cuda"),
    [(580, "13.0"), (575, "12.9"), (535, "12.2"), (470, "11.4"), (390, "9.1"), (581, None), (1, None)],
)
def test_cuda_of_branch(branch: int, cuda: str | None) -> None:
    assert drivers.cuda_of_branch(branch) == cuda


@pytest.mark.parametrize(
    ("cuda", "linux", "windows"),
    [
        ("13.0", "580", "580"),
        ("13.9", "580", "580"),
        ("12.4", "525.60.13", "528.33"),
        ("12", "525.60.13", "528.33"),
        ("11.8", "450.80.02", "452.39"),
        ("10.2", "440.33", "441.22"),
        ("10.1", "418.39", "418.96"),
        ("9.2", None, None),
        ("99.0", None, None),
    ],
)
def test_minimum_driver(cuda: str, linux: str | None, windows: str | None) -> None:
    assert drivers.minimum_driver(cuda) == linux
    assert drivers.minimum_driver(cuda, windows=True) == windows


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("12.4", "550.54.14"),
        ("12.4.1", "550.54.15"),
        ("13.0", "580.65.06"),
        ("13.4", "615"),
        ("12.7", None),
        ("1", None),
    ],
)
def test_native_driver(cuda: str, driver: str | None) -> None:
    assert drivers.native_driver(cuda) == driver


def test_native_driver_is_none_where_nvidia_names_none() -> None:
    assert drivers.native_driver("13.0", windows=True) is None


def test_branch_of_says_what_is_known() -> None:
    branch = drivers.branch_of(580)
    assert branch is not None
    assert (branch.cuda, branch.kind, branch.end_of_life) == ("13.0", "LTSB", "2028-06")
    assert drivers.branch_of(565) == drivers.Branch(565, "12.7", "NFB", None)
    assert drivers.branch_of(600) is None


def test_branches_report_ever_newer_cuda_versions() -> None:
    table = drivers.drivers().branch
    reported = [tuple(map(int, table[number][0].split("."))) for number in sorted(table)]
    assert reported == sorted(reported)
    assert drivers.newest_branch() == max(table)


def test_the_advised_branch_is_the_newest_long_term_one() -> None:
    assert drivers.advised_branch() == 580


@pytest.mark.parametrize(
    ("branch", "kernel", "first"),
    [
        (580, "7.1.3-arch1-1", "580.159.04"),
        (580, "7.0.9-1-cachyos", "580.142"),
        (580, "7.0", "580.142"),
        (580, "6.19.5-200.fc43.x86_64", None),
        (570, "6.15.0_2", "570.169"),
        (570, "6.14.0-37-generic", None),
        (590, "7.1.3", None),
    ],
)
def test_the_first_release_that_compiles(branch: int, kernel: str, first: str | None) -> None:
    assert drivers.first_that_compiles(branch, kernel) == first
