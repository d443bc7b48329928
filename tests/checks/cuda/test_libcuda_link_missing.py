"""libcuda.so, which Triton links: none, or an empty file."""

from typing import Any

from gpudoctor.checks.cuda.libcuda_link_missing import libcuda_link_missing
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, library, nvidia_host
from tests.checks.environments import commands, environment, machine, one, package, torch


def linked(triton: str = "2.1.0", *copies: Any, **environment_: str) -> Facts:
    """Triton beside a driver with these copies of libcuda.so."""
    wheels = (package("triton", triton),)
    facts = environment(torch("2.1.2"), packages=wheels, facts=change(machine(), "nvidia.link_libraries", copies))
    return change(facts, "host.environment", environment_)


def test_libcuda_link_missing() -> None:
    folder = "/usr/lib/x86_64-linux-gnu"
    expected = (
        f"Triton 2.1.0 links with -lcuda, but there is no libcuda.so next to {folder}/libcuda.so.1: torch.compile and "
        "Triton kernels fail (cannot find -lcuda, or libcuda.so cannot found)."
    )
    assert one(libcuda_link_missing, linked()) == ("problem", expected)
    assert f"sudo ln -s libcuda.so.1 {folder}/libcuda.so" in commands(libcuda_link_missing, linked())
    assert "TRITON_LIBCUDA_PATH" not in commands(libcuda_link_missing, linked())
    assert "TRITON_LIBCUDA_PATH" in commands(libcuda_link_missing, linked("3.1.0"))
    assert one(libcuda_link_missing, linked("3.6.0")) == ("pass", "")
    assert one(libcuda_link_missing, linked("2.1.0", library("libcuda.so"))) == ("pass", "")
    stub = library("libcuda.so", found_by="not on the loader's path", path="/usr/local/cuda/lib64/stubs/libcuda.so")
    assert one(libcuda_link_missing, linked("2.1.0", stub))[0] == "problem"
    named = linked("2.1.0", stub, LIBRARY_PATH="/usr/local/cuda/lib64/stubs")
    assert one(libcuda_link_missing, named) == ("pass", "")
    blind = change(linked(), "nvidia.link_libraries", Unknown("no cache"))
    assert one(libcuda_link_missing, blind) == ("unknown", "no cache")
    assert ask(libcuda_link_missing, nvidia_host()) == [("skipped", "")]


def test_an_empty_libcuda_is_none() -> None:
    folder = "/usr/lib/x86_64-linux-gnu"
    empty = library("libcuda.so", real=f"{folder}/libcuda.so", found_by="default directory", size=0)
    expected = (
        f"Triton 3.4.0 links with -lcuda, but {folder}/libcuda.so is an empty file, which gives the linker nothing: "
        "torch.compile and Triton kernels fail (undefined symbol: cuModuleGetFunction)."
    )
    assert one(libcuda_link_missing, linked("3.4.0", empty)) == ("problem", expected)
    said = commands(libcuda_link_missing, linked("3.4.0", empty))
    assert f"sudo ln -sf libcuda.so.1 {folder}/libcuda.so" in said
    assert "rm -rf ~/.triton/cache" in said  # it was linked with nothing, and is not linked again
    assert "rm -rf /scratch/t" in commands(libcuda_link_missing, linked("3.4.0", empty, TRITON_CACHE_DIR="/scratch/t"))
    assert one(libcuda_link_missing, linked("3.6.0", empty)) == ("pass", "")  # links libcuda.so.1
    assert one(libcuda_link_missing, linked("3.4.0", library("libcuda.so", size=60_000_000))) == ("pass", "")
    other = library("libcuda.so", path="/usr/lib/libcuda.so", real="/usr/lib/libcuda.so", size=0)
    assert one(libcuda_link_missing, linked("3.4.0", library("libcuda.so"), other)) == ("pass", "")  # of 32 bits
    own = linked("3.4.0", empty, library("libcuda.so", path="/opt/cuda/libcuda.so"), TRITON_LIBCUDA_PATH="/opt/cuda")
    assert one(libcuda_link_missing, own) == ("pass", "")
