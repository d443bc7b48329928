"""torchaudio reads and writes files by torchcodec, which is not installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts.python import AudioFiles
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import conda_install, install, lasting, manager_of
from gpudoctor.knowledge.python_rules import companion_for, reads_by_torchcodec
from gpudoctor.knowledge.sonames import sonames
from gpudoctor.maybe import Unknown, known, present, text_of
from gpudoctor.queries.packages import is_own_build, numbers, package
from gpudoctor.targets import OnFramework, torches
from gpudoctor.tasks import Tasks


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    minor = ".".join(str(n) for n in numbers(present(on.framework.version))[:2])
    ours = companion_for("torchcodec", minor)
    tasks: Tasks = (install(on.python, f"torchcodec{ours or ''}"),)
    message = f"Install the torchcodec release for PyTorch {minor}"
    found = on.python.audio
    more, root = _ffmpeg(on) if found and not found.ffmpeg else ((), False)
    if more:
        message += ", and FFmpeg, whose libraries it loads"
    elif found and not found.ffmpeg:
        message += ", and FFmpeg with its shared libraries, which it loads and which are not here"
    proof = verify(on.python, "import torchcodec; v = torchcodec.ffmpeg_major_version; print(v); assert v")
    return (Fix(f"{message}.{lasting(on.facts)}", (*tasks, *more), "reinstall-package", root=root, verify=proof),)


def _ffmpeg(on: OnFramework) -> tuple[Tasks, bool]:
    """The commands that install FFmpeg, and whether they need root; none where its release here is unknown."""
    if on.python.kind == "conda" or manager_of(on.python) in ("conda", "pixi"):
        return (conda_install(on.python, "ffmpeg"),), False
    here = on.facts.host.distribution
    if f"{text_of(here.id)} {text_of(here.version)}" not in sonames().ffmpeg.distributions:
        return (), False
    return install_system(on.facts, "ffmpeg"), True


def _who(on: OnFramework, found: AudioFiles) -> str | None:
    """Who has audio files read or written here, as the end of the message; None: nobody is known to."""
    if found.calls:
        first, others = found.calls[0], [one.package for one in found.calls[1:3]]
        more = f"; {' and '.join(others)} {'do' if others[1:] else 'does'} so, too" if others else ""
        return f" {first.package} {first.version} calls them ({first.file}){more}."
    if found.requiring:
        names = found.requiring[:3]
        return f" {' and '.join(names)} {'require' if names[1:] else 'requires'} torchaudio."
    # Who installs all three takes what PyTorch's page names.
    return "" if package(on.python, "torchvision") is None else None


@check(
    title="torchaudio needs torchcodec to read and write files, and it is not installed",
    severity=Severity.ADVICE,
    cause="From 2.9 on torchaudio.load and torchaudio.save only pass the file on to torchcodec, which its metadata "
    "does not require, and torchcodec opens it with FFmpeg's shared libraries, which come from the system or from "
    "conda. Everything else of torchaudio works without it.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/audio/pull/4039",
        "https://github.com/idiap/coqui-ai-TTS/issues/542",
        "https://github.com/SWivid/F5-TTS/issues/1220",
        "https://github.com/meta-pytorch/torchcodec#installing-torchcodec",
    ),
    targets=torches,
    only_with=("pythons.packages.name=torchaudio",),
    caused_by=("python.*", "pytorch.*", "packages.torchvision-mismatch"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def torchaudio_without_torchcodec(on: OnFramework) -> Problem | None:
    """A torchaudio from 2.9 on alone, where a package calls or requires it, or nothing else of PyTorch's came along.

    A build for ROCm has no torchcodec.
    """
    audio = package(on.python, "torchaudio")
    if audio is None or not reads_by_torchcodec(audio.version) or package(on.python, "torchcodec"):
        return None
    version = known(on.framework.version) or ""
    if not numbers(version) or is_own_build(version) or known(on.framework.hip):
        return None
    found = on.python.audio
    if found is None:
        return known(Unknown("who reads audio files was not looked for"))
    who = _who(on, found)
    if who is None:
        return None
    message = (
        f"torchaudio {audio.version} reads and writes audio files only through torchcodec, which is not installed: "
        f"torchaudio.load and torchaudio.save raise 'TorchCodec is required'.{who}"
    )
    seen = tuple(f"{one.package} {one.version}: {one.file}" for one in found.calls[:4])
    return Problem(message, seen, severity=Severity.WARNING if found.calls else None)
