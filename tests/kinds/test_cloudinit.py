"""What user data and bootstrap files do to upgrades (k8s.md D, rows "CAPI", "Ubuntu", "Flatcar", "Bottlerocket")."""

from __future__ import annotations

import base64

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kube_gaplint.kinds.cloudinit import Setup, read_user_data
from kube_gaplint.text.source import Source, WholeText


def setup(text: str) -> Setup:
    return read_user_data(WholeText(Source("user-data", text)))


def kinds(text: str) -> list[str]:
    return [action.kind for action in setup(text).actions()]


def shell(*lines: str) -> list[str]:
    return kinds("\n".join(("#!/bin/bash", *lines, "")))


def cloud(*lines: str) -> list[str]:
    return kinds("\n".join(("#cloud-config", *lines, "")))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["package_upgrade: true"], ["package-upgrade"]),
        (["package_upgrade: yes"], ["package-upgrade"]),
        (["apt_upgrade: true"], ["package-upgrade"]),
        (["repo_upgrade: security"], ["package-upgrade"]),
        (["package_upgrade: false"], []),
        (["package_update: true"], []),
        (["packages: [unattended-upgrades, jq]"], ["unattended-on"]),
        (["packages: [[nvidia-driver-550, 550.90]]"], ["unpinned-install"]),
        (["packages: [nvidia-container-toolkit]"], []),
        (["runcmd: ['apt-get -y upgrade']"], ["upgrade-command"]),
        (["runcmd: [[apt-get, -y, upgrade]]"], ["upgrade-command"]),
        (["bootcmd: [[sh, -c, 'dnf -y update']]"], ["upgrade-command"]),
        (["runcmd: ['echo upgrade is done by image > /etc/motd']"], []),
        (["apt: {conf: 'APT::Periodic::Unattended-Upgrade \"1\";'}"], ["unattended-on"]),
    ],
)
def test_cloud_config(lines: list[str], expected: list[str]) -> None:
    assert cloud(*lines) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("apt-get update && apt-get upgrade -y", ["upgrade-command"]),
        (
            "sudo DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Options::=--force-confold dist-upgrade",
            ["upgrade-command"],
        ),
        ("apt-get -s upgrade", []),
        ("apt-get install -y jq", []),
        ("apt-get install -y nvidia-driver-550", ["unpinned-install"]),
        ("apt-get install -y nvidia-driver-550=550.90.07-0ubuntu1", []),
        ("yum update -y", ["upgrade-command"]),
        ("yum update -y amazon-ssm-agent", []),
        ("yum update -y kernel", ["upgrade-command"]),
        ("dnf check-update", []),
        ("dnf upgrade --refresh -y", ["upgrade-command"]),
        ("zypper --non-interactive up", ["upgrade-command"]),
        ("transactional-update cleanup dup reboot", ["upgrade-command"]),
        ("unattended-upgrade -v", ["upgrade-command"]),
        ("do-release-upgrade -f DistUpgradeViewNonInteractive", ["upgrade-command"]),
        ("apt-get install -y unattended-upgrades", ["unattended-on"]),
        ("apt-get purge -y unattended-upgrades", ["unattended-off"]),
        ("systemctl disable --now unattended-upgrades.service", ["unattended-off"]),
        ("systemctl mask apt-daily-upgrade.timer", ["unattended-off"]),
        ("systemctl stop unattended-upgrades", []),
        ("systemctl enable --now dnf-automatic.timer", []),
        ("systemctl enable --now dnf-automatic-install.timer", ["unattended-on"]),
        ("sed -i 's/apply_updates = no/apply_updates = yes/' /etc/dnf/automatic.conf", ["unattended-on"]),
        ('sed -i \'s/"1"/"0"/\' /etc/apt/apt.conf.d/20auto-upgrades', ["unattended-off"]),
        ("apt-mark hold 'nvidia-*' linux-image-generic", ["held"]),
        ("yum versionlock add kernel", ["held"]),
        ("rm -f /etc/apt/apt.conf.d/20auto-upgrades", ["unattended-off"]),
        ("systemctl mask update-engine locksmithd", ["unattended-off"]),
        ("echo 'APT::Periodic::Unattended-Upgrade \"0\";' > /etc/apt/apt.conf.d/20auto-upgrades", ["unattended-off"]),
        ("echo 'APT::Periodic::Enable \"0\";' | sudo tee /etc/apt/apt.conf.d/99off", ["unattended-off"]),
        (r"printf 'APT::Periodic::Enable \"%s\";\n' 0 > /etc/apt/apt.conf.d/99off", ["unattended-off"]),
        ("if true; then apt-get upgrade -y; fi", ["upgrade-command"]),
        ("# apt-get upgrade", []),
        ("echo apt-get upgrade", []),
    ],
)
def test_shell(line: str, expected: list[str]) -> None:
    assert shell(line) == expected


