"""A framework needs a library of a ROCm release that is not installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Need
from gpudoctor.fixes.python import lasting
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge import sonames
from gpudoctor.knowledge.jax import jax
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.frameworks import last_words
from gpudoctor.queries.gpus import amd_gpus
from gpudoctor.targets import OnFramework, frameworks, has_rocm
from gpudoctor.tasks import as_root


def _missing(on: OnFramework) -> tuple[Need, ...]:
    """ROCm's libraries that the loader does not find, where the framework is not known to use a GPU."""
    if known(on.framework.variant) != "rocm" or not amd_gpus(on.facts):
        return ()
    live = on.framework.live
    if live is not None and live.available is True:
        return ()
    missing = tuple(n for n in known(on.framework.needs) if n.path is None and sonames.vendor_of(n.soname) == "amd")
    if live is None:
        return missing
    text = " ".join((live.import_error or "", live.stderr, live.error if isinstance(live.error, str) else ""))
    named = tuple(need for need in missing if need.soname in text)
    # PyTorch links to them, so an import that succeeds or fails over something else has found them.
    return named or (() if live.import_error or on.framework.name == "torch" else missing)


def _releases(soname: str) -> str:
    """Which ROCm has a library of this name: "ROCm >= 6.0, < 6.2"; empty where no table knows."""
    found = sonames.rocm_releases_of(soname)
    if found is None:
        return ""
    first, end = found
    return f"ROCm >= {first}" + (f", < {end}" if end else "")


def _here(on: OnFramework) -> str | None:
    return known_or(on.facts.amd.rocm, None)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    missing, rocm = _missing(on), _here(on)
    proof = framework_proof(on.python, on.framework.name)
    links = [(n.soname, link) for n in missing if rocm and (link := sonames.rocm_link_for(n.soname, rocm))]
    wanted = next((text for n in missing if (text := _releases(n.soname))), "the ROCm that it was built with")
    matching = f"Install {wanted}, next to the ROCm that is here or in a container, "
    if on.framework.name == "jax":
        major = jax().rocm.rocm
        matching += f"or ROCm {major} with the plugin for it: jax[rocm{major}-local]."
    else:
        matching += "or a build of the framework for the ROCm that is here."
    fixes = [Fix(f"{matching}{lasting(on.facts)}", (), "reinstall-package", verify=proof)]
    if links and len(links) == len(missing):
        folder = f"{known_or(on.facts.amd.rocm_path, None) or '/opt/rocm'}/lib"
        names = " and ".join(f"{name} to {link}" for name, link in links)
        message = f"Link {names}, as AMD advises until a rebuilt plugin is released: the functions are the same."
        tasks = tuple(as_root("ln", "-s", link, f"{folder}/{name}") for name, link in links)
        undo = tuple(as_root("rm", f"{folder}/{name}") for name, _ in links)
        fixes.insert(0, Fix(message, tasks, "reinstall-package", root=True, undo=undo, verify=proof))
    return tuple(fixes)


@check(
    title="A framework needs a ROCm library that is missing: built for another ROCm release",
    severity=Severity.ERROR,
    cause="Only PyTorch's wheels bring ROCm's libraries; JAX's plugin, ONNX Runtime, CuPy and TensorFlow load those of "
    "the system, by names with a major version (librocm_smi64.so.6). Another ROCm release has other numbers, and the "
    "loader takes no other.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/jax/issues/268",
        "https://github.com/ROCm/rocm_smi_lib/issues/215",
        "https://github.com/ROCm/legacy-rocm-build/issues/4403",
    ),
    targets=frameworks,
    only_with=("pythons.frameworks.variant=rocm",),
    caused_by=("python.*", "rocm.half-installed", "container.*", "wsl.*"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def library_missing(on: OnFramework) -> Problem | None:
    """A library of ROCm's that a framework links to is where the loader looks under no name that it takes."""
    missing = _missing(on)
    if not missing:
        return None
    first, rocm, live = missing[0], _here(on), on.framework.live
    releases = f" ({text})" if (text := _releases(first.soname)) else ""
    there = sonames.rocm_soname_in(first.soname, rocm) if rocm else None
    instead = f", which has {there}" if there and there != first.soname else ""
    here = "no ROCm is installed"
    if has_rocm(on.facts):
        here = f"ROCm {rocm} is installed{instead}" if rocm else "the ROCm here has another one"
    others = f" and {len(missing) - 1} more" if missing[1:] else ""
    part = first.needed_by.rpartition("/")[2]
    message = f"{on.name}: {part} needs {first.soname}{releases}{others}, which is not found; {here}."
    said = last_words(live) if live else ""
    return Problem(message, (said,) if said else (), severity=Severity.WARNING if live is None else None)
