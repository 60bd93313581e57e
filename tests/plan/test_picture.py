"""The picture is well-formed, has a size, and shows each GPU, each stage and the limit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from jobspec.layouts.numbers import numbers_of
from jobspec.layouts.picture import MOST_GPUS, WIDE, picture
from tests.golden_files import ROOT
from tests.plan.jobs import manifest, spec_of, training

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> tuple[ElementTree.Element, list[str]]:
    """Return the root of a picture, and its texts."""
    root = ElementTree.fromstring(text)
    return root, ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def squares(root: ElementTree.Element) -> int:
    """Return the number of squares that are filled."""
    paths = [one.get("d", "") for one in root.iter(f"{SVG}path") if one.get("fill") != "none"]
    return sum(path.count("z") for path in paths)


def of_training(folder: Path, nodes: int, parallelism: str, model: str = "qwen3-30b-a3b") -> str:
    """Return the picture of a training."""
    path = folder / "job.yaml"
    path.write_text(training(model, nodes=nodes, batch=8 * nodes * 8, parallelism=parallelism))
    return picture([numbers_of(spec_of(path))])


@pytest.mark.parametrize("nodes", [1, 16, 128])
def test_every_gpu_is_drawn(nodes: int, tmp_path: Path) -> None:
    """Each GPU is a square by its stage, and one in the map of each kind of group; each node has its name."""
    root, texts = drawn(
        of_training(tmp_path, nodes, "{tp: 2, pp: 4, ep: 2}" if nodes == 1 else "{tp: 2, pp: 4, ep: 8}")
    )
    maps = sum(" parallel (" in text for text in texts)

    assert squares(root) == nodes * 8 * (1 + maps)
    assert any(text.startswith(f"node {nodes - 1}") for text in texts)
    assert not any(text.startswith(f"node {nodes}") for text in texts)
    assert "a GPU has 80 GiB" in texts
    assert sum(text.startswith("stage 3: ") for text in texts) == 2  # of the legend and of its bar


def test_ranks_are_numbered_where_there_is_room(tmp_path: Path) -> None:
    """On few GPUs each square has its rank; on many each node's name has them."""
    _, few = drawn(of_training(tmp_path, 1, "{ep: 8}"))
    _, many = drawn(of_training(tmp_path, 128, "{ep: 8}"))

    assert {str(rank) for rank in range(8)} <= set(few)
    assert "node 127: 1016–1023" in many


@pytest.mark.parametrize("nodes", [1, 128, 1024])
def test_size(nodes: int, tmp_path: Path) -> None:
    """A picture says its size, and all that is drawn is in its width."""
    text = of_training(tmp_path, nodes, "{ep: 8}")
    root, _ = drawn(text)

    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert int(root.get("width", "")) == WIDE
    assert max(float(x) for x in re.findall(r"M([0-9.]+) ", text)) < WIDE
    assert len(text) < 3_000_000


def test_more_gpus_than_are_drawn(tmp_path: Path) -> None:
    """Of very many GPUs the first are drawn, and the picture says so."""
    cluster = tmp_path / "large.yaml"
    text = training("qwen3-30b-a3b", nodes=2048, batch=2048 * 8, parallelism="{ep: 8}")
    path = Path(text.split("cluster: ")[1].split("\n")[0])
    cluster.write_text(
        path.read_text().replace("nodes: 128", "nodes: 4096").replace("max_nodes: 128", "max_nodes: 4096")
    )
    job = tmp_path / "job.yaml"
    job.write_text(text.replace(str(path), str(cluster)))
    _, texts = drawn(picture([numbers_of(spec_of(job))]))

    assert any(f"the first {MOST_GPUS:,} GPUs" in one for one in texts)


def test_steps_and_commands() -> None:
    """Each step is drawn, and of a command there is nothing but its name to draw."""
    steps = manifest("glm45v-import-and-sft").launches
    _, texts = drawn(picture([numbers_of(one) for one in steps]))
    _, command = drawn(picture([numbers_of(manifest("node-check"))]))

    assert sum(", step " in text for text in texts) == 2
    assert any("A command has no layout" in text for text in command)


def test_unknown_memory_is_said() -> None:
    """Where facts are missing the bars are, too, and the picture names what is."""
    _, texts = drawn(picture([numbers_of(manifest("nemotron3-super-sft"))]))

    assert any(text.startswith("Not known: model.num_layers") for text in texts)


def test_picture_of_the_guide() -> None:
    """The picture in the guide is that of the flagship, as it is drawn now (`make golden`)."""
    assert (ROOT / "docs" / "plan.svg").read_text(encoding="utf-8") == picture([numbers_of(manifest("glm45v-sft"))])
