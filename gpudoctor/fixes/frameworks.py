"""Fixes that install TensorFlow, JAX, CuPy or ONNX Runtime for this GPU, driver and Python."""

from gpudoctor.check_engine import Fix
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes.bounds import bounded
from gpudoctor.fixes.python import NEW, REMOVE_NEW, add, install, lasting, manager_of, new_environment, uninstall
from gpudoctor.fixes.torch_build import (
    driver_cuda,
    has_wheel_here,
    reinstall_torch,
    torch_choice,
    torch_family,
    torch_verify,
)
from gpudoctor.knowledge import cupy, jax, onnxruntime, tensorflow, torch
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.release_families import release_families
from gpudoctor.maybe import present
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.libraries import cuda_majors
from gpudoctor.queries.packages import python_minor, release, wanted_by, wheels
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnLive
from gpudoctor.tasks import Command, Tasks, cmd, query

# It was found to run on an RTX 5090: https://github.com/jupyter/docker-stacks/pull/2288
_IMAGE = "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"


def capability_of(facts: Facts) -> str | None:
    """The compute capability of the first NVIDIA GPU that programs see; None where it is unknown."""
    return next((g.capability for g in visible_gpus(facts) if isinstance(g.capability, str)), None)


def verify(python: Python, code: str) -> Command:
    """The command that runs a line of Python in this environment."""
    return query(python.path, "-c", code)


def where_it_hangs(on: OnLive) -> tuple[Fix, ...]:
    """Look at the stack of a framework that does not come back, and at the file system that it is read from."""
    init = BY_MODULE[on.framework.name].init
    code = f"import faulthandler; faulthandler.dump_traceback_later(60); {init}"
    message = (
        "See where it stands: the first command writes its stack after 60 s; the second shows whether the environment "
        "is on a network file system (nfs, cifs, fuse), which may not respond."
    )
    place = on.python.prefix if isinstance(on.python.prefix, str) else on.python.path
    commands = (query("timeout", "90", *verify(on.python, code).argv), query("df", "-hT", place))
    return (Fix(message, commands, impact="none"),)


def install_framework(facts: Facts, python: Python, module: str) -> tuple[Fix, ...]:
    """Install a framework where there is none: the build for this GPU, driver and Python.

    Empty where none fits; for a GPU that is not NVIDIA's PyTorch alone is known.
    """
    if module == "torch":
        return _torch(facts, python)
    if capability_of(facts) is None:
        return ()
    if module == "tensorflow":
        return newer_tensorflow(facts, python)
    if module == "jax":
        return (jax_with_plugin(facts, python, None, "Install JAX with the plugin for this GPU and driver."),)
    name = onnxruntime_spec(facts, python) if module == "onnxruntime" else cupy_package(facts, python)
    if name is None:
        return ()
    spec = f"{name}[ctk]" if module == "cupy" and not cuda_majors(facts, python) else name
    message = f"Install {spec}, which fits the driver and the GPU.{lasting(facts)}"
    proof = verify(python, BY_MODULE[module].proof)
    return (Fix(message, (install(python, spec),), "reinstall-package", verify=proof),)


def _torch(facts: Facts, python: Python) -> tuple[Fix, ...]:
    """PyPI's build where it is of the CUDA major that driver and GPU run, else the one of PyTorch's index."""
    choice = torch_choice(facts, python)
    row = torch.release(choice.version) if choice else None
    default = torch.cuda_of_variant(row.default) if row else None
    chosen = torch.cuda_of_variant(choice.variant) if choice else None
    plain = default and chosen and version(default)[0] == version(chosen)[0] and facts.host.system == "Linux"
    if not (plain and choice and row and facts.host.architecture == "x86_64" and manager_of(python) != "pixi"):
        return reinstall_torch(facts, python)
    if not has_wheel_here(facts, python, choice.version) or len(torch_family(python)) > 1:
        return reinstall_torch(facts, python)
    message = f"Install PyTorch; PyPI's build ({row.default}) supports this GPU, this Python and the driver."
    commands = add(python, bounded(python, "torch") or "torch")
    return (Fix(f"{message}{lasting(facts)}", commands, "reinstall-package", verify=torch_verify(python)),)


# -- TensorFlow ----------------------------------------------------------------------------------------------


def tensorflow_verify(python: Python) -> Command:
    """The command that lists TensorFlow's GPUs."""
    return verify(python, BY_MODULE["tensorflow"].proof)


def tensorflow_with_cuda(facts: Facts, python: Python, number: str | None) -> tuple[Fix, ...]:
    """Give TensorFlow its CUDA libraries by the extra and-cuda: in the installed version, else in one that fits."""
    row = tensorflow.release(number) if number else None
    driver = driver_cuda(facts)
    runs = row and row.finds_gpu and row.installs_on(python_minor(python))
    if row and runs and number and (driver is None or version(driver)[0] >= version(row.cuda)[0]):
        spec = f"tensorflow[and-cuda]=={release(number)}"
        message = f"Install the CUDA libraries that TensorFlow {number} needs, by its extra and-cuda.{lasting(facts)}"
        return (Fix(message, add(python, spec), "reinstall-package", verify=tensorflow_verify(python)),)
    return newer_tensorflow(facts, python)


