"""The CUDA toolkit and cuDNN for those who compile: which release, from where, with which host compiler."""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import toolkit as fixes
from gpudoctor.fixes.python import conda_of, manager_of
from gpudoctor.fixes.system import family_of, install, remove
from gpudoctor.knowledge import drivers, generations, packages, toolkits
from gpudoctor.knowledge.host_compilers import newest_gcc
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.torch import cuda_of_variant
from gpudoctor.maybe import known_or, text_of
from gpudoctor.setup import toolkit_here
from gpudoctor.setup.companions import torch_of
from gpudoctor.setup.plan import Refusal, SetupStep, TargetPlatform, Wheel
from gpudoctor.setup.request import SetupRequest
from gpudoctor.targets import in_container, on_wsl
from gpudoctor.tasks import Edit, Manual, Task, Tasks, Variable, as_root, cmd, filtered, query
from gpudoctor.tasks.as_typed import shown

# For login shells: a build started from any of them finds nvcc.
PROFILE = "/etc/profile.d/cuda-toolkit.sh"
DOWNLOADS = "https://developer.nvidia.com/cuda-toolkit-archive"
_FOUND = msgspec.structs.replace(filtered(query("ldconfig", "-p"), cmd("grep", "libcudnn.so")), lookup=False)
_KERNEL = "__global__ void k() {} int main() { k<<<1, 1>>>(); }"


class ToolkitPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the toolkit: its release and its step, or why there is none, and what else is good to know."""

    cuda: str | None = None
    step: SetupStep | None = None
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where it goes.

    Attributes:
        facts: the machine.
        ground: what decides, of it.
        request: what is wished for.
        python: the environment that is filled, or the Python that the user has.
        interpreter: the Python of the plan's environment.
        by: who installs there.
        wheels: what is planned there.
        driver_cuda: the CUDA release of the driver that programs will run on; None: any.
        repository: whether an earlier step adds NVIDIA's repository.
    """

    facts: Facts
    ground: TargetPlatform
    request: SetupRequest
    python: Python | None
    interpreter: str
    by: str
    wheels: tuple[Wheel, ...]
    driver_cuda: str | None
    repository: bool

    @property
    def names(self) -> str:
        """What is requested, for people."""
        both = ("CUDA toolkit" if self.request.toolkit is not None else "", "cuDNN" if self.request.cudnn else "")
        return " and ".join(filter(None, both))


def decide(place: Place) -> ToolkitPlan:
    """The plan for what is requested of the two."""
    found = _elsewhere(place)
    if found:
        return ToolkitPlan(refused=(found,))
    row = fixes.repository_of(place.facts)
    conda = _is_conda(place)
    wanted = place.request.toolkit or _wanted(place)
    exact = bool(place.request.toolkit)
    there = None if conda else toolkit_here.find(place.facts, place.ground, wanted, exact, place.driver_cuda)
    if there and place.request.toolkit is not None and not place.request.cudnn:
        own = toolkit_here.note(there, place.ground, place.driver_cuda)
        return ToolkitPlan(notes=(own, *_notes(place, text_of(there.version))))
    cuda = place.request.toolkit or _fitting(place, wanted, None if conda else row)
    if not conda and place.facts.host.platform != "jetson" and not in_container(place.facts):
        refused = _not_there(place, row, cuda or wanted)
        if refused:
            return ToolkitPlan(refused=(refused,))
    if cuda is None:
        return ToolkitPlan(refused=(_none(place),))
    notes = tuple(_notes(place, cuda))
    if conda:
        return ToolkitPlan(cuda=cuda, step=_in_conda(place, cuda), notes=notes)
    if in_container(place.facts):
        return ToolkitPlan(cuda=cuda, step=_in_image(place, cuda), notes=notes)
    return ToolkitPlan(cuda=cuda, step=_on_system(place, row, cuda), notes=notes)


# -- which release -------------------------------------------------------------------------------------------


def _wanted(place: Place) -> str | None:
    """The CUDA of the PyTorch that is planned, or is there; None: no PyTorch decides."""
    planned = next((w for w in place.wheels if w.framework == "torch"), None)
    if planned:
        return cuda_of_variant(planned.variant)
    own = None if place.wheels else torch_of(place.python)
    return known_or(own.cuda, None) if own else None


