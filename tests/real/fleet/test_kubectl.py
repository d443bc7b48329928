"""The Kubernetes engine through a real kubectl, which speaks to an API server that is played on this machine.

What is held here is what no played kubectl can say: that kubectl takes our words, and what it makes of them on the way.
The server stores jobs, makes a pod of each as the job controller does, and lets the pods go on as the test says.
"""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kubernetes_validate
import pytest

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines.kubernetes import Kubernetes
from gpudoctor.fleet.runner.engines.kubernetes_round import RoundLimits
from tests.fleet.runner.engines.pods import NEW, NO_PLACE, RUNNING, UNSCHEDULED, ended, node, waiting

pytestmark = [
    pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl: apt-get install kubernetes-client"),
    pytest.mark.timeout(300),
]
QUICK = RoundLimits(look=0.05, nodes=1, podless=1, unscheduled=2, starting=30, slack=1, silent=30, tidy=10)
JOB = NodeJob(("gpudoctor", "fleet", "node"), 2.0)
NAMESPACE = "gpu"
REPORT = b'{"schema": "gpudoctor.report/1"}' * 4000
CONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "played", "cluster": {"server": ""}}],
    "users": [{"name": "me", "user": {}}],
    "contexts": [{"name": "blue", "context": {"cluster": "played", "user": "me"}}],
}
VERBS = ["create", "delete", "get", "list", "watch"]
KINDS = {
    "v1": [("nodes", "Node", False), ("pods", "Pod", True), ("pods/log", "Pod", True), ("events", "Event", True)],
    "batch/v1": [("jobs", "Job", True)],
    "node.k8s.io/v1": [("runtimeclasses", "RuntimeClass", False)],
}


class Api:
    """What the API server knows.

    Args:
        steps: by node, one status of its pod after the other, one for each time that pods are listed; None: no pod.
        logs: by node.
    """

    def __init__(self, steps: dict[str, list[Any]], logs: dict[str, str]) -> None:
        self.steps, self.logs = steps, logs
        self.nodes = [node(name, gpus=8) for name in steps]
        self.jobs: dict[str, dict[str, Any]] = {}
        self.made: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.deleted: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self._listed: dict[str, int] = {}

    def pods(self, count: bool) -> dict[str, dict[str, Any]]:
        """The pods by name."""
        found = {}
        for name, job in self.jobs.items():
            template = job["spec"]["template"]
            (term,) = _terms(template["spec"])
            on = term["matchFields"][0]["values"][0]
            steps = self.steps[on]
            at = self._listed.setdefault(name, 0)
            self._listed[name] += count
            status = steps[min(at, len(steps) - 1)]
            if status is not None:
                meta = {"name": f"{name}-x7k2p", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}
                spec = {**template["spec"], "nodeName": on}
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}
                found[meta["name"]] = pod
        return found


