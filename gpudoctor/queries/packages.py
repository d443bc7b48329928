"""Questions about the packages of a Python environment, from facts alone."""

from collections.abc import Collection, Sized

from gpudoctor.facts import Facts, FileOverlap, Package, Python
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.python_rules import CompilingEngine, RunTimePtx, first_for_numpy2, python_rules
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown, known
from gpudoctor.name_pattern import stands_for
from gpudoctor.parsers.metadata import is_optional, normalise, required_name
from gpudoctor.targets import gpus_of

_JAX_PLUGIN = pattern(r"jax-cuda\d+-(plugin|pjrt)")
# A local version that names the PyTorch of the build: "torch260cu126", "pt24cu121"; "pt" in a word ("opt3") is none.
LOCAL_TORCH = pattern(r"(torch|(?<![a-z])pt)(\d+(?:\.\d+)*)")
_PLAIN = str.maketrans("", "", "() ")  # "numpy (>=1.20)", as older metadata has it


def packages_of(python: Python) -> tuple[Package, ...]:
    """The distributions, each name once, as `import` takes them; none where they are unknown. For texts and hints."""
    found: dict[str, Package] = {}
    for package in () if isinstance(python.packages, Unknown) else python.packages:
        found.setdefault(package.name, package)
    return tuple(found.values())


def answered(facts: Facts | None) -> list[Python]:
    """The examined interpreters that answered; none without facts."""
    return [python for python in facts.pythons if python.error is None] if facts else []


def python_minor(python: Python) -> str | None:
    """Major and minor of the interpreter's version, such as "3.11"; None where it is unknown."""
    return None if isinstance(python.version, Unknown) else ".".join(python.version.split(".")[:2])


def names_torch(version: str) -> bool:
    """Whether the local part of a version names the PyTorch of its build: the package is compiled against it."""
    local = version.partition("+")[2]
    return ("torch" in local or "pt" in local) and bool(LOCAL_TORCH.search(local))


def package(python: Python, name: str) -> Package | None:
    """A distribution of this name; None where it is not installed.

    Raises:
        UnknownFactError: nobody knows what is installed.
    """
    return next((p for p in known(python.packages) if p.name == name), None)


def compiling(facts: Facts, python: Python) -> tuple[list[str], bool]:
    """The packages that compile code for GPUs when they run, and whether they always do.

    Raises:
        UnknownFactError: a package compiles for some GPUs, and of none it is known whether it is one of them.
    """
    rules, there = python_rules().nvcc, {p.name: p for p in packages_of(python)}
    always = sorted(name for name in rules.always if name in there and "+pt" not in there[name].version)
    floors = ((name, *row) for name, row in rules.floor.items() if name in there)
    suited = (
        n for n, first, *gpus in floors if numbers(there[n].version) >= numbers(first) and has_gpu_between(facts, *gpus)
    )
    seldom = may_compile(python)
    started = {row.compiles for row in starting(facts, python)}.intersection(seldom)
    always = sorted((*always, *suited, *started))
    return (always, True) if always else (seldom, False)


def may_compile(python: Python) -> list[str]:
    """The packages that compile code for GPUs where no ready-made kernel fits, without the package of such kernels."""
    rules, there = python_rules().nvcc, {p.name for p in packages_of(python)}
    return sorted(name for name in rules.sometimes & there if rules.ready.get(name) not in there)


def starting(facts: Facts, python: Python) -> list[CompilingEngine]:
    """The programs that have another package of the environment compile when they start.

    Raises:
        UnknownFactError: a program does so for some GPUs, and of none it is known whether it is one of them.
    """
    there, variables = {p.name: p for p in packages_of(python)}, facts.host.environment
    return [
        row
        for row in python_rules().nvcc.engine
        if row.package in there
        and row.compiles in there
        and numbers(row.since) <= numbers(there[row.package].version) < numbers(row.before)
        and not any(variables.get(name) == value for name, value in row.off.items())
        and has_gpu_between(facts, *row.gpus)
    ]


def has_gpu_between(facts: Facts, lowest: str, end: str) -> bool:
    """Whether a GPU has a compute capability from the first to below the second."""
    found = [gpu.capability for gpu in gpus_of(facts, "nvidia")]
    reached = [version(lowest) <= version(c) < version(end) for c in found if isinstance(c, str)]
    return any(reached) or (bool(found) and not reached and bool(known(found[0])))


