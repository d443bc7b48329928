"""Libraries are found in the order of ld.so(8)."""

import pytest

from gpudoctor.parsers.loader import DEFAULT_DIRS, LoaderStep, Resolved, all_copies, resolve, search_order

CACHE = {"libcudart.so.12": ("/usr/local/cuda/lib64/libcudart.so.12", "/opt/second/libcudart.so.12")}
EVERYWHERE = {
    "/rpath/libcudart.so.12",
    "/llp/libcudart.so.12",
    "/site/lib/libcudart.so.12",
    "/usr/local/cuda/lib64/libcudart.so.12",
    "/lib64/libcudart.so.12",
}


def order(llp: str = "/llp", runpath: tuple[str, ...] = (), rpath: tuple[str, ...] = ()) -> tuple[LoaderStep, ...]:
    return search_order(llp, CACHE, runpath, rpath, origin="/site/torch", default_dirs=("/lib64", "/usr/lib64"))


@pytest.mark.parametrize(
    ("places", "missing", "path", "why"),
    [
        (order(rpath=("/rpath",)), (), "/rpath/libcudart.so.12", "RPATH"),
        (order(rpath=("/rpath",), runpath=("/none",)), (), "/llp/libcudart.so.12", "LD_LIBRARY_PATH"),
        (order(runpath=("$ORIGIN/../lib",)), (), "/llp/libcudart.so.12", "LD_LIBRARY_PATH"),
        (order("", runpath=("/site/lib",)), (), "/site/lib/libcudart.so.12", "RUNPATH"),
        (order(""), (), "/usr/local/cuda/lib64/libcudart.so.12", "cache"),
        (order(""), ("/usr/local/cuda/lib64/libcudart.so.12",), "/lib64/libcudart.so.12", "default directory"),
    ],
)
def test_the_first_place_wins(places: tuple[LoaderStep, ...], missing: tuple[str, ...], path: str, why: str) -> None:
    found = resolve("libcudart.so.12", places, lambda path: path in EVERYWHERE.difference(missing))
    assert found is not None
    assert (found.path, found.why) == (path, why)


def test_nothing_found() -> None:
    assert resolve("libcudart.so.12", order(), lambda _: False) is None
    assert resolve("libcufft.so.11", order(), lambda path: path in EVERYWHERE) is None
    assert resolve("/llp/libcudart.so.12", order(), lambda _: True) is None


def test_all_copies_in_order_and_once() -> None:
    places = order("/llp:/lib64", runpath=("/site/lib",))
    copies = all_copies("libcudart.so.12", places, lambda path: path in EVERYWHERE)
    assert copies == [
        Resolved("/llp/libcudart.so.12", "LD_LIBRARY_PATH"),
        Resolved("/lib64/libcudart.so.12", "LD_LIBRARY_PATH"),
        Resolved("/site/lib/libcudart.so.12", "RUNPATH"),
        Resolved("/usr/local/cuda/lib64/libcudart.so.12", "cache"),
    ]


@pytest.mark.parametrize(
    ("value", "folders"),
    [
        ("", []),
        ("/a:/b", ["/a", "/b"]),
        ("/a;/b", ["/a", "/b"]),
        ("/a:", ["/a", "."]),
        (":/a", [".", "/a"]),
        ("/a::/b", ["/a", ".", "/b"]),
        ("lib", ["lib"]),
        ("/a/$LIB:/b", ["/b"]),
    ],
)
def test_entries_of_ld_library_path(value: str, folders: list[str]) -> None:
    places = [place for place in search_order(value, {}) if place.why == "LD_LIBRARY_PATH"]
    assert [place.directory for place in places] == folders
    assert [place.is_empty_entry for place in places] == [folder == "." for folder in folders]


def test_a_library_met_in_the_current_directory_says_so() -> None:
    found = resolve("libcuda.so.1", search_order("/a:", {}), lambda path: path == "./libcuda.so.1")
    assert found == Resolved("./libcuda.so.1", "LD_LIBRARY_PATH", is_empty_entry=True)
    assert resolve("libcuda.so.1", search_order("/a:.", {}), lambda path: path == "./libcuda.so.1") == Resolved(
        "./libcuda.so.1", "LD_LIBRARY_PATH"
    )


@pytest.mark.parametrize(
    ("entry", "origin", "folders"),
    [
        ("$ORIGIN/../lib", "/site/torch", ["/site/torch/../lib"]),
        ("${ORIGIN}", "/site/torch", ["/site/torch"]),
        ("$ORIGIN", "", []),
        ("$ORIGIN/$LIB", "/site/torch", []),
        ("/opt/lib", "", ["/opt/lib"]),
        ("", "", ["."]),
    ],
)
def test_origin(entry: str, origin: str, folders: list[str]) -> None:
    for places, why in (
        (search_order("", {}, runpath=(entry,), origin=origin), "RUNPATH"),
        (search_order("", {}, rpath=(entry,), origin=origin), "RPATH"),
    ):
        assert [place.directory for place in places if place.why == why] == folders


def test_the_default_directories_come_last() -> None:
    places = search_order("", {})
    assert places[0].why == "cache"
    assert tuple(place.directory for place in places[1:]) == DEFAULT_DIRS
