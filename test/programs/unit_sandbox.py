"""Runs a command under the sandbox settings of a systemd unit, without systemd as the first process: with bubblewrap, and
system-call filters that libseccomp compiles from the groups of `systemd-analyze syscall-filter`.

    unit_sandbox.py UNIT WRITABLE_FOLDER[:...] COMMAND...

Refuses a setting that it does not know, so that a change of the unit cannot make the test weaker than the unit."""

import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys

# Settings that are no restriction, or need a cgroup or the service manager.
NOT_APPLIED = {
    'Type', 'Group', 'WorkingDirectory', 'EnvironmentFile', 'Environment', 'ExecStart', 'Restart', 'RestartSec',
    'TimeoutStopSec', 'KillMode', 'StateDirectory', 'StateDirectoryMode', 'MemoryMax', 'TasksMax', 'RemoveIPC',
    'ReadWritePaths',
    # There are no devices in /dev but those of bubblewrap, and no capabilities.
    'DevicePolicy', 'ProtectClock', 'ProtectKernelLogs', 'ProtectKernelModules', 'CapabilityBoundingSet',
    'AmbientCapabilities', 'NoNewPrivileges',
    # The service opens no other process and no keyring, sets no scheduling and makes no set-uid file.
    'ProtectProc', 'KeyringMode', 'RestrictRealtime', 'RestrictSUIDSGID', 'LockPersonality',
    # libseccomp ends calls of another architecture.
    'SystemCallArchitectures',
}  # fmt: skip
MOUNTS = {
    'ProtectSystem': ['--ro-bind', '/', '/'],
    'ProtectKernelTunables': [],
    'ProtectControlGroups': [],
    'ProtectHome': ['--tmpfs', '/home', '--tmpfs', '/root'],
    'PrivateTmp': ['--tmpfs', '/tmp', '--tmpfs', '/var/tmp'],
    'PrivateDevices': ['--dev', '/dev'],
    # With `User` below.
    'PrivateUsers': [],
    'User': ['--unshare-user', '--uid', '10001', '--gid', '10001'],
    'PrivateIPC': ['--unshare-ipc'],
    'ProtectHostname': ['--unshare-uts'],
}
NAMESPACES = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
ALLOW = 0x7FFF0000
EQ, GT, MASKED_EQ = 4, 6, 7


def errno(number):
    return 0x00050000 | number


class Comparison(ctypes.Structure):
    _fields_ = [('arg', ctypes.c_uint), ('op', ctypes.c_int), ('a', ctypes.c_uint64), ('b', ctypes.c_uint64)]


class Filter:
    def __init__(self, default):
        self.lib = ctypes.CDLL('libseccomp.so.2')
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, name, *comparisons):
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            return
        array = (Comparison * len(comparisons))(*comparisons)
        failed = self.lib.seccomp_rule_add_array(
            self.context, ctypes.c_uint32(action), number, ctypes.c_uint(len(comparisons)), array
        )
        if failed:
            raise SystemExit(f'no filter for {name}: {failed}')

    def compile(self):
        compiled = os.memfd_create('filter', 0)
        if self.lib.seccomp_export_bpf(self.context, compiled):
            raise SystemExit('no filter')
        os.lseek(compiled, 0, os.SEEK_SET)
        return compiled


def calls_of(name):
    if not name.startswith('@'):
        return {name}
    text = subprocess.run(['systemd-analyze', 'syscall-filter', name], check=True, capture_output=True, text=True).stdout
    inner = [line.strip() for line in text.splitlines()[1:]]
    return set().union(*(calls_of(line) for line in inner if line and not line.startswith('#')))


def call_filter(values):
    allowed = calls_of('@default')
    for value in values:
        names = set().union(*(calls_of(name) for name in value.lstrip('~').split()))
        allowed = allowed - names if value.startswith('~') else allowed | names
    made = Filter(errno(EPERM))
    for name in sorted(allowed):
        made.add(ALLOW, name)
    return made.compile()


def family_filter(value):
    families = sorted(int(getattr(socket, name)) for name in value.split())
    made = Filter(ALLOW)
    for family in range(families[-1]):
        if family not in families:
            made.add(errno(EAFNOSUPPORT), 'socket', Comparison(0, EQ, family, 0))
    made.add(errno(EAFNOSUPPORT), 'socket', Comparison(0, GT, families[-1], 0))
    return made.compile()


def namespace_filter():
    made = Filter(ALLOW)
    made.add(errno(ENOSYS), 'clone3')
    made.add(errno(EPERM), 'setns')
    for flag in NAMESPACES:
        made.add(errno(EPERM), 'unshare', Comparison(0, MASKED_EQ, flag, flag))
        made.add(errno(EPERM), 'clone', Comparison(0, MASKED_EQ, flag, flag))
    return made.compile()


def read_settings(unit):
    with open(unit, encoding='utf-8') as file:
        section = file.read().split('[Service]')[1].split('\n[')[0]
    settings = {}
    for name, value in re.findall(r'^(\w+)=(.*)$', section, re.MULTILINE):
        settings.setdefault(name, []).append(value)
    return settings


def main(unit, writable, *command):
    settings = read_settings(unit)
    options, filters, limits = {}, [], []
    for name, values in settings.items():
        if name in MOUNTS:
            options[name] = MOUNTS[name]
        elif name == 'SystemCallFilter':
            filters.append(call_filter(values))
        elif name == 'RestrictAddressFamilies':
            filters.append(family_filter(values[0]))
        elif name == 'RestrictNamespaces':
            filters.append(namespace_filter())
        elif name == 'SystemCallErrorNumber' and values == ['EPERM']:
            continue
        elif name == 'UMask':
            os.umask(int(values[0], 8))
        elif name == 'LimitNOFILE':
            limits.append(int(values[0]))
        elif name not in NOT_APPLIED:
            raise SystemExit(f'{unit}: {name} is not known to this program')
    for limit in limits:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = [option for name in MOUNTS for option in options.get(name, [])]
    # The program, which can be below a hidden folder, and what the unit may write.
    arguments += ['--ro-bind', root, root]
    for folder in writable.split(':'):
        arguments += ['--bind', folder, folder]
    for compiled in filters:
        arguments += ['--add-seccomp-fd', str(compiled)]
    reader, writer = os.pipe()
    arguments += ['--cap-drop', 'ALL', '--die-with-parent', '--info-fd', str(writer), '--chdir', root]
    child = subprocess.Popen(['bwrap', *arguments, '--', *command], pass_fds=[*filters, writer])
    os.close(writer)
    with os.fdopen(reader) as info:
        text = info.read()
    if text:
        pid = json.loads(text)['child-pid']
        signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    return child.wait()


sys.exit(main(*sys.argv[1:]))