def test_here_documents_that_write_files() -> None:
    begin = "#!/bin/bash\ncat > /etc/apt/apt.conf.d/20auto-upgrades <<'EOF'\n"
    text = begin + 'APT::Periodic::Unattended-Upgrade "1";\nEOF\n'
    found = setup(text).actions()
    assert [(action.kind, action.origin.place.start.line) for action in found] == [("unattended-on", 3)]


def test_what_comes_later_decides() -> None:
    on = "apt-get install -y unattended-upgrades"
    off = "systemctl mask unattended-upgrades apt-daily-upgrade.timer"
    assert shell(on, off) == ["unattended-off"]
    assert shell(off, "systemctl enable unattended-upgrades") == ["unattended-on"]


def apt_files(**files: str) -> list[str]:
    lines = ["write_files:"]
    for name, content in files.items():
        lines += [f"- path: /etc/apt/apt.conf.d/{name.replace('f', '')}", f"  content: '{content}'"]
    return cloud(*lines)


def test_apt_reads_its_files_in_the_order_of_their_names() -> None:
    on, off = 'APT::Periodic::Unattended-Upgrade "1";', 'APT::Periodic::Unattended-Upgrade "0";'
    assert apt_files(f20auto=on, f99off=off) == ["unattended-off"]
    assert apt_files(f99on=on, f20auto=off) == ["unattended-on"]
    assert apt_files(f20auto=on, f10periodic='APT::Periodic::Enable "0";') == ["unattended-off"]
    assert apt_files(f50u='Unattended-Upgrade::Allowed-Origins {"a";};') == []


def test_blocks_and_comments_of_apt_conf() -> None:
    text = (
        "#cloud-config\nwrite_files:\n- path: /etc/apt/apt.conf.d/20auto\n  content: |\n"
        '    APT::Periodic {\n      Unattended-Upgrade "1";\n    };\n    // APT::Periodic::Enable "0";\n'
    )
    assert [(action.kind, action.origin.place.start.line) for action in setup(text).actions()] == [("unattended-on", 6)]
    assert apt_files(f20auto='APT::Periodic { Enable "0"; };') == ["unattended-off"]
    blacklist = 'Unattended-Upgrade::Package-Blacklist {"nvidia-.*"; "linux-";};'
    assert apt_files(f50u=blacklist) == ["held", "held"]


def test_files_that_are_encoded() -> None:
    content = base64.b64encode(b'APT::Periodic::Unattended-Upgrade "1";\n').decode()
    path = "/etc/apt/apt.conf.d/20auto-upgrades"
    assert cloud(f"write_files: [{{path: {path}, encoding: b64, content: {content}}}]") == ["unattended-on"]
    unread = setup(f"#cloud-config\nwrite_files: [{{path: {path}, encoding: gzip, content: x}}]\n")
    assert unread.opaque_because


