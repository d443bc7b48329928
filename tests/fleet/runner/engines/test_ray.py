"""The Ray engine with a driver that is played: who is asked, what is told, and a sentence where Ray cannot be used."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines import engine, ray
from gpudoctor.fleet.runner.engines.ray import Ray
from gpudoctor.fleet.runner.engines.ray_nodes import RayNode, named, requested, targets

JOB = NodeJob(("gpudoctor", "fleet", "node"), 5.0)
THREE = [
    {"id": "aa11", "name": "10.0.0.1", "host": "head", "address": "10.0.0.1", "gpus": 0},
    {"id": "bb22", "name": "10.0.0.2", "host": "gpu1", "address": "10.0.0.2", "gpus": 8},
    {"id": "cc33", "name": "10.0.0.3", "host": "gpu2", "address": "10.0.0.3", "gpus": 8},
]
UNKNOWN = FleetTarget(node="gpu9", why_not="Ray has no node with this name.")


def node(id_: str, host: str = "h", **more: Any) -> RayNode:
    return RayNode(id=id_ * 8, host=host, address="10.0.0.1", name="10.0.0.1", **more)


def played(folder: Path, *reported: object, script: str = "") -> Ray:
    """An engine whose interpreter lists three nodes, then tells these lines, then does what the script says."""
    (folder / "told").write_text("".join(json.dumps(one) + "\n" for one in reported))
    (folder / "nodes").write_text(json.dumps({"nodes": THREE}) + "\n")
    program = folder / "python"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, os, signal, sys, time\n"
        f"folder = {str(folder)!r}\n"
        "asked = json.load(sys.stdin)\n"
        "open(folder + '/asked', 'a').write(json.dumps(asked) + '\\n')\n"
        "name = '/told' if 'argv' in asked else '/nodes'\n"
        "print(open(folder + name).read(), end='', flush=True)\n"
        f"if name == '/told':\n    pass\n    {script}\n"
    )
    program.chmod(0o755)
    return Ray(address="10.0.0.1:6379", python=str(program))


def asked(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asked").read_text().splitlines()]


def ran(
    engine: Ray, wanted: Sequence[FleetTarget] | None = None, stop: Event | None = None, job: NodeJob = JOB
) -> list[NodeLine | Over]:
    reported: list[NodeLine | Over] = []
    engine.run(engine.targets("") if wanted is None else wanted, job, reported.append, stop or Event())
    return reported


def overs(reported: Sequence[NodeLine | Over]) -> dict[str, tuple[str, str]]:
    found = [one for one in reported if isinstance(one, Over)]
    assert len(found) == len({one.node for one in found}), "a node is told to be over once"
    return {one.node: (one.state, one.why) for one in found}


def test_nodes_of_one_host_have_names_of_their_own() -> None:
    assert list(named([node("a"), node("b"), node("c", "other")])) == ["h-aaaaaaaa", "h-bbbbbbbb", "other"]


def test_a_name_that_somebody_gave_is_taken_and_rays_own_default_is_not() -> None:
    given = RayNode(id="a", name="gpu-worker-3", host="vm", address="10.0.0.1")
    assert given.plain == "gpu-worker-3"
    assert node("a", "").plain == "10.0.0.1"
    assert RayNode(id="a").plain == "a"


@pytest.mark.parametrize(
    ("name", "plain"), [("../../etc", "etc"), ("a b\n", "a-b-"), ("..", "ident"), ("x/y", "x-y"), ("ü", "ident")]
)
def test_a_name_holds_nothing_that_means_something_elsewhere(name: str, plain: str) -> None:
    assert RayNode(id="ident", name=name).plain.strip("-") == plain.strip("-")


def test_the_dead_say_why_and_those_that_left_as_they_should_are_none_of_ours() -> None:
    nodes = [
        node("a"),
        node("b", alive=False, reason="2", words="lost"),  # its raylet was started again as "a"
        node("c", "x", alive=False, reason="2", words="missed too\nmany heartbeats."),
        node("d", "y", alive=False, reason="1"),
        node("e", "z", alive=False, reason="4"),
        node("f", "w", alive=False),
    ]
    assert targets(nodes) == [
        FleetTarget(node="h"),
        FleetTarget(node="x", why_not="Ray reports it as dead: missed too many heartbeats."),
        FleetTarget(node="w", why_not="Ray reports it as dead."),
    ]


def test_a_wish_is_a_name_a_host_an_address_or_an_id() -> None:
    nodes = [node("a"), node("b"), RayNode(id="cc", host="x", address="10.0.0.9", gpus=4)]
    both = [FleetTarget(node="h-aaaaaaaa"), FleetTarget(node="h-bbbbbbbb")]
    assert requested(nodes, ["h", "10.0.0.9", "gpu9"]) == [*both, FleetTarget(node="x", gpus=4), UNKNOWN]
    assert requested(nodes, ["cc", "h-aaaaaaaa", "aaaaaaaa"]) == [FleetTarget(node="x", gpus=4), both[0]]


def test_all_nodes_of_the_cluster_are_its_targets(tmp_path: Path) -> None:
    found = [FleetTarget(node="head", gpus=0), FleetTarget(node="gpu1", gpus=8), FleetTarget(node="gpu2", gpus=8)]
    assert played(tmp_path).targets("") == found
    assert asked(tmp_path) == [{"address": "10.0.0.1:6379"}]


def test_a_folded_wish(tmp_path: Path) -> None:
    found = played(tmp_path).targets("gpu[1-2,9]")
    assert found == [FleetTarget(node="gpu1", gpus=8), FleetTarget(node="gpu2", gpus=8), UNKNOWN]
    with pytest.raises(EngineError, match="is not a node set"):
        played(tmp_path).targets("gpu[1-")


def test_lines_and_ends_are_told_under_the_nodes_names(tmp_path: Path) -> None:
    lines = [
        {"connected": True},
        {"node": "bb22", "text": "gpudoctor-fleet/1 gpu1 hello"},
        {"node": "aa11", "over": ["unreachable", "It went away."]},
        {"node": "bb22", "over": ["failed", "The command failed there with exit code 0."]},
        {"node": "cc33", "over": ["timed out", "It did not finish within 5 s."]},
        {"node": "cc33", "over": ["failed", "told twice"]},
        {"node": "stranger", "text": "nobody asked"},
    ]
    reported = ran(played(tmp_path, *lines, script="print('no JSON at all')"))
    assert reported[0] == NodeLine("gpu1", "gpudoctor-fleet/1 gpu1 hello")
    assert overs(reported) == {
        "head": ("unreachable", "It went away."),
        "gpu1": ("failed", "The command failed there with exit code 0."),
        "gpu2": ("timed out", "It did not finish within 5 s."),
    }
    _, job = asked(tmp_path)
    assert (job["argv"], job["nodes"], job["fan"]) == (list(JOB.argv), ["aa11", "bb22", "cc33"], 64)
    assert job["seconds"] + job["grace"] < job["seconds"] + job["slack"], "the task ends before it is given up"


def test_only_those_that_can_be_asked_are(tmp_path: Path) -> None:
    wanted = [FleetTarget(node="gpu1", why_not="down"), FleetTarget(node="gpu2"), FleetTarget(node="gpu9")]
    reported = ran(played(tmp_path, {"connected": True}, {"node": "cc33", "over": ["failed", "x"]}), wanted)
    assert asked(tmp_path)[-1]["nodes"] == ["cc33"]
    assert overs(reported) == {
        "gpu1": ("not asked", "down"),
        "gpu2": ("failed", "x"),
        "gpu9": ("not asked", "Ray has no node with this name."),
    }


def test_a_driver_that_dies_in_mid_run_loses_no_node(tmp_path: Path) -> None:
    """Ray ends its driver with abort() where the cluster goes."""
    lines = [{"connected": True}, {"node": "aa11", "text": "hello"}, {"node": "bb22", "over": ["failed", "x"]}]
    script = "print('The GCS is gone.', file=sys.stderr, flush=True); os.kill(os.getpid(), signal.SIGABRT)"
    why = "Ray's driver ended by SIGABRT before it responded: The GCS is gone."
    assert overs(ran(played(tmp_path, *lines, script=script))) == {
        "head": ("unreachable", why),
        "gpu1": ("failed", "x"),
        "gpu2": ("not asked", why),
    }


def test_a_run_that_is_stopped_ends_its_driver_and_accounts_for_all(tmp_path: Path) -> None:
    stop = Event()
    engine = played(tmp_path, {"connected": True}, {"node": "aa11", "text": "hello"}, script="time.sleep(600)")
    wanted = engine.targets("")
    reported: list[NodeLine | Over] = []

    def tell(one: NodeLine | Over) -> None:
        reported.append(one)
        stop.set()

    thread = Thread(target=engine.run, args=(wanted, JOB, tell, stop))
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert {state for state, _ in overs(reported).values()} == {"not asked"}
    assert len(overs(reported)) == 3


def test_a_driver_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "JOIN", 0.5)
    monkeypatch.setattr(ray, "START", 0.2)
    monkeypatch.setattr(ray, "SLACK", 0.2)
    reported = ran(played(tmp_path, {"connected": True}, script="time.sleep(600)"), job=NodeJob(JOB.argv, 0.2, fan=2))
    why = "Ray's driver ended because it took too long before it responded."
    assert set(overs(reported).values()) == {("not asked", why)}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print(json.dumps({'error': ['ray', 'Version mismatch: 3.9.1']}))", r"^Ray: Version mismatch: 3\.9\.1\.$"),
        ("print(json.dumps({'error': ['import', 'No module']}))", r"has no Ray .*pip install 'gpudoctor-cli\[ray\]'"),
        ("time.sleep(600)", r"^Ray did not respond within 0 s at 10\.0\.0\.1:6379\.$"),
        ("print('full', file=sys.stderr); sys.exit(4)", r"^Ray's driver ended with 4 before it connected: full\.$"),
    ],
)
def test_ray_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str) -> None:
    engine = played(tmp_path, script=script)
    wanted = engine.targets("")
    if "sleep" in script:
        monkeypatch.setattr(ray, "JOIN", 0.3)
    with pytest.raises(EngineError, match=message):
        ran(engine, wanted)


def test_a_driver_that_lists_nothing(tmp_path: Path) -> None:
    engine = played(tmp_path)
    (tmp_path / "nodes").write_text("")
    with pytest.raises(EngineError, match=r"^Ray's driver ended before it connected\.$"):
        engine.targets("gpu1")


def test_without_a_token_that_the_cluster_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    over = {"connected": True}, {"node": "aa11", "over": ["failed", "x"]}
    engine = played(tmp_path, *over)
    program = tmp_path / "python"
    refuses = "if 'RAY_AUTH_MODE' not in os.environ:\n    print(json.dumps({'error': ['auth', 'x']})); sys.exit()\n"
    program.write_text(program.read_text().replace("name = ", refuses + "name = "))
    assert [one.node for one in engine.targets("")] == ["head", "gpu1", "gpu2"]
    assert overs(ran(engine, [FleetTarget(node="head")])) == {"head": ("failed", "x")}, "and so is the run"
    assert ["argv" in one for one in asked(tmp_path)] == [False, False, True]


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(EngineError, match=r"^/nowhere/python cannot be started: No such file or directory\.$"):
        Ray(python="/nowhere/python").targets("")


def test_an_address_that_carries_no_output() -> None:
    with pytest.raises(EngineError, match="ray:// cannot return"):
        engine("ray", address="ray://head:10001").targets("")
