"""A distribution's own files are read fast, and broken ones do no harm."""

import importlib.metadata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.parsers.metadata import MetadataHeader, is_optional, normalise, read_head, read_installer, required_name

TORCH = """Metadata-Version: 2.1
Name: torch
Version: 2.6.0+cu124
Summary: Tensors: and dynamic networks
Requires-Python: >=3.9.0
Requires-Dist: filelock
Requires-Dist: nvidia-cublas-cu12==12.4.5.8; platform_system == "Linux" and platform_machine == "x86_64"
Provides-Extra: opt-einsum

Name: not-this
Requires-Dist: nor-this
"""


def test_head() -> None:
    assert read_head(TORCH) == MetadataHeader(
        "torch",
        "2.6.0+cu124",
        ("filelock", 'nvidia-cublas-cu12==12.4.5.8; platform_system == "Linux" and platform_machine == "x86_64"'),
        ">=3.9.0",
    )
    assert read_head(TORCH.replace("\n", "\r\n").encode()) == read_head(TORCH)


@pytest.mark.parametrize(
    ("content", "head"),
    [
        ("", MetadataHeader()),
        ("\n\nName: torch\n", MetadataHeader()),
        ("Version: 1\n", MetadataHeader(None, "1")),
        ("Name: torch", MetadataHeader("torch")),
        ("Name:\nVersion:   \n", MetadataHeader()),
        ("NAME: torch\nversion: 1", MetadataHeader("torch", "1")),
        ("Name: a\nName: b\nVersion: 1\n", MetadataHeader("a", "1")),
        ("Name: torch\nLicense: one\n  Name: two\nVersion: 1\n", MetadataHeader("torch", "1")),
        ("Name: a\nRequires-Dist: b\n  >=1\n", MetadataHeader("a", None, ("b >=1",))),
        ("no colon here\nName: a\n", MetadataHeader("a")),
        (b"\xef\xbb\xbfName: torch\nAuthor: \xe9\xff\nVersion: 1\n", MetadataHeader("torch", "1")),
        ("\ufeffName: torch\n", MetadataHeader("torch")),
        (b"\xff\xfeN\x00a\x00m\x00e\x00", MetadataHeader()),
        ("Name: a\n" + "X: y\n" * 1_000_000 + "Version: 1\n", MetadataHeader("a")),
        ("Name: " + "a" * 5_000_000, MetadataHeader("a" * ((1 << 20) - 6))),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_broken_heads(content: str | bytes, head: MetadataHeader) -> None:
    assert read_head(content) == head


@settings(deadline=None)
@given(st.one_of(st.text(), st.binary()))
def test_noise_is_not_an_error(noise: str | bytes) -> None:
    read_head(noise)
    read_installer(noise)


@pytest.mark.parametrize("distribution", ["pytest", "hypothesis", "msgspec"])
def test_as_importlib_reads_it(distribution: str) -> None:
    theirs = importlib.metadata.distribution(distribution)
    head = read_head(theirs.read_text("METADATA") or "")
    assert (head.name, head.version) == (theirs.name, theirs.version)
    assert list(head.requires) == (theirs.requires or [])


@pytest.mark.parametrize(
    ("name", "normal"),
    [("Torch", "torch"), ("nvidia_cublas.cu12", "nvidia-cublas-cu12"), ("a-_.b", "a-b"), ("", "")],
)
def test_normalise(name: str, normal: str) -> None:
    assert normalise(name) == normal


@pytest.mark.parametrize(
    ("content", "installer"),
    [
        ("pip\n", "pip"),
        (b"uv", "uv"),
        ("\n\nconda\nmore", "conda"),
        ("Poetry 1.8\n", "poetry 1.8"),
        ("", None),
        (" \n", None),
    ],
)
def test_installer(content: str | bytes, installer: str | None) -> None:
    assert read_installer(content) == installer


@pytest.mark.parametrize(
    ("requirement", "name", "optional"),
    [
        ("torch>=2.4", "torch", False),
        ("torch>=2; extra == 'gpu'", "torch", True),
        ("jax[cuda12] >=0.4 ; python_version > '3.9' and extra=='jax'", "jax", True),
        ("typing_extensions-extra; python_version < '3.11'", "typing_extensions-extra", False),
        ("zope.interface", "zope.interface", False),
        ("", "", False),
    ],
)
def test_a_requirement(requirement: str, name: str, optional: bool) -> None:
    assert (required_name(requirement), is_optional(requirement)) == (name, optional)