def compiles_ptx(python: Python) -> list[tuple[RunTimePtx, Package]]:
    """The packages that compile to PTX with NVRTC when they run; of one program the first.

    A wheel's plugin for CUDA is a distribution of its own; conda's package contains it.
    """
    there = packages_of(python)
    found: dict[str, tuple[RunTimePtx, Package]] = {}
    for row in python_rules().run_time_ptx:
        for one in there:
            named = stands_for(row.package, one.name) and (one.installer == "conda" or row.package.endswith("*"))
            if named and numbers(row.since) <= numbers(one.version) < numbers(row.before):
                found.setdefault(row.title, (row, one))
    return list(found.values())


def need_numpy1(python: Python) -> list[Package]:
    """The packages older than their first release that was compiled against NumPy 2."""
    floors = ((p, numbers(p.version)[:2], first_for_numpy2(p.name)) for p in packages_of(python))
    return [p for p, found, first in floors if first and found and found < numbers(first)[:2]]


def wheels(python: Python, part: str | None = None) -> tuple[Package, ...]:
    """NVIDIA's wheels, "nvidia-cudnn-cu12" and, since CUDA 13, "nvidia-cublas"; those of one part, or all."""
    found = (p for p in packages_of(python) if p.name.startswith("nvidia-"))
    return tuple(p for p in found if part is None or stem(p.name) == f"nvidia-{part}")


def wanted_by(python: Python, names: Collection[str], but: Collection[str] = ()) -> tuple[str, str] | None:
    """Which package requires one of these, if only in an extra, and its requirement; None: none does.

    Args:
        python: the environment.
        names: what may be required, in normal form. What is required without an extra comes first.
        but: the packages whose requirements do not count.
    """
    found = [
        (is_optional(line), package.name, line.partition(";")[0].translate(_PLAIN))
        for package in packages_of(python)
        for line in package.requires
        if package.name not in (*but, *names) and normalise(required_name(line)) in names
    ]
    return min(found)[1:] if found else None


def jax_plugins(python: Python) -> list[Package]:
    """The two parts of each of JAX's plugins: "jax-cuda12-plugin" and "jax-cuda12-pjrt"."""
    return [p for p in packages_of(python) if _JAX_PLUGIN.fullmatch(p.name)]


def overlapping_wheels(python: Python) -> list[FileOverlap]:
    """The files that two majors of one NVIDIA wheel both claim."""
    found = ((o, {stem(name) for name in o.packages}) for o in python.overlaps if o.files)
    return [o for o, stems in found if len(stems) == 1 and next(iter(stems)).startswith("nvidia-")]


def of_jax_alone(python: Python, overlap: FileOverlap) -> bool:
    """Whether JAX's plugins require one of these wheels, and nothing else does."""
    plugins = [p.name for p in jax_plugins(python)]
    return bool(wanted_by(python, overlap.packages)) and not wanted_by(python, overlap.packages, plugins)


def and_more(found: Sized) -> str:
    """What a sentence about the first of several packages adds about the others; empty where there are none."""
    others = len(found) - 1
    return f" (and {others} more package{'s' if others > 1 else ''})" if others > 0 else ""


def stem(name: str) -> str:
    """A wheel's name without the CUDA major: "nvidia-cudnn-cu12" is "nvidia-cudnn"."""
    head, _, tail = name.rpartition("-cu")
    return head if head and tail.isdigit() else name


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version; none where it does not begin with one."""
    try:
        return version(text)
    except ValueError:
        return ()


def major(text: str) -> int | None:
    """The first number of a version; None where it does not begin with one."""
    return next(iter(numbers(text)), None)


def release(text: str) -> str:
    """A version without its local part: "2.7.1" of "2.7.1+cu126"."""
    return text.partition("+")[0]


def is_own_build(text: str) -> bool:
    """Whether this is the version of a nightly or of a build from source, as in NVIDIA's images (2.9.0a0+nv25.10).

    Their version numbers do not show which of them match.
    """
    public, _, local = text.partition("+")
    return "dev" in public or "a0" in public or local.startswith("git")
