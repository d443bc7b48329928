"""A distribution whose library was overwritten by another one's, which has fewer modules."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, lasting, version_of
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import query


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    one = on.python.overwritten[0]
    version = version_of(on.python, one.package)
    message = (
        f"Install {one.package} once more, over the files of {one.by}, which it can replace. Whatever installs "
        f"{one.by} again overwrites them again.{lasting(on.facts)}"
    )
    spec = f"{one.package}=={version}" if version else one.package
    task = install(on.python, spec, force=True, no_deps=True)
    module = one.file.partition("/")[0]
    proof = query(on.python.path, "-c", f"import {module}; print({module}.getBuildInformation())")
    return (Fix(message, (task,), "reinstall-package", verify=proof),)


@check(
    title="A package's modules were overwritten by another build of it",
    severity=Severity.WARNING,
    cause="Four distributions of OpenCV write the same directory cv2, and pip does not know that they exclude each "
    "other: opencv-python, its headless form, and both with the contrib modules. The one that was installed last wins.",
    fixes=_fixes,
    references=(
        "https://github.com/opencv/opencv-python#installation-and-usage",
        "https://pypi.org/project/opencv-contrib-python/",
    ),
    targets=pythons,
    only_with=("pythons.overwritten",),
    affects=("extensions",),
    validated_on=("environment 2026-11",),
)
def modules_overwritten(on: OnPython) -> Problem | None:
    """The library that is there has the size that the RECORD of the smaller distribution names."""
    if not on.python.overwritten:
        return None
    one = on.python.overwritten[0]
    lost = next(row.modules for row in wanted().shared if one.package in row.fuller)
    named = (f"{name} {version_of(on.python, name) or ''}".strip() for name in (one.by, one.package))
    by, package = named
    return Problem(f"{by} has overwritten {one.file} of {package}: {lost} are missing.")
