"""A driver that is older than what was built for a newer CUDA needs: the same question for each framework."""

from gpudoctor.check_engine import Problem, Severity
from gpudoctor.facts import Facts
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.targets import OnFramework, on_wsl


def floor(facts: Facts, cuda: str) -> str | None:
    """The oldest driver that runs programs of a CUDA release here; WSL's driver is Windows' own. None: no table says.

    Args:
        facts: the machine.
        cuda: the release, "13.0" or "13".
    """
    return drivers.minimum_driver(cuda, windows=facts.host.system == "Windows" or on_wsl(facts))


def behind_framework(on: OnFramework, name: str, *, then: str = "", severity: Severity | None = None) -> Problem | None:
    """The problem of a framework that is built for a newer CUDA major than the driver's.

    Args:
        on: the framework.
        name: what is built for that CUDA: the framework, its distribution or its plugin, with its version.
        then: what follows from it, with the comma before it.
        severity: where it is not the check's own.

    Raises:
        UnknownFactError: nobody knows what it is built for, or what the driver runs.
    """
    cuda = known(on.framework.cuda)
    if cuda is None or not nvidia_gpus(on.facts):
        return None
    driver = known(driver_cuda(on.facts))
    if driver is None or driver_runs(cuda, driver):
        return None
    needs = phrase(" and requires driver {} or newer", floor(on.facts, cuda))
    message = (
        f"{name} is built for CUDA {cuda}{needs}; the {driver_words(on.facts)} is too old and supports at most CUDA "
        f"{driver}{then}."
    )
    live = on.framework.live
    error = live.error if live and isinstance(live.error, str) else ""
    return Problem(message, (error[:1000],) if error else (), severity=severity)
