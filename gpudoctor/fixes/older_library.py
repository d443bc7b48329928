"""Fixes for a compiled package that calls functions which the driver or a CUDA library here does not have yet."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import PackageImport
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge import sonames
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import LackedSymbol
from gpudoctor.queries.packages import release
from gpudoctor.targets import OnPython
from gpudoctor.tasks import export, unset


def newer_library(on: OnPython, one: PackageImport, lacked: LackedSymbol) -> tuple[Fix, ...]:
    """Install a newer driver, or a newer release of the library; or an older one of the package."""
    proof, torch = import_proof(on, one), one_of(on.python, "torch")
    message = (
        f"Install an older release of {one.package}, which does not call {lacked.symbol}; if the error stays, take "
        f"a still older one.{lasting(on.facts)}"
    )
    task = install(on.python, f"{one.package}<{release(one.version)}")
    older = Fix(message, (task,), "reinstall-package", verify=proof)
    if lacked.of_driver:
        cuda = text_of(torch.cuda) if torch else ""
        return (*(newer_driver(on.facts, cuda, native=True) if cuda else ()), older)
    wheel = sonames.wheel_of(lacked.library)
    if wheel is None:
        return (older,)
    name = wheel[0].partition("==")[0]
    message = f"Install a newer {name}, which has {lacked.symbol}."
    first: tuple[Fix, ...] = ()
    if value := on.facts.host.environment.get("LD_LIBRARY_PATH"):
        text = f"Unset LD_LIBRARY_PATH, from which an older {lacked.library} may come."
        undo = export("LD_LIBRARY_PATH", value)
        first = (Fix(text, (unset("LD_LIBRARY_PATH"),), "change-environment", undo=(undo,), verify=proof),)
    note = " pip reports a conflict where PyTorch pins another release, and installs it." if torch else ""
    newer = install(on.python, wheel[0], upgrade=True)
    return *first, Fix(f"{message}{note}{lasting(on.facts)}", (newer,), "reinstall-package", verify=proof), older
