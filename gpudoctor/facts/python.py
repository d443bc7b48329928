"""A Python environment: the interpreter, what is installed in it, and how it was put there."""

import msgspec

from gpudoctor.facts.framework import Framework
from gpudoctor.facts.text_types import Count, Duration, Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """One installed distribution; `name` is normalised (PEP 503)."""

    name: str
    version: str
    directory: str  # the sys.path entry that holds it
    installer: str | None = None  # pip, uv, conda, poetry
    requires: tuple[str, ...] = ()  # in a quick examination only of the packages that matter for GPUs
    files: Count | None = None  # how many of its files RECORD names; None: no RECORD
    missing: tuple[str, ...] = ()  # files of RECORD that are gone (only of packages that matter)
    libraries: tuple[str, ...] = ()  # base names of its shared libraries (only of packages that matter)
    lost: tuple[str, ...] = ()  # METADATA, RECORD where it lacks them (only of packages that matter)
    cut: tuple[
        str, ...
    ] = ()  # libraries of RECORD that end before their own headers say (only of packages that matter)
    built_with: str | None = None  # the torch that its own record of its build names: "2.10.0+cu128" (xformers)


class FileOverlap(msgspec.Struct, frozen=True, kw_only=True):
    """Files that several distributions claim."""

    packages: tuple[str, ...]
    files: tuple[str, ...]


class FileMix(msgspec.Struct, frozen=True, kw_only=True):
    """Two distributions that write different files to the same paths, where those that are there are of both."""

    packages: tuple[str, str]
    files: tuple[str, str]  # one that is as the first has it, and one that is as the second has it