def _fitting(place: Place, wanted: str | None, row: toolkits.ToolkitRepository | None) -> str | None:
    """The release that is wanted, or the nearest of its major; else the newest for wheels, driver and GPUs."""
    if wanted:
        return toolkits.nearest(row, wanted)
    major = next((w.variant[2:4] for w in place.wheels if w.variant.startswith("cu")), "")
    there = [one for one in toolkits.toolkits().toolkit.releases if row is None or row.has(one)]
    fits = [one for one in there if _fits(place, one) and one.startswith(major)]
    return fits[-1] if fits else None


def _fits(place: Place, cuda: str) -> bool:
    """Whether the driver knows a release, and it compiles for every GPU."""
    if place.driver_cuda and version(cuda) > version(place.driver_cuda):
        return False
    for one in place.ground.capabilities:
        first, last = generations.toolkits_of(one) or ("0", None)
        if version(cuda) < version(first) or (last and version(cuda) > version(last)):
            return False
    return True


# -- why not -------------------------------------------------------------------------------------------------


def _elsewhere(place: Place) -> Refusal | None:
    """Where the toolkit is not NVIDIA's for Linux."""
    kernel, vendor = place.ground.kernel, place.ground.vendor
    if kernel == "Darwin":
        return Refusal(place.names, "CUDA has no toolkit for macOS since 11.0.", "Build on Linux, or use Metal (MPS).")
    if kernel == "Windows":
        why = "gpudoctor plans the toolkit for Linux and WSL only."
        return Refusal(place.names, why, f"winget install --id Nvidia.CUDA, or the installer from {DOWNLOADS}")
    if vendor == "amd":
        why = "This machine has an AMD GPU, for which programs are compiled with ROCm's hipcc."
        return Refusal(place.names, why, "Install ROCm's development packages (rocm-dev), or hipify the sources.")
    return None


def _not_there(place: Place, row: toolkits.ToolkitRepository | None, cuda: str | None) -> Refusal | None:
    """Why the system's packages do not have this release, or one of its major; None: they do."""
    system, newest = place.ground.system or "this distribution", toolkits.toolkits().toolkit.releases[-1]
    if family_of(place.facts) == "arch":
        if cuda is None or version(cuda)[0] == version(newest)[0]:
            return None
        return Refusal(place.names, f"{system} has the newest release of the toolkit alone.", _instead(cuda))
    if row is None:
        return Refusal(place.names, f"NVIDIA has no package repository for {system}.", _instead(cuda or newest))
    known = cuda is None or cuda in toolkits.toolkits().toolkit.releases
    if cuda is None or (known and (row.has(cuda) or (not place.request.toolkit and toolkits.nearest(row, cuda)))):
        return None
    why = f"NVIDIA's repository for {system} has no CUDA toolkit {cuda}"
    if known:
        why += f": it begins with {row.first}" + (f" and ends with {row.last}" if row.last else "")
    return Refusal(place.names, f"{why}.", _instead(cuda) if known else f"The releases are listed in {DOWNLOADS}")


def _instead(cuda: str) -> str:
    """Where any distribution gets it from; pip's nvcc compiles since CUDA 13."""
    conda = f"conda create -n cuda -c conda-forge cuda-toolkit={cuda}"
    if version(cuda)[0] < 12:
        return f"Use the runfile (--toolkit --silent, without the driver) from {DOWNLOADS}"
    if version(cuda)[0] == 12:
        return f"Install it into a conda environment, which runs on any distribution: {conda}"
    pip = f"pip install 'cuda-toolkit[all]=={cuda}.*' (nvcc is in site-packages/nvidia/cu13/bin)"
    return f"Install it into an environment, on any distribution: {conda}, or {pip}"


def _none(place: Place) -> Refusal:
    why = "No release of the toolkit fits the CUDA of the framework or the driver, these GPUs and this distribution."
    return Refusal(
        place.names, why, "Name the release (cuda-toolkit==12.8), or use a conda environment (--manager conda)."
    )


