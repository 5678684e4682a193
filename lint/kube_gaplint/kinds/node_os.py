"""The operating system of nodes, as the names of images and image families tell it."""

from __future__ import annotations

from kube_gaplint.model.setting import Set, Setting, Unknown

FAMILIES = {
    "al2": "amazon-linux",
    "al2023": "amazon-linux",
    "amazonlinux2": "amazon-linux",
    "amazonlinux2023": "amazon-linux",
    "bottlerocket": "bottlerocket",
    "ubuntu": "ubuntu",
    "ubuntu1804": "ubuntu",
    "ubuntu2004": "ubuntu",
    "ubuntu2204": "ubuntu",
    "ubuntu2404": "ubuntu",
    "ubuntupro2004": "ubuntu",
    "ubuntupro2204": "ubuntu",
    "ubuntupro2404": "ubuntu",
    "azurelinux": "azure-linux",
    "cos_containerd": "cos",
    "ubuntu_containerd": "ubuntu",
}
"""Image families of Karpenter, eksctl and GKE."""

WORDS = (
    ("bottlerocket", "bottlerocket"),
    ("flatcar", "flatcar"),
    ("talos", "talos"),
    ("ubuntu", "ubuntu"),
    ("debian", "debian"),
    ("rhel", "rhel"),
    ("rocky", "rhel"),
    ("almalinux", "rhel"),
    ("centos", "rhel"),
    ("amazon-eks", "amazon-linux"),
    ("amazon-linux", "amazon-linux"),
    ("amzn2", "amazon-linux"),
    ("al2023", "amazon-linux"),
    ("azurelinux", "azure-linux"),
    ("cos-", "cos"),
)
"""Words in an image's name. The first that occurs decides."""


def of_family(name: Setting[str]) -> Setting[str]:
    """The operating system of an image family; unknown for a name that is none (`Custom`)."""
    if not isinstance(name, Set):
        return name
    text = name.value.lower()
    if text.startswith("windows"):
        return Set("windows", name.origin)
    found = FAMILIES.get(text)
    return (
        Unknown("the image family tells no operating system", name.origin) if found is None else Set(found, name.origin)
    )


def of_image(name: Setting[str]) -> Setting[str]:
    """The operating system that an image's name tells."""
    if not isinstance(name, Set):
        return name
    text = name.value.lower()
    for word, system in WORDS:
        if word in text:
            return Set(system, name.origin)
    return Unknown("the image's name tells no operating system", name.origin)
