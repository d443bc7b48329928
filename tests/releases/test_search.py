"""Which release is chosen, and how few are looked at."""

from pathlib import Path

import pytest
from packaging.version import Version

from gpudoctor.releases.pip_index import PipIndex
from gpudoctor.releases.search import ExaminedRelease, ReleaseSearch, WantedName

MANY = [f"{major}.{minor}.{patch}" for major in (0, 1, 2) for minor in range(20) for patch in (0, 1)]


class ListedReleases(PipIndex):
    """Unpacks releases of which some have a name, and some cannot be installed."""

    def __init__(self, having: set[str], failing: frozenset[str]) -> None:
        super().__init__("python")
        self.having, self.failing = having, failing

    def unpack(self, name: str, version: Version, folder: str) -> str | None:
        """Write the release's module."""
        Path(folder).mkdir()
        (Path(folder) / f"{name}.py").write_text("wanted = 1\n" if str(version) in self.having else "")
        return "no wheel" if str(version) in self.failing else None


def searched(
    having: set[str], installed: str | None, failing: frozenset[str] = frozenset(), seconds: float = 60
) -> tuple[str | None, list[ExaminedRelease]]:
    """What is found among many releases, and what was looked at."""
    looked: list[ExaminedRelease] = []
    search = ReleaseSearch(ListedReleases(having, failing), "pack", WantedName("pack.wanted"), looked.append, seconds)
    versions = sorted(map(Version, MANY), reverse=True)
    best = search.best(versions, Version(installed) if installed else None)
    return (str(best) if best else None), looked


def between(first: str, last: str) -> set[str]:
    """The releases from one on, up to another one."""
    return {one for one in MANY if Version(first) <= Version(one) <= Version(last)}


@pytest.mark.parametrize(
    ("having", "installed", "best"),
    [
        (between("0.0", "1.7.1"), "2.19.1", "1.7.1"),  # it was removed
        (between("0.0", "2.18.1"), "2.19.1", "2.18.1"),
        (between("0.12.0", "1.2.1"), "2.19.1", "1.2.1"),  # it came and went again
        (between("2.3.0", "9"), "2.1.0", "2.19.1"),  # it came later: the newest of the same major
        (between("1.3.0", "9"), "1.1.0", "1.19.1"),
        (between("2.0.0", "9"), "1.1.0", "2.19.1"),
        (between("0.0", "1.7.1"), None, "1.7.1"),  # it is not installed
        (between("0.0", "9"), None, "2.19.1"),
        ({"0.0.0"}, "2.19.1", "0.0.0"),  # it went within a minor release
        (set(), "2.19.1", None),
    ],
)
def test_the_release_with_a_name(having: set[str], installed: str | None, best: str | None) -> None:
    found, looked = searched(having, installed)
    assert found == best
    assert len(looked) <= 60  # of 120, and few where it is in the newest of a minor release


def test_what_cannot_be_installed_is_not_chosen_and_said() -> None:
    found, looked = searched(between("0.0", "1.7.1"), "2.19.1", failing=frozenset({"1.7.1", "1.6.1"}))
    assert found == "1.5.1"
    assert {str(one.version) for one in looked if one.error == "no wheel"} >= {"1.6.1"}


def test_time_ends_the_search() -> None:
    assert searched(between("0.0", "1.7.1"), "2.19.1", seconds=0) == (None, [])


def test_an_argument_is_shown_as_it_is_passed() -> None:
    assert WantedName("pack.Model", "size").shown == "pack.Model(size=...)"
