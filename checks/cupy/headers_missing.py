"""CuPy without CUDA's header files."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import system
from gpudoctor.fixes.frameworks import cupy_verify
from gpudoctor.fixes.python import conda_install, conda_of, install, lasting
from gpudoctor.knowledge import cupy
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.cupy import nvrtc, on_nvidia
from gpudoctor.queries.packages import numbers, wheels
from gpudoctor.targets import OnFramework, cupys
from gpudoctor.tasks import Task

_MIXED = (
    "NVRTC knows the types and functions of its own release's headers. CuPy 14.0 takes the headers of CUDA_PATH, "
    "of the toolkit whose nvcc is on PATH, or of /usr/local/cuda, and NVRTC from a wheel where one is installed: if "
    "these are of different releases, compiling fails with NVRTC_ERROR_COMPILATION ('incomplete type', 'identifier "
    "undefined')."
)


def _release(on: OnFramework) -> str | None:
    """The CUDA release of the run-time compiler: by the toolkit that it lies in, by its file, by its own word."""
    live, need = on.framework.live, nvrtc(on)
    path = (need.path if need else None) or ""
    beside = [version for folder, version in known(on.facts.toolkits.installed) if path.startswith(f"{folder}/")]
    file = need.version if need and need.version and "." in need.version else ""
    return next((v for v in (*beside, file) if v), live.nvrtc if live and isinstance(live.nvrtc, str) else None)


def _has_headers(on: OnFramework) -> bool:
    conda = any(c.name in ("cuda-cudart-dev", "cuda-toolkit", "cudatoolkit-dev") for c in conda_of(on.python))
    return conda or bool(wheels(on.python, "cuda-runtime")) or known(on.facts.toolkits.home.headers)


def _other(on: OnFramework) -> tuple[str, str] | None:
    """The directory whose headers CuPy takes and their release, where NVRTC is of another minor release.

    CuPy 14.0 finds NVRTC by cuda-pathfinder, wheels first, and takes the headers of CUDA_PATH, of nvcc's toolkit or of
    /usr/local/cuda.
    """
    need, home, live, rules = nvrtc(on), on.facts.toolkits.home, on.framework.live, cupy.cupy().rules
    number = numbers(text_of(on.framework.version))
    if not numbers(rules.ctk_since) <= number < numbers(rules.own_headers_since):
        return None  # an older CuPy loads no NVRTC of a wheel
    if home.path is None or (live and isinstance(live.cuda_path, str) and live.cuda_path != home.path):
        return None  # it takes those of another directory
    headers = known(home.nvcc) if known(home.headers) else None
    release = _release(on) if need and need.path else None
    if not headers or not release or "." not in headers or "." not in release:
        return None
    return (home.path, headers) if numbers(headers)[:2] != numbers(release)[:2] else None


def _of_one_release(on: OnFramework, path: str, headers: str) -> tuple[Fix, ...]:
    """Upgrade CuPy, which then takes the headers that belong to NVRTC; or let both be of one release."""
    first, name = cupy.cupy().rules.own_headers_since, present(on.framework.distribution)
    message = f"Upgrade CuPy: since {first} it takes the headers from where it finds NVRTC.{lasting(on.facts)}"
    task = install(on.python, f"{name}[ctk]>={first}")
    fixes = [Fix(message, (task,), "reinstall-package", verify=_verify(on))]
    wheel = next(iter(wheels(on.python, "cuda-nvrtc")), None)
    if wheel and _is_wheel(on):
        message = f"Install the NVRTC wheel of the release of {path}.{lasting(on.facts)}"
        task = install(on.python, f"{wheel.name}=={headers}.*")
        fixes.append(Fix(message, (task,), "reinstall-package", verify=_verify(on)))
    return tuple(fixes)


def _is_wheel(on: OnFramework) -> bool:
    """Whether the NVRTC that CuPy loads is a wheel's."""
    need = nvrtc(on)
    return need is not None and need.path is not None and need.path == need.wheel


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    if found := _other(on):
        return _of_one_release(on, *found)
    release = _release(on) or ""
    minor = ".".join(release.split(".")[:2])
    if conda_of(on.python):
        command = conda_install(on.python, "cuda-cudart-dev", f"cuda-version={minor}")
        return (Fix("Install the CUDA headers with conda.", (command,), "reinstall-package", verify=_verify(on)),)
    wheel = f"nvidia-cuda-runtime-cu12=={minor}.*" if minor.startswith("12") else f"nvidia-cuda-runtime=={minor}.*"
    message = f"Install the wheel with the CUDA headers, of NVRTC's own release {minor}.{lasting(on.facts)}"
    fixes = [Fix(message, (install(on.python, wheel),), "reinstall-package", verify=_verify(on))]
    if system.family_of(on.facts) in ("debian", "fedora", "suse"):
        name = f"cuda-cudart-{'dev' if system.family_of(on.facts) == 'debian' else 'devel'}-{minor.replace('.', '-')}"
        commands = system.install(on.facts, name)
        message = "Install the headers next to the toolkit, from NVIDIA's repository; -devel images include them."
        fixes.append(Fix(message, commands, "reinstall-package", root=True, verify=_verify(on)))
    return tuple(fixes)


def _verify(on: OnFramework) -> Task:
    return cupy_verify(on.python)


@check(
    title="CUDA headers missing, or of another release than NVRTC: CuPy kernels do not compile",
    severity=Severity.ERROR,
    cause="Since CUDA 12.2 the header cuda_fp16.h includes vector_types.h and others of the CUDA runtime, so NVRTC "
    "needs an include directory with all of them ('cannot open source file'); runtime images have libraries only.",
    fixes=_fixes,
    references=(
        "https://docs.cupy.dev/en/stable/install.html#cupy-always-raises-nvrtc-error-compilation-6",
        "https://github.com/cupy/cupy/issues/8466",
        "https://github.com/cupy/cupy/pull/8593",
        "https://github.com/cupy/cupy/pull/9853",
        "https://github.com/cupy/cupy/issues/9962",
    ),
    targets=cupys,
    caused_by=("python.*", "cupy.several-packages", "cupy.wrong-cuda-major", "cupy.arch-missing"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def headers_missing(on: OnFramework) -> Problem | None:
    """NVRTC of CUDA 12.2 or newer is there, and no directory has the headers, or it has those of another release."""
    if not on_nvidia(on):
        return None
    need = nvrtc(on)
    if need is None or need.path is None:
        return None
    if found := _other(on):
        path, headers = found
        own = phrase(" {}", _release(on))
        message = (
            f"{on.name} compiles with NVRTC{own} ({need.path}) and the CUDA {headers} headers of {path}: "
            "kernels that include headers of CUDA (fp16, fp8, CUB) do not compile."
        )
        return Problem(message, cause=_MIXED, severity=Severity.WARNING)
    if _has_headers(on):
        return None
    release = _release(on)
    if release is None or numbers(release)[:2] < (12, 2):
        return None
    home = on.facts.toolkits.home.path
    where = (
        f"{home}/include has no vector_types.h and cuda_fp16.h"
        if home
        else "no CUDA toolkit with an include directory is found"
    )
    return Problem(f"{on.name} finds NVRTC {release} ({need.path}), but not the CUDA headers: {where}.")
