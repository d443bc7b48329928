"""Rules between Python packages that their own metadata does not say."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class JaxUsers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages that are installed to compute with JAX."""

    users: frozenset[str]


class OldestNvcc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of a package, from `since` to before `before`, that no nvcc before CUDA `cuda` compiles.

    Attributes:
        package: its distribution.
        since: the first such release.
        before: the first release that older ones compile too; "999": none is known.
        cuda: the oldest CUDA release whose nvcc compiles them.
        why: what they do, as a sentence about the package goes on.
        gpus: only for these compute capabilities: from the first to below the second.
        unless: variables with which something else is compiled, or something else compiles.
    """

    package: str
    since: str
    before: str
    cuda: str
    why: str
    gpus: tuple[str, str] = ("0", "999")
    unless: tuple[str, ...] = ()


class CompilingEngine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of a program, from `since` to before `before`, that have another package compile when they start.

    Attributes:
        package: its distribution.
        since: the first such release.
        before: the first release that does without where it cannot be compiled; "999": none is known.
        compiles: the package whose code is compiled.
        off: variable = the value with which the program does without it.
        gpus: only for these compute capabilities: from the first to below the second.
    """

    package: str
    since: str
    before: str
    compiles: str
    off: dict[str, str]
    gpus: tuple[str, str]


class Compiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages that compile CUDA code with nvcc when they run, and those that bring such code ready-made."""

    always: frozenset[str]
    sometimes: frozenset[str]
    ready: dict[str, str]
    floor: dict[str, tuple[str, str, str]]  # first release, compute capabilities: from the first, below the second
    oldest: tuple[OldestNvcc, ...]
    engine: tuple[CompilingEngine, ...]


class CudaIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An index of a package's own with its builds for CUDA releases: its address, the first release, the builds."""

    index: str
    since: str
    builds: tuple[str, ...]


class OneRuntime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of a package, from `since` to before `before`, that stop where two of the libraries can be opened.

    `what` of it stops; `spec` is what is installed for the CUDA major `{major}`.
    """

    package: str
    since: str
    before: str
    sonames: tuple[str, ...]
    what: str
    spec: str


class RunTimePtx(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package that compiles to PTX with NVRTC, for the driver to finish: from a release to before another."""

    package: str
    title: str
    since: str
    before: str
    proof: str = ""  # a module that is run to show that it computes on the GPU


class TritonFloor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first release that needs no libcuda.so, and from which to before which release /sbin/ldconfig is run."""

    libcuda_link_before: str
    asks_ldconfig: tuple[str, str]


class Torchaudio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The releases that want PyTorch's CUDA minor, and those of PyTorch's number: from the first, before the second.

    The second of `same_number` is the release that serves itself and every later PyTorch, the last that there is:
    `last_python` and `last_builds` are what it has wheels for.
    """

    same_minor: tuple[str, str]
    same_number: tuple[str, str]
    by_torchcodec: str
    last_python: tuple[str, str]
    last_builds: tuple[str, ...]


class WheelPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page of a package's wheels, for pip's --find-links, from a release on.

    `tag` is their local version, with `{torch}` ("26" of 2.6) and `{build}` ("cu126"); the address may have both, with
    a release of PyTorch as it is written ("2.6"). `last` is the newest PyTorch that has a page; empty: all have.
    """

    package: str
    since: str
    address: str
    tag: str
    last: str = ""


class Keras(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keras 3: the first TensorFlow with it, the releases of transformers that refuse it, backends' distributions."""

    tensorflow_since: str
    transformers: tuple[str, str]
    backends: dict[str, frozenset[str]]


