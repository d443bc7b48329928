"""A framework that was imported: the import fails, hangs or crashes, or it does not use the GPU."""

from collections.abc import Callable
from typing import Any

from gpudoctor.check_engine import Check, Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.families import FrameworkFamily
from gpudoctor.families.live_problems import crash, hang, import_problem, refusal, steps_of_cause
from gpudoctor.fixes.frameworks import where_it_hangs
from gpudoctor.fixes.imports import after_crash, install_again
from gpudoctor.fixes.loading import libraries_of_wheels
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.cause_groups import ENVIRONMENT, NO_LIBRARY, SYSTEM
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.loading import missing_in_words
from gpudoctor.targets import OnLive
from gpudoctor.tasks import Manual, Task

LiveFixes = Callable[[OnLive], tuple[Fix, ...]]
_GPUS = {"cuda": nvidia_gpus, "rocm": amd_gpus}


def import_hangs(of: FrameworkFamily, module: str, **texts: Any) -> Check[OnLive]:
    """The check for a framework that does not return from its import or from asking for GPUs.

    Args:
        of: the framework.
        module: the module of the check's file.
        texts: further arguments of `check_engine.Check`, as for each function here.
    """

    @check(
        module=module,
        title=f"{of.title} hangs on import or when it asks for GPUs",
        severity=Severity.ERROR,
        cause="The process waits for a file system that does not respond (NFS, FUSE), for an antivirus scan, or for a "
        "GPU driver call that does not return.",
        fixes=where_it_hangs,
        references=("https://docs.python.org/3/library/faulthandler.html",),
        targets=of.live,
        caused_by=(*SYSTEM, "python.*", "host.*"),
        affects=("wheels",),
        essential=True,
        **texts,
    )
    def judged(on: OnLive) -> str | None:
        """The child did not end within its deadline; with less time than that, nobody knows whether it hangs."""
        return hang(on.name, on.live)

    return judged


def import_fails(
    of: FrameworkFamily, module: str, *, fixes: LiveFixes = install_again, also: tuple[str, ...] = (), **texts: Any
) -> Check[OnLive]:
    """The check for a framework whose import raises.

    Args:
        of: the framework.
        module: the module of the check's file.
        fixes: where installing it again is not the way.
        also: ids of further checks whose problem explains this one.
        texts: further arguments of `check_engine.Check`.
    """

    @check(
        module=module,
        title=f"import {of.module} fails",
        severity=Severity.ERROR,
        cause="A shared library or Python package that it needs is missing, damaged or of an incompatible version.",
        fixes=fixes,
        targets=of.live,
        caused_by=(
            *("python.*", "python.numpy-2", "windows.dll-not-loaded", "libraries.*", "packages.*", "host.*"),
            "rocm.library-missing",
            *NO_LIBRARY,
            *of.packages,
            *of.libraries,
            *also,
        ),
        affects=("wheels",),
        **{"references": (of.docs,)} | texts,
    )
    def judged(on: OnLive) -> Problem | None:
        """The import raises."""
        return import_problem(on, of.libraries)

    return judged


def crashes(
    of: FrameworkFamily,
    module: str,
    *,
    fixes: LiveFixes = after_crash,
    own: tuple[str, ...] | None = None,
    **texts: Any,
) -> Check[OnLive]:
    """The check for a framework whose process is killed by a signal.

    Args:
        of: the framework.
        module: the module of the check's file.
        fixes: where installing it again is not the way.
        own: ids of those of its checks that explain this one; None: all that keep it from starting.
        texts: further arguments of `check_engine.Check`.
    """

    @check(
        module=module,
        title=f"{of.title} crashes",
        severity=Severity.ERROR,
        cause="An incompatible or damaged shared library is loaded into the process, or the GPU driver fails.",
        fixes=lambda on: (*steps_of_cause(on, "crashes", framework_proof(on.python, of.module)), *fixes(on)),
        references=("https://docs.python.org/3/library/faulthandler.html",),
        targets=of.live,
        caused_by=(
            *SYSTEM,
            *("python.*", "python.numpy-2", "libraries.*", "packages.*", "host.*"),
            *(of.causes if own is None else own),
        ),
        affects=("wheels",),
        **texts,
    )
    def judged(on: OnLive) -> Problem | None:
        """The child died of a signal."""
        return crash(on)

    return judged