class Overwritten(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution with more modules than another one that writes the same library, where the other's is there."""

    package: str  # "opencv-contrib-python"
    by: str  # "opencv-python-headless"
    file: str  # "cv2/cv2.abi3.so"


class Shadow(msgspec.Struct, frozen=True, kw_only=True):
    """An import name that sys.path offers more than once; the first entry wins."""

    module: str  # "torch"
    wins: str  # the path that `import` takes
    loses: tuple[str, ...]  # the others, in order
    version: str | None = None  # of the distribution that wins
    origin: str = ""  # PYTHONPATH, user site, .pth, working directory; "namespace": see `portion_of`
    standard: bool = False  # what it hides is of the standard library
    # The distribution whose modules (`loses`) are in a directory without __init__.py, which the package `wins` hides.
    portion_of: str = ""


class Remnant(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that looks like a package but is none any more."""

    module: str
    path: str
    reason: str  # "no __init__.py", "no metadata", "~orch"; "other release": metadata of a release that is not there
    package: str = ""  # the distribution that it is of, where metadata tells
    version: str | None = None  # likewise
    needed_by: tuple[str, ...] = ()  # of a module that distributions share: packages for GPUs that require one of them


class LostCheckout(msgspec.Struct, frozen=True, kw_only=True):
    """An editable installation whose directory does not exist."""

    package: str
    version: str
    folder: str  # the directory, as its direct_url.json names it
    needed_by: tuple[str, ...] = ()  # packages for GPUs that require it


class NotebookKernel(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel of Jupyter that starts another Python."""

    name: str  # "pytorch": that of its directory
    title: str  # "PyTorch (GPU)": as notebooks show it
    path: str  # the directory of its kernel.json
    python: str = ""  # the interpreter that it starts
    exists: bool = False
    frameworks: tuple[str, ...] = ()  # that this interpreter has, by its folders: torch, tensorflow, cupy, jax ...


class UnmetRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement of an installed package that does not hold."""

    package: str
    version: str
    requires: str  # "nvidia-cudnn-cu12==9.1.0.70"
    found: str | None = None  # the installed version; None: not installed


class CondaPackage(msgspec.Struct, frozen=True, kw_only=True):
    """One record of conda-meta."""

    name: str
    version: str
    build: str
    channel: str = ""


class MissingLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """A CUDA, ROCm or oneAPI library that is not where the loader looks, and in the environment out of its reach."""

    soname: str
    needed_by: str  # the file that links to it, or opens it by name: "libggml-cuda.so"
    opened: bool = False  # opened by name (dlopen) when it is first used
    copy: str | None = None  # the environment's, in a directory where the loader does not look for it


class MissingVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A symbol version that a library needs and that the copy which the loader takes does not define."""

    version: str  # "GLIBCXX_3.4.30"
    path: str  # the copy: "/opt/env/lib/libstdc++.so.6"
    newest: str = ""  # of the same name in it: "GLIBCXX_3.4.29"


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled library of a package that computes on GPUs (flash-attn, vllm, llama-cpp-python ...)."""

    package: str
    version: str
    path: str
    needed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # needed libraries that the loader does not find
    unresolved: tuple[str, ...] = ()  # undefined C++ symbols of the framework that no library of it defines
    absent: tuple[MissingLibrary, ...] = ()  # what it or its own libraries need, and nothing here has
    versions: tuple[MissingVersion, ...] = ()


class PackageCode(msgspec.Struct, frozen=True, kw_only=True):
    """The CUDA code in the libraries of a package."""

    package: str
    version: str
    path: str  # its first library with any
    archs: Maybe[tuple[str, ...]]  # sm_80, sm_90a, compute_90; Unknown: it has other code, too


class JitKernel(msgspec.Struct, frozen=True, kw_only=True):
    """A library in a user's cache of kernels (torch_extensions, flashinfer), or what a build of one left there."""

    cache: str  # "torch_extensions", "flashinfer"
    directory: str
    library: str | None = None  # None: no build of it has ended
    missing: tuple[str, ...] = ()  # needed libraries that are neither where the loader looks nor in the environment
    lock: str | None = None  # the file of a build that runs, or that was killed; None: none
    holder: Maybe[Small | None] = None  # the process that has the lock open; None: none on this machine
    sources: tuple[str, ...] = ()  # that it is built from, as build.ninja names them


class LibraryUser(msgspec.Struct, frozen=True, kw_only=True):
    """A package with a library that needs another one."""

    package: str
    version: str
    path: str


class PackageImport(msgspec.Struct, frozen=True, kw_only=True):
    """What a package that computes on GPUs did when a child process imported it."""

    package: str
    version: str
    module: str  # "flash_attn"
    file: str | None = None  # module.__file__
    seconds: Duration | None = None
    error: Maybe[str | None] = None  # "ImportError: libcudart.so.13: cannot open shared object file ..."; None: none
    later: bool = False  # it was imported, and the error is of the libraries that it loads when it is used
    hung: bool = False
    died: str | None = None  # signal name
    lock: str | None = None  # the build lock for which it would wait for ever
    executable_stack: tuple[str, ...] = ()  # as in LiveFramework
    stderr: str = ""  # its last lines
    outside: str | None = None  # where the module that an error does not find in a package is: next to the package
    blamed: str | None = None  # the top package, other than its own, that the error is about: "sklearn"
    # Another package whose library needs what the loader did not find: opencv-python, which ultralytics imports.
    user: LibraryUser | None = None
    dependent: bool = False  # it only requires a package that computes on GPUs; an error is one about another package
    part: str | None = (
        None  # the name over which it fails, which it loads when that is first used: "DiffusionPipeline", "a.b"
    )

    @property
    def statement(self) -> str:
        """The import that fails, as a program has it."""
        if self.part is None:
            return f"import {self.module}"
        of_module = "." in self.part
        return f"import {self.module}.{self.part}" if of_module else f"from {self.module} import {self.part}"


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Another interpreter of this user that has frameworks."""

    path: str
    frameworks: tuple[str, ...]  # import names: torch, tensorflow, cupy, jax, onnxruntime


class TorchaudioCall(msgspec.Struct, frozen=True, kw_only=True):
    """A package that calls torchaudio.load or torchaudio.save, and the first of its modules that does."""

    package: str
    version: str
    file: str  # "TTS/tts/models/xtts.py"


class AudioFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What is around a torchaudio that needs torchcodec for files, and does not have it."""

    calls: tuple[TorchaudioCall, ...] = ()
    requiring: tuple[str, ...] = ()  # the other packages that require torchaudio
    ffmpeg: bool = False  # whether the loader finds FFmpeg's libraries


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """An environment of the working directory whose Python was not run, because somebody else owns a part of it."""

    path: str  # "/srv/project/.venv"
    owner: int  # user id
    frameworks: tuple[str, ...] = ()  # import names: torch, tensorflow, cupy, jax, onnxruntime


class Python(msgspec.Struct, frozen=True, kw_only=True):
    """One examined interpreter."""

    path: str
    found_by: str = ""  # --python, VIRTUAL_ENV, CONDA_PREFIX, found in this directory ..., this interpreter
    error: str | None = None  # why it could not be asked at all
    real: Maybe[str] = NOT
    version: Maybe[Version] = NOT  # "3.11.7"
    implementation: Maybe[str] = NOT  # cpython
    bits: Maybe[Small] = NOT
    architecture: Maybe[str] = NOT  # "x86_64", "arm64", "AMD64": as uname says to it, which under Rosetta is another
    prefix: Maybe[str] = NOT
    base_prefix: Maybe[str] = NOT
    kind: Maybe[str] = NOT  # venv, conda, system, pyenv, standalone
    manager: Maybe[str] = NOT  # uv, pip, conda, pixi, poetry: who installs packages here
    project: Maybe[str | None] = NOT  # folder of the pyproject.toml that uv or poetry works from; None: none
    externally_managed: Maybe[bool] = NOT  # PEP 668
    # The variable or file by which its installer asks more package indexes than a command names; None: nothing does.
    extra_index: Maybe[str | None] = NOT
    sys_path: Maybe[tuple[str, ...]] = NOT
    user_site: Maybe[str | None] = NOT  # where it takes part in sys.path; None: it does not
    site_packages: Maybe[str] = NOT
    headers: Maybe[bool] = NOT  # Python.h
    packages: Maybe[tuple[Package, ...]] = NOT
    conda: Maybe[tuple[CondaPackage, ...] | None] = NOT  # None: no conda environment
    # The files libstdc++.so.6.* of a conda environment without the link libstdc++.so.6, by which the loader finds them.
    unlinked_libstdcxx: tuple[str, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    remnants: tuple[Remnant, ...] = ()
    lost_checkouts: tuple[LostCheckout, ...] = ()
    notebook_kernels: tuple[NotebookKernel, ...] = ()
    overlaps: tuple[FileOverlap, ...] = ()
    mixed: tuple[FileMix, ...] = ()
    overwritten: tuple[Overwritten, ...] = ()
    unmet: tuple[UnmetRequirement, ...] = ()
    extensions: Maybe[tuple[Extension, ...]] = ()  # Unknown in a quick run that finds some
    code: Maybe[tuple[PackageCode, ...]] = ()  # looked for next to an NVIDIA GPU; Unknown in a quick run
    imports: Maybe[tuple[PackageImport, ...]] = ()  # of GPU packages next to the frameworks; Unknown in a quick run
    kernels: tuple[JitKernel, ...] = ()  # those in caches that cannot be used as they are
    frameworks: tuple[Framework, ...] = ()
    startup: Maybe[Duration] = NOT  # seconds
    audio: AudioFiles | None = None  # looked for where torchaudio needs torchcodec and has none; None in a quick run
    keras_backend: Maybe[str | None] = NOT  # the one that Keras 3 takes: tensorflow, torch, jax ...; None: no Keras 3
    keras_backend_by: str = ""  # KERAS_BACKEND, the path of keras.json, or "default"
    elsewhere: Maybe[tuple[Elsewhere, ...]] = NOT  # where this one has no framework; that of `pip` first
    not_run: NotRun | None = None  # what would have been examined in place of this one
    own_pip: Maybe[str | None] = (
        NOT  # the interpreter of a venv's own bin/pip where it lies elsewhere; None: it does not
    )
    ninja: Maybe[str | None] = NOT  # the ninja on PATH; None: none
    own_ninja: Maybe[str | None] = NOT  # the ninja next to the interpreter; None: none
    units_without_ninja: tuple[str, ...] = ()  # units of systemd that start its programs with a PATH that has none
    pip: Maybe[str | None] = NOT  # the interpreter of `pip` on PATH; None: none, or its own
    first_on_path: Maybe[bool] = NOT  # whether `python` on PATH starts this one; looked for as above
