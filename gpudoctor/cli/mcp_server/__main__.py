"""Starts the process that answers one call: `python -m gpudoctor.cli.mcp_server TOOL [PYTHON ...]`."""

import os
import sys


def main() -> None:
    """Read the call's arguments from standard input, and write the answer to standard output as JSON."""
    from gpudoctor.process_cleanup import end_on_signals, undo_all

    end_on_signals()
    from gpudoctor.spared_imports import start_fast

    start_fast()
    from gpudoctor.cli.mcp_server.answers import answer_json

    tool, *pythons = sys.argv[1:]
    sys.stdout.buffer.write(answer_json(tool, sys.stdin.buffer.read(), pythons))
    sys.stdout.flush()
    undo_all()
    os._exit(0)  # waits for no thread that hangs


if __name__ == "__main__":
    main()
