"""Folders, programs and drivers that tell what becomes of files."""

from __future__ import annotations

NODE_LOCAL_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")
"""Folders that every node of a Slurm cluster has for itself (Filesystem Hierarchy Standard 3.0)."""

SPECIAL_FOLDERS = ("/dev", "/proc", "/sys", "/etc", "/run", "/var/run", "/root/.ssh", "/var/log", "/usr/share")
"""Where a mount surely is not the working directory of a program."""

COPYING_PROGRAMS = frozenset({
    "cp", "mv", "rsync", "scp", "tar", "aws", "gsutil", "gcloud", "azcopy", "az", "s5cmd", "rclone", "s3cmd", "mc",
    "hdfs", "huggingface-cli", "hf", "ossutil", "coscli", "oci",
})  # fmt: skip
"""Programs that bring files from one place to another."""

DELETING_PROGRAMS = frozenset({"rm", "find", "tmpwatch", "tmpreaper"})

FUSE_DRIVERS = ("gcsfuse", "s3.csi", "mountpoint", "blob.csi", "ossplugin", "s3fs", "goofys", "csi-s3", "rclone")
"""Parts of the names of CSI drivers that show a bucket as a folder (each driver's own documentation)."""
