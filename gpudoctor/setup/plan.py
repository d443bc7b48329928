"""The plan as data: what is to be done in which order, why, and what cannot be had; `gpudoctor.plan/1`."""

from typing import Any, Literal

import msgspec

from gpudoctor.tasks import Edit, Tasks, needs_root
from gpudoctor.tasks.as_typed import shown

SCHEMA = "gpudoctor.plan/1"

Group = Literal["driver", "container", "toolkit", "environment", "proof"]


class SetupStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step.

    Attributes:
        id: its name, unique in the plan.
        group: which part of the machine it changes.
        title: what it does, a sentence that starts with a verb.
        why: why it is needed, and why so.
        files: what it writes, whole, before the commands.
        commands: what is done, in this order.
        root: whether it needs root.
        reboot: whether the machine has to restart before the next step.
        verify: what shows that it has worked.
        undo: what takes it back.
    """

    id: str
    group: Group
    title: str
    why: str
    files: tuple[Edit, ...] = ()
    commands: Tasks = ()
    root: bool = False
    reboot: bool = False
    verify: Tasks = ()
    undo: Tasks = ()

    @property
    def asks_root(self) -> bool:
        """Whether it needs root, or one of its commands does."""
        return self.root or any(map(needs_root, self.commands))


class Refusal(msgspec.Struct, frozen=True):
    """A request that cannot be met here: why, and what would do instead."""

    requested: str
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
        kept: whether it is installed already, and stays as it is.
    """

    framework: str
    requirement: str
    variant: str
    index: str | None = None
    why: str = ""
    kept: bool = False


class TargetPlatform(msgspec.Struct, frozen=True, kw_only=True):
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
        requested: what was asked for: frameworks, PyTorch's companions, cuda-toolkit, cudnn.
        machine: what decided.
        cuda: the CUDA of the wheels ("13"), "rocm7.2", "xpu", or "cpu"; None: there is nothing to install.
        driver_cuda: the CUDA release of the driver that the wheels will run on.
        driver_branch: the branch of the driver that a step brings; None: there is no such step.
        toolkit: the release of the CUDA toolkit that a step brings, "12.8"; None: there is no such step.
        python: Python's release, "3.12".
        manager: who installs: uv, pip, conda, pixi, poetry.
        environment: the environment's folder.
        interpreter: its Python.
        wheels: what is installed.
        steps: what is to be done, in this order.
        refused: what cannot be had.
        notes: what else is good to know.
        sudo: whether who carries it out here asks sudo for root.
    """

    schema: str = SCHEMA
    version: str = ""
    created: str = ""
    requested: tuple[str, ...] = ()
    machine: TargetPlatform = TargetPlatform()
    cuda: str | None = None
    driver_cuda: str | None = None
    driver_branch: int | None = None
    toolkit: str | None = None
    python: str | None = None
    manager: str = "pip"
    environment: str = ""
    interpreter: str = ""
    wheels: tuple[Wheel, ...] = ()
    steps: tuple[SetupStep, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    sudo: bool = True


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan for JSON, in which each command also stands as it is typed."""
    data: dict[str, Any] = msgspec.to_builtins(plan)
    for step, written in zip(plan.steps, data["steps"], strict=True):
        for name, tasks in (("commands", step.commands), ("verify", step.verify), ("undo", step.undo)):
            written[name] = [
                {"shown": shown(task, plan.sudo), "argv": [], **one}
                for task, one in zip(tasks, written[name], strict=True)
            ]
    return data
