"""Libraries that are for another PyTorch, of a package that has one for each release."""

from gpudoctor.checks.packages.extension_abi import extension_abi
from gpudoctor.facts import Extension, Facts
from tests.builders import change
from tests.checks.environments import environment, one, package, torch

GRAPHBOLT = ("libdgl.so", "libgraphbolt_pytorch_2.1.2.so", "libgraphbolt_pytorch_2.4.0.so")


def test_a_library_for_another_release_lacks_nothing_that_matters() -> None:
    """It is not loaded with this PyTorch, so that what it lacks is no reason of anything."""
    lacks = ("_ZN2at10fromDLPackEPK15DLManagedTensor",)
    path = "/opt/env/lib/python3.11/site-packages/dgl/dgl_sparse/libdgl_sparse_pytorch_{}.so"
    found = package("dgl", "2.1.0", libraries=GRAPHBOLT)
    facts = environment(torch("2.6.0+cu124"), packages=(found,))

    def lacking(release: str) -> Facts:
        one_of = Extension(package="dgl", version="2.1.0", path=path.format(release), unresolved=lacks)
        return change(facts, "pythons.0.extensions", (one_of,))

    assert one(extension_abi, lacking("2.0.0")) == ("pass", "")
    assert one(extension_abi, lacking("2.6.0"))[0] == "problem"
