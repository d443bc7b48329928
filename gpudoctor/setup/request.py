"""What is wished for, compared with what there is."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches

import msgspec

from gpudoctor.knowledge import requests
from gpudoctor.registry import FRAMEWORKS
from gpudoctor.setup.plan import Refusal

# The name that a user types, and the framework's import name; then the other names that are taken as well.
NAMES = {one.area: one.module for one in FRAMEWORKS}
_ALSO = {alias: one.module for one in FRAMEWORKS for alias in one.aliases}
DRIVER = ("auto", "yes", "no")
# Packages of PyTorch's, each release of which belongs to one of PyTorch or to all from one on.
COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
_TOOLKIT = re.compile(
    r"(?:(?:nvidia-)?cuda(?:[-_ ]toolkit)?|toolkit|(?:cuda-)?nvcc)(?:(?:==?|[-_ ])?(\d{1,2}\.\d{1,2})(?:\.\d+)?)?"
)
_PINNED = re.compile(r"(?:py)?torch==(\d+\.\d+)(\.\d+)?(?:\.\*)?")
_PACKAGE = re.compile(r"([a-z\d][\w.-]*)(?:\[[\w,-]+\])?(?:[=<>!~]=?[\w.*]+)?")
_CUDNN = re.compile(r"(?:nvidia-|lib)?cudnn(?:-dev)?")


class RequestError(ValueError):
    """A wish is none; the message is a sentence."""


class SetupRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user request for.

    Attributes:
        frameworks: import names, in the user's order.
        torch: the release of PyTorch that is requested, "2.7" or "2.7.1"; None: the newest that fits.
        companions: packages of PyTorch's, by their import names.
        toolkit: the CUDA toolkit's release, "12.4"; "": the one that fits; None: it is not requested.
        cudnn: whether cuDNN is requested for building, with its headers.
        replaced: what took the place of names that were requested, each a sentence.
        refused: what there is no plan for.
        manager: who is to install; None: the one that does so in the environment, else uv where it is there, else pip.
        place: the directory of a new environment; relative only in a plan for another machine.
        into: the interpreter of an environment that is there; None: a new one.
        upgrade: what is there gives way to the newest that fits, also where it would do.
        python: the release of a new environment's Python, "3.12"; None: the checked one's, where wheels exist for it.
        driver: auto: where it is needed; yes: the newest that fits; no: it stays as it is.
        container: whether containers are to have the GPU.
        cpu: wheels for the CPU, whatever the machine has.
        uv: whether there is a uv to run.
        base: the Python that makes environments; None: the checked one.
    """

    frameworks: tuple[str, ...] = ()
    torch: str | None = None
    companions: tuple[str, ...] = ()
    toolkit: str | None = None
    cudnn: bool = False
    replaced: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    manager: str | None = None
    place: str = "/opt/gpu-env"
    into: str | None = None
    upgrade: bool = False
    python: str | None = None
    driver: str = "auto"
    container: bool = False
    cpu: bool = False
    uv: bool = True
    base: str | None = None


def requested(names: Iterable[str]) -> SetupRequest:
    """What a user has typed, each once.

    Raises:
        RequestError: there is no such thing.
    """
    frameworks: dict[str, None] = {}
    companions: dict[str, None] = {}
    replaced: list[str] = []
    refused: list[Refusal] = []
    toolkit, cudnn, torch = None, False, None
    others: list[str] = []
    rest = list(names)
    while rest:
        name = rest.pop(0).strip().lower()
        release = _TOOLKIT.fullmatch(name)
        if found := (NAMES | _ALSO).get(name):
            frameworks[found] = None
        elif pinned := _PINNED.fullmatch(name):
            frameworks["torch"], torch = None, pinned[1] + (pinned[2] or "")
        elif name in COMPANIONS:
            companions[name] = None
        elif release:
            toolkit = release[1] or toolkit or ""
        elif _CUDNN.fullmatch(name):
            cudnn = True
        elif row := requests.row_of(name):
            rest = [*row.plan, *rest]
            if row.plan:
                replaced += [row.message] if row.message else []
            else:
                refused.append(Refusal(name, row.message, row.instead))
        else:
            others.append(name)
    planned = frameworks or companions or toolkit is not None or cudnn
    for name in others:
        package = _PACKAGE.fullmatch(name)
        if not planned or package is None or (package[1] == name and _near(name)):
            raise _unknown(name)
        refused.append(_other(name, package[1]))
    return SetupRequest(
        frameworks=tuple(frameworks),
        torch=torch,
        companions=tuple(companions),
        toolkit=toolkit,
        cudnn=cudnn,
        replaced=tuple(dict.fromkeys(replaced)),
        refused=tuple(refused),
    )


def _other(text: str, package: str) -> Refusal:
    """What is not planned: a release of another framework, or a package that is none and is added afterwards."""
    if package in (NAMES | _ALSO):
        return Refusal(text, "A release can be requested of PyTorch and of cuda-toolkit.", f"Leave it out: {package}")
    why = "It does not decide which builds fit this machine, so it is not planned."
    return Refusal(text, why, f"Activate the new environment afterwards, then: python -m pip install {text}")


def _near(name: str) -> list[str]:
    """The name that was meant, where one is near."""
    known = {**NAMES, **_ALSO, **dict.fromkeys((*COMPANIONS, "cuda-toolkit", "cudnn"))}
    return get_close_matches(name, known, 1)


def _unknown(name: str) -> RequestError:
    near = _near(name)
    others = ", ".join((*NAMES, *COMPANIONS, "cuda-toolkit", "cudnn"))
    return RequestError(
        f'Unknown framework "{name}". '
        + (f'Did you mean "{near[0]}"?' if near else f"There are {others}; other packages are added afterwards.")
    )


def place(text: str, home: str, folder: str | None) -> str:
    """The absolute path of an environment's folder.

    Args:
        text: as it was typed.
        home: this user's home folder.
        folder: the working directory; None: the plan is for another machine, and the path stays as it was typed.

    Raises:
        WishError: it cannot be one.
    """
    path = os.path.join(home, text[2:]) if text.startswith("~/") else text
    if not path or any(ord(c) < 32 for c in path):
        raise RequestError(f'"{text}" cannot be the directory of an environment.')
    return text if folder is None else os.path.abspath(os.path.join(folder, path))


def python(text: str) -> str:
    """A release of Python, "3.12".

    Raises:
        WishError: it is none.
    """
    found = re.fullmatch(r"(3\.\d{1,2})(?:\.\d+)?", text)
    if found is None:
        raise RequestError(f'--python-version takes a release of Python such as 3.12, not "{text}".')
    return found[1]
