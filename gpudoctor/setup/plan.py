"""The plan as data: what is to be done in which order, why, and what cannot be had; `gpudoctor.plan/1`."""

from typing import Literal

import msgspec

SCHEMA = "gpudoctor.plan/1"

Group = Literal["driver", "container", "environment", "proof"]


class Command(msgspec.Struct, frozen=True):
    """One command.

    Attributes:
        shown: as it is typed into a shell.
        argv: as a program runs it, without a shell; empty: it needs a shell, or a person.
    """

    shown: str
    argv: tuple[str, ...] = ()


class File(msgspec.Struct, frozen=True):
    """A file that a step writes, whole."""

    path: str
    text: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step.

    Attributes:
        id: its name, unique in the plan.
        group: which part of the machine it changes.
        title: what it does, a sentence that starts with a verb.
        why: why it is needed, and why so.
        files: what it writes, before the commands.
        commands: what it runs, in this order.
        root: whether the commands need root.
        reboot: whether the machine has to restart before the next step.
        verify: what shows that it has worked.
        undo: what takes it back.
    """

    id: str
    group: Group
    title: str
    why: str
    files: tuple[File, ...] = ()
    commands: tuple[Command, ...] = ()
    root: bool = False
    reboot: bool = False
    verify: tuple[Command, ...] = ()
    undo: tuple[Command, ...] = ()


class Refusal(msgspec.Struct, frozen=True):
    """A wish that cannot be met here: why, and what would do instead."""

    wish: str
    why: str
    instead: str = ""


class Wheel(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed of one framework.

    Attributes:
        framework: its import name.
        requirement: as pip takes it.
        variant: "cu130", "rocm7.2", "xpu" or "cpu".
        index: the address of the package index that has it; None: the Python Package Index.
        why: what it has to do with this machine.
    """

    framework: str
    requirement: str
    variant: str
    index: str | None = None
    why: str = ""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What decides, of this machine; None: not known, or not there."""

    kernel: str | None = None  # Linux, Windows, Darwin
    system: str | None = None
    family: str | None = None  # of the package manager: debian, fedora, suse, arch
    release: str | None = None  # VERSION_ID of os-release
    architecture: str | None = None
    glibc: str | None = None  # "musl" where it is that
    vendor: str | None = None  # nvidia, amd, intel, apple; None: no GPU that computes
    gpus: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()  # lowest first, each once
    gfx: tuple[str, ...] = ()
    rocm: str | None = None  # the release that is installed on the machine
    driver: str | None = None
    driver_cuda: str | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The whole plan.

    Attributes:
        wishes: the frameworks that were wished for.
        machine: what decided.
        cuda: the CUDA of the wheels ("13"), "rocm7.2", "xpu", or "cpu"; None: there is nothing to install.
        driver_cuda: the CUDA release of the driver that the wheels will run on.
        driver_branch: the branch of the driver that a step brings; None: there is no such step.
        python: Python's release, "3.12".
        manager: who installs: uv, pip, conda, pixi, poetry.
        environment: the environment's folder.
        interpreter: its Python.
        wheels: what is installed.
        steps: what is to be done, in this order.
        refused: what cannot be had.
        notes: what else is good to know.
    """

    schema: str = SCHEMA
    version: str = ""
    created: str = ""
    wishes: tuple[str, ...] = ()
    machine: Ground = Ground()
    cuda: str | None = None
    driver_cuda: str | None = None
    driver_branch: int | None = None
    python: str | None = None
    manager: str = "pip"
    environment: str = ""
    interpreter: str = ""
    wheels: tuple[Wheel, ...] = ()
    steps: tuple[Step, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
