"""Programs that are asked about whatever they are given, unless it is only for their version or help."""

from __future__ import annotations

from typing import Final

from ..judging import Judge, Look
from ..words import Call

#: Why, and for which programs.
_ASKED: Final[dict[str, str]] = {
    "acts with another account's rights": """
        sudo sudoedit su doas pkexec runuser run0 gosu su-exec setpriv calife
    """,
    "overwrites or formats disks": """
        dd mkfs mke2fs mkswap mkdosfs newfs fdisk sfdisk cfdisk gdisk sgdisk parted wipefs
        blkdiscard hdparm diskutil badblocks shred srm cryptsetup lvremove vgremove pvremove
        mdadm zpool zfs tune2fs resize2fs debugfs flashcp nvme ddrescue dcfldd
    """,
    "deletes files": """
        wipe rimraf trash trash-put safe-rm
    """,
    "writes wherever an archive says": """
        cpio pax
    """,
    "cuts files off": """
        truncate fallocate
    """,
    "stops or restarts the machine": """
        shutdown reboot halt poweroff init telinit pm-suspend
    """,
    "ends processes by their names": """
        pkill killall killall5 skill snice xkill slay
    """,
    "changes the system": """
        mount umount swapon swapoff losetup modprobe insmod rmmod sysctl iptables ip6tables
        nft ufw firewall-cmd useradd adduser usermod userdel deluser groupadd groupmod
        groupdel passwd chpasswd visudo vipw vigr chsh chfn ldconfig update-alternatives
        setcap setfacl chattr timedatectl hostnamectl launchctl systemctl service rc-service
        loginctl networksetup scutil defaults spctl csrutil nvram efibootmgr grub-install
        update-grub dpkg-reconfigure ip ifconfig route
    """,
    "runs something later, or out of reach": """
        crontab at batch systemd-run anacron incrontab tmux screen dtach abduco zellij
        disown
    """,
    "runs other programs in a way that isn't looked into": """
        parallel watch entr script scriptreplay expect unbuffer chroot unshare nsenter
        strace ltrace gdb lldb perf valgrind systemd-nspawn bwrap firejail proot fakeroot
        fakechroot cgexec flock start-stop-daemon daemonize run-parts dbus-run-session
        xvfb-run socat osascript open xdg-open wine qemu ld.so ld-linux ld-linux-x86-64.so.2
        ld-linux-aarch64.so.1 choom prlimit pwsh powershell cmd fish csh tcsh elvish nu
        xonsh ed red ex vi vim nvim view rvim vimdiff emacs emacsclient nano pico joe micro
        mc gvim kak helix dialog tclsh wish bpftrace stap m4 complete compgen bind enable fc
        gnuplot octave irb iex ghci jshell sbcl clisp swipl gforth maxima gs capsh chpst
        eatmydata faketime torsocks torify proxychains proxychains4 setarch linux32 linux64
        sem truss dtruss ktrace xcrun rlwrap chronic ifne mispipe vipe zargs hyperfine
        direnv dotenv ssh-agent sg newgrp setuidgid envdir nsjail dbus-launch arch catchsegv
        softlimit sshuttle qemu-system-x86_64 logrotate tcpdump coreutils numactl x86_64 i386
        systemd-inhibit systemd-cat cross-env nodemon concurrently watchexec chokidar mpirun
        mpiexec srun runcon aa-exec sandbox-exec cpulimit zsh osh ysh rc es sash bash-static
        dc rename prename file-rename raku jrunscript texlua mongosh
    """,
    "reaches other machines": """
        ssh scp sftp rsync rcp rsh rlogin telnet ftp lftp tftp nc ncat netcat mosh sshpass
        autossh ssh-copy-id ansible ansible-playbook rclone croc magic-wormhole wormhole
        aria2c nmap ngrok cloudflared mail mailx sendmail mutt msmtp swaks
    """,
    "changes what runs elsewhere": """
        docker docker-compose podman nerdctl buildah kubectl helm terraform tofu pulumi aws
        gcloud gsutil az gh glab hub heroku fly flyctl vercel netlify wrangler doctl vagrant
        virsh lxc multipass twine flit
    """,
}
_INFORMS: Final = {"--version", "--help"}


#: Of these the ones that run other programs.
_HIDE: Final = ("acts with", "runs ", "changes what runs elsewhere", "reaches other machines")


def _look_for(why: str) -> Look:
    hides = why.startswith(_HIDE)

    def look(call: Call, judge: Judge) -> None:
        if len(call.args) == 1 and call.args[0].sure and call.args[0].text in _INFORMS:
            return
        (judge.hidden if hides else judge.danger)(call, why)

    return look


LOOKS: Final[dict[str, Look]] = {
    name: _look_for(why) for why, names in _ASKED.items() for name in names.split()
}
