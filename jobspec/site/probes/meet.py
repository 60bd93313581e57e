"""The tasks of a step meet at the first node's port, as the ranks of a training do; each says how it went.

Run as ``python3 -c THIS FIRST_NODE PORT TASKS`` by whatever Python a node or an image has, so it needs 3.7 only.
"""

from __future__ import annotations

import os
import socket
import sys
import time

SECONDS = 20
HELLO = b"jobspec-doctor\n"


def say(*words: str) -> None:
    """Print a line of the answer."""
    sys.stdout.write("@jobspec {} {}\n".format(os.environ.get("SLURMD_NODENAME", "?"), " ".join(words)))
    sys.stdout.flush()


def listen(port: int, others: int) -> None:
    """Wait for the other tasks, and greet each."""
    try:
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen(128)
    except OSError as error:
        say("meet", "taken", str(error.errno))
        return
    say("meet", "listening")
    end = time.time() + SECONDS
    while others:
        server.settimeout(max(0.1, end - time.time()))
        try:
            connection, _ = server.accept()
        except OSError:
            return
        connection.sendall(HELLO)
        connection.close()
        others -= 1


def connect(first: str, port: int) -> None:
    """Connect to the first node, which may begin later."""
    end = time.time() + SECONDS - 2
    why = "refused"
    while time.time() < end:
        try:
            connection = socket.create_connection((first, port), timeout=2)
            connection.settimeout(2)
            said = connection.recv(len(HELLO))
            connection.close()
            say("meet", "met" if said == HELLO else "stranger")
            return
        except socket.gaierror:
            why = "no-address"
        except socket.timeout:  # noqa: UP041 - before Python 3.10 it is no TimeoutError
            why = "timeout"
        except OSError:
            why = "refused"
        time.sleep(0.2)
    say("meet", why)


if __name__ == "__main__":
    if os.environ.get("SLURM_NODEID") == "0":
        listen(int(sys.argv[2]), int(sys.argv[3]) - 1)
    else:
        connect(sys.argv[1], int(sys.argv[2]))