def test_scripts_and_units_that_are_written_and_run() -> None:
    script = "- {path: /opt/up.sh, content: 'apt-get upgrade -y'}"
    assert cloud("write_files:", script) == []
    assert cloud("write_files:", script, "runcmd: [bash /opt/up.sh]") == ["upgrade-command"]
    unit = '- {path: /etc/systemd/system/up.service, content: "[Service]\\nExecStart=/usr/bin/apt-get -y upgrade"}'
    assert cloud("write_files:", unit) == ["upgrade-command"]
    cron = '- {path: /etc/cron.d/up, content: "0 4 * * * root apt-get -y upgrade"}'
    found = setup("\n".join(("#cloud-config", "write_files:", cron))).actions()
    assert [(action.kind, action.recurring) for action in found] == [("upgrade-command", True)]


def test_places_inside_a_cloud_config() -> None:
    text = "#cloud-config\nruncmd:\n- echo a\n- |\n  set -e\n  apt-get upgrade -y\n"
    place = setup(text).actions()[0].origin.place
    assert (place.start.line, place.text) == (6, "apt-get upgrade -y")


MIME = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/cloud-config; charset="us-ascii"

#cloud-config
package_upgrade: true

--//
Content-Type: text/x-shellscript

#!/bin/bash
yum -y update
--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
--//--
"""


def test_parts_of_a_mime_archive() -> None:
    found = setup(MIME).actions()
    assert [(action.kind, action.origin.place.start.line) for action in found] == [
        ("package-upgrade", 8),
        ("upgrade-command", 14),
    ]
    assert kinds(MIME.replace("\n", "\r\n")) == ["package-upgrade", "upgrade-command"]


def test_ignition_and_butane() -> None:
    source = "data:,REBOOT_STRATEGY%3Dreboot"
    file = f'{{"path": "/etc/flatcar/update.conf", "contents": {{"source": "{source}"}}}}'
    text = f'{{"ignition": {{}}, "storage": {{"files": [{file}]}}}}'
    assert kinds(text) == ["os-update-agent"]
    masked = '{"ignition": {}, "systemd": {"units": [{"name": "locksmithd.service", "mask": true}]}}'
    assert kinds(masked) == ["unattended-off"]


@pytest.mark.parametrize(
    ("text", "opaque"),
    [
        ("#include\nhttps://example.org/data\n", True),
        ("#!/usr/bin/python3\nprint(1)\n", True),
        ("#!/bin/bash\ncurl https://example.org/x.sh | bash\n", True),
        ("#!/bin/bash\nansible-pull -U https://example.org\n", True),
        ("#!/bin/bash\n/opt/acme/setup.sh\n", True),
        ("#!/bin/bash\nsource /opt/acme/env\n", True),
        ("#!/bin/bash\n/etc/eks/bootstrap.sh prod --container-runtime containerd\n", False),
        ("#!/bin/bash\nsource /etc/os-release\nmkfs.xfs /dev/nvme1n1\n", False),
        ("#cloud-config\npackage_upgrade: ${upgrade}\n", True),
        ("#cloud-config\n[\n", True),
        ("[settings.updates]\nversion-lock = '1.24.0'\n", False),
        ("", False),
    ],
)
def test_what_cannot_be_seen(text: str, opaque: bool) -> None:
    assert bool(setup(text).opaque_because) is opaque


PIECES = st.sampled_from(
    ["#cloud-config\n", "#!/bin/bash\n", "runcmd:\n", "- ", "apt-get upgrade", "write_files:\n", "MIME-Version: 1.0\n",
     "boundary=x\n", "--x\n", "\n", "{", "}", ": ", "'", "|", "echo a > /etc/apt/apt.conf.d/x",
     "sed -i s/a/b/ /etc/yum.conf"]
)  # fmt: skip


@settings(max_examples=60)
@example("MIME-Version: 1.0\nboundary=x\n")  # an archive without a part
@given(st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join))
def test_any_user_data_is_read(text: str) -> None:
    for action in setup(text).actions():
        span = action.origin.place.span
        assert 0 <= span.start <= span.end <= len(text)
