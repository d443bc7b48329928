"""The engine with a stand-in for ssh; tests/real/fleet/test_ssh.py has the real one."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Timer

import pytest

from gpudoctor.extras import install_command
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines import engine
from gpudoctor.fleet.runner.engines.clustershell import ClusterShell
from tests.apart import limited

JOB = NodeJob(("gpudoctor", "fleet", "node"), 60)
# Notes how it was called and its process; the last two arguments of ssh are the node and the command.
SSH = """\
#!/bin/sh
echo "$$ $*" >>{folder}/calls
for word; do node=$command; command=$word; done
case $node in
good*) echo "hello from $node"; cat; printf 'no end' ;;
away*) echo "ssh: connect to host $node port 22: No route to host" >&2; exit 255 ;;
hang*) echo "hello from $node"; exec sleep 100 ;;
deaf*) trap '' TERM; echo "hello from $node"; while :; do sleep 0.1; done ;;
flood*) head -c 5000000 /dev/zero; echo; echo "hello from $node" ;;
nologin*) echo "Could not chdir to home directory /nonexistent: No such file or directory" >&2
    echo "This account is currently not available."; exit 1 ;;
odd*) printf 'x\\377y\\n' ;;
esac
"""
SECONDS = 30  # no wait in these tests is longer


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a stand-in for ssh, which is the first on PATH; `calls` there says who was called, and how."""
    (tmp_path / "ssh").write_text(SSH.format(folder=tmp_path))
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    return tmp_path


class Reported(list[NodeLine | Over]):
    """Everything that an engine told."""

    def lines(self, node: str) -> list[str]:
        return [one.text for one in self if isinstance(one, NodeLine) and one.node == node]

    def ends(self) -> dict[str, str]:
        ends = [one for one in self if isinstance(one, Over)]
        assert len({one.node for one in ends}) == len(ends), "a node is over once"
        return {one.node: one.state for one in ends}

    def why(self, node: str) -> str:
        return next(one.why for one in self if isinstance(one, Over) and one.node == node)


def _run(nodes: str, job: NodeJob = JOB, stop: Event | None = None, **options: object) -> Reported:
    reported, one = Reported(), engine("ssh", **options)
    one.run(one.targets(nodes), job, reported.append, stop or Event())
    return reported


def _calls(folder: Path) -> dict[str, tuple[int, str]]:
    """Of each node that ssh was called for: the process, and the arguments."""
    calls = [line.split(" ", 1) for line in (folder / "calls").read_text().splitlines()]
    return {words.removesuffix(" gpudoctor fleet node").split()[-1]: (int(pid), words) for pid, words in calls}


def _until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_every_line_and_one_end_of_each_node_is_told(ssh: Path) -> None:
    reported = _run("good[1-3],away")
    assert reported.ends() == {"good1": "failed", "good2": "failed", "good3": "failed", "away": "unreachable"}
    assert reported.lines("good2") == ["hello from good2", "no end"], (
        "standard input is at its end, and no line is lost"
    )
    assert reported.why("away") == "ssh: connect to host away port 22: No route to host."
    assert sorted(_calls(ssh)) == ["away", "good1", "good2", "good3"]


def test_how_ssh_is_called(ssh: Path) -> None:
    _run("good1", options=("-F", "my config", "-oServerAliveInterval=1"), user="me", connect=7)
    words = _calls(ssh)["good1"][1]
    assert words.startswith("-F my config -oServerAliveInterval=1 -oLogLevel=INFO -oServerAliveInterval=15 ")
    for word in ("-l me", "-oConnectTimeout=7", "-oBatchMode=yes", "-oControlMaster=no"):
        assert word in words
    assert words.endswith(" good1 gpudoctor fleet node")


def test_the_command_reaches_the_shell_of_the_node_whole(ssh: Path) -> None:
    argv = ("a b", "it's", "$HOME", "%hosts", "%{hosts}", "*")
    _run("good[1-2]", NodeJob(argv, 60))
    texts = [line.partition(" good1 ")[2] for line in (ssh / "calls").read_text().splitlines() if " good1 " in line]
    said = subprocess.run(["sh", "-c", f"printf '%s\\n' {texts[0]}"], capture_output=True, text=True, check=True)
    assert tuple(said.stdout.splitlines()) == argv


