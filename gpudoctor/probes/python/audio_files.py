"""Who reads and writes audio files by a torchaudio that needs torchcodec for it, which is not installed."""

import re
from collections.abc import Sequence

from gpudoctor.facts.python import AudioFiles, TorchaudioCall
from gpudoctor.knowledge.python_rules import reads_by_torchcodec
from gpudoctor.knowledge.sonames import sonames
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers.elf import Dynamic
from gpudoctor.parsers.metadata import is_optional
from gpudoctor.probes.python.extension_search import ExtensionSearch
from gpudoctor.probes.python.packages import FoundDistribution, text_of

_REQUIRES = pattern(r"(?mi)^Requires-Dist:\s*(torchaudio(?![\w.-])[^\n]*)")
_CALLS = pattern(r"^[^#\n]*\b(?:torchaudio|ta)\.(?:load|save)\(")
_IMPORTS = pattern(r"(?m)^\s*(?:import torchaudio\b|from torchaudio\b)")
# What reads the file where torchaudio does not.
_FALLBACK = pattern(r"\b(?:soundfile|torchcodec|librosa)\b")
_TESTS = ("test", "example", "demo", "recipe", "benchmark")
# A package of models has some hundreds of modules; a larger one is read in part.
_MOST_FILES, _LONGEST = 400, 1 << 18


def probe(machine: Machine, prefix: str, found: Sequence[FoundDistribution]) -> AudioFiles | None:
    """The packages that require torchaudio, with a module that calls it; None: it reads files without torchcodec."""
    installed = {each.package.name: each for each in found}
    audio = installed.get("torchaudio")
    if audio is None or "torchcodec" in installed or not reads_by_torchcodec(audio.package.version):
        return None
    requiring, calls = [], []
    for one in found:
        lines = _REQUIRES.findall(text_of(machine, f"{one.place}/METADATA").partition("\n\n")[0])
        if not lines:
            continue
        if file := _calling(machine, one):
            calls.append(TorchaudioCall(package=one.package.name, version=one.package.version, file=file))
        elif not all(map(is_optional, lines)):
            requiring.append(one.package.name)
    return AudioFiles(calls=tuple(calls), requiring=tuple(requiring), ffmpeg=_has_ffmpeg(machine, prefix))


def _calling(machine: Machine, one: FoundDistribution) -> str | None:
    """The first module of a package that calls torchaudio.load or torchaudio.save, and nothing else in its place."""
    lines = (line.partition(",")[0] for line in text_of(machine, f"{one.place}/RECORD").splitlines())
    files = [path for path in lines if path.endswith(".py") and not path.startswith(("../", "/"))]
    files = [path for path in files if not any(word in path.lower() for word in _TESTS)]
    for path in files[:_MOST_FILES]:
        try:
            text = machine.text(f"{one.package.directory}/{path}", _LONGEST)
        except OSError:
            continue
        if _IMPORTS.search(text) and re.search(_CALLS.pattern, text, re.M) and not _FALLBACK.search(text):
            return path
    return None


def _has_ffmpeg(machine: Machine, prefix: str) -> bool:
    """Whether the loader finds a release of FFmpeg's libraries."""
    search = ExtensionSearch(machine, prefix, (), None)
    none = Dynamic(soname=None, needed=(), rpath=(), runpath=(), machine=machine.architecture(), is_64=True)
    majors = sonames().ffmpeg.releases["libavutil"]
    return any(search.find(f"libavutil.so.{major}", none, "") for major in majors)