def newer_tensorflow(facts: Facts, python: Python) -> tuple[Fix, ...]:
    """The newest TensorFlow that fits this GPU, driver and Python, with its CUDA libraries; empty where none does."""
    found = tensorflow.release_for(python_minor(python), driver_cuda(facts), capability_of(facts))
    if found is None:
        return _tensorflow_with_another_python(facts, python)
    commands = add(python, f"tensorflow[and-cuda]=={found.version}.*", upgrade=True)
    message = (
        f"Install TensorFlow {found.version} with its CUDA {found.cuda.partition('.')[0]} libraries, by its extra "
        f"and-cuda.{lasting(facts)}"
    )
    return (Fix(message, commands, "reinstall-package", verify=tensorflow_verify(python)),)


def _tensorflow_with_another_python(facts: Facts, python: Python) -> tuple[Fix, ...]:
    """A release fits GPU and driver, and none of those was built for this Python; empty where nothing fits."""
    found = tensorflow.release_for(None, driver_cuda(facts), capability_of(facts))
    if found is None:
        return ()
    minor = min(max("3.12", found.pythons[0], key=version), found.pythons[1], key=version)
    message = (
        f"Make an environment with Python {minor}: no TensorFlow for this GPU and driver has wheels, and "
        f"those of CUDA, for Python {present(python_minor(python))}; TensorFlow {found.version} fits.{lasting(facts)}"
    )
    commands = new_environment(python, minor, f"tensorflow[and-cuda]=={found.version}.*")
    proof = tensorflow_verify(Python(path=f"{NEW}/bin/python"))
    return (Fix(message, commands, "reinstall-package", undo=(REMOVE_NEW,), verify=proof),)


def tensorflow_image() -> Fix:
    """NVIDIA's own build of TensorFlow, which has code for Blackwell."""
    return Fix(
        "Run TensorFlow in NVIDIA's NGC container, whose build has code for Blackwell.",
        (cmd("docker", "run", "--rm", "-it", "--gpus", "all", _IMAGE),),
        verify=query("python", "-c", "import tensorflow as tf; print(tf.reduce_sum(tf.random.normal([1000])))"),
    )


# -- CuPy ----------------------------------------------------------------------------------------------------


def cupy_verify(python: Python) -> Command:
    """The command that compiles and runs a kernel of CuPy."""
    return verify(python, BY_MODULE["cupy"].proof)


def cupy_package(facts: Facts, python: Python) -> str | None:
    """The CuPy package for the newest CUDA major that is installed here and that driver and GPU can run; or None.

    Where no CUDA is installed, the newest that the driver runs: its extra brings the libraries.
    """
    driver, capability = driver_cuda(facts), capability_of(facts)
    runs = [m for m in sorted(cuda_majors(facts, python), reverse=True) if not driver or version(driver)[0] >= m]
    for major in runs:
        found = cupy.package_for(major)
        if found and (capability is None or cupy.kernels_for(found.name, capability)):
            return found.name
    chosen = cupy.package_for_gpu(capability, driver) if capability else None
    return chosen.name if chosen else None


def reinstall_cupy(facts: Facts, python: Python, *old: str) -> tuple[Fix, ...]:
    """Remove every CuPy package, then install the one that fits; empty where none does."""
    name = cupy_package(facts, python)
    if name is None:
        return ()
    there, compilers = cuda_majors(facts, python), cuda_majors(facts, python, ("libnvrtc",))
    found = cupy.package(name)
    place = there.get(found.major, "") if found else ""  # a toolkit is whole; of wheels the compiler may be missing
    spec = name if place.startswith("/") or (place and found and found.major in compilers) else f"{name}[ctk]"
    commands = (uninstall(python, *old), install(python, spec))
    fits = "the installed CUDA, the driver and the GPU" if place else "the driver and the GPU"
    message = f"Remove {' and '.join(old)}, then install {spec}, which fits {fits}."
    if spec == name:
        message = (
            message.removesuffix(".") + f" (CUDA {found.major if found else ''} is in {there[found.major]})."
            if found
            else message
        )
    return (Fix(f"{message}{lasting(facts)}", commands, "reinstall-package", verify=cupy_verify(python)),)


# -- JAX -----------------------------------------------------------------------------------------------------


def jax_verify(python: Python) -> Command:
    """The command that lists JAX's devices."""
    return verify(python, BY_MODULE["jax"].proof)


def jax_extra(facts: Facts, number: str | None) -> str:
    """The extra of JAX that brings the plugin for this driver and GPU: "cuda12" or "cuda13"."""
    capability, driver = capability_of(facts), driver_cuda(facts)
    found = jax.plugin_for(capability, driver) if capability else None
    if found == "cuda13" and number and version(number) < version(jax.plugin("cuda13").since):
        return "cuda12"
    return found or ("cuda13" if driver and version(driver)[0] >= 13 else "cuda12")


