"""Fixes where a framework does not import."""

from gpudoctor.judge import Fix
from gpudoctor.knowledge import import_errors
from gpudoctor.remedies.proofs import framework_proof
from gpudoctor.remedies.python import install, manager_of
from gpudoctor.subjects import OnLive
from gpudoctor.views.packages import release


def install_again(on: OnLive) -> tuple[Fix, ...]:
    """What the error's own words ask for, where they are known, then the same version once more with what it needs."""
    hint, proof = import_errors.hint(on.live.import_error or ""), framework_proof(on.python, on.framework.name)
    first = (Fix(hint.fix, action="reinstall-package", verify=proof),) if hint and hint.fix else ()
    name, version = on.framework.distribution or on.framework.name, on.framework.version
    spec = f"{name}=={release(version)}" if isinstance(version, str) and version else name
    says = f"Install it again with what it needs, by {manager_of(on.python)}."
    return (*first, Fix(says, (install(on.python, spec, force=True),), "reinstall-package", verify=proof))
