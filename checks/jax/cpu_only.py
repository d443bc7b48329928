"""JAX without its plugin next to a GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.bounds import is_required
from gpudoctor.fixes.frameworks import jax_verify, jax_with_plugin
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.jax import jax
from gpudoctor.knowledge.python_rules import computes_with_jax
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import OnFramework, gpu_name, has_rocm, jaxes
from gpudoctor.tasks import cmd, query


def _users(on: OnFramework) -> list[str]:
    """Installed packages whose own work JAX does."""
    return [p.name for p in packages_of(on.python) if computes_with_jax(p.name)]


def _amd(on: OnFramework) -> tuple[Gpu, ...]:
    """The AMD GPUs that JAX's ROCm plugin has code for, beside a ROCm, which it does not bring."""
    served = jax().rocm.gfx.split()
    return tuple(g for g in amd_gpus(on.facts) if g.gfx in served) if has_rocm(on.facts) else ()


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    if on.facts.host.system == "Windows":
        message = "Run JAX inside WSL 2: there are no builds with CUDA for native Windows."
        return (
            Fix(
                message,
                (cmd("wsl", "--install"),),
                "reboot",
                root=True,
                needs="reboot",
                verify=query("wsl", "nvidia-smi"),
            ),
        )
    version = on.framework.version if isinstance(on.framework.version, str) else None
    if not nvidia_gpus(on.facts):
        spec = f"jax[rocm{jax().rocm.rocm}-local]" + (f"=={release(version)}" if version else "")
        message = (
            "Install JAX with the ROCm plugin of its own version; it uses the ROCm of this machine, which has to be "
            f"release {jax().rocm.rocm}.{lasting(on.facts)}"
        )
        return (Fix(message, (install(on.python, spec),), "reinstall-package", verify=jax_verify(on.python)),)
    message = "Install JAX with the CUDA plugin of its own version, which installs the CUDA libraries too."
    return (jax_with_plugin(on.facts, on.python, version, message),)


@check(
    title="JAX is CPU-only: no GPU plugin is installed",
    severity=Severity.ERROR,
    cause="`pip install jax`, or a package that requires jax, installs the CPU-only jaxlib; GPU support is a plugin "
    "that comes only with an extra (cuda12, cuda13, rocm7-local).",
    fixes=_fixes,
    references=(
        "https://docs.jax.dev/en/latest/installation.html",
        "https://github.com/ziatdinovmax/gpax/issues/63",
    ),
    targets=jaxes,
    caused_by=("python.*", "jax.plugin-skew"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def cpu_only(on: OnFramework) -> Problem | None:
    """No plugin beside a GPU, where JAX is what computes here; as another package's dependency it may stay so."""
    gpus, users = nvidia_gpus(on.facts) or _amd(on), _users(on)
    if known(on.framework.variant) != "cpu" or not gpus or known(on.framework.plugin) is not None:
        return None
    sole = is_sole(on.python, on.framework)
    if not users and (not sole or is_required(on.python, "jax")):  # mediapipe brings it, and uses it nowhere
        return None
    wanted = f" {', '.join(users[:3])} use{'' if users[1:] else 's'} it." if users else ""
    kind = "CUDA" if gpus[0].vendor == "nvidia" else "ROCm"
    message = f"{on.name} is CPU-only: no {kind} plugin is installed, and {gpu_name(gpus[0])} is not used.{wanted}"
    linux = on.facts.host.system == "Linux"  # elsewhere no build would use the GPU
    return Problem(message, severity=None if sole and kind == "CUDA" and linux else Severity.WARNING)