def no_gpu(
    of: FrameworkFamily,
    module: str,
    *,
    also: tuple[str, ...] = (),
    severity_of: Callable[[OnLive], Severity | None] = lambda _: None,
    **texts: Any,
) -> Check[OnLive]:
    """The check for a framework that uses no GPU although one is there that it is built for.

    Args:
        of: the framework.
        module: the module of the check's file.
        also: ids of further checks whose problem explains this one.
        severity_of: the severity, where it is not an error.
        texts: further arguments of `check_engine.Check`.
    """

    @check(
        module=module,
        title=f"{of.title} does not use the GPU",
        severity=Severity.ERROR,
        cause="This build supports the GPU, but initializing CUDA or HIP fails; the framework's own error shows why.",
        fixes=_in_a_fresh_process,
        targets=of.live,
        caused_by=(*SYSTEM, *ENVIRONMENT, "health.*", *of.causes, *also),
        affects=("wheels",),
        **{"references": (of.docs,)} | texts,
    )
    def judged(on: OnLive) -> Problem | None:
        """A build for the GPU that is there reports that none is available."""
        return refusal(on.facts, on.name, on.live, _gpus(on), severity_of(on), of.lists_by_driver)

    return judged


def _gpus(on: OnLive) -> tuple[Gpu, ...]:
    """The GPUs of the vendor that the framework is built for."""
    gpus = _GPUS.get(known(on.framework.variant) or "")
    return gpus(on.facts) if gpus else ()


def _in_a_fresh_process(on: OnLive) -> tuple[Fix, ...]:
    message = "Read the full error in a fresh process, outside of notebooks and launchers that set variables."
    proof = framework_proof(on.python, on.framework.name)
    error = on.live.error if isinstance(on.live.error, str) else ""
    missing = missing_in_words(error)  # what is known of a library here says more than its message's row
    by_row = () if missing else steps_of_cause(on, "no-gpu", proof)
    if on.framework.name != "torch":
        by_row = tuple(fix for fix in by_row if not any(map(_installs_torch, fix.tasks)))
    own = (*_final_release(on, proof), *_newer_plugin(on, missing, proof))
    found = (*own, *libraries_of_wheels(on, missing, proof), *by_row)
    return (*found, Fix(message, (proof,) if proof else (), impact="none"))


def _installs_torch(task: Task) -> bool:
    return isinstance(task, Manual) and " install " in task.text and " torch" in task.text


def _newer_plugin(on: OnLive, missing: tuple[str, ...], proof: Task | None) -> tuple[Fix, ...]:
    """Upgrade JAX with its plugin for ROCm, where that needs a library of other ROCm wheels (ROCm/TheRock#8163)."""
    plugin = on.framework.plugin
    if not isinstance(plugin, str) or not any(name.startswith(_OF_ROCM_WHEELS) for name in missing):
        return ()
    names = ("jax", "jaxlib", plugin, plugin.replace("-plugin", "-pjrt"))
    message = (
        f"Upgrade JAX with its plugin to releases that belong together: {', '.join(missing)} is of another release of "
        f"ROCm's wheels than those that are installed.{lasting(on.facts)}"
    )
    return (Fix(message, (install(on.python, *names, upgrade=True),), "reinstall-package", verify=proof),)


_OF_ROCM_WHEELS = "librocm_sysdeps_"  # libraries of rocm-sdk-core alone
_CANDIDATE = pattern(r"^(\d[\d.]*?)\.?(?:a|b|rc)\d+$")


def _final_release(on: OnLive, proof: Task | None) -> tuple[Fix, ...]:
    """Install the release before a candidate in its place, whose faults it was published to find (PEP 440).

    Whether the release itself is there already, no table knows; pip passes over candidates.
    """
    match = _CANDIDATE.match(text_of(on.framework.version))
    name = on.framework.distribution
    if match is None or name is None:
        return ()
    extra = "[and-cuda]" if name == "tensorflow" else ""
    message = f"Install the newest release: {match[0]} is a pre-release of {match[1]}.{lasting(on.facts)}"
    task = install(on.python, f"{name}{extra}!={match[0]}", upgrade=True)
    return (Fix(message, (task,), "reinstall-package", verify=proof),)