class NamedAfterCuda(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages whose name ends in the CUDA major that they are built for."""

    stems: frozenset[str]


class Floor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lowest compute capability of some packages from a release on, perhaps only of the build for one CUDA."""

    packages: tuple[str, ...]
    since: str
    capability: str
    cuda: str = ""


class CpuDistribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A distribution without code for GPUs, and the one of the same package that has it."""

    name: str
    title: str
    gpu: str
    proof: str
    index: str = ""
    builds: dict[str, str] = {}
    companions: tuple[str, ...] = ()
    framework: bool = False  # what runs on it runs on it alone: without another framework nothing uses the GPU

    def index_for(self, cuda: int | None) -> str | None:
        """Its own index with the build for a driver's CUDA major; None: PyPI."""
        newest = next(reversed(self.builds.values()), "")
        return self.index.format(build=self.builds.get(str(cuda), newest)) or None


class Ceiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of a package, from `since` to before `before`, that fail above a compute capability.

    Attributes:
        package: its name, less the CUDA major where the name ends in one.
        before: the first release to which it does not apply; "999": there is none.
        newer: the first release that works, where that is another; empty: it is that.
        effect: what fails, as a sentence about the package goes on.
        instead: what works with the installed release.
        library: only where the package brings it; empty: always.
        wheels: only of a published wheel, not of a build of one's own, whose version has a local part ("+").
        symptom: the message that shows it, where programs may as well never come to it; empty: they all do.
        requires: only where it requires one of these, by their beginning; empty: always.
        index: the package index with the build that works; empty: another release works, or none.
        oldest: the first release there with such a build.
    """

    package: str
    since: str
    before: str
    capability: str
    effect: str
    instead: str = ""
    library: str = ""
    wheels: bool = False
    newer: str = ""
    symptom: str = ""
    requires: tuple[str, ...] = ()
    index: str = ""
    oldest: str = ""


class PythonRules(KnowledgeTable, frozen=True):
    """The table ``python_rules.toml``."""

    numpy2: dict[str, str]
    ctranslate2_cudnn: dict[str, str]
    nvcc: Compiling
    run_time_ptx: tuple[RunTimePtx, ...]
    one_runtime: tuple[OneRuntime, ...]
    triton: TritonFloor
    torchaudio: Torchaudio
    serves_later: dict[str, tuple[str, str]]
    companions: dict[str, tuple[str, str]]
    wheel_page: tuple[WheelPage, ...]
    page_of: dict[str, tuple[str, str, tuple[str, ...]]]
    rocm_index: dict[str, tuple[str, str, str, str]]
    cuda_index: dict[str, CudaIndex]
    of_torch: dict[str, dict[str, str]]
    keras: Keras
    builds: dict[str, frozenset[str]]
    named_after_cuda: NamedAfterCuda
    floor: tuple[Floor, ...]
    ceiling: tuple[Ceiling, ...]
    cpu: tuple[CpuDistribution, ...]
    switch_off: dict[str, dict[str, str]]
    jax: JaxUsers
    engines: dict[str, frozenset[str]]


@cache
def python_rules() -> PythonRules:
    """Return the table, read once."""
    return load("python_rules", PythonRules)


def first_for_numpy2(name: str) -> str | None:
    """Return the first release of a package that was built for NumPy 2, or None where the table has none."""
    return python_rules().numpy2.get(name)


def ctranslate2_cudnn(number: str) -> int | None:
    """Return the cuDNN major that a release of CTranslate2 opens; None: it opens none."""
    rows = python_rules().ctranslate2_cudnn
    first = max((v for v in rows if version(v) <= version(number)), key=version, default="1.0")
    return int(rows[first]) if rows[first] else None


def ctranslate2_since(cudnn: int) -> str:
    """Return the first release of CTranslate2 that opens a cuDNN major."""
    return next(first for first, major in python_rules().ctranslate2_cudnn.items() if major == str(cudnn))


def ctranslate2_without_cudnn() -> str:
    """Return the first release of CTranslate2 that needs no cuDNN."""
    return next(first for first, major in python_rules().ctranslate2_cudnn.items() if not major)


def computes_with_jax(name: str) -> bool:
    """Whether a package is installed to compute with JAX."""
    return name in python_rules().jax.users


def runs_language_models(name: str) -> bool:
    """Whether a package runs language models on the GPU by itself, as llama-cpp-python does."""
    return name in python_rules().engines["language_models"]


def links_libcuda(triton: str) -> bool:
    """Whether a release of Triton links with -lcuda, and so needs libcuda.so beside libcuda.so.1."""
    return version(triton) < version(python_rules().triton.libcuda_link_before)


def wants_cuda_minor(torchaudio: str) -> bool:
    """Whether a release of torchaudio refuses to be imported beside a PyTorch of another CUDA minor."""
    first, last = python_rules().torchaudio.same_minor
    return version(first) <= version(torchaudio) < version(last)


def reads_by_torchcodec(torchaudio: str) -> bool:
    """Whether a release of torchaudio reads and writes files only through torchcodec."""
    return version(torchaudio) >= version(python_rules().torchaudio.by_torchcodec)


def torch_of_torchcodec(number: str) -> str | None:
    """Return the torch ("2.9") for which a release of torchcodec was built, or None where the table has none."""
    return _torch_by_release("torchcodec").get(".".join(number.partition("+")[0].split(".")[:2]))


def release_for_torch(package: str, torch: str) -> str | None:
    """Return the newest release ("0.9") of a package that was built for a release of torch; None: none is known."""
    minor = ".".join(torch.partition("+")[0].split(".")[:2])
    found = [own for own, wanted in _torch_by_release(package).items() if wanted == minor]
    return found[-1] if found else None


def _torch_by_release(package: str) -> dict[str, str]:
    """By the name up to a variant (fbgemm-gpu-cpu, fbgemm-gpu-genai); nightly builds are numbered by their date."""
    table = python_rules().of_torch
    names = (name for name in table if package == name or package.startswith(f"{name}-"))
    name = next(names, None)
    return table[name] if name and "nightly" not in package else {}


def cuda_in_name(name: str) -> tuple[str, str] | None:
    """Return stem and CUDA major of a package that is named after it: "cudf-cu12" is ("cudf", "12"); or None."""
    stem, _, tail = name.rpartition("-")
    digits = tail.removeprefix("cuda").removeprefix("cu")
    if stem not in python_rules().named_after_cuda.stems or digits == tail or not digits.isdigit():
        return None
    return stem, digits[:2]


@cache
def _with_floor() -> frozenset[str]:
    return frozenset(name for row in python_rules().floor for name in row.packages)


def has_floor(name: str) -> bool:
    """Whether a lowest compute capability is known of a package, "vllm" or "cudf-cu12"."""
    return name in _with_floor() or name.rpartition("-")[0] in _with_floor()


def lowest_capability(name: str, number: str) -> str | None:
    """Return the lowest compute capability for which a release of a package has code, or None where unknown."""
    stem, cuda = cuda_in_name(name) or (name, "")
    rows = (r for r in python_rules().floor if stem in r.packages and r.cuda in ("", cuda))
    fits = [r for r in rows if version(r.since) <= version(number)]
    return fits[-1].capability if fits else None


def torchvision_for(torch: str) -> str | None:
    """Return the torchvision that belongs to a torch: 2.5.1 has 0.20.1, 2.15.0 has 0.29.*; None where it is unknown."""
    numbers = version(torch)
    since, own = python_rules().serves_later["torchvision"]
    if numbers[:2] >= version(since):
        return f"{own}.*"
    if numbers[:2] < (2, 1) or numbers[0] != 2 or len(numbers) < 3:
        return python_rules().companions.get(torch, (None, None))[0]
    return f"0.{numbers[1] + 15}.{numbers[2]}"


def torchaudio_for(torch: str) -> str | None:
    """Return the torchaudio that belongs to a torch, as pip writes it: 2.5.1, or 2.11.*; None where it is unknown."""
    first, last = python_rules().torchaudio.same_number
    numbers = version(torch)
    if numbers[:2] < version(first) or len(numbers) < 3:
        return python_rules().companions.get(torch, (None, None))[1]
    return torch if numbers[:2] < version(last) else f"{last}.*"


def companion_for(name: str, torch: str) -> str | None:
    """Return the release of a companion that belongs to a torch, as pip writes it: "==0.24.1"; None where unknown.

    Args:
        name: torchvision, torchaudio or torchcodec.
        torch: a release ("2.9.1"), or a minor release ("2.9"), for which any of its own releases will do.
    """
    if name == "torchcodec":
        since, first = python_rules().serves_later[name]
        if version(torch)[:2] >= version(since):
            return f">={first}"
        own = release_for_torch(name, torch)
        return f"=={own}.*" if own else None
    find = torchvision_for if name == "torchvision" else torchaudio_for
    exact = torch.count(".") > 1
    found = find(torch if exact else f"{torch}.0")
    if found is None or exact or found.endswith("*"):
        return found and f"=={found}"
    return f"=={'.'.join(found.split('.')[:2])}.*"


def first_torch_of_torchaudio(number: str) -> str | None:
    """Return the first torch for a release of torchaudio that serves several, or None where it is for one alone."""
    last = python_rules().torchaudio.same_number[1]
    return last if version(number) >= version(last) else None


def wheel_page(name: str, number: str) -> WheelPage | None:
    """Return the page with the wheels of a package's release; None where no table names one."""
    pages = (p for p in python_rules().wheel_page if p.package == name and version(p.since) <= version(number))
    return max(pages, key=lambda page: version(page.since), default=None)