def _notes(place: Place, cuda: str) -> list[str]:
    found: list[str] = []
    if place.driver_cuda and version(cuda)[0] > version(place.driver_cuda)[0]:
        floor = drivers.minimum_driver(cuda) or "newer"
        found.append(
            f"Programs compiled with CUDA {cuda} need driver {floor} or newer; this one supports CUDA up to "
            f"{place.driver_cuda}. --driver yes plans a newer one."
        )
    if place.ground.vendor is None:
        found.append("There is no NVIDIA GPU here: programs compile, but run only where there is one.")
    if on_wsl(place.facts):
        found.append("Never install the packages cuda, cuda-drivers or nvidia-driver in WSL: the driver is Windows's.")
    return found


# -- where -----------------------------------------------------------------------------------------------------


def _is_conda(place: Place) -> bool:
    """Whether it goes into an environment of conda's."""
    if place.request.into and place.python:
        return manager_of(place.python) in ("conda", "pixi") or bool(conda_of(place.python))
    return place.by == "conda" or (place.by == "pixi" and bool(place.wheels))


def _verified(nvcc: str, *env: tuple[str, str]) -> Tasks:
    source = query("echo", _KERNEL)
    compiled = cmd(nvcc, "-x", "cu", "-c", "-o", "/dev/null", "-", env=env)
    return cmd(nvcc, "--version"), msgspec.structs.replace(filtered(source, compiled), lookup=False)


def _why(place: Place, cuda: str) -> str:
    if place.request.toolkit is None:
        return (
            "Frameworks' wheels have their own cuDNN; programs that are compiled against cuDNN need its library and "
            f"headers, here those for CUDA {cuda[:2]}."
        )
    torch = next((w for w in place.wheels if w.framework == "torch"), None)
    why = "Wheels need no toolkit; compiling CUDA code needs nvcc and the headers."
    if place.request.toolkit:
        return f"{why} CUDA {cuda} was requested."
    if torch and (own := cuda_of_variant(torch.variant)):
        why += f" Extensions of PyTorch are compiled with nvcc of its CUDA ({own})"
        why += "." if own == cuda else f", or of another release of that major: {cuda} is the nearest here."
    elif (wanted := _wanted(place)) is not None:
        why += (
            f" CUDA {cuda} is {'that' if wanted == cuda else 'the release nearest to that'} of the installed PyTorch."
        )
    else:
        why += f" CUDA {cuda} is the newest release{_limits(place)}."
    return why


def _limits(place: Place) -> str:
    """What the newest release that is taken has to fit, for a sentence."""
    conda = _is_conda(place)
    limits = [] if conda or in_container(place.facts) else ["that NVIDIA's repository has for this distribution"]
    if major := next((w.variant[2:4] for w in place.wheels if w.variant.startswith("cu")), ""):
        limits.append(f"of CUDA {major}, like the wheels,")
    if place.driver_cuda:
        limits.append(f"that the driver supports (CUDA up to {place.driver_cuda})")
    if place.ground.capabilities:
        limits.append(f"that compiles for compute capability {' and '.join(place.ground.capabilities)}")
    return f" {' and '.join(limits)}" if limits else ""


def _in_conda(place: Place, cuda: str) -> SetupStep:
    """conda-forge's toolkit, which brings a host compiler that its nvcc accepts."""
    root = place.interpreter.removesuffix("/bin/python")
    there = place.python if place.request.into and place.python else None
    python = there or Python(path=place.interpreter, prefix=root, manager=place.by)
    more = ("cudnn",) if place.request.cudnn else ()
    command = fixes.in_conda(python, cuda, *more)
    if not place.wheels and not place.request.into:
        argv = (f"cuda-toolkit={cuda}", *more)
        command = cmd("conda", "create", "--yes", "--prefix", root, "--channel", "conda-forge", *argv)
    why = f"{_why(place, cuda)} conda-forge's package brings a gcc that this nvcc accepts."
    return SetupStep(
        id="toolkit",
        group="environment",
        title=f"Install CUDA Toolkit {cuda}{' and cuDNN' if more else ''} into {root}. Set CUDA_HOME to it for builds.",
        why=why,
        commands=(command,),
        verify=(cmd(f"{root}/bin/nvcc", "--version"),),
    )


