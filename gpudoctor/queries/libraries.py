"""Questions about CUDA's libraries, from facts alone."""

from collections.abc import Iterable

from gpudoctor.facts import DriverLibrary, Facts, Framework, Need, Python
from gpudoctor.knowledge.python_rules import cuda_in_name
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import major, packages_of, wheels

_RUNTIME = ("libcudart", "libcublas", "libcublasLt")


def needs_of(framework: Framework) -> tuple[Need, ...]:
    """The libraries that a framework needs; none where that is unknown. For hints and evidence."""
    return () if isinstance(framework.needs, Unknown) else framework.needs


def missing_beside_gpu(framework: Framework, facts: Facts) -> tuple[Need, ...]:
    """The libraries of a CUDA framework that the loader does not find, on a machine with an NVIDIA GPU.

    Empty where the framework was imported and uses a GPU.

    Raises:
        UnknownFactError: nobody knows what it is built for or what it needs.
    """
    if known(framework.variant) != "cuda" or not nvidia_gpus(facts):
        return ()
    if framework.live is not None and framework.live.available is True:
        return ()
    return tuple(need for need in known(framework.needs) if need.path is None)


def system_libraries(facts: Facts) -> tuple[DriverLibrary, ...]:
    """CUDA's libraries outside the environment; none where that is unknown. For hints and evidence."""
    found = facts.toolkits.libraries
    return () if isinstance(found, Unknown) else found


def family(soname: str) -> str:
    """A library's name without its version: "libcublasLt" of "libcublasLt.so.12"."""
    return soname.partition(".so")[0]


def other_majors(facts: Facts, python: Python, missing: Iterable[Need]) -> dict[str, str]:
    """For each missing library, another major of it that is installed: {"libcudart.so.11.0": "libcudart.so.12"}."""
    there = {lib.soname for lib in system_libraries(facts)}
    there |= {name for wheel in wheels(python) for name in wheel.libraries}
    return {
        need.soname: other
        for need in missing
        for other in sorted(there)
        if family(other) == family(need.soname) and other != need.soname
    }


def cuda_majors(facts: Facts, python: Python, of: tuple[str, ...] = _RUNTIME) -> dict[int, str]:
    """The CUDA majors of which one of these libraries is installed, and where: {12: "/usr/local/cuda-12.1/lib64"}."""
    found: dict[int, str] = {}
    for lib in system_libraries(facts):
        if lib.kind != "stub" and family(lib.soname) in of:
            _add(found, lib.soname, lib.path.rpartition("/")[0])
    for wheel in wheels(python):
        for name in wheel.libraries:
            if family(name) in of:
                _add(found, name, wheel.name)
    return found


def cuda_major(facts: Facts, python: Python) -> int:
    """The CUDA major of what is installed here, by frameworks and by names such as cudf-cu12; else the driver's."""
    driver = major(known_or(driver_cuda(facts), None) or "") or 12
    built = {major(f.cuda) for f in python.frameworks if isinstance(f.cuda, str)}
    named = {int(found[1]) for p in packages_of(python) if (found := cuda_in_name(p.name))}
    return max((number for number in built | named if number and number <= driver), default=driver)


def _add(found: dict[int, str], soname: str, place: str) -> None:
    number = major(soname.partition(".so.")[2])
    if number is not None:
        found.setdefault(number, place)
