"""Who reads and writes audio files by a torchaudio that needs torchcodec for it."""

import pytest

from gpudoctor.facts import Package
from gpudoctor.facts.python import AudioFiles, TorchaudioCall
from gpudoctor.probes.python import audio_files
from gpudoctor.probes.python.packages import FoundDistribution
from gpudoctor.recorded_machine import RecordedMachine

SITE = "/env/lib/python3.11/site-packages"
LOADS = "import torchaudio\n\ndef read(path):\n    return torchaudio.load(path)\n"


def probe(files: dict[str, str], **versions: str) -> AudioFiles | None:
    """Each distribution has one module, NAME/io.py, unless files say otherwise."""
    found = []
    for name, version in versions.items():
        place = f"{SITE}/{name}-{version}.dist-info"
        files = {f"{place}/RECORD": f"{name}/io.py,sha256=x,1\n{name}/tests/io.py,sha256=x,1\n"} | files
        package = Package(name=name, version=version, directory=SITE)
        found.append(FoundDistribution(package, place))
    return audio_files.probe(RecordedMachine(files), "/env", found)


@pytest.mark.parametrize(
    ("head", "code", "calls", "requires"),
    [
        ("Requires-Dist: torchaudio>=2", LOADS, True, False),
        ("Requires-Dist: torchaudio>=2; extra == 'cuda'", LOADS, True, False),  # coqui-tts
        ("Requires-Dist: torchaudio>=2", "import torchaudio as ta\nta.save(a, b, c)\n", True, False),
        ("Requires-Dist: torchaudio>=2", "import torchaudio\n# torchaudio.load(path)\n", False, True),
        ("Requires-Dist: torchaudio>=2", "import soundfile\n" + LOADS, False, True),  # instead of it, maybe
        ("Requires-Dist: torchaudio>=2; extra == 'cuda'", "import torchaudio\n", False, False),
        ("Requires-Dist: torchaudio-augmentations", LOADS, False, False),
        ("Summary: none\n\nRequires-Dist: torchaudio", LOADS, False, False),  # the description says so
    ],
)
def test_who_calls_it(head: str, code: str, calls: bool, requires: bool) -> None:
    files = {f"{SITE}/tts-1.0.dist-info/METADATA": f"Name: tts\n{head}\n", f"{SITE}/tts/io.py": code}
    found = probe(files, torchaudio="2.11.1", tts="1.0")
    call = TorchaudioCall(package="tts", version="1.0", file="tts/io.py")
    assert found == AudioFiles(calls=(call,) * calls, requiring=("tts",) * requires)


def test_tests_of_a_package_are_no_callers() -> None:
    files = {f"{SITE}/tts-1.0.dist-info/METADATA": "Requires-Dist: torchaudio\n", f"{SITE}/tts/tests/io.py": LOADS}
    assert probe(files, torchaudio="2.11.1", tts="1.0") == AudioFiles(requiring=("tts",))


def test_ffmpeg_is_looked_for_where_the_loader_does() -> None:
    assert probe({"/usr/lib/x86_64-linux-gnu/libavutil.so.59": ""}, torchaudio="2.9.0") == AudioFiles(ffmpeg=True)
    assert probe({"/opt/ffmpeg/lib/libavutil.so.59": ""}, torchaudio="2.9.0") == AudioFiles()


def test_where_nothing_is_looked_for() -> None:
    assert probe({}, torchaudio="2.8.0") is None
    assert probe({}, torchaudio="2.9.0", torchcodec="0.9.1") is None
    assert probe({}, tts="1.0") is None