def test_bytes_that_are_no_text_become_a_line(ssh: Path) -> None:
    assert _run("odd").lines("odd") == ["x\ufffdy"]


def test_a_line_without_an_end_is_not_kept(ssh: Path) -> None:
    *cut, last = _run("flood").lines("flood")
    assert last == "hello from flood"
    assert sum(map(len, cut)) < 2 << 20


def test_a_node_that_hangs_is_told_at_once_when_it_is_late(ssh: Path) -> None:
    first, second = (reported := _run("hang[1-2]", NodeJob(JOB.argv, -10, fan=1), connect=0.5))[::2]
    assert [one.node for one in reported] == [first.node, first.node, second.node, second.node], "not at the end of all"
    reported = _run("hang2", NodeJob(JOB.argv, -10), connect=0.5)
    assert reported.ends() == {"hang2": "timed out"}
    assert reported.why("hang2") == "It did not finish within its -10 s; ssh was ended after 0 s."
    assert not any(_runs(pid) for pid, _ in _calls(ssh).values())


def test_after_stop_nothing_runs_and_nothing_new_is_started(ssh: Path) -> None:
    stop = Event()
    Timer(0.5, stop.set).start()
    reported = _run("hang[1-2],deaf,hang[3-9]", NodeJob(JOB.argv, 60, fan=3), stop)
    assert set(reported.ends().values()) == {"not asked"}
    assert len(reported.ends()) == 10
    assert len(_calls(ssh)) <= 3
    assert not any(_runs(pid) for pid, _ in _calls(ssh).values())


def test_who_stopped_before_the_start_asks_nobody(ssh: Path) -> None:
    stop = Event()
    stop.set()
    assert _run("good[1-2]", stop=stop).ends() == {"good1": "not asked", "good2": "not asked"}
    assert not (ssh / "calls").exists()


def test_what_tell_raises_ends_the_run_and_every_ssh(ssh: Path) -> None:
    reported = Reported()

    def tell(one: NodeLine | Over) -> None:
        reported.append(one)
        if len(reported) == 2:
            raise OSError("the disk is full")

    one = ClusterShell()
    with pytest.raises(OSError, match="the disk is full"):
        one.run(one.targets("hang[1-4]"), JOB, tell, Event())
    assert len(reported) == 2, "nothing is told to who has failed"
    assert not any(_runs(pid) for pid, _ in _calls(ssh).values())


def test_a_thread_can_run_it_again(ssh: Path) -> None:
    descriptors = []
    for _ in range(3):
        assert _run("good[1-2]").ends() == {"good1": "failed", "good2": "failed"}
        descriptors.append(len(os.listdir("/proc/self/fd")))
    assert len(set(descriptors)) == 1, "none is left open"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux ends children with their parent")
def test_ssh_dies_with_us(ssh: Path) -> None:
    script = (
        "from threading import Event; from gpudoctor.fleet.runner.engine import NodeJob\n"
        "from gpudoctor.fleet.runner.engines.clustershell import ClusterShell as C\n"
        "C().run(C().targets('hang[1-2]'), NodeJob(('gpudoctor', 'fleet', 'node'), 60), print, Event())"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL)
    try:
        _until(lambda: (ssh / "calls").exists() and len(_calls(ssh)) == 2, "ssh does not start")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    _until(lambda: not any(_runs(pid) for pid, _ in _calls(ssh).values()), "ssh lives on")


