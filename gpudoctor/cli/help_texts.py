"""The examples and the exit codes of every command: the help and docs/cli.md take them from here."""

from typing import NamedTuple


class HelpText(NamedTuple):
    """What stands at the end of a command's help.

    Attributes:
        examples: what can be typed.
        codes: what an exit code means.
    """

    examples: tuple[str, ...]
    codes: dict[str, str]


_USAGE = {"2": "usage error"}
_DONE = {"0": "success", **_USAGE}
_REPORT = {
    "0": "no failures",
    "1": "failures",
    "2": "usage error, or it cannot be written",
    "3": "no GPU, or too much is unknown",
}
_GATHERED = {"0": "written", "2": "usage error, or it cannot be written"}

HELP_TEXTS = {
    "": HelpText(
        ("gpudoctor check", 'gpudoctor explain "CUDA error: out of memory"', "gpudoctor --demo mismatch"), _REPORT
    ),
    "check": HelpText(
        (
            "gpudoctor check --python ~/project/.venv",
            "gpudoctor check --only pytorch,driver --verbose",
            "gpudoctor check --demo mismatch --format html -o report.html",
        ),
        _REPORT | {"1": "failures, and what --fail-on names (warnings, advice)"},
    ),
    "explain": HelpText(
        ("gpudoctor explain driver.library-mismatch", 'gpudoctor explain "Xid 79"', "gpudoctor explain train.log"),
        {
            "0": "explained; in a log no trouble, and none found here",
            "1": "trouble recognized, or found on this machine",
            **_USAGE,
            "3": "an error that gpudoctor does not know, or too much is unknown",
        },
    ),
    "run": HelpText(
        (
            "gpudoctor run -- python train.py",
            "gpudoctor run --report usage.json -- torchrun --nproc-per-node 8 train.py",
        ),
        {
            "COMMAND's": "it ran",
            **_USAGE,
            "126": "COMMAND cannot be run",
            "127": "COMMAND does not exist",
        },
    ),
    "smoke": HelpText(
        (
            "gpudoctor smoke",
            "gpudoctor smoke matmul --device 1 --dtype bf16",
            "gpudoctor smoke --all --format junit -o out.xml",
        ),
        _REPORT | {"1": "failures, and what --fail-on names (warnings, advice)"},
    ),
    "checks": HelpText(("gpudoctor checks pytorch", "gpudoctor checks nvlink"), {"0": "listed", "2": "no such check"}),
    "fix": HelpText(
        ("gpudoctor fix", "gpudoctor fix pytorch.cpu-build --yes", "gpudoctor fix --undo"),
        {
            "0": "fixed, or done and in effect after the step shown",
            **_USAGE,
            "3": "not a finding of this machine",
            "4": "a step failed, or the check still fails",
            "5": "nothing was run",
        },
    ),
    "find-release": HelpText(
        (
            "gpudoctor find-release moviepy --with moviepy.editor",
            "gpudoctor find-release 'scipy>=1.9' --with scipy.integrate.simps --install",
            "gpudoctor find-release trl --with trl.SFTTrainer --argument tokenizer",
        ),
        {
            "0": "found; with --install, and installed",
            "1": "no release has it; with --install, pip's own code where that fails",
            "2": "usage error",
            "3": "the package index gave no answer",
        },
    ),
    "setup": HelpText(
        (
            "gpudoctor setup pytorch torchvision",
            "gpudoctor setup jax --env ~/jax --run",
            "gpudoctor setup pytorch --format dockerfile",
        ),
        {
            "0": "everything requested is possible",
            **_USAGE,
            "3": "something requested is not possible here (the rest is planned)",
            "4": "a step failed",
            "5": "nothing was run",
        },
    ),
    "bundle": HelpText(("gpudoctor bundle report.tar.gz",), _GATHERED),
    "facts": HelpText(
        ("gpudoctor facts -o node7.json", "ssh node7 gpudoctor facts | gpudoctor check --facts -"), _GATHERED
    ),
    "diff": HelpText(
        ("gpudoctor diff node7.json node8.json", "gpudoctor facts | gpudoctor diff before.json -"),
        {"0": "no relevant differences", "1": "relevant differences", "2": "usage error, or a file cannot be read"},
    ),
    "record": HelpText(
        ("gpudoctor record --smoke -o gpudoctor.toml", "gpudoctor record --facts node7.json"),
        {
            "0": "recorded",
            "1": "not recorded: the machine fails",
            **_USAGE,
            "3": "not recorded: no GPU, or too much is unknown",
        },
    ),
    "fleet": HelpText(
        ("gpudoctor fleet run slurm --output monday", "gpudoctor fleet report monday"),
        {"0": "this help was printed", **_USAGE},
    ),
    "fleet run": HelpText(
        (
            "gpudoctor fleet run slurm --output monday",
            "gpudoctor fleet run ssh 'gpu[001-128]' --jobs 32 --output monday",
            "gpudoctor fleet run kubernetes --image registry.example/gpudoctor --print",
        ),
        {
            "0": "every node reported, and nothing failed",
            "1": "failures",
            **_USAGE,
            "3": "nodes did not report, or have no GPU",
        },
    ),
    "fleet report": HelpText(
        ("gpudoctor fleet report monday", "gpudoctor fleet report tuesday --since monday --format html -o fleet.html"),
        {
            "0": "every node reported, and nothing failed",
            "1": "failures; with --fail-on warn or drift also warnings, or drift and outliers",
            **_USAGE,
            "3": "nodes did not report, have no GPU, or have too much unknown",
        },
    ),
    "fleet merge": HelpText(
        ("gpudoctor fleet merge shared/ -o monday.jsonl.gz",),
        {
            "0": "all reports are in the file",
            "2": "usage error, or nothing can be read or written",
            "3": "some nodes that were asked have no readable report",
        },
    ),
    "fleet node": HelpText(
        ("gpudoctor fleet node --quick --timeout 60",),
        {"0": "the report was written", **_USAGE, "3": "the report could not be made"},
    ),
    "fleet rank": HelpText(
        ("gpudoctor fleet rank --pairs node1,node2 --gpus 8",),
        {
            "0": "the result was written",
            "2": "usage error, or this node is not one of the named nodes",
            "3": "it did not end in time",
        },
    ),
    "tui": HelpText(
        ("gpudoctor tui", "gpudoctor tui --demo bad-link", "gpudoctor tui --fleet monday"),
        _DONE | {"2": "usage error, or no terminal", "3": "it crashed"},
    ),
    "serve": HelpText(
        ("gpudoctor serve --port 8080", "gpudoctor serve --demo bad-link"),
        {"2": "usage error, or the port is in use", "130": "ended by Ctrl-C"},
    ),
    "mcp": HelpText(
        ("gpudoctor mcp", "gpudoctor mcp --python ~/project/.venv"), {"0": "standard input was closed", **_USAGE}
    ),
    "completion": HelpText(
        (
            'eval "$(gpudoctor completion bash)"',
            'gpudoctor completion zsh > "${fpath[1]}/_gpudoctor"',
            "gpudoctor completion fish > ~/.config/fish/completions/gpudoctor.fish",
        ),
        _DONE,
    ),
    "help": HelpText(("gpudoctor help check", "gpudoctor help fleet run"), _DONE),
    "version": HelpText(("gpudoctor version",), _DONE),
}
