"""A cuDNN that dropped the GPU's generation."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, Gpu
from gpudoctor.fixes import system
from gpudoctor.fixes.python import another_build, conda_install, conda_of, install, lasting, manager_of
from gpudoctor.fixes.torch_build import driver_cuda, torch_family
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge import torch as torch_table
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.library_gpus import first_without, lowest_capability
from gpudoctor.knowledge.python_rules import torchaudio_for, torchvision_for
from gpudoctor.maybe import Unknown, known, known_or, phrases, present, text_of
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.libraries import family, needs_of
from gpudoctor.queries.packages import major, numbers, packages_of, python_minor, wheels
from gpudoctor.targets import ANY_GPU, OnPython, framework_name, pythons
from gpudoctor.tasks import as_root

CUDNN = "cudnn"
LAST = "9.10.2.21"  # the last release before 9.11: https://pypi.org/project/nvidia-cudnn-cu12/9.10.2.21/


def _cudnn(framework: Framework) -> tuple[str, str] | None:
    """The cuDNN that a framework loads, and its file; None where it loads none, or nobody knows which."""
    main = next((n for n in needs_of(framework) if family(n.soname) == "libcudnn" and n.path), None)
    if main is None or not numbers(main.version or ""):
        return None
    return present(main.version), present(main.path)


def _without(on: OnPython) -> Iterator[tuple[Framework, str, str, Gpu]]:
    for framework in on.python.frameworks:
        found = _cudnn(framework) if framework.variant == "cuda" else None
        lowest = lowest_capability(CUDNN, found[0]) if found else None
        for gpu in visible_gpus(on.facts) if lowest else ():
            own = known(gpu.capability)
            if found and lowest and own and version(own) < version(lowest):
                yield framework, *found, gpu


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    framework, _, path, gpu = next(_without(on))
    first = present(first_without(CUDNN, present(gpu.capability)))
    proof = framework_proof(on.python, framework.name)
    if numbers(text_of(framework.cudnn))[:2] >= numbers(first):  # it rejects an older cuDNN than its own
        return _with_older_cudnn(on, framework, gpu, first)
    wheel = next(iter(wheels(on.python, CUDNN)), None)
    if wheel and path.startswith(wheel.directory):
        pins = (line for p in packages_of(on.python) for line in p.requires if line.startswith(f"{wheel.name}=="))
        spec = next((p for p in pins if numbers(p.partition("==")[2])[:2] < numbers(first)), f"{wheel.name}<{first}")
        message = f"Install the last cuDNN with kernels for this GPU, older than {first}."
        return (Fix(message, (install(on.python, spec),), "reinstall-package", verify=proof),)
    if any(package.name in ("cudnn", "libcudnn") for package in conda_of(on.python)):
        message = f"Install a cuDNN older than {first} into this conda environment."
        return (Fix(message, (conda_install(on.python, f"cudnn<{first}"),), "reinstall-package", verify=proof),)
    return (_system(on, framework, first),)


def _with_older_cudnn(on: OnPython, framework: Framework, gpu: Gpu, first: str) -> tuple[Fix, ...]:
    """Install a release of the framework that is built with an older cuDNN; never the build that is there."""
    proof = framework_proof(on.python, framework.name)
    message = f"Install a release of {framework_name(framework)} that is built with a cuDNN older than {first}."
    if framework.name != "torch":
        return (Fix(message, verify=proof),)
    without = (
        "Turn cuDNN off in the program, so that PyTorch uses its own kernels: torch.backends.cudnn.enabled = False."
    )
    choice = _older_torch(on, framework, gpu, first)
    if choice is None:
        return Fix(message, verify=proof), Fix(without)
    own, *others = torch_family(on.python)
    of_release = {"torchvision": torchvision_for(choice.version), "torchaudio": torchaudio_for(choice.version)}
    specs = (f"{own}=={choice.version}.*", *(f"{o}=={n}" if (n := of_release.get(o)) else o for o in others))
    pin = present(torch_table.release(choice.version)).cudnn[choice.variant]
    message = f"Install PyTorch {choice.version} from the index of the {choice.variant} builds, with cuDNN {pin}."
    by_hand = isinstance(on.python.project, str) or manager_of(on.python) in ("conda", "pixi")
    tasks = () if by_hand else another_build(on.python, *specs, index=choice.index)
    return Fix(f"{message}{lasting(on.facts)}", tasks, "reinstall-package", verify=proof), Fix(without)


def _older_torch(on: OnPython, framework: Framework, gpu: Gpu, first: str) -> torch_table.TorchChoice | None:
    """The newest other build of PyTorch for this GPU, driver and Python whose own cuDNN has kernels for the GPU."""
    there = framework.version if isinstance(framework.version, str) else ""
    row, build = torch_table.release(there), there.partition("+")[2]
    arch = known_or(on.facts.host.architecture, "x86_64")
    capability = present(gpu.capability)
    for choice in torch_table.wheels_for((capability,), driver_cuda(on.facts), python_minor(on.python), arch):
        pin = present(torch_table.release(choice.version)).cudnn.get(choice.variant)
        is_there = row is not None and (choice.version, choice.variant) == (row.version, build or row.default)
        if pin and numbers(pin)[:2] < numbers(first) and not is_there:
            return choice
    return None


def _system(on: OnPython, framework: Framework, first: str) -> Fix:
    name = f"libcudnn9-cuda-{major(text_of(framework.cuda)) or 12}"
    message = f"Install cuDNN {LAST}, the last before {first}, from NVIDIA's repository, and keep it there."
    if system.family_of(on.facts) != "debian":
        archive = "https://developer.nvidia.com/cudnn-archive"
        return Fix(f"Install cuDNN {LAST}, the last before {first}. {archive}", (), "reinstall-package", root=True)
    commands = (
        as_root("apt-get", "install", "--allow-downgrades", f"{name}={LAST}-1"),
        as_root("apt-mark", "hold", name),
    )
    undo = (as_root("apt-mark", "unhold", name),)
    return Fix(message, commands, "reinstall-package", root=True, undo=undo)


@check(
    title="cuDNN has no kernels for this GPU",
    severity=Severity.ERROR,
    cause="cuDNN 9.11 dropped Maxwell, Pascal and Volta (compute capability below 7.5), for CUDA 12 too. The framework "
    "lists the GPU and computes on it, but convolutions, attention and RNNs fail: CUDNN_STATUS_ARCH_MISMATCH, "
    "CUDNN_STATUS_EXECUTION_FAILED or 'no kernel image is available'.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/cudnn/backend/v9.11.0/reference/support-matrix.html",
        "https://github.com/immich-app/immich/pull/23110",
        "https://github.com/pytorch/pytorch/issues/172352",
    ),
    targets=pythons,
    only_with=(ANY_GPU,),
    caused_by=(
        "python.*",
        "pytorch.arch-missing",
        "tensorflow.arch-missing",
        "jax.arch-missing",
        "libraries.shadowed-by-path",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def cudnn_without_gpu(on: OnPython) -> Problem | None:
    """The cuDNN that a framework loads has no kernels for a visible GPU; a warning where it computes without."""
    unread = next((f.needs for f in on.python.frameworks if f.variant == "cuda" and isinstance(f.needs, Unknown)), None)
    found = next(_without(on), None)
    if found is None:
        if unread is not None and visible_gpus(on.facts):
            known(unread)
        return None
    framework, release, path, gpu = found
    lowest = present(lowest_capability(CUDNN, release))
    message = (
        f"{framework_name(framework)} loads cuDNN {release}, whose kernels start at compute capability {lowest}: there "
        f"are none for {gpu_words(gpu)}."
    )
    others = [g for g in visible_gpus(on.facts) if isinstance(g.capability, str) and g != gpu]
    works = any(version(present(g.capability)) >= version(lowest) for g in others)
    # PyTorch creates cuDNN's handle with the first operation that needs it: what has no such operation computes.
    partly = works or framework.name == "torch"
    return Problem(message, phrases(f"libcudnn: {path}"), severity=Severity.WARNING if partly else None)
