"""`gpudoctor fleet run`: asks nodes, accounts for all of them, goes on where it ended, and ends when it is asked to."""

import inspect
import json
import sys
from pathlib import Path

import pytest
import yaml

from gpudoctor.cli.fleet.engine_options import OPTIONS, EngineOption
from gpudoctor.cli.fleet.progress import said
from gpudoctor.extras import install_command
from gpudoctor.fleet.runner import engines
from gpudoctor.fleet.runner.tracker import RunProgress
from tests.cli.conftest import Run
from tests.cli.fleets import asked, reports, states
from tests.expect import one
from tests.fleet.runner import local

ROOT = Path(local.__file__).parents[3]


def test_all_report(fleet: Run, tmp_path: Path) -> None:
    ran = fleet("a,b,noise1", "--quick", "--jobs", "2")
    assert (ran.code, ran.err) == (0, "")
    assert "3 nodes are healthy" in ran.out
    assert states(tmp_path) == dict.fromkeys(("a", "b", "noise1"), "reported")
    assert reports(tmp_path) == {"a.json", "b.json", "noise1.json"}
    said = asked(tmp_path)
    assert (said["engine"], said["nodes"], said["fan"], said["seconds"]) == ("local", "a,b,noise1", 2, 180.0)
    assert said["command"] == ["gpudoctor", "fleet", "node", "--timeout", "180", "--quick"]


def test_some_do_not_and_a_second_run_asks_only_those(fleet: Run, tmp_path: Path) -> None:
    ran = fleet("a,dead1,down1")
    assert (ran.code, ran.err) == (3, "")
    assert "It ended with 7." in ran.out
    assert "It is down." in ran.out
    assert states(tmp_path) == {"a": "reported", "dead1": "failed", "down1": "not asked"}
    ledger = tmp_path / "run" / "ledger.jsonl"
    before = ledger.read_bytes().count(b"\n")
    assert fleet("a,dead1,down1,b").code == 3
    assert ledger.read_bytes().count(b"\n") == before + 3
    assert states(tmp_path)["b"] == "reported"
    assert len(asked(tmp_path)["started"]) == 2  # type: ignore[arg-type]


def test_a_run_is_gone_on_with_by_its_folder_alone(fleet: Run, tmp_path: Path) -> None:
    assert fleet("a,dead1").code == 3
    assert fleet().code == 3
    assert states(tmp_path) == {"a": "reported", "dead1": "failed"}
    assert asked(tmp_path)["nodes"] == "a,dead1"
    assert fleet("b").code == 3
    assert asked(tmp_path)["nodes"] == "b"


def test_again_asks_all(fleet: Run, tmp_path: Path) -> None:
    assert fleet("a").code == 0
    made = (tmp_path / "run" / "reports" / "a.json").stat().st_ino
    assert fleet("a").code == 0
    assert (tmp_path / "run" / "reports" / "a.json").stat().st_ino == made
    assert fleet("a", "--rerun").code == 0
    assert (tmp_path / "run" / "earlier" / "a.json").stat().st_ino == made
    assert reports(tmp_path) == {"a.json"}


def test_the_summary_as_json_and_nothing_else(fleet: Run) -> None:
    ran = fleet("a,dead1", "--json")
    document = json.loads(ran.out)
    assert (ran.code, ran.err) == (3, "")
    assert document["schema"] == "gpudoctor.fleet/1"
    assert document["counts"] == {"pass": 1, "failed": 1}
    assert document["states"] == {"pass": "a", "failed": "dead1"}


