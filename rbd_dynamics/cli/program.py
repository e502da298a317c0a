# SPDX-License-Identifier: Apache-2.0
"""A command from its arguments to its exit code. Whatever goes wrong is one line on standard error, no traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence

from rbd_dynamics.cli.arguments import make_parser
from rbd_dynamics.cli.sources import joined_kernels, xacro_arguments
from rbd_dynamics.cli.usage_error import UsageError
from rbd_dynamics.common.extras import remedy
from rbd_dynamics.common.process.early_signals import leave_command

#: exit codes, besides 0: fine, and 1: the answer is bad news
CANNOT, FAULT, INTERRUPTED = 2, 70, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0: fine. 1: the answer is bad news. 2: it could not be done. 70: a fault of the program. 130: interrupted.
    """
    _prepare_streams()
    if signal.getsignal(signal.SIGINT) is leave_command:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = _run(arguments)
        sys.stdout.flush()  # here, where it can still be told that it does not go
        return code
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        _drop_output()
        return 0
    except KeyboardInterrupt as error:
        _say(": ".join(["interrupted", *map(str, error.args)]))
        return INTERRUPTED
    except (UsageError, ValueError, KeyError, ArithmeticError, OSError) as error:
        if isinstance(error, OSError) and not error.filename:
            _drop_output()  # a full disk behind standard output
        _say(f"rbd_dynamics: {_one_line(error)}")
        return CANNOT
    except ImportError as error:
        if not error.name or error.name.startswith("rbd_dynamics."):
            return _fault(error)
        told = _one_line(error)
        if (command := remedy(error.name)) not in told:
            told = command
        _say(f"rbd_dynamics: this needs the module {error.name!r}, which is not installed: {told}")
        return CANNOT
    except MemoryError:
        _say("rbd_dynamics: there is not enough memory for this")
        return CANNOT
    except Exception as error:
        return _fault(error)


def replay() -> None:
    """Entry point of the executable `replay`."""
    sys.exit(main(["replay", *sys.argv[1:]]))


def _run(arguments: Sequence[str] | None) -> int:
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks what the next word may be
        with contextlib.suppress(ImportError):
            import argcomplete

            argcomplete.autocomplete(parser)
    given, words = xacro_arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser.parse_args(joined_kernels(words))
    except SystemExit:  # after --help, or an argument that is none
        sys.stdout.flush()
        raise
    if given:
        name, value = next(iter(given.items()))
        if not hasattr(options, "arguments"):
            raise UsageError(f"{name}:={value}: this command reads no description that has arguments")
        options.arguments = given
    return int(options.run(options))


def _prepare_streams() -> None:
    """No character is an error where the terminal does not know it, nor is a stream that was closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # for the process's life
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """What is still in the buffer would be tried again at the end of the process."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)


def _fault(error: Exception) -> int:
    """Nobody's input should come to this; the traceback is kept for a report, not shown."""
    told = f"rbd_dynamics: a fault of this program, please report it: {type(error).__name__}: {_one_line(error)}"
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(
            "w", prefix="rbd_dynamics-fault-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(f"{sys.argv}\n")
            traceback.print_exception(error, file=file)
        told += f" (traceback: {file.name})"
    _say(told)
    return FAULT


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return " ".join(str(text).split()) or type(error).__name__
