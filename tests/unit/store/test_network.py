"""Which file systems are another machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.store.atomic_files import find_network_file_system

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / {0}/far\040away rw - {1} server:/x rw
31 30 0:41 / {0}/far\040away/near rw - tmpfs tmpfs rw
32 22 0:42 / {0}/covered rw - nfs4 server:/y rw
33 22 0:43 / {0}/covered rw - ext4 /dev/sdb1 rw
not a line of the file
"""


@pytest.mark.parametrize(
    "kind",
    ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "ceph", "9p", "afs", "beegfs", "glusterfs"],
)
def test_a_network_file_system(tmp_path: Path, kind: str) -> None:
    mounts = MOUNTS.format(tmp_path, kind)
    assert find_network_file_system(tmp_path / "far away", mounts) == kind
    assert find_network_file_system(tmp_path / "far away" / "not" / "yet", mounts) == kind


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("fuse.sshfs", "fuse.sshfs"),
        ("fuse.rclone", "fuse.rclone"),
        ("fuse.of.tomorrow", "fuse.of.tomorrow"),
        ("fuse.fuse-overlayfs", None),
        ("fuseblk", None),
        ("btrfs", None),
        ("overlay", None),
    ],
)
def test_what_fuse_reaches(tmp_path: Path, kind: str, found: str | None) -> None:
    assert find_network_file_system(tmp_path / "far away", MOUNTS.format(tmp_path, kind)) == found


def test_the_nearest_mount_counts_and_of_one_place_the_last(tmp_path: Path) -> None:
    mounts = MOUNTS.format(tmp_path, "nfs")
    assert find_network_file_system(tmp_path / "far away" / "near" / "x", mounts) is None
    assert (
        find_network_file_system(tmp_path / "far", mounts) is None
    )  # a name's beginning is no folder
    assert find_network_file_system(tmp_path / "covered", mounts) is None


def test_a_link_leads_to_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "far away").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far away")
    assert (
        find_network_file_system(tmp_path / "link" / "x", MOUNTS.format(tmp_path, "nfs4")) == "nfs4"
    )


@pytest.mark.parametrize("mounts", ["", "\n", "a b c d e - ", "\x00"])
def test_where_nothing_is_told(tmp_path: Path, mounts: str) -> None:
    assert find_network_file_system(tmp_path, mounts) is None


def test_this_machine_is_asked() -> None:
    assert find_network_file_system(Path("/proc")) is None
