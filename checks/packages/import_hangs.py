"""The import of a GPU package does not end."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import PackageImport
from gpudoctor.queries.loading import imports_of, know_all
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import cmd, query


def _hanging(on: OnPython) -> PackageImport | None:
    return next((one for one in imports_of(on.python) if one.hung or one.lock), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    one = _hanging(on)
    if one is None:
        return ()
    if one.lock:
        message = "Delete the lock, unless somebody builds the extension now, also on another node or in a container."
        return (Fix(message, (cmd("rm", one.lock),), "change-environment", verify=query("ls", "-l", one.lock)),)
    code = f"import faulthandler; faulthandler.dump_traceback_later(30, exit=True); import {one.module}"
    return (
        Fix("Look where it waits: this prints it after 30 s.", (query(on.python.path, "-c", code),), impact="none"),
    )


@check(
    title="The import of a GPU package hangs",
    severity=Severity.ERROR,
    cause="The import waits for a file system or a GPU driver that does not respond, or for a build of a compiled "
    "extension that another process began: PyTorch waits for as long as its lock file exists.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/blob/main/torch/utils/file_baton.py",
        "https://docs.python.org/3/library/faulthandler.html",
    ),
    targets=pythons,
    only_with=("pythons.imports",),
    caused_by=(
        *("python.*", "host.*", "driver.*", "device.*", "packages.build-lock-left", "pytorch.import-hangs"),
        *("rocm.hangs", "health.stuck-process"),
    ),
    affects=("wheels", "extensions"),
    validated_on=("table 2026-11",),
)
def import_hangs(on: OnPython) -> Problem | None:
    """The child did not end within its deadline, or waits for a lock."""
    one = _hanging(on)
    if one is None:
        know_all(on.python)
        return None
    name = f"{one.package} {one.version}"
    if one.lock:
        return Problem(f"{one.statement} ({name}) waits until {one.lock} is gone.", (one.lock,))
    return Problem(f"{one.statement} ({name}) hangs.", tuple(one.stderr.splitlines()[-4:]))
