"""Newest releases, the Pythons that have wheels, and pins, from PyPI's JSON (https://docs.pypi.org/api/json/)."""

import json
import re
from collections.abc import Iterator
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from gpudoctor.knowledge.cupy import cupy
from gpudoctor.knowledge.jax import jax
from gpudoctor.knowledge.newest import newest
from gpudoctor.knowledge.onnxruntime import onnxruntime
from gpudoctor.knowledge.tensorflow import tensorflow
from gpudoctor.knowledge.torch import torch
from scripts.refreshing.difference import Difference, Fetch

ADDRESS = "https://pypi.org/pypi/{name}/json"
# The project that stands for a framework: the newest package of those that hold it.
PROJECTS = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "cupy": "cupy-cuda13x",
    "onnxruntime": "onnxruntime-gpu",
}
_WHEEL = re.compile(r"-cp3(\d+)-cp3\d+-manylinux\w*_x86_64\.whl$")
_MAJOR = re.compile(r"nvidia-cudnn-cu(\d+)")


class Project:
    """One project of PyPI as it is now."""

    def __init__(self, name: str, fetch: Fetch) -> None:
        self.source = ADDRESS.format(name=name)
        self.data: dict[str, Any] = json.loads(fetch(self.source))
        stable = (v for v, files in self.data["releases"].items() if files and not Version(v).is_prerelease)
        self.version = max(stable, key=Version)

    def pythons(self) -> list[str] | None:
        """The lowest and highest CPython with a wheel of the newest release for Linux on x86_64; None: no wheel."""
        files = self.data["releases"][self.version]
        minors = sorted(int(found[1]) for file in files if (found := _WHEEL.search(file["filename"])))
        return [f"3.{minors[0]}", f"3.{minors[-1]}"] if minors else None

    def pin(self, pattern: str) -> tuple[str, str] | None:
        """The name and the version of the first requirement of a name: exact, or else the lowest."""
        for text in self.data["info"]["requires_dist"] or ():
            wanted = Requirement(text)
            if re.fullmatch(pattern, wanted.name):
                bounds = {one.operator: one.version for one in wanted.specifier}
                if bound := bounds.get("==") or bounds.get(">=") or bounds.get("~="):
                    return wanted.name, bound
        return None


def differences(fetch: Fetch) -> Iterator[Difference]:
    """What PyPI says and the tables do not.

    Raises:
        OSError: PyPI does not answer.
    """
    projects = {name: Project(project, fetch) for name, project in PROJECTS.items()}
    for name, project in projects.items():
        if (have := newest().framework[name]) != project.version:
            yield Difference("newest", ("framework", name), have, project.version, project.source)
    yield from _torch(projects["torch"])
    yield from _tensorflow(projects["tensorflow"])
    yield from _jax(fetch)
    yield from _cupy(fetch)
    yield from _onnxruntime(projects["onnxruntime"])


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _pythons(table: str, path: tuple[str | int, ...], have: Any, project: Project) -> Iterator[Difference]:
    found = project.pythons()
    if found and list(have) != found:
        yield Difference(table, (*path, "python"), list(have), found, project.source)


def _torch(project: Project) -> Iterator[Difference]:
    rows = torch().release
    index = next((i for i, row in enumerate(rows) if row.version == _minor(project.version)), None)
    if index is None:
        hand = "its variants and what they are compiled for: read the build matrix and the wheels"
        yield Difference("torch", ("release",), rows[-1].version, _minor(project.version), project.source, hand)
        return
    yield from _pythons("torch", ("release", index), rows[index].python, project)
    cudnn = project.pin(r"nvidia-cudnn-cu\d+")
    have = rows[index].cudnn.get(rows[index].default)
    if cudnn and have != cudnn[1]:
        path = ("release", index, "cudnn", rows[index].default)
        yield Difference("torch", path, have, cudnn[1], project.source)


def _tensorflow(project: Project) -> Iterator[Difference]:
    rows = tensorflow().release
    if rows[-1].version != _minor(project.version):
        hand = "its CUDA, its cuDNN and its capabilities: read .bazelrc of the release"
        yield Difference("tensorflow", ("release",), rows[-1].version, _minor(project.version), project.source, hand)
        return
    yield from _pythons("tensorflow", ("release", len(rows) - 1), rows[-1].python, project)


def _jax(fetch: Fetch) -> Iterator[Difference]:
    for name, plugin in jax().plugin.items():
        project = Project(plugin.package, fetch)
        since, have = list(plugin.lowest_cudnn.items())[-1]
        found = project.pin(r"nvidia-cudnn-cu\d+")
        if found and Version(found[1]) != Version(have) and Version(project.version) > Version(since):
            path = ("plugin", name, "lowest_cudnn", project.version)
            yield Difference("jax", path, have, found[1], project.source)


def _cupy(fetch: Fetch) -> Iterator[Difference]:
    for index, package in enumerate(cupy().package):
        if package.last:
            continue  # there will be no other
        project = Project(package.name, fetch)
        yield from _pythons("cupy", ("package", index), package.python, project)


def _onnxruntime(project: Project) -> Iterator[Difference]:
    rows = onnxruntime().row
    pin = project.pin(r"nvidia-cudnn-cu\d+")
    major = pin and _MAJOR.fullmatch(pin[0])
    if major and major[1] != rows[-1].cuda:
        hand = "from which release on: read the release notes"
        yield Difference("onnxruntime", ("row",), rows[-1].cuda, major[1], project.source, hand)
        return
    yield from _pythons("onnxruntime", ("row", len(rows) - 1), rows[-1].python, project)
