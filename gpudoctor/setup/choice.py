"""Which wheels fit together: one CUDA major, every GPU served, the driver able to run it, the Python supported."""

from collections.abc import Callable, Iterable

import msgspec

from gpudoctor.knowledge import cupy, jax, newest, onnxruntime, tensorflow, torch, wheels
from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.maybe import present
from gpudoctor.setup.plan import TargetPlatform, Wheel

# The CUDA majors that wheels are made for, newest first.
MAJORS = (13, 12, 11)
# Frameworks whose builds for GPUs run on Linux alone: TensorFlow's since 2.11, JAX's ever since.
# https://www.tensorflow.org/install/pip#windows-native https://docs.jax.dev/en/latest/installation.html
LINUX_ONLY = ("tensorflow", "jax")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What one choice of wheels has to hold to; None of `driver_cuda` and `python`: any."""

    ground: TargetPlatform
    major: int
    driver_cuda: str | None
    python: str | None
    next_to: torch.TorchChoice | None = None  # the PyTorch that the wheels stand next to, whose pins are exact
    release: str | None = None  # of PyTorch, as it was requested

    @property
    def architecture(self) -> str:
        """The CPU's, x86_64 where nobody knows."""
        return self.ground.architecture or "x86_64"

    def runs(self) -> bool:
        """Whether the driver runs programs of this CUDA major."""
        return self.driver_cuda is None or version(self.driver_cuda)[0] >= self.major

    def fits(self, lowest: str, highest: str) -> bool:
        """Whether the Python is in a range."""
        return self.python is None or version(lowest) <= version(self.python)[:2] <= version(highest)

    def covered(self, targets: str) -> bool:
        """Whether every GPU runs something in a list of targets."""
        return all(coverage(targets, one) for one in self.ground.capabilities)


class WheelChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The wheels of one CUDA major, and the frameworks that have none there."""

    major: int
    python: str | None
    wheels: tuple[Wheel, ...] = ()
    missing: tuple[str, ...] = ()


def choose(
    ground: TargetPlatform,
    names: Iterable[str],
    driver_cuda: str | None,
    pythons: Iterable[str | None],
    there: torch.TorchChoice | None = None,
    release: str | None = None,
) -> WheelChoice:
    """The CUDA major and the Python that serve most of the frameworks; the first Python and the newest major on a tie.

    Args:
        ground: the machine.
        names: import names of the frameworks.
        driver_cuda: the CUDA release of the driver that they will run on; None: any.
        pythons: releases of Python that may be taken, the wished one first.
        there: the PyTorch that is installed where they go, and stays; None: none.
        release: the release of PyTorch that is requested; None: the newest that fits.
    """
    wanted = tuple(names)
    best: WheelChoice | None = None
    for python in pythons:
        for major in [n for n in MAJORS if there is None or _major(there.variant) in (None, n)]:
            terms = Terms(
                ground=ground, major=major, driver_cuda=driver_cuda, python=python, next_to=there, release=release
            )
            found = _of(terms, wanted)
            if best is None or len(found.wheels) > len(best.wheels):
                best = found
    return best or WheelChoice(major=MAJORS[0], python=None, missing=wanted)


def _of(terms: Terms, names: tuple[str, ...]) -> WheelChoice:
    found: dict[str, Wheel] = {}
    if "torch" in names and (pick := torch_choice(terms)):
        terms = msgspec.structs.replace(terms, next_to=pick)
        found["torch"] = _torch(terms, pick)
    for name in names:
        if name in _WHEELS and (wheel := _WHEELS[name](terms)):
            found[name] = wheel
    return WheelChoice(
        major=terms.major,
        python=terms.python,
        wheels=tuple(found[n] for n in names if n in found),
        missing=tuple(n for n in names if n not in found),
    )


# -- PyTorch -------------------------------------------------------------------------------------------------


def torch_choice(terms: Terms) -> torch.TorchChoice | None:
    """The build of PyTorch that is advised for these GPUs, this driver and this Python, within the CUDA major."""
    if not terms.ground.capabilities or not libc_fits(terms.ground, "torch"):
        return None
    fits = torch.wheels_for(terms.ground.capabilities, terms.driver_cuda, terms.python, terms.architecture)
    return next((c for c in fits if _major(c.variant) == terms.major and is_release(c.version, terms.release)), None)


def is_release(minor: str, wanted: str | None) -> bool:
    """Whether a minor release of PyTorch is the requested one; where none is requested, each is."""
    return wanted is None or wanted.split(".")[:2] == minor.split(".")[:2]


def torch_spec(minor: str, wanted: str | None) -> str:
    """The requirement: the minor release, or exactly the release that was requested."""
    return f"torch=={wanted}" if wanted and wanted.count(".") == 2 else f"torch=={minor}.*"


def _torch(terms: Terms, pick: torch.TorchChoice) -> Wheel:
    row = torch.release(pick.version)
    pypi = terms.architecture == "x86_64" and terms.ground.kernel != "Windows"  # it has builds for the CPU there
    default = row is not None and row.default == pick.variant and pypi
    cuda = torch.cuda_of_variant(pick.variant)
    pins = _pins(terms)
    return Wheel(
        framework="torch",
        requirement=torch_spec(pick.version, terms.release),
        variant=pick.variant,
        index=None if default else pick.index,
        why=f"PyTorch {pick.version} for CUDA {present(cuda)}, which has code for {_gpus(terms.ground)}"
        + (f"; it includes cuDNN {pins[1]}" if pins[1] else "")
        + ".",
    )


def _pins(terms: Terms) -> tuple[str | None, str | None]:
    """NCCL and cuDNN that the PyTorch next to pins."""
    if terms.next_to is None:
        return None, None
    row = torch.release(terms.next_to.version)
    return wheels.torch_nccl(terms.next_to.version), row.cudnn.get(terms.next_to.variant) if row else None


# -- the others ----------------------------------------------------------------------------------------------


def _tensorflow(terms: Terms) -> Wheel | None:
    """A range of releases: the installer takes the newest that agrees with what else is wished for."""
    if not libc_fits(terms.ground, "tensorflow"):
        return None
    fits = [r for r in tensorflow.tensorflow().release if _tensorflow_fits(terms, r)]
    if not fits or not terms.runs():
        return None
    first, last = fits[max(0, len(fits) - 4)].version, fits[-1].version
    return Wheel(
        framework="tensorflow",
        requirement=f"tensorflow[and-cuda]>={first},<{_after(last)}",
        variant=f"cu{terms.major}",
        why=f"TensorFlow {_to(first, last)} for CUDA {terms.major}, with its CUDA libraries (the extra and-cuda).",
    )


def _tensorflow_fits(terms: Terms, row: tensorflow.TensorflowRelease) -> bool:
    if not row.finds_gpu or int(row.cuda.partition(".")[0]) != terms.major or not terms.fits(*row.pythons):
        return False
    if not all(tensorflow.runs(row.version, one) for one in terms.ground.capabilities):
        return False
    asked = wheels.tensorflow_asks(row.version)
    pins = _pins(terms)
    if asked is None:
        return terms.next_to is None
    return all(pin is None or _holds(bound, pin) for bound, pin in zip(asked, pins, strict=True))


def _holds(bound: str, pin: str) -> bool:
    """Whether a pinned version is within "==9.3" or ">=9.3"."""
    wanted = version(bound.lstrip("=>"))
    return version(pin) >= wanted if bound.startswith(">=") else version(pin) == wanted


def _jax(terms: Terms) -> Wheel | None:
    if terms.major < 12 or not libc_fits(terms.ground, "jax") or not terms.runs():
        return None
    extra: jax.Cuda = "cuda13" if terms.major == 13 else "cuda12"
    plugin = jax.plugin(extra)
    lowest = min(terms.ground.capabilities, key=version, default=None)
    if (lowest and version(lowest) < version(plugin.lowest_capability)) or not terms.covered(plugin.targets):
        return None
    first = max(plugin.since, "0.4.30", key=version)
    python = jax.lowest_python(first)
    if terms.python and python and version(terms.python)[:2] < version(python):
        return None
    below = _jax_below(terms, plugin)
    bound = f">={first}" + (f",<{below}" if below else "")
    return Wheel(
        framework="jax",
        requirement=f"jax[{extra}]{bound}",
        variant=f"cu{terms.major}",
        why=f"JAX with its plugin for CUDA {terms.major} (the extra {extra}), which includes the CUDA libraries"
        + (f"; JAX {below} and newer need a newer cuDNN than PyTorch pins" if below else "")
        + ".",
    )


def _jax_below(terms: Terms, plugin: jax.Plugin) -> str | None:
    """The first release of JAX that asks for a newer cuDNN than PyTorch pins; None: none does."""
    pin = _pins(terms)[1]
    rows = sorted(plugin.lowest_cudnn.items(), key=lambda row: version(row[0]))
    return next((since for since, lowest in rows if pin and version(lowest) > version(pin)), None)


def _cupy(terms: Terms) -> Wheel | None:
    found = cupy.package_for(terms.major)
    if found is None or found.last or not libc_fits(terms.ground, "cupy") or not terms.runs():
        return None
    if not terms.covered(found.targets) or not terms.fits(*found.python):
        return None
    since, last = cupy.cupy().rules.ctk_since, newest.newest().framework["cupy"]
    return Wheel(
        framework="cupy",
        requirement=f"{found.name}[ctk]>={since.partition('.')[0]},<{version(last)[0] + 1}",
        variant=f"cu{terms.major}",
        why=f"CuPy for CUDA {terms.major}; its extra ctk includes the CUDA libraries, so no CUDA toolkit is needed.",
    )


def _onnxruntime(terms: Terms) -> Wheel | None:
    rows = onnxruntime.onnxruntime().row
    fits = [r for r in rows if r.extras and int(r.cuda) == terms.major]
    if not fits or not libc_fits(terms.ground, "onnxruntime") or not terms.runs():
        return None
    row = fits[-1]
    if not terms.covered(row.targets) or not terms.fits(*row.python):
        return None
    bound = onnxruntime.newest_for(terms.major) or ""
    return Wheel(
        framework="onnxruntime",
        requirement=f"onnxruntime-gpu[cuda,cudnn]>={row.first}{',' if bound else ''}{bound}",
        variant=f"cu{terms.major}",
        why=f"ONNX Runtime for CUDA {terms.major}, with its CUDA libraries (the extras cuda and cudnn).",
    )


_WHEELS: dict[str, Callable[[Terms], Wheel | None]] = {
    "tensorflow": _tensorflow,
    "jax": _jax,
    "cupy": _cupy,
    "onnxruntime": _onnxruntime,
}


def libc_fits(ground: TargetPlatform, name: str, *, cpu: bool = False) -> bool:
    """Whether a framework has wheels for this CPU that run on this C library."""
    if ground.kernel == "Darwin":
        return ground.architecture == "arm64" and name != "cupy"
    if ground.kernel == "Windows" and not cpu and name in LINUX_ONLY:
        return False
    lowest = wheels.lowest_glibc(name, ground.architecture or "x86_64", cpu=cpu)
    if lowest is None or ground.glibc == "musl":
        return False
    return ground.glibc is None or version(ground.glibc) >= version(lowest)


def _major(variant: str) -> int | None:
    cuda = torch.cuda_of_variant(variant)
    return int(cuda.partition(".")[0]) if cuda else None


def _gpus(ground: TargetPlatform) -> str:
    numbers = ground.capabilities
    return f"compute capability {numbers[0]}" if len(numbers) == 1 else f"compute capabilities {', '.join(numbers)}"


def _after(number: str) -> str:
    major, minor = version(number)[:2]
    return f"{major}.{minor + 1}"


def _to(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
