"""Checks that several frameworks share, each made by one function; what differs stands in a framework's own record.

A record is in the `__init__.py` of the framework's area, such as `gpudoctor.checks.jax`; a check's file there hands it,
with its own module's name, to the function that makes the check.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from gpudoctor.check_engine import Fix, Targets
from gpudoctor.targets import NAMES, OnFramework, OnLive, frameworks, lives

Fitting = Callable[[OnFramework], tuple[Fix, ...]]


class FrameworkFamily(msgspec.Struct, frozen=True):
    """What a framework's checks have in common.

    Attributes:
        module: its import name.
        docs: the page that says how it is installed.
        libraries: ids of its checks about compiled code, which explain a failed import only where the error speaks of
            a shared library.
        packages: ids of its further checks whose problem keeps it from starting.
        cpu_build: id of its check that a build for the CPU is installed, which explains no failed import.
        fitting: installs a build that fits this machine.
        build: names, for people, what is built for a CUDA release; None: the framework itself.
        lists_by_driver: whether it lists GPUs by CUDA's runtime alone: cuDNN and NCCL, which wheels of two CUDA
            majors overwrite, have no part in it.
    """

    module: str
    docs: str
    fitting: Fitting
    libraries: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    cpu_build: str | None = None
    build: Callable[[OnFramework], str] | None = None
    lists_by_driver: bool = False

    @property
    def title(self) -> str:
        """For people: "PyTorch"."""
        return NAMES[self.module]

    @property
    def causes(self) -> tuple[str, ...]:
        """The ids of its checks whose problem keeps it from starting, or from using the GPU."""
        return (*self.packages, *self.libraries, *([self.cpu_build] if self.cpu_build else ()))

    def built(self, on: OnFramework) -> str:
        """For people, with its version: "PyTorch 2.7.1", "cupy-cuda12x 13.4.1"."""
        return self.build(on) if self.build else on.name

    @property
    def targets(self) -> Targets[OnFramework]:
        """Each installation of the framework."""
        return partial(frameworks, name=self.module)

    @property
    def live(self) -> Targets[OnLive]:
        """Each installation that was imported."""
        return partial(lives, name=self.module)
