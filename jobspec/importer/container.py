"""The container of the launches, and the folder of the logs."""

from __future__ import annotations

import posixpath
import re

from jobspec.importer.directives import Option, last
from jobspec.importer.holes import has_hole
from jobspec.importer.launches import Launch
from jobspec.importer.schema_fit import misfit, schema_of
from jobspec.importer.surroundings import Surroundings, Tree
from jobspec.schema.registry import load


class ContainerReader(Surroundings):
    """Reads the sections ``container`` and ``logs``."""

    def container(self, launches: list[Launch], folder: str | None, *, syncs: bool) -> Tree:
        """Return the container of the launches; ``{"enabled": False}`` where srun starts none.

        ``syncs`` is whether packages are synced in it: then it can be written without being said to.
        """
        started = [launch for launch in launches if launch.srun is not None]
        if not started:
            return {"workdir": folder} if folder else {}
        with_image = [launch for launch in started if last(launch.srun or [], "container-image")]
        found: Tree = {}
        if folder:
            found["workdir"] = folder
        if not with_image:
            return {"enabled": False, **found}
        main = with_image[-1]
        image = main.option("container-image") or ""
        found["image"] = self._image(image, main.call.line)
        mounts = self._mounts(main)
        if mounts:
            found["mounts"] = mounts
        if last(main.srun or [], "container-mount-home"):
            found["mount_home"] = True
        writable = last(main.srun or [], "container-writable", "container-readonly")
        if writable and not (syncs and writable.name == "container-writable"):
            found["writable"] = writable.name == "container-writable"
        return {key: value for key, value in found.items() if value is not None}

    def _image(self, image: str, line: int) -> str | None:
        if has_hole(image) or not image:
            shown = self.holes.show(image)
            self.report.open("image", f"the container image is {f'`{shown}`' if shown else 'empty'}: put it in", line)
            return None
        if misfit(image, schema_of("/container/image")):
            self.report.open("image", f"`{image}` is no image that a manifest can name", line)
            return None
        match = re.match(r"([^/#:]*\.[^/#:]*(?::\d+)?|[^/#:]+:\d+)/([^#]+)\Z", image)
        if match and not image.endswith(".sqsh"):
            better = f"{match.group(1)}#{match.group(2)}"
            self.report.bug(
                "registry-with-slash",
                f"Enroot asks Docker Hub for `{image}`; after a registry stands `#`: `{better}`",
                line,
            )
            return better
        return image

    def _mounts(self, launch: Launch) -> list[str]:
        options = [option for option in launch.srun or [] if option.name == "container-mounts" and option.value]
        if len(options) > 1:
            self.report.bug(
                "mounts-repeated",
                "`--container-mounts` is given several times, and pyxis takes only the last one; it was joined",
                launch.call.line,
            )
        found = []
        for text in dict.fromkeys(option.value or "" for option in options):
            for mount in re.split(r"[,\s]+", text):
                literal = self._mount(mount, launch.call.line)
                if literal and literal not in found:
                    found.append(literal)
        return found

    def _mount(self, mount: str, line: int) -> str | None:
        if not mount:
            return None
        if self.holes.alone(mount):
            self.report.wanted.update(self.holes.within(mount))
            self.report.open("mounts", f"the mounts are `{self.holes.show(mount)}`: put them in", line)
            return None
        parts = [
            self.literals.path(part, "a mount", line) if i < 2 else part for i, part in enumerate(mount.split(":"))
        ]
        literal = ":".join(part or "" for part in parts)
        if literal.startswith(":"):
            self.report.wanted.update(self.holes.within(mount))
            self.report.open("mounts", f"the mount `{literal}` has no folder of the host: put it in", line)
            return None
        if misfit(literal, {"type": "string", "pattern": load("job")["$defs"]["mount"]["pattern"]}):
            self.report.left("mount", f"`{self.holes.show(mount)}` is no mount that pyxis takes", line)
            return None
        return literal

    def logs(self, options: list[Option], launches: list[Launch]) -> str | None:
        """Return the folder of the logs, where it is an absolute path."""
        output = last(options, "output")
        places = [(output.value or "", output.line)] if output else []
        places += [(launch.log, launch.line) for launch in (one.call for one in launches) if launch.log]
        places += [(launch.option("output") or "", launch.call.line) for launch in launches if launch.option("output")]
        for place, line in places:
            folder = posixpath.dirname(place)
            if place.startswith("/") and not has_hole(folder) and "%" not in folder:
                return folder or "/"
            if "<" in self.holes.show(folder) and folder:
                return self.literals.path(folder, "the log folder", line)
        if output:
            self.report.open(
                "logs",
                f"`{self.holes.show(output.value or '')}` lies where sbatch is called; a manifest wants a whole path",
                output.line,
            )
        return None