def test_a_real_node_is_held_against_the_file_that_was_read_here(
    fleet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ours.toml").write_text(one("host.cpus", "at_least=1000000"))
    (tmp_path / "ours.toml").chmod(0o644)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ran = fleet("real1", "--quick", "--timeout", "60", "--expect", "ours.toml")
    assert ran.code == 1
    (finding,) = json.loads((tmp_path / "run/reports/real1.json").read_text())["findings"][:1]
    assert finding["message"].startswith("host.cpus: expected at least 1000000, found ")
    assert finding["cause"].startswith("The rule is in ours.toml:1. ")


def test_how_gpudoctor_is_started_there(fleet: Run, tmp_path: Path) -> None:
    assert fleet("a", "--with", "env 'A=1 2' /opt/gpudoctor", "--smoke", "--timeout", "77.5").code == 0
    assert asked(tmp_path)["command"] == [
        "env", "A=1 2", "/opt/gpudoctor", "fleet", "node", "--timeout", "77.5", "--smoke",
    ]  # fmt: skip


def test_the_limit_with_smoke_tests_is_longer(fleet: Run, tmp_path: Path) -> None:
    assert fleet("a", "--smoke").code == 0
    assert asked(tmp_path)["seconds"] == 900.0


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("run zzz --output x", "Unknown engine"),
        ("run slrm --output x", 'Unknown engine "slrm". Did you mean "slurm"?'),
        ("run local a --output=", "--output needs a directory name; an unset shell variable gives an empty"),
        ("run local a --output x --jobs 0", "--jobs takes a whole number from 1 to 10000, not 0."),
        ("run local a --output x --jobs ²", "--jobs takes a whole number from 1 to 10000, not ²."),
        ("run local a --output x --timeout 0", "--timeout takes 5 to 86400 seconds, not 0."),
        ("run local a --output x --with=", "--with needs a command; an unset shell variable gives an empty"),
        ("run local a --output x --with '", "--with ' is not a command: No closing quotation."),
        ("run local a --output x --expect /proc/none", "/proc/none cannot be read: No such file or directory."),
        ("run local a --output x --partition p", "--partition cannot be used with local; it is for slurm."),
        (
            "run local a --output x --queue-timeout 5",
            "--queue-timeout cannot be used with local; it is for slurm and kubernetes.",
        ),
        ("run slurm a --output x --queue-timeout -5", "--queue-timeout takes 0 to 86400 seconds, not -5."),
        ("run slurm a --output x --queue-timeout soon", "--queue-timeout takes 0 to 86400 seconds, not soon."),
        ("run ssh n\udcff --output x", "n\\udcff is not valid UTF-8."),
        ("run ssh n1 --user \udcff --output x", "\\udcff is not valid UTF-8."),
        ("run kubernetes --print --image i --pairs", "--pairs cannot be used with --print, which contacts no node."),
        ("run ssh --print", "--print cannot be used with ssh: only kubernetes uses manifests."),
        ("run kubernetes --print", "kubernetes needs --image: a container image with gpudoctor."),
        ("run kubernetes a --output x", "kubernetes needs --image: a container image with gpudoctor."),
        (
            "run kubernetes --print --image i --output x",
            "--output cannot be used with --print, which contacts no node.",
        ),
        ("run kubernetes --print --image i --namespace A_b", "'A_b' is not a valid Kubernetes name."),
        (
            "run kubernetes --print --image i --no-gpus",
            "--no-gpus cannot be used with --print, which contacts no node.",
        ),
        (
            "run kubernetes --print --image i node[1-2]",
            "A manifest selects nodes by labels such as nvidia.com/gpu.present",
        ),
        ("run ray --output x --address=", "--address needs a value; an unset shell variable gives an empty one."),
        ("run local nonsense --output x", '"nonsense" is not a node set.'),
        ("run local --output x", "local lists no node."),
        ("run local a --output /proc/none/x", "/proc/none/x cannot be used: No such file or directory."),
        ("run local a --output x --rerrun", 'Unknown option "--rerrun". Did you mean "--rerun"?'),
        ("run local a b --output x", 'Unexpected argument "b". See `gpudoctor fleet run --help`'),
        ("rn", 'Unknown command "rn". Did you mean "run"?'),
    ],
)
def test_wrong_usage_leaves_nothing(
    fleet: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("fleet", *line.split(" ")).sentence.startswith(sentence)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_something_else_and_of_another_run(fleet: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "data.csv").write_text("1")
    assert fleet("a").sentence == (
        f"{tmp_path}/run contains other files, such as data.csv: choose a new directory, or that of a fleet run."
    )
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["data.csv"]


@pytest.mark.parametrize(("option", "name"), [(option, name) for option in OPTIONS for name in option.engines])
def test_each_option_is_a_parameter_of_its_engine(option: EngineOption, name: str) -> None:
    module, kind = engines.ENGINES[name]
    made = pytest.importorskip(f"gpudoctor.fleet.runner.engines.{module}")
    assert option.parameter in inspect.signature(getattr(made, kind)).parameters


def test_options_reach_the_engine_that_they_are_of(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found: dict[str, object] = {}

    def made(name: str, **options: object) -> local.Local:
        found.update(options, name=name)
        return local.Local()

    monkeypatch.setattr(engines, "engine", made)
    arguments = ["--ssh-option=-p2222", "--ssh-option", "-4", "--user", "me", "--output", str(tmp_path / "run")]
    assert run("fleet", "run", "ssh", "a", *arguments).code == 0
    assert found == {"name": "ssh", "options": ("-p2222", "-4"), "user": "me"}
    assert asked(tmp_path)["options"] == {"--user": ["me"], "--ssh-option": ["-p2222", "-4"]}


def test_a_manifest_to_apply_oneself(run: Run) -> None:
    options = [
        "--print",
        "--image",
        "here/gpudoctor:1",
        "gpu=yes,rack=7",
        "--timeout",
        "90",
        "--with",
        "/opt/gpudoctor",
    ]
    ran = run("fleet", "run", "kubernetes", *options, "--namespace", "ops", "--runtime-class", "nvidia")
    assert (ran.code, ran.err) == (0, "")
    _, pods = yaml.safe_load_all(ran.out)
    spec = pods["spec"]["template"]["spec"]
    assert pods["metadata"]["namespace"] == "ops"
    assert (spec["nodeSelector"], spec["runtimeClassName"]) == ({"gpu": "yes", "rack": "7"}, "nvidia")
    container = spec["initContainers"][0]
    assert container["image"] == "here/gpudoctor:1"
    assert container["command"][4:6] == ["/opt/gpudoctor", "check"]
    assert "90" in container["command"]


def test_an_engine_that_breaks_in_the_middle(fleet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "engine", lambda name, **_: local.Local("broken"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ran = fleet("real1,b", "--quick")
    assert ran.code in (1, 3)  # as this machine is
    assert any(said in ran.out for said in ("1 of 2 nodes is well", "fails", "1 has NO GPU"))  # as this machine is
    assert ran.err == (
        f"gpudoctor: The local engine broke. 1 of 2 nodes have reported, in {tmp_path}/run; "
        "run the same command to continue with the others.\n"
    )
    assert states(tmp_path) == {"real1": "reported", "b": "not asked"}


def test_an_engine_that_breaks_before_anybody_reports(
    fleet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "engine", lambda name, **_: local.Local("broken"))
    assert fleet("a,b").sentence == "The local engine broke."
    assert states(tmp_path) == {"a": "not asked", "b": "not asked"}


def test_without_clustershell(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "ClusterShell"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ClusterShell", None)
    install = f"{install_command('fleet')}."
    into = str(tmp_path / "run")
    for engine in ("ssh", "kubernetes", "slurm"):
        image = ["--image", "i"] if engine == "kubernetes" else []
        assert run("fleet", "run", engine, "node[1-2]", "--output", into, *image).sentence.endswith(install)
    assert list(tmp_path.iterdir()) == []


def test_nodes_may_stand_behind_the_options(fleet: Run, run: Run, tmp_path: Path) -> None:
    into = str(tmp_path / "run")
    assert run("fleet", "run", "local", "--output", into, "a").code == 0
    assert run("fleet", "run", "--quick", "local", "--output", into, "--jobs", "1", "b", "--json").code == 0
    assert set(states(tmp_path)) == {"a", "b"}


def test_an_engine_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "engine", lambda name, **_: local.Local("missing"))
    assert run("fleet", "run", "ray", "--output", str(tmp_path / "run")).sentence == "There is no local engine here."


@pytest.mark.parametrize(
    ("standing", "before", "words"),
    [
        (RunProgress(4, 0, 0, 0), 0, "0 of 4 nodes have reported"),
        (RunProgress(4, 1, 2, 1), 6, "7 of 10 nodes have reported, 2 running, 1 without a report"),
    ],
)
def test_progress(standing: RunProgress, before: int, words: str) -> None:
    assert said(standing, before) == words