def test_a_node_that_cannot_be_asked_is_not(ssh: Path) -> None:
    reported = Reported()
    ClusterShell().run([FleetTarget(node="good1", why_not="It is down.")], JOB, reported.append, Event())
    assert list(reported) == [Over("good1", "not asked", "It is down.")]
    assert not (ssh / "calls").exists()


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[None]:
    """A configuration of ClusterShell with one group, @few."""
    from ClusterShell.NodeSet import set_std_group_resolver
    from ClusterShell.NodeUtils import GroupResolverConfig

    map_ = 'map: [ "$GROUP" = few ] && echo "a[1-2]"'
    (tmp_path / "groups.conf").write_text(f"[Main]\ndefault: local\n[local]\n{map_}\nlist: echo few\n")
    set_std_group_resolver(GroupResolverConfig([str(tmp_path / "groups.conf")]))
    yield
    set_std_group_resolver(None)


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize(
    ("requested", "names"),
    [
        ("node[01-03]", ["node01", "node02", "node03"]),
        ("n1,n3,n[1-2]", ["n1", "n2", "n3"]),
        ("n[1-5]!n2", ["n1", "n3", "n4", "n5"]),
        ("@few", ["a1", "a2"]),
        ("@*,n1", ["a1", "a2", "n1"]),
    ],
)
def test_names_mean_what_clustershell_says(requested: str, names: list[str]) -> None:
    found = ClusterShell().targets(requested)
    assert [target.node for target in found] == names
    assert not any(target.why_not or target.gpus for target in found)


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ("", "ssh has no list of nodes: name them (node[01-16]) or a ClusterShell group (@gpu)."),
        ("  ", "ssh has no list of nodes"),
        ("n[1-", '"n[1-" is not a node set: '),
        ("n[5-1]", '"n[5-1]" is not a node set: '),
        ("@none", '"@none" '),
        ("@no:few", '"@no:few" is not a node set: '),
        ("n1,-oProxyCommand=evil", '"-oProxyCommand=evil" is not a node name: ssh would take it as an option.'),
        ("n1!n1", '"n1!n1" selects no node.'),
    ],
)
def test_names_that_mean_nothing(requested: str, message: str) -> None:
    with pytest.raises(EngineError) as refused:
        ClusterShell().targets(requested)
    assert str(refused.value).startswith(message)
    assert str(refused.value).endswith(".")


def test_a_name_that_is_an_option_never_reaches_ssh(ssh: Path) -> None:
    with pytest.raises(EngineError, match="is not a node name"):
        ClusterShell().run([FleetTarget(node="-oProxyCommand=evil")], JOB, print, Event())
    assert not (ssh / "calls").exists()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(EngineError, match="ssh is not installed"):
            ClusterShell().run([FleetTarget(node="n1")], JOB, print, Event())
    monkeypatch.setitem(sys.modules, "ClusterShell", None)
    with pytest.raises(EngineError, match=re.escape(install_command("fleet"))):
        engine("ssh")


@pytest.mark.filterwarnings("ignore:topology")
@pytest.mark.parametrize(
    "text", ["[routes]\nelsewhere: gate\ngate: good[1-2]\n", "nothing\n", "[routes]\n", None], ids=str
)
def test_a_tree_that_cannot_be_used_is_one_sentence(text: str | None, ssh: Path) -> None:
    if text is not None:
        (ssh / "tree").write_text(text)
    with pytest.raises(EngineError, match=r"^The tree of gateways cannot be used: .*\.$"):
        _run("good[1-2]", topology=str(ssh / "tree"))
    assert not (ssh / "calls").exists()


@limited(resource.RLIMIT_NOFILE, 130)
def test_no_more_at_once_than_there_are_descriptors_for(ssh: Path) -> None:
    reported = _run("good[1-60]", NodeJob(JOB.argv, 60, fan=1000))
    assert list(reported.ends().values()) == ["failed"] * 60
    assert len(_calls(ssh)) == 60


def test_a_shell_that_refuses_is_quoted(ssh: Path) -> None:
    reported = _run("nologin1")
    assert reported.ends() == {"nologin1": "refused"}
    assert reported.why("nologin1") == "This account is currently not available."


def test_a_group_of_clustershells_samples_is_no_cluster(ssh: Path) -> None:
    (ssh / "groups.conf").write_text("[Main]\ndefault: local\nautodir: $CFGDIR\n")
    (ssh / "groups.conf").write_text("[Main]\ndefault: l\n[l]\nmap: echo 'example[156-159]'\nall: echo\nlist: echo\n")
    with pytest.raises(EngineError, match=r"is a group of ClusterShell's samples \(example\[156-159\]\)"):
        engine("ssh").targets("@gpu")
    assert len(engine("ssh").targets("example[156-159]")) == 4


def test_ssh_has_a_session_of_its_own(ssh: Path) -> None:
    """Ctrl-C at a terminal goes to the whole group of processes, and would look like a node that failed."""
    stop, sessions = Event(), set[int]()

    def tell(one: NodeLine | Over) -> None:
        if isinstance(one, NodeLine):
            sessions.add(os.getsid(_calls(ssh)["hang1"][0]))
            stop.set()

    one = engine("ssh")
    one.run(one.targets("hang1"), NodeJob(JOB.argv, 60), tell, stop)
    assert sessions
    assert os.getsid(0) not in sessions
