"""The targets for which a rocBLAS has kernels, by the names of the files in its directory."""

from collections.abc import Iterable

from gpudoctor.lazy_regex import pattern

# TensileLibrary_lazy_gfx90a.dat, Kernels.so-000-gfx1030.hsaco, Kernels.so-000-gfx90a-xnack-.hsaco
_GFX = pattern(r"(?:^|[_-])(gfx[0-9a-f]+(?:-(?:\d+-)?generic)?)")


def targets(names: Iterable[str]) -> tuple[str, ...]:
    """Return the gfx targets in the names of files: ("gfx1030", "gfx90a"); empty where none names one."""
    return tuple(sorted({found[1] for name in names if (found := _GFX.search(name))}))
