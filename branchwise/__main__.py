"""The command line's entry: bad input is one clear line and exit code 2."""

import os
import sys


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 bad input."""
    # Nothing here may ask a model hub or send traces anywhere unless the user says so.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    from branchwise.cli import app
    from branchwise.corpora.errors import InputError

    try:
        app()
    except InputError as error:
        sys.exit(_complain(str(error), 2))
    except KeyboardInterrupt:
        sys.exit(_complain("interrupted", 1))
    except BrokenPipeError:
        # `branchwise ... | head`: the reader has what it wanted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"branchwise: {message}\n")
    return code


if __name__ == "__main__":
    main()
