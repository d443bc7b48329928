"""torchaudio reads and writes files by torchcodec, which is not installed."""

from typing import Any

import pytest

from gpudoctor.checks.packages.torchaudio_without_torchcodec import torchaudio_without_torchcodec
from gpudoctor.facts import Facts
from gpudoctor.facts.python import AudioFiles, TorchaudioCall
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import commands, environment, one, package, severity, torch

CALL = TorchaudioCall(package="coqui-tts", version="0.28.0", file="TTS/tts/models/xtts.py")
MORE = tuple(TorchaudioCall(package=name, version="1", file=f"{name}/a.py") for name in ("demucs", "voxcpm"))
MESSAGE = (
    "torchaudio 2.11.1 reads and writes audio files only through torchcodec, which is not installed: torchaudio.load "
    "and torchaudio.save raise 'TorchCodec is required'."
)
VISION = package("torchvision", "0.29.2")


ALONE = AudioFiles()


def host(*more: Any, audio: str = "2.11.1", found: Any = ALONE, version: Any = "2.15.0", **changes: Any) -> Facts:
    packages = (package("torchaudio", audio), *more)
    return environment(torch(version, **{"hip": None} | changes), packages=packages, audio=found)


@pytest.mark.parametrize(
    ("facts", "end", "level"),
    [
        (host(found=AudioFiles(calls=(CALL,))), " coqui-tts 0.28.0 calls them (TTS/tts/models/xtts.py).", "warn"),
        (
            host(VISION, found=AudioFiles(calls=(CALL, MORE[0]))),
            "xtts.py); demucs does so, too.",
            "warn",
        ),
        (host(found=AudioFiles(calls=(CALL, *MORE))), "; demucs and voxcpm do so, too.", "warn"),
        (
            host(VISION, found=AudioFiles(requiring=("openai-whisperx",))),
            " openai-whisperx requires torchaudio.",
            "advice",
        ),
        (host(VISION, found=AudioFiles(requiring=("a", "b"))), " a and b require torchaudio.", "advice"),
        (host(), "raise 'TorchCodec is required'.", "advice"),  # it was installed for its own sake
    ],
)
def test_who_misses_torchcodec(facts: Facts, end: str, level: str) -> None:
    verdict, message = one(torchaudio_without_torchcodec, facts)
    assert verdict == "problem"
    assert message.startswith(MESSAGE)
    assert message.endswith(end)
    assert severity(torchaudio_without_torchcodec, facts) == level


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (host(VISION), ("pass", "")),  # it came along with PyTorch
        (host(package("torchcodec", "0.17.0"), found=None), ("pass", "")),
        (host(audio="2.8.0", found=None), ("pass", "")),
        (host(version="2.9.0a0+50eac811a6.nv25.9"), ("pass", "")),  # a build of somebody's own
        (host(hip="7.2"), ("pass", "")),  # torchcodec has no build for it
        (host(found=None), ("unknown", "who reads audio files was not looked for")),
        (host(version=Unknown("no version")), ("unknown", "no version")),
        (environment(torch()), ("pass", "")),
    ],
)
def test_where_nothing_is_amiss_or_known(facts: Facts, expected: tuple[str, str]) -> None:
    assert one(torchaudio_without_torchcodec, facts) == expected


@pytest.mark.parametrize(
    ("version", "ffmpeg", "changes", "lines"),
    [
        ("2.15.0", True, {}, ["/opt/env/bin/python -m pip install 'torchcodec>=0.12'"]),
        ("2.9.1", True, {}, ["/opt/env/bin/python -m pip install 'torchcodec==0.9.*'"]),
        (
            "2.10.0",
            False,
            {},
            ["/opt/env/bin/python -m pip install 'torchcodec==0.10.*'", "sudo apt-get install ffmpeg"],
        ),
        (
            "2.10.0",
            False,
            {"pythons.0.kind": "conda", "pythons.0.prefix": "/opt/env"},
            [
                "/opt/env/bin/python -m pip install 'torchcodec==0.10.*'",
                "conda install -p /opt/env -c conda-forge ffmpeg",
            ],
        ),
        (
            "2.10.0",
            False,
            {"host.distribution.id": "rocky", "host.distribution.version": "9.4"},
            ["/opt/env/bin/python -m pip install 'torchcodec==0.10.*'"],  # its own packages have no FFmpeg
        ),
    ],
)
def test_torchcodec_for_this_pytorch_and_ffmpeg_where_it_is_missing(
    version: str, ffmpeg: bool, changes: dict[str, object], lines: list[str]
) -> None:
    facts = host(version=version, found=AudioFiles(calls=(CALL,), ffmpeg=ffmpeg))
    for path, value in changes.items():
        facts = change(facts, path, value)
    said, *typed = commands(torchaudio_without_torchcodec, facts).splitlines()
    assert typed == lines
    assert ("FFmpeg" in said) == (not ffmpeg)