def _in_image(place: Place, cuda: str) -> SetupStep:
    """A container gets it with its image."""
    (fix,) = fixes.devel_image(place.facts, cuda)
    cudnn = " The tags with cudnn-devel contain cuDNN with its headers." if place.request.cudnn else ""
    why = f"{_why(place, cuda)} What is installed inside is lost with the container."
    return SetupStep(id="toolkit", group="toolkit", title=fix.message + cudnn, why=why)


def _on_system(place: Place, row: toolkits.ToolkitRepository | None, cuda: str) -> SetupStep:
    facts, family = place.facts, family_of(place.facts)
    fix = fixes.new_toolkit(facts, None, cuda)
    added = fixes.add_repository(facts, anyway=True)
    compilers, env = _compilers(facts, cuda)
    tasks, names = _tasks(place, fix, added, cuda)
    lines = [shown(task) for task in (*fix.tasks, *env) if isinstance(task, Variable)]
    wanted, arch = place.request.toolkit is not None, family == "arch"
    profile = (Edit(PROFILE, text="".join(f"{line}\n" for line in lines), root=True),) if wanted and not arch else ()
    home = next((t.value for t in fix.tasks if isinstance(t, Variable) and t.name == "CUDA_HOME"), "") or ""
    undo: tuple[Task, ...] = remove(facts, *names)
    if family == "debian":
        undo = (*undo, as_root("apt-get", "autoremove"))
    if added and not place.repository and row:
        undo = (
            *undo,
            *toolkits.removing(row, toolkits.arch_of(place.ground.architecture)),
            *(Edit(t.path, gone=True, root=True) for t in added if isinstance(t, Edit)),
        )
    undo = (*undo, *(Edit(PROFILE, gone=True, root=True) for _ in profile))
    title = fix.message.removesuffix(", and build with it.").removesuffix(".") + "."
    if arch:
        title = "Install the CUDA toolkit from the distribution's packages."
    if not wanted:
        title = "Install cuDNN with its headers from NVIDIA's repository."
    elif place.request.cudnn and facts.host.platform != "jetson":
        title = title.replace(" from NVIDIA", " and cuDNN from NVIDIA")
    gcc = newest_gcc(cuda)
    why = _why(place, cuda) + (f" This nvcc accepts gcc up to {gcc} as host compiler." if gcc and wanted else "")
    ccbin = tuple((t.name, t.value or "") for t in env)
    return SetupStep(
        id="toolkit",
        group="toolkit",
        title=title + (" Open a new login shell to use it." if profile else ""),
        why=why,
        commands=(*compilers, *tasks, *profile) if wanted else tasks,
        root=True,
        verify=_verified(f"{home}/bin/nvcc", *ccbin) if wanted else (_FOUND,),
        undo=undo,
    )


def _tasks(place: Place, fix: Fix, added: Tasks, cuda: str) -> tuple[Tasks, tuple[str, ...]]:
    """What installs it without the variables, and the names of the packages."""
    facts, family = place.facts, family_of(place.facts)
    tasks = tuple(task for task in fix.tasks if not isinstance(task, Variable | Manual))
    if facts.host.platform == "jetson" or family is None:
        return tasks, ("nvidia-jetpack",)
    own = () if place.repository else added
    toolkit = (packages.cuda_toolkit_package(family, cuda),) if place.request.toolkit is not None else ()
    cudnn = (toolkits.cudnn_package(family, cuda),) if place.request.cudnn else ()
    names = tuple(name for name in (*toolkit, *cudnn) if name)
    return (*own, *install(facts, *names)), names


def _compilers(facts: Facts, cuda: str) -> tuple[Tasks, tuple[Variable, ...]]:
    """What brings a host compiler that this nvcc accepts, and the variable that selects it."""
    family, newest = family_of(facts), newest_gcc(cuda)
    there = known_or(facts.toolkits.cxx_version, None) or ""
    if facts.toolkits.cxx is None and family:
        return install(facts, *packages.compiler_packages(family)), ()
    major = there.removeprefix("gcc ").partition(".")[0]
    if newest is None or not there.startswith("gcc ") or not major.isdigit() or int(major) <= newest:
        return (), ()
    found = fixes.host_compiler(facts, newest)
    return tuple(t for t in found if not isinstance(t, Variable)), tuple(t for t in found if isinstance(t, Variable))
