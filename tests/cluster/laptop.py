"""A laptop: jobspec runs outside of the cluster, and reaches its login host over a real OpenSSH alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.jobs import Site
from tests.cluster.slurm import ROOT

_SSHD = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
SetEnv HOME={folder}/home SLURM_CONF={cluster}/etc/slurm.conf
"""
_CLIENT = """\
Host login
  ProxyCommand {enter} {folder}/sshd.sh
Host wrong-key
  ProxyCommand {enter} {folder}/sshd.sh
  IdentityFile {folder}/other
  IdentitiesOnly yes
Host nowhere
  ProxyCommand sh -c 'exit 1'
Match host !wrong-key,*
  IdentityFile {folder}/key
Host *
  User root
  BatchMode yes
  IdentitiesOnly yes
  HostKeyAlias login
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
"""


class Laptop:
    """A machine that has the manifests, and neither Slurm nor the log folder.

    The server is started for each connection by the client (sshd -i), in the namespaces of the login host and a session
    of its own, which Ctrl-C does not reach. Its user
    has a home folder of its own, with a ``.profile`` that tests write into.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.folder = site.folder / "laptop"
        self.home = self.folder / "home"
        self.home.mkdir(parents=True)
        self.runtime = tempfile.mkdtemp(prefix="js-", dir="/tmp")  # a socket's path has to be short
        for name in ("host_key", "key", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        public = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"login {public}")
        enter = " ".join(site.cluster.enter()).replace(f"--wdns={Path.cwd()}", "--wdns=/")
        self._write("sshd_config", _SSHD)
        self._write("ssh_config", _CLIENT, enter=enter)
        (self.folder / "bin").mkdir()
        self._program("bin/ssh", f'echo "$*" >>{self.folder}/calls; exec /usr/bin/ssh -F {self.folder}/ssh_config "$@"')
        self.serve()

    def serve(self, before: str = ":") -> None:
        """Say what is done before each server starts, in a mount namespace of its own."""
        server = f"mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -i -f {self.folder}/sshd_config"
        self._program("server.sh", f"{before}; {server}")
        self._program("sshd.sh", f"exec setsid unshare --mount {self.folder}/server.sh")

    def profile(self, text: str) -> None:
        """Write what the user's login shell reads there."""
        (self.home / ".profile").write_text(text)

    def jobspec(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run jobspec on the laptop."""
        with self.start(*arguments, start_new_session=False, **environment) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def start(self, *arguments: str, start_new_session: bool = False, **environment: str) -> subprocess.Popen[str]:
        """Start jobspec on the laptop."""
        logs = str(self.site.logs)
        hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$1" && shift && exec "$@"', "sh", logs]
        own = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), "PYTHONPATH": str(ROOT)}
        own |= {"XDG_RUNTIME_DIR": self.runtime, "SLURM_CONF": "/nowhere"}
        return subprocess.Popen(
            [*hidden, sys.executable, "-m", "jobspec", *arguments],
            env=own | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=start_new_session,
        )

    def calls(self) -> list[str]:
        """Return how ssh was called."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def hang_up(self) -> None:
        """Break all connections."""
        for socket in Path(self.runtime, "jobspec").glob("*"):
            subprocess.run(["ssh", "-F", "none", "-S", socket, "-O", "exit", "x"], capture_output=True, check=False)

    def close(self) -> None:
        """Leave nothing behind."""
        self.hang_up()
        shutil.rmtree(self.runtime)

    def cluster_file(self) -> Path:
        """Write the site's cluster file, and return its path."""
        path = self.site.folder / "site.yaml"
        path.write_text(json.dumps({"jobspec": "v1", "kind": "cluster"} | self.site.facts))
        return path

    def _write(self, name: str, text: str, **values: str) -> None:
        (self.folder / name).write_text(text.format(folder=self.folder, cluster=self.site.cluster.folder, **values))

    def _program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