def jax_with_plugin(facts: Facts, python: Python, number: str | None, message: str, extra: str | None = None) -> Fix:
    """Install JAX with the plugin of its own version, for the given CUDA ("cuda12") or what GPU and driver run."""
    extra = extra or jax_extra(facts, number)
    old = number is not None and version(number) < version(jax.plugin("cuda12").since)
    spec = f"jax[{extra}]" if number is None or old else f"jax[{extra}]=={release(number)}"
    beside = [] if number is None or old else _undeclared(release(number), extra)
    commands = add(python, spec, *beside, upgrade=number is None or old)
    return Fix(f"{message}{lasting(facts)}", commands, "reinstall-package", verify=jax_verify(python))


def _undeclared(number: str, extra: str) -> list[str]:
    """What a release of JAX needs beside it and does not declare, of the CUDA that its extra brings."""
    of_cuda = f"-{extra.replace('cuda', 'cu')}"
    rows = (row for row in release_families().undeclared if row.package == "jax" and row.other.endswith(of_cuda))
    holds = (row for row in rows if version(row.since) <= version(number) < version(row.before))
    return [f"{row.other}{row.wanted}" for row in holds]


# -- ONNX Runtime --------------------------------------------------------------------------------------------


def onnxruntime_verify(python: Python, preload: bool = False) -> Command:
    """The command that makes a session of ONNX Runtime on the GPU.

    Args:
        python: the environment.
        preload: load the wheels' libraries first, as the user's program then does.
    """
    proof = BY_MODULE["onnxruntime"].proof
    return verify(python, proof.replace("; ", "; o.preload_dlls(); ", 1) if preload else proof)


def onnxruntime_of(number: str) -> str:
    """The requirement of a release of onnxruntime-gpu, with the extras that bring its CUDA libraries where it has them.

    What is installed already and fits is left as it is.
    """
    row = onnxruntime.release(number)
    return f"onnxruntime-gpu{'[cuda,cudnn]' if row and row.extras else ''}=={release(number)}"


def onnxruntime_runs(facts: Facts, number: str) -> bool:
    """Whether the driver runs the CUDA major of a release of onnxruntime-gpu, as far as both are known."""
    row, driver = onnxruntime.release(number), driver_cuda(facts)
    return row is None or driver is None or version(driver)[0] >= int(row.cuda)


def onnxruntime_instead(facts: Facts, python: Python, *old: str, number: str | None = None) -> Tasks:
    """The commands that remove packages and install the onnxruntime-gpu that fits.

    A cuDNN for a newer CUDA major goes with them, because removing it later takes files of the one that is needed.

    Args:
        facts: the machine.
        python: the environment.
        old: the packages to remove.
        number: the release to keep where the driver runs it.
    """
    if number and onnxruntime_runs(facts, number):
        row = onnxruntime.release(number)
        major, spec = int(row.cuda) if row else None, onnxruntime_of(number)
    else:
        major, spec = onnxruntime_major(facts, python), onnxruntime_spec(facts, python)
    others = other_cudnn(python, major) if major and "[" in spec else ()
    return (uninstall(python, *old, *others), install(python, spec))


def other_cudnn(python: Python, major: int) -> tuple[str, ...]:
    """The cuDNN wheels for a newer CUDA major, whose files have the same names, that only ONNX Runtime requires.

    One for an older major stays: what opens it need not require it by name, as CTranslate2 does not.
    """
    majors = {p.name: number_of(p.name.removeprefix("nvidia-cudnn-cu")) or 0 for p in wheels(python, "cudnn")}
    newer = (name for name, own in majors.items() if own > major)
    return tuple(name for name in newer if not wanted_by(python, (name,), onnxruntime.exclusive()))


def onnxruntime_spec(facts: Facts, python: Python) -> str:
    """The onnxruntime-gpu for the newest CUDA major that is installed here and has code for the GPU.

    Where there is none, the newest that the driver runs. It has the extras that bring the CUDA libraries.
    """
    major = onnxruntime_major(facts, python)
    bound = onnxruntime.newest_for(major)
    if bound is None:
        return "onnxruntime-gpu"
    extras = "[cuda,cudnn]" if onnxruntime.extras_for(major) else ""
    lowest = ">=1.19," if major == 12 and bound else ""
    return f"onnxruntime-gpu{extras}{lowest}{bound}"


def onnxruntime_major(facts: Facts, python: Python) -> int:
    """The CUDA major of that release."""
    driver, capability = driver_cuda(facts), capability_of(facts)
    most = version(driver)[0] if driver else 12
    majors = [m for m in cuda_majors(facts, python) if m <= most] or [most]
    serving = [m for m in (*majors, *range(most, 10, -1)) if onnxruntime.serves(m, capability)]
    return max((m for m in serving if m in majors), default=next(iter(serving), max(majors)))
