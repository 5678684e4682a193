"""Folders, programs and drivers that tell what becomes of files."""

from __future__ import annotations

import re

from kube_gaplint import lazy_re

NODE_LOCAL_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")
"""Folders that every node of a Slurm cluster has for itself (Filesystem Hierarchy Standard 3.0)."""

SPECIAL_FOLDERS = ("/dev", "/proc", "/sys", "/etc", "/run", "/var/run", "/root/.ssh", "/var/log", "/usr/share")
"""Where a mount surely is not the working directory of a program."""

COPYING_PROGRAMS = frozenset({
    "cp", "mv", "rsync", "scp", "tar", "aws", "gsutil", "gcloud", "azcopy", "az", "s5cmd", "rclone", "s3cmd", "mc",
    "hdfs", "huggingface-cli", "hf", "ossutil", "coscli", "oci",
})  # fmt: skip
"""Programs that bring files from one place to another."""

FUSE_MOUNTERS = frozenset({
    "gcsfuse", "s3fs", "mount-s3", "goofys", "geesefs", "blobfuse", "blobfuse2", "ossfs", "ossfs2", "cosfs", "obsfs",
    "tosfs", "sshfs", "ceph-fuse", "glusterfs", "alluxio-fuse", "fuse_dfs", "hadoop-fuse-dfs", "bindfs", "davfs2",
    "curlftpfs", "lakefs-mount", "yas3fs",
})  # fmt: skip
"""Programs that mount a bucket or a network file system where their arguments say (each program's documentation)."""
MOUNTS_BY_SUBCOMMAND = frozenset({"rclone", "juicefs", "weka", "everest", "lakectl", "hf-mount"})
"""Programs that do so by their command `mount`."""
VOLATILE_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "overlay", "proc", "sysfs", "-ttmpfs"})
"""Types of `mount -t` that keep nothing, or nothing of ours."""
BINDING_OPTIONS = frozenset({"-B", "--bind", "-v", "--volume", "--mount", "--container-mounts", "-b"})
"""Options of container runners, and of srun with pyxis, that bind a folder to a path inside."""
BINDING_VARIABLES = frozenset({"SINGULARITY_BIND", "SINGULARITY_BINDPATH", "APPTAINER_BIND", "APPTAINER_BINDPATH"})
"""Variables that do the same (apptainer(1))."""
OWN_TEMPORARY_FOLDERS = frozenset({
    "-W", "--workdir", "-S", "--scratch", "-c", "--contain", "-C", "--containall", "--no-mount",
})  # fmt: skip
"""Options of Apptainer by which /tmp inside is not the node's."""
MOUNTING_WORD = lazy_re.compile(r"(?<![a-z])(?:re)?mount|(?<![a-z])(?:gcsfuse|s3fs|goofys|juicefs)", re.IGNORECASE)
"""What the name of a script holds that mounts something."""
STARTS_SCRIPTS = frozenset({"sh", "bash", "dash", "zsh", "source", ".", "python", "python3", "curl", "wget"})
"""Programs that run a script by its name, or fetch one."""

UPLOADING_CALLS = (
    "upload_from_file", "upload_from_string", ".upload_file(", ".upload_fileobj(", ".put_object(", ".fput_object(",
    "upload_blob(",
)  # fmt: skip
"""Calls by which a program brings files away from its disk: the clients of Google Cloud Storage, boto3, MinIO and Azure
Blob Storage (each client's reference). Pushes to a hub and artifacts of trackers are left out: example scripts hold
them for an option that few give, and logs of plots."""

UPLOADING_COMMANDS = lazy_re.compile(
    r"""\b(?:gsutil|aws["',\s]+s3|gcloud["',\s]+storage|s5cmd|azcopy)\b[^)\]]{0,60}?\b(?:cp|mv|sync|rsync|copy)\b"""
    r"""(?:["',\s]+-[\w-]+)*["',\s]+(?!["',\s]*(?:-|f?["'{]*(?:gs|s3|https)://))[^)\]]{1,200}?(?:gs|s3|https)://"""
)
"""A command of a store's own client that a program starts, with an address of the store behind something else: what it
brings there (`["gsutil", "cp", "-r", folder, f"gs://{bucket}/"]`, `aws s3 sync out s3://bucket`)."""

