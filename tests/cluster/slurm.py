"""A Slurm of our own on this machine: munged, slurmctld, and slurmd for two nodes that lie on it, all in one folder and gone at the end."""
import os
import shutil
import socket
import subprocess
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "setpriv")

CONF = """ClusterName=supple
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MessageTimeout=30
KillWait=2
SlurmctldTimeout=60
SlurmdTimeout=60
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    """Two nodes of eight processors each, whatever the machine has."""

    def __init__(self, folder):
        self.folder, self.children = folder, []
        self.env = dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf"))
        os.makedirs(os.path.join(folder, "state"))
        host = socket.gethostname().split(".")[0]
        nodes = [f"NodeName=n{k} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 "
                 f"ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN" for k in (1, 2)]
        for k in (1, 2):
            os.makedirs(os.path.join(folder, f"spool-n{k}"))
        with open(os.path.join(folder, "slurm.conf"), "w", encoding="utf-8") as file:
            file.write(CONF.format(host=host, folder=folder, port=free_port(), nodes="\n".join(nodes)))
            file.write("SlurmdParameters=config_overrides\n")
        with open(os.path.join(folder, "cgroup.conf"), "w", encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\n")

    def spawn(self, name, *command):
        with open(os.path.join(self.folder, name + ".out"), "w", encoding="utf-8") as out:
            self.children.append((name, subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=self.env)))

    def munged(self):
        """It insists on a user of its own, on its files' owners and on folders that nobody else writes to."""
        user, place = "munge", os.path.join(self.folder, "munge")
        os.makedirs(place, mode=0o700)
        key = os.path.join(place, "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        for path in (place, key):
            shutil.chown(path, user, user)
        self.spawn("munged", "setpriv", "--reuid", user, "--regid", user, "--clear-groups", "munged", "--foreground", "--force", "--key-file", key,
                   "--socket", os.path.join(place, "socket"), "--pid-file", os.path.join(place, "pid"), "--log-file", os.path.join(place, "log"),
                   "--seed-file", os.path.join(place, "seed"))
        self.wait(lambda: os.path.exists(os.path.join(place, "socket")), 20, "munged")
        os.chmod(place, 0o711)
        os.symlink(os.path.join(place, "socket"), os.path.join(self.folder, "munge.socket"))

    def wait(self, ready, seconds, what):
        end = time.monotonic() + seconds
        while not ready():
            for name, child in self.children:
                if child.poll() is not None:
                    raise AssertionError(f"{name} ended: {self.log(name)}")
            assert time.monotonic() < end, f"{what} is not there after {seconds} s\n" + "\n".join(self.log(n) for n, _ in self.children)
            time.sleep(0.1)

    def log(self, name):
        with open(os.path.join(self.folder, name + ".out"), encoding="utf-8", errors="replace") as file:
            return file.read()[-1500:]

    def call(self, *command, **options):
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=60, check=False, **options)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def states(self):
        return self.call("sinfo", "--noheader", "-N", "-o", "%N %t").split("\n")

    def __enter__(self):
        try:
            self.munged()
            self.spawn("slurmctld", "slurmctld", "-D", "-c")
            for k in (1, 2):
                self.spawn(f"slurmd-n{k}", "slurmd", "-D", "-N", f"n{k}")
            self.wait(self.is_up, 90, "slurm")
        except BaseException:
            self.__exit__()
            raise
        return self

    def is_up(self):
        done = subprocess.run(["sinfo", "--noheader", "-N", "-o", "%N %t"], capture_output=True, text=True, env=self.env, check=False)
        return done.returncode == 0 and done.stdout.count(" idle") == 2 and "*" not in done.stdout

    def __exit__(self, *_):
        for _, child in reversed(self.children):  # our own, by their ids
            if child.poll() is None:
                child.terminate()
        for _, child in reversed(self.children):
            try:
                child.wait(timeout=15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def queue(self):
        """(job or task, state) of all that is not over."""
        return [tuple(line.split()) for line in self.call("squeue", "--noheader", "-r", "-o", "%i %T").splitlines()]

    def wait_for_all(self, seconds):
        self.wait(lambda: not self.queue(), seconds, "the end of the queue")


def missing():
    return [name for name in NEEDED if not shutil.which(name)]
