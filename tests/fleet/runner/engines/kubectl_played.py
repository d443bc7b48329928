"""A kubectl that is played: objects as an API server gives them, from a file that says how each node's pod goes on.

It is run as a program of its own, with the folder of its state in KUBECTL_PLAYED. There `played.json` holds `nodes`,
`pods` (by node: one status after the other, one for each time that the pods are asked for; the last one stays, and null
is no pod), `logs` (by node), `events` (of jobs, by node), `classes`, `refused` (by node: what create says) and `fails`
(by the command's first words: how often, -1 is always, and what it says). `calls.jsonl` is what it was asked.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO


def say(text: str, end: str = "\n", file: TextIO = sys.stdout) -> None:
    """Write a text."""
    file.write(text + end)


def main() -> int:
    """Answer one command."""
    folder = Path(os.environ["KUBECTL_PLAYED"])
    played = json.loads((folder / "played.json").read_text())
    words = [one for one in sys.argv[1:] if not one.startswith("-")]
    options = dict(one[2:].partition("=")[::2] for one in sys.argv[1:] if one.startswith("--"))
    given = sys.stdin.read() if words[:1] == ["create"] else ""
    with (folder / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps({"words": words, "options": options, "given": given}) + "\n")
    if (code := _fails(folder, played, " ".join(words))) is not None:
        return code
    if words[0] == "create":
        return _create(folder, played, json.loads(given))
    if words[0] == "delete":
        return _delete(folder, words[2:])
    if words[0] == "logs":
        node = words[1].removeprefix("pod-of-")
        say(played["logs"].get(node, ""), end="")
        return 0
    return _get(folder, played, words, options)


def _fails(folder: Path, played: dict[str, Any], command: str) -> int | None:
    for beginning, (times, message) in played.get("fails", {}).items():
        count = folder / ("failed " + beginning)
        done = int(count.read_text()) if count.exists() else 0
        if command.startswith(beginning) and times not in (0, done):
            count.write_text(str(done + 1))
            say(message, file=sys.stderr)
            return 1
    return None


def _jobs(folder: Path) -> dict[str, Any]:
    """By the job's name, the node and how often its pod was asked for."""
    path = folder / "jobs.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _save(folder: Path, jobs: dict[str, Any]) -> None:
    (folder / "jobs.json").write_text(json.dumps(jobs))


def _create(folder: Path, played: dict[str, Any], listed: dict[str, Any]) -> int:
    jobs, code = _jobs(folder), 0
    for job in listed["items"]:
        name, spec = job["metadata"]["name"], job["spec"]["template"]["spec"]
        term = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (node,) = term["nodeSelectorTerms"][0]["matchFields"][0]["values"]
        if message := played.get("refused", {}).get(node):
            say(
                f'Error from server (Forbidden): error when creating "STDIN": jobs.batch "{name}" {message}',
                file=sys.stderr,
            )
            code = 1
            continue
        jobs[name] = {"node": node, "asked": 0, "labels": job["spec"]["template"]["metadata"]["labels"]}
        say(f"job.batch/{name}")
    _save(folder, jobs)
    return code


def _delete(folder: Path, names: list[str]) -> int:
    jobs = _jobs(folder)
    for name in names or list(jobs):
        jobs.pop(name, None)
    _save(folder, jobs)
    return 0


def _get(folder: Path, played: dict[str, Any], words: list[str], options: dict[str, str]) -> int:
    what, names = words[1], words[2:]
    if what.startswith("runtimeclasses"):
        say("\n".join(f"runtimeclass.node.k8s.io/{one}" for one in played.get("classes", [])))
        return 0
    if what == "nodes":
        (folder / "nodes_asked").write_text("yes" if names else "")
        gone = played.get("gone", []) if names else []
        items = [one for one in played["nodes"] if one["metadata"]["name"] not in gone]
        items = [played.get("later", {}).get(one["metadata"]["name"], one) if names else one for one in items]
        items = [one for one in items if not names or one["metadata"]["name"] in names]
        if key := options.get("selector"):
            name, _, value = key.partition("=")
            items = [one for one in items if one["metadata"].get("labels", {}).get(name) == value]
    elif what == "pods":
        items = _pods(folder, played, options["selector"])
    else:
        by_node = played.get("events", {})
        items = [_event(name, by_node[job["node"]]) for name, job in _jobs(folder).items() if job["node"] in by_node]
    if names and len(items) == 1:
        say(json.dumps(items[0], indent=4))
    elif items or not names:
        say(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4))
    return 0


def _event(job: str, message: str) -> dict[str, Any]:
    involved = {"kind": "Job", "name": job}
    return {
        "kind": "Event",
        "type": "Warning",
        "reason": "FailedCreate",
        "involvedObject": involved,
        "message": message,
    }


def _pods(folder: Path, played: dict[str, Any], selector: str) -> list[dict[str, Any]]:
    jobs, found = _jobs(folder), []
    label, _, value = selector.partition("=")
    for job in jobs.values():
        steps = played["pods"][job["node"]]
        status = steps[min(job["asked"], len(steps) - 1)]
        job["asked"] += 1
        if status is not None and job["labels"].get(label) == value:
            name = f"pod-of-{job['node']}" + status.get("again", "")
            found.append({"kind": "Pod", "metadata": {"name": name, "labels": job["labels"]}, "status": status})
    _save(folder, jobs)
    return found


if __name__ == "__main__":
    sys.exit(main())
