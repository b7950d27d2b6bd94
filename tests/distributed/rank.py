"""The process that mpiexec starts as a rank: the server in forked.py forks the one that runs its program."""

import contextlib
import json
import os
import signal
import socket
import sys


def main(address, program):
    """Let the server fork a process with this one's environment and files, and end as that one does."""
    if "PMI_FD" not in os.environ:  # this MPI finds its ranks in another way
        os.execv(sys.executable, [sys.executable, "-c", program])
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address)
    message = json.dumps([program, dict(os.environ)]).encode()
    socket.send_fds(connection, [message], [0, 1, 2, int(os.environ["PMI_FD"])])
    status = int(connection.recv(64))
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