def _terms(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    return found


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    api: Api

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _tell(self, whole: Any, code: int = 200, plain: str = "") -> None:
        data = plain.encode() if plain else json.dumps(whole).encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain" if plain else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _not_found(self, what: str, name: str) -> None:
        message = f'{what} "{name}" not found'
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        self._tell({**status, "message": message, "details": {"name": name, "kind": what}}, 404)

    def _given(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def do_GET(self) -> None:
        """Discovery, lists, one object, a log."""
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        with self.api.lock:
            self.api.asked.append(self.path)
            if url.path in ("/api", "/apis") or "/".join(parts[1:]) in KINDS:
                self._discover(url.path, parts)
                return
            if parts[0] not in ("api", "apis"):
                self._not_found("path", url.path)
                return
            rest = parts[2:] if parts[0] == "api" else parts[3:]
            if rest[0] == "namespaces":
                assert rest[1] == NAMESPACE
                rest = rest[2:]
            self._objects(rest, query)

    def _discover(self, path: str, parts: list[str]) -> None:
        if path == "/api":
            self._tell({"kind": "APIVersions", "versions": ["v1"]})
        elif path == "/apis":
            names = [one for one in KINDS if "/" in one]
            versions = [{"groupVersion": one, "version": one.partition("/")[2]} for one in names]
            groups = [
                {"name": one["groupVersion"].partition("/")[0], "versions": [one], "preferredVersion": one}
                for one in versions
            ]
            self._tell({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        else:
            name = "/".join(parts[1:])
            listed = [{"name": n, "kind": k, "namespaced": s, "verbs": VERBS} for n, k, s in KINDS[name]]
            self._tell({"kind": "APIResourceList", "groupVersion": name, "resources": listed})

    def _objects(self, rest: list[str], query: dict[str, str]) -> None:
        api, what = self.api, rest[0]
        if rest[-1] == "log":
            on = api.pods(count=False)[rest[1]]["spec"]["nodeName"]
            assert query["container"] == "gpudoctor"
            self._tell(None, plain=api.logs.get(on, "\n"))
            return
        by_name: dict[str, dict[str, Any]] = {
            "nodes": {one["metadata"]["name"]: one for one in api.nodes},
            "pods": api.pods(count="labelSelector" in query) if what == "pods" else {},
            "jobs": api.jobs,
            "events": {},
            "runtimeclasses": {"nvidia": {"metadata": {"name": "nvidia"}, "handler": "nvidia"}},
        }[what]
        if len(rest) > 1:
            one = by_name.get(rest[1])
            self._not_found(what, rest[1]) if one is None else self._tell(one)
            return
        label, _, value = query.get("labelSelector", "").partition("=")
        bare = [{key: one[key] for key in one if key not in ("kind", "apiVersion")} for one in by_name.values()]
        found = [one for one in bare if not label or one["metadata"].get("labels", {}).get(label) == value]
        kind, group = {
            "nodes": ("NodeList", "v1"), "pods": ("PodList", "v1"), "jobs": ("JobList", "batch/v1"),
            "events": ("EventList", "v1"), "runtimeclasses": ("RuntimeClassList", "node.k8s.io/v1"),
        }[what]  # fmt: skip
        self._tell({"kind": kind, "apiVersion": group, "metadata": {"resourceVersion": "1"}, "items": found})

    def do_POST(self) -> None:
        """Create a job."""
        given = self._given()
        with self.api.lock:
            assert urlsplit(self.path).path == f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
            given["metadata"]["namespace"] = NAMESPACE
            self.api.made.append(given)
            self.api.jobs[given["metadata"]["name"]] = given
            self._tell(given, 201)

    def do_DELETE(self) -> None:
        """Delete a job."""
        given = self._given()
        with self.api.lock:
            name = urlsplit(self.path).path.rpartition("/")[2]
            self.api.deleted.append({"name": name, "how": given.get("propagationPolicy")})
            gone = self.api.jobs.pop(name, None)
            self._not_found("jobs", name) if gone is None else self._tell(gone)


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Gives a function that serves an API, and the file that leads kubectl to it."""
    servers = []
    monkeypatch.setenv("HOME", str(tmp_path))  # kubectl keeps what it discovers there
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def serve(api: Api) -> str:
        handler = type("Bound", (Handler,), {"api": api})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        CONFIG["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{server.server_port}"  # type: ignore[index]
        (tmp_path / "config").write_text(json.dumps(CONFIG))
        return str(tmp_path / "config")

    yield serve
    for one in servers:
        one.shutdown()
        one.server_close()


def made(config: str, **how: Any) -> Kubernetes:
    engine = Kubernetes("image:1", context="blue", namespace=NAMESPACE, kubeconfig=config, **how)
    engine._limits = QUICK
    return engine


def ran(engine: Kubernetes, targets: list[FleetTarget], stop_after: int = -1) -> tuple[dict[str, Over], list[NodeLine]]:
    reported: list[NodeLine | Over] = []
    stop = threading.Event()
    thread = threading.Thread(target=engine.run, args=(targets, JOB, reported.append, stop), daemon=True)
    thread.start()
    if stop_after >= 0:
        threading.Event().wait(stop_after)
        stop.set()
    thread.join(120)
    assert not thread.is_alive(), "nothing hangs"
    return {one.node: one for one in reported if isinstance(one, Over)}, [
        one for one in reported if isinstance(one, NodeLine)
    ]


def test_every_node_ends_as_it_should(serving: Any) -> None:
    log = "\n".join([protocol.hello("well"), *protocol.lines("well", REPORT), ""])
    well = [NEW, waiting("ContainerCreating"), RUNNING, ended(0)]
    steps: dict[str, list[Any]] = {
        "well": well,
        "shell": [NEW, ended(127)],
        "image": [NEW, waiting("ErrImagePull", "not found")],
        "full": [UNSCHEDULED],
        "slow": [RUNNING],
        "lost": [RUNNING, None],
    }
    api = Api(steps, {"well": log, "shell": "sh: gpudoctor: not found\n", "slow": protocol.hello("slow") + "\n"})
    engine = made(serving(api))
    targets = list(engine.targets(""))
    assert targets == [FleetTarget(node=name, gpus=8) for name in steps]

    overs, lines = ran(engine, targets)
    assert {name: (one.state, one.why) for name, one in overs.items()} == {
        "well": ("failed", "The command failed there with exit code 0."),
        "shell": ("failed", "The command failed there with exit code 127: sh: gpudoctor: not found."),
        "image": ("failed", "Its container cannot be started: ErrImagePull: not found."),
        "full": ("not asked", f"Kubernetes cannot schedule the pod: {NO_PLACE}"),
        "slow": ("timed out", "It did not finish within 2 s."),
        "lost": ("unreachable", "Its pod was deleted during the run, by a user or with its node."),
    }
    reports = protocol.Assembler()
    found = [reports.feed(one.text, one.node) for one in lines]
    assert protocol.Landed("well", REPORT) in found
    assert protocol.Hello("slow") in found
    assert api.jobs == {}, "nothing is left in the cluster"
    assert len(api.made) == len(steps)
    assert {one["spec"]["template"]["spec"]["runtimeClassName"] for one in api.made} == {"nvidia"}
    for one in api.made:
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)


def test_a_node_that_is_not_there_any_more(serving: Any) -> None:
    api = Api({"a": [RUNNING], "b": [RUNNING]}, {})
    engine = made(serving(api))
    targets = list(engine.targets(""))
    del api.nodes[0]
    overs, _ = ran(engine, targets)
    assert overs["a"].why == "It disappeared: The node is no longer part of the cluster."
    assert overs["b"].state == "timed out"


def test_a_stopped_run_deletes_with_the_pods(serving: Any) -> None:
    api = Api({"a": [RUNNING], "b": [RUNNING]}, {})
    engine = made(serving(api))
    overs, _ = ran(engine, list(engine.targets("")), stop_after=1)
    assert {one.state for one in overs.values()} == {"not asked"}
    assert api.jobs == {}
    assert {one["how"] for one in api.deleted} == {"Foreground"}


def test_wishes(serving: Any) -> None:
    api = Api({"gpu-1": [None], "gpu-2": [None]}, {})
    api.nodes[0]["metadata"]["labels"]["pool"] = "a"
    config = serving(api)
    assert [one.node for one in made(config).targets("pool=a")] == ["gpu-1"]
    assert [bool(one.why_not) for one in made(config).targets("gpu-[2-3]")] == [False, True]


@pytest.mark.parametrize("how", ["no server", "no context"])
def test_a_cluster_that_is_not_there_is_one_sentence(how: str, serving: Any, tmp_path: Path) -> None:
    config = serving(Api({}, {}))
    if how == "no context":
        (tmp_path / "config").write_text("{}")
    else:
        text = json.dumps(CONFIG).replace(
            json.dumps(CONFIG["clusters"]), '[{"name": "played", "cluster": {"server": "http://127.0.0.1:1"}}]'
        )
        (tmp_path / "config").write_text(text)
    with pytest.raises(EngineError) as raised:
        made(config).targets("")
    message = {"no server": "connection", "no context": "blue"}[how]
    assert message in str(raised.value)
    assert str(raised.value).startswith("Kubernetes does not list its nodes: ")
    assert "\n" not in str(raised.value)