RESTORES = (
    "load_state", "load_checkpoint", "load_ckpt", "load_model", "load_weights", "load_from", "torch.load", "restor",
    "resum", "Resum", "RESUM", "from_checkpoint", "latest_checkpoint", "last_checkpoint", "Checkpointer", "ckpt_path",
    "CheckpointManager", "Trainer(", ".fit(", "requeue", ".load(", "last_ckpt", "latest", "newest",
    "last_epoch", "start_step", "start_epoch", "start_iter",
)  # fmt: skip
"""Parts of a script's text of which one stands wherever it goes on with a run: by calls of its own, or by a trainer
that may do it."""
KEEPS = (
    "save", "Save", "SAVE", "checkpoint", "Checkpoint", "CHECKPOINT", "ckpt", "dump", "export", "serializ", "upload",
    "push_to_hub", "log_model", "Trainer", ".write(",
)  # fmt: skip
"""Parts of a program's text of which one stands wherever it keeps what it learnt."""
OWN_LOOP = (".backward(", "optimizer.step(", "value_and_grad", "GradientTape")
"""Parts of the text of a script that trains in a loop of its own."""

DELETING_PROGRAMS = frozenset({"rm", "find", "tmpwatch", "tmpreaper"})
LISTING_PROGRAMS = frozenset({"ls", "du", "stat", "fd"})
"""Programs by which a script finds what it then deletes."""

DELETES = lazy_re.compile(
    r"(?<![\w/.-])(?:/bin/|/usr/bin/)?(?:rm|rmdir|unlink|tmpwatch|tmpreaper)(?![\w.-])|(?<!\w)-delete\b|"
    r"\b(?:rmtree|os\.remove)\b|(?i:prun(?:e|ing)|clean|retention|rotate|evict|garbage)"
)
"""What a command holds, or a program is called, that deletes files."""

FUSE_DRIVERS = ("gcsfuse", "s3.csi", "mountpoint", "blob.csi", "ossplugin", "s3fs", "goofys", "csi-s3", "rclone")
"""Parts of the names of CSI drivers that show a bucket as a folder (each driver's own documentation)."""

PARALLEL_FILE_SYSTEMS = ("lustre", "fsx.csi", "weka", "beegfs", "gpfs", "spectrumscale", "parallel", "daos")
"""Parts of the names of drivers and classes of file systems that spread one file over many servers."""

NETWORK_CLIENTS = ("nfs", "efs.csi", "filestore", "file.csi", "smb.csi", "cephfs", "nasplugin")
"""Parts of the names of drivers whose clients all ask the same few servers."""

NFS_CLIENTS = frozenset({"nfs", "nfs.csi.k8s.io", "cluster.local/nfs-subdir-external-provisioner"})
"""Drivers that mount by the kernel's NFS client with the options of the PersistentVolume or class."""

NEVER_ATTACHED = frozenset({
    "nfs", "nfs.csi.k8s.io", "smb.csi.k8s.io", "efs.csi.aws.com", "fsx.csi.aws.com", "file.csi.azure.com",
    "blob.csi.azure.com",
})  # fmt: skip
"""Drivers whose volumes are mounted without being attached to a node first (`attachRequired: false` in the CSIDriver
object of each; the kernel's NFS client attaches nothing either). Only the attaching keeps a volume with ReadWriteOnce
on one node."""

CACHE_WORDS = ("cache", "profile", "prefetch", "tmp-path", "protocol=nfs")
"""What the name or value of an attribute or mount option holds that keeps a bucket's data near: gcsfuse's
`file-cache:…`, `fileCacheCapacity` and `profile:aiml-training`, Mountpoint's `cache`, blobfuse's `--file-cache-…` and
`--tmp-path` (each driver's documentation)."""
