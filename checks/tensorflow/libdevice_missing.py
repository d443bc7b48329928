"""TensorFlow without libdevice, which XLA needs to compile."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import conda_install, conda_of, install, lasting
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import missing_beside_gpu
from gpudoctor.queries.packages import major, wheels
from gpudoctor.targets import OnFramework, tensorflows
from gpudoctor.tasks import export, unset


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    cuda = present(on.framework.cuda)
    if conda_of(on.python):
        minor = ".".join(cuda.split(".")[:2])
        # conda-forge has nvcc since CUDA 12.
        forge = int(major(cuda) or 0) >= 12
        command = conda_install(on.python, f"cuda-nvcc={minor}", channel="conda-forge" if forge else "nvidia")
        variable = export("XLA_FLAGS", f"--xla_gpu_cuda_data_dir={known_or(on.python.prefix, '/opt/conda')}")
        message = "Install nvcc, which includes libdevice, and set XLA_FLAGS to its directory"
        message += ", also where it is set to another one." if "XLA_FLAGS" in on.facts.host.environment else "."
        return (Fix(message, (command, variable), "reinstall-package", undo=(unset("XLA_FLAGS"),)),)
    number = major(cuda)
    name = f"nvidia-cuda-nvcc-cu{number}" if number and number < 13 else "nvidia-cuda-nvcc"
    message = f"Install the wheel that contains libdevice and ptxas.{lasting(on.facts)}"
    wheel = Fix(message, (install(on.python, name),), "reinstall-package")
    message = "With a CUDA toolkit elsewhere, set its directory, which contains nvvm/libdevice."
    flag = export("XLA_FLAGS", "--xla_gpu_cuda_data_dir=/usr/local/cuda")
    return wheel, Fix(message, (flag,), "change-environment", undo=(unset("XLA_FLAGS"),))


@check(
    title="libdevice.10.bc not found: XLA cannot compile for the GPU",
    severity=Severity.WARNING,
    cause="XLA (jit_compile, and some optimizers of Keras) needs nvvm/libdevice/libdevice.10.bc and ptxas, which come "
    "with CUDA's compiler (nvcc); without them it reports 'libdevice not found at ./libdevice.10.bc'. GPUs are listed.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/install/pip",
        "https://github.com/tensorflow/tensorflow/issues/58681",
        "https://github.com/conda-forge/tensorflow-feedstock/issues/420",
    ),
    targets=tensorflows,
    caused_by=("python.*", "tensorflow.arch-missing", "tensorflow.driver-too-old"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def libdevice_missing(on: OnFramework) -> Problem | None:
    """All libraries are found, and CUDA's compiler is nowhere: no wheel, no conda package, no toolkit."""
    if known(on.framework.variant) != "cuda" or not nvidia_gpus(on.facts):
        return None
    live = on.framework.live
    works = live is not None and live.available is True
    if not works and (missing_beside_gpu(on.framework, on.facts) or not known(on.framework.needs)):
        return None
    conda = any(c.name in ("cuda-nvcc", "cuda-nvvm", "cuda-toolkit", "cuda-nvvm-impl") for c in conda_of(on.python))
    if conda or wheels(on.python, "cuda-nvcc") or known(on.facts.toolkits.nvccs):
        return None
    flags = on.facts.host.environment.get("XLA_FLAGS", "")
    named = next((one for one in on.facts.toolkits.named_paths if one.variable == "XLA_FLAGS"), None)
    if "cuda_data_dir" in flags and (named is None or known(named.exists)):
        return None
    message = (
        f"{on.name} finds the CUDA libraries but no libdevice.10.bc: neither the nvcc wheel nor a CUDA toolkit is "
        "installed"
    )
    if named is None:
        return Problem(f"{message}.")
    message += f", and XLA_FLAGS names a directory without it ({named.path} does not exist)."
    return Problem(message, (f"XLA_FLAGS={flags}",))
