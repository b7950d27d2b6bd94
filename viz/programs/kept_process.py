"""Put back what a program closed or replaced and the command needs: standard files, search path, built-in functions."""

import builtins
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

STREAMS = ("stdin", "stdout", "stderr")


@contextmanager
def kept_process() -> Iterator[None]:
    """Run the block, and put back what it closed or replaced; what it printed is flushed first."""
    descriptors = [os.dup(number) for number in range(3)]
    streams, path = [getattr(sys, name) for name in STREAMS], (sys.path, list(sys.path))
    finders, functions = (sys.meta_path, list(sys.meta_path)), dict(builtins.__dict__)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr, *streams[1:]):
            with suppress(Exception):  # an object of the program, or a closed file
                stream.flush()
        for number, (kept, name, stream) in enumerate(zip(descriptors, STREAMS, streams)):
            os.dup2(kept, number)
            os.close(kept)
            if getattr(stream, "closed", False):
                kind = "w" if number else "r"
                stream = os.fdopen(number, kind, encoding=stream.encoding, errors="replace", closefd=False)
            setattr(sys, name, stream)
        sys.path, sys.path[:] = path
        sys.meta_path, sys.meta_path[:] = finders
        builtins.__dict__.update(functions)
