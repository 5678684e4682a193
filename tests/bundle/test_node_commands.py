"""How many GPUs a node has, by the commands beside a manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.bundle.node_commands import NodeCommandBook
from kube_gaplint.discover import FileId
from kube_gaplint.model.setting import Set

EIGHT = '  machine_type = "a2-highgpu-8g"\n'
POOL = "gcloud container node-pools create p "


def most(folder: Path, *scripts: str) -> int | str | None:
    """Of a manifest in `k8s/` below a folder with these scripts; `?` where it is not known."""
    (folder / "k8s").mkdir()
    manifest = folder / "k8s" / "job.yaml"
    manifest.write_text("kind: Job\n")
    for number, text in enumerate(scripts):
        (folder / f"{number}.sh").write_text(text)
    book = NodeCommandBook(BesideFiles())
    found = book.most_gpus(FileId("k8s/job.yaml", str(manifest), str(folder)))
    return None if found is None else found.value if isinstance(found, Set) else "?"


@pytest.mark.parametrize("name", ["pool.bat", "pool.cmd", "pool.ps1", "Pool.BAT"])
def test_scripts_of_windows_count(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"call " + POOL.encode() + b"^\r\n --accelerator type=nvidia-tesla-t4,count=1\r\n")
    assert most(tmp_path) == 1


@pytest.mark.parametrize(
    ("scripts", "expected"),
    [
        ([POOL + "--accelerator type=nvidia-tesla-t4,count=1"], 1),
        ([POOL + "\\\n  --accelerator=type=nvidia-l4,count=4 \\\n  --spot"], 4),
        ([POOL + '--accelerator="count=2,type=nvidia-l4"'], 2),
        ([POOL + "--accelerator type=nvidia-tesla-t4"], 1),
        ([POOL + "--accelerator type=nvidia-tesla-t4,count=$GPUS"], "?"),
        ([POOL + "--machine-type=a2-highgpu-4g"], 4),
        ([POOL + "--machine-type=$TYPE"], "?"),
        ([POOL + "--machine-type e2-standard-8"], None),
        ([POOL + "--num-nodes 2"], None),
        ([POOL + "--accelerator type=a,count=1", POOL + "--accelerator type=a,count=2"], 2),
        ([POOL + "--accelerator type=a,count=1", POOL + "--machine-type=$TYPE"], "?"),
        (["eksctl create nodegroup --cluster c --node-type p4d.24xlarge"], 8),
        (["gcloud container clusters create c"], None),
        (["echo no pool: node-pools"], None),
        (["export INSTANCE_TYPE=ml.g5.12xlarge"], 4),
        (["# made for g4dn.xlarge, tried on p4d.24xlarge"], 8),
        (["a2-highgpu-2g", "m5.2xlarge and e2-standard-8"], 2),
        (["# g7z.9xlarge is not known"], 8),
        (["# standard_nd96isr_h100_v5", POOL + "--accelerator type=a,count=1"], 1),
        (["python tag2-highgpu-1g.py", "cat /g5.xlarge.txt"], None),
        ([POOL + "^\r\n  --accelerator type=nvidia-l4,count=4\r\n"], 4),
        ([POOL + "`\n  --machine-type a2-highgpu-2g `\n  --num-nodes 1\n"], 2),
        (["`" + POOL.strip() + "`\n--accelerator type=a,count=4\n"], None),  # ends the code of a README
        ([], None),
    ],
)
def test_gpus_of_a_node(tmp_path: Path, scripts: list[str], expected: object) -> None:
    assert most(tmp_path, *scripts) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"terraform/pools.tf": '  machine_type = "a2-highgpu-1g"\n'}, 1),
        ({"terraform/pools.tf": '  machine_type = "e2-standard-8"\n'}, None),
        ({"terraform/pools.tf": "  machine_type = var.type\n"}, None),
        ({"eks-infra/nodes.tf": '  instance_types = ["p4d.24xlarge"]\n'}, 8),
        ({"nodes.tf": '  machine_type = "n1-standard-8"\n  accelerator_count = 2\n'}, 2),
        # the values of variables count before their defaults
        (
            {
                "tf/variables.tf": '  machine_type = "a2-highgpu-8g"\n',
                "tf/own.tfvars": 'machine_type = "a2-highgpu-1g"\n',
            },
            1,
        ),
        ({"tf/variables.tf": EIGHT, "tf/own.tfvars": 'region = "x"\n'}, 8),
        ({"charts/pools.tf": '  machine_type = "a2-highgpu-1g"\n'}, None),  # no folder of Terraform by its name
    ],
)
def test_gpus_of_a_node_by_terraform(tmp_path: Path, files: dict[str, str], expected: int | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert most(tmp_path) == expected
