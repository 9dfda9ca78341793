#!/usr/bin/env python3
"""run.py --tool BUILD/supple: one training by many processes: in a shared folder, by MPI and by Slurm, killed, frozen, drained, out of room and
with wrong clocks; the model is that of one process alone, bit for bit. Ends with "N passed, N failed". scripts/run-cluster installs what it needs.
Most of it needs root: mounts, network namespaces, a Slurm of its own."""
import argparse
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from work import BUSY, LONG, SHORT, TOGETHER, Work, has, kill, poses_of, processor_seconds
from cases import Cases, Skip
import slurm

COUNTS = (1, 2, 4, 8)
MPI = ["mpirun", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def need_root():
    if os.geteuid() != 0:
        raise Skip("it takes mounts and namespaces, which are root's")


# ---- a shared folder ----


def share_out(w, kind, count, before=lambda k: ()):
    """Workers side by side until the last one ends: busy share of each that solved anything, and seconds."""
    poses, start = w.path("poses"), time.monotonic()
    workers = [w.worker(kind, poses, f"{k}/{count}", before=before(k)) for k in range(1, count + 1)]
    said = [BUSY.search(w.end(worker)) for worker in workers]
    seconds = time.monotonic() - start
    assert all(said) and sum(int(s[1]) for s in said) == len(poses_of(poses)), said
    return poses, [float(s[3]) for s in said if int(s[1])], max(float(s[4]) for s in said), seconds


def check_folder(w, count):
    poses, busy, solving, seconds = share_out(w, LONG, count)
    w.finish(LONG, poses)
    print(f"    folder, {count} workers: busy {sum(busy) / len(busy):.1f}% (least {min(busy):.1f}%), poses {solving:.2f} s, all {seconds:.2f} s",
          flush=True)


def check_throughput(w):
    """Two workers against one, by turns. Others' work on the machine is in both; so is what processor time a pose takes more with two."""
    one, two, cost = [], [], {1: [], 2: []}
    for _ in range(3):
        for count, times in ((1, one), (2, two)):
            before = sum(os.times()[2:4])
            poses, _, solving, _ = share_out(w, LONG, count)
            times.append(solving), cost[count].append(processor_seconds(before))
            shutil.rmtree(poses)
    print(f"    throughput of two workers: {min(one) / min(two):.2f} times one ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}); "
          f"processor time {min(cost[2]) / min(cost[1]):.2f} times", flush=True)
    assert min(one) / min(two) > 1.5 or os.getloadavg()[0] > 1.5 * os.cpu_count() or os.cpu_count() < 2, (one, two)


def check_killed(w, rounds=20):
    """kill -9 of one of two at a random moment, each time; the other goes on, and the finish solves what is missing."""
    longest, left, over = w.alone[SHORT], 0, 0
    for _ in range(rounds):
        poses = w.path("killed")
        workers = [w.worker(SHORT, poses, f"{k}/2", "--lease", "1") for k in (1, 2)]
        time.sleep(w.random.uniform(0, 1.2 * longest))
        kill(workers[0])
        over += int(BUSY.search(w.end(workers[1]))[2])
        left += 16 - len(poses_of(poses))
        w.finish(SHORT, poses, "--lease", "1")
    print(f"    {rounds} killed: {over} poses taken over by the other worker, {left} left for the finish", flush=True)


def check_replaced(w):
    """All workers die again and again, and new ones come in their places."""
    poses, start = w.path("replaced"), time.monotonic()
    workers = [w.worker(LONG, poses, f"{k}/3", "--lease", "1") for k in (1, 2, 3)]
    for n in range(12):
        time.sleep(w.random.uniform(0.1, 1.0))
        k = n % 3
        kill(workers[k])
        workers[k] = w.worker(LONG, poses, f"{k + 1}/3", "--lease", "1")
    for worker in workers:
        w.end(worker)
    w.finish(LONG, poses, "--lease", "1")
    print(f"    12 of 3 workers killed and replaced, {time.monotonic() - start:.1f} s", flush=True)


def check_frozen(w):
    """A worker that sleeps for longer than its lease loses its claim, and does no harm when it wakes up."""
    poses = w.path("frozen")
    sleeper = w.worker(SHORT, poses, "1/2", "--lease", "1")
    while not poses_of(poses) and sleeper.poll() is None:
        time.sleep(0.002)
    sleeper.send_signal(signal.SIGSTOP)
    said = w.end(w.worker(SHORT, poses, "2/2", "--lease", "1"))
    path = w.path("frozen.supple")
    w.tool.good(*w.command(SHORT, "--poses", poses, "--finish", "--keep", "--lease", "1", "-o", path)[1:])
    sleeper.send_signal(signal.SIGCONT)
    w.end(sleeper)
    w.check(SHORT, path)
    w.finish(SHORT, poses)
    assert BUSY.search(said)


def check_gone(w):
    """A worker that wakes up when the training is finished and its folder gone ends quietly, or says what it could not write."""
    poses = w.path("gone")
    sleeper = w.worker(SHORT, poses, "1/2", "--lease", "1")
    while not poses_of(poses) and sleeper.poll() is None:
        time.sleep(0.002)
    sleeper.send_signal(signal.SIGSTOP)
    w.finish(SHORT, poses, "--lease", "1")
    sleeper.send_signal(signal.SIGCONT)
    err = sleeper.communicate(timeout=60)[1]
    assert (sleeper.returncode == 0 or (sleeper.returncode == 4 and "cannot be written" in err)) and not os.path.exists(poses), (sleeper.returncode, err)


def check_threads(w):
    """Processes of several threads, and shares that overlap or have no poses of their own."""
    poses = w.path("threads")
    workers = [subprocess.Popen([w.tool.path, "train", *SHORT, "--threads", threads, "--poses", poses, "--solve", share],
                                stderr=subprocess.PIPE, text=True) for threads, share in (("3", "1/2"), ("2", "1/2"), ("1", "99999/100000"))]
    for worker in workers:
        w.end(worker)
    w.finish(SHORT, poses)


# ---- hosts ----


def check_hosts(w):
    """Two hosts: network, mount and host-name namespaces of their own, the folder mounted at another place in each."""
    need_root()
    poses, start = w.path("hosts"), w.folder
    os.makedirs(poses)
    workers = []
    for k in (1, 2):
        place = w.path(f"mount{k}")
        os.makedirs(place)
        script = f'hostname node{k} && mount --bind "$1" "$2" && shift 2 && exec "$@"'
        workers.append(subprocess.Popen(["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", poses, place,
                                         *w.command(SHORT, "--poses", place, "--solve", f"{k}/2")], stderr=subprocess.PIPE, text=True, cwd=start))
    seen = set()
    while any(worker.poll() is None for worker in workers):
        seen |= {name.split("-")[1] for name in os.listdir(poses) if name.startswith("worker-")}
        time.sleep(0.005)
    for worker in workers:
        w.end(worker)
    assert seen == {"node1", "node2"}, seen
    w.finish(SHORT, poses)


def check_clocks(w):
    """Two hosts whose clocks are five hours apart and who write their own times to files: no living one is taken for dead, and the dead are found."""
    library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not library:
        raise Skip("there is no faketime")

    def clock(shift):
        return ("env", "LD_PRELOAD=" + library[0], "FAKETIME=" + shift, "FAKETIME_DONT_FAKE_MONOTONIC=1")
    poses = w.path("clocks")
    workers = [w.worker(SHORT, poses, f"{k}/2", "--lease", "2", before=clock(shift)) for k, shift in ((1, "+3h"), (2, "-2h"))]
    for worker in workers:
        assert BUSY.search(w.end(worker))[2] == "0", "a living process was taken for dead"
    w.finish(SHORT, poses)
    poses = w.path("clocks")
    dead = w.worker(SHORT, poses, "1/1", "--lease", "1", before=clock("+3h"))
    while not poses_of(poses) and dead.poll() is None:
        time.sleep(0.002)
    kill(dead)
    assert BUSY.search(w.end(w.worker(SHORT, poses, "1/1", "--lease", "1", before=clock("-2h"))))
    w.finish(SHORT, poses, "--lease", "1")


def check_full_disk(w):
    """No room: each worker ends with one line and 4; once there is room the same commands go on."""
    need_root()
    place = w.path("disk")
    os.makedirs(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", place], check=True)
    try:
        poses = os.path.join(place, "poses")
        for worker in [w.worker(SHORT, poses, f"{k}/2") for k in (1, 2)]:
            err = w.end(worker, code=4)
            assert "No space left" in err, err
        assert not [n for n in os.listdir(poses) if n.endswith(".claim") or n.startswith("worker-")], os.listdir(poses)
        subprocess.run(["mount", "-o", "remount,size=100m", place], check=True)
        w.end(w.worker(SHORT, poses, "1/2"))
        w.finish(SHORT, poses)
        os.makedirs(poses)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        assert "Read-only" in w.end(w.worker(SHORT, poses, "1/2"), code=4)
    finally:
        subprocess.run(["umount", place], check=True)


def check_network_files(w):
    """Two hosts in network namespaces on one folder of a third: kernel NFS where there is one, else files over FUSE (sshfs)."""
    need_root()
    with open("/proc/filesystems", encoding="utf-8") as file:
        kernel = [line.split()[-1] for line in file]
    server = "/usr/lib/openssh/sftp-server"
    if not has("sshfs", "socat") or not os.path.exists(server) or not os.path.exists("/dev/fuse"):
        raise Skip(f"no NFS in this kernel ({'nfs' in kernel}), and no sshfs, socat or sftp-server")
    poses = w.path("network")
    os.makedirs(poses)
    script = """set -e
ip link set lo up
mkdir -p "$2"
socat TCP-LISTEN:4022,bind=127.0.0.1,fork,reuseaddr EXEC:%s &
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; sshfs -o directport=4022,dcache_timeout=1,entry_timeout=0,attr_timeout=0,negative_timeout=0 127.0.0.1:"$1" "$2" && break; done
hostname "$3"; shift 3
"$@" """ % server
    workers = []
    for k in (1, 2):
        place = w.path(f"network{k}")
        workers.append(subprocess.Popen(["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", poses, place,
                                         f"node{k}", *w.command(SHORT, "--poses", place, "--solve", f"{k}/2")], stderr=subprocess.PIPE, text=True))
    for worker in workers:
        w.end(worker, seconds=120)
    assert len(poses_of(poses)) == 16, os.listdir(poses)
    w.finish(SHORT, poses)


# ---- MPI ----


def run_mpi(w, kind, count, path):
    done = subprocess.run([*MPI, "-n", str(count), *w.command(kind, "--mpi", "-o", path)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done
    return TOGETHER.search(done.stderr)


def check_mpi(w, count):
    path = w.path("mpi.supple")
    said = run_mpi(w, LONG, count, path)
    w.check(LONG, path)
    print(f"    MPI, {count} processes: busy {said[3]}%, poses {said[4]} s", flush=True)


def check_mpi_killed(w):
    """A process dies: MPI ends the others, and the same command goes on with what rank 0 has kept."""
    path = w.path("mpi.supple")
    run = subprocess.Popen([*MPI, "-n", "3", *w.command(LONG, "--mpi", "-o", path)], stderr=subprocess.PIPE, text=True)
    while len(poses_of(path + ".poses")) < 5 and run.poll() is None:
        time.sleep(0.01)
    ranks = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(ranks[-1]), signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode != 0 and not os.path.exists(path)
    kept = len(poses_of(path + ".poses"))
    said = run_mpi(w, LONG, 2, path)
    w.check(LONG, path)
    assert 5 <= kept < 100 and int(said[1]) == 100 - kept, (kept, said[0])


# ---- Slurm ----


def submit(w, s, kind, count, *arguments):
    """The script that --sbatch prints, run by a shell: the ids of the array and of the finish, and the model to come."""
    path = w.path("slurm.supple")
    done = w.tool(*w.command(kind, "-o", path, "--sbatch", count, "--lease", "2", *arguments)[1:], cwd=w.folder)
    assert done.code == 0 and not done.err, done
    solve, finish = s.call("sh", "-c", done.out, cwd=w.folder).split()
    return solve, finish, path


def outputs(w, job):
    """What the tasks of a job said, and the files out of the way."""
    said = ""
    for name in sorted(os.listdir(w.folder)):
        if name.startswith(f"slurm-{job}") and name.endswith(".out"):
            with open(os.path.join(w.folder, name), encoding="utf-8", errors="replace") as file:
                said += file.read()
    return said


def check_slurm(w, s, count):
    solve, finish, path = submit(w, s, LONG, count)
    s.wait_for_all(600)
    busy = [float(m[3]) for m in BUSY.finditer(outputs(w, solve)) if int(m[1])]
    assert os.path.exists(path), outputs(w, solve) + outputs(w, finish)
    w.check(LONG, path)
    print(f"    Slurm, {count} tasks: busy {sum(busy) / len(busy):.1f}% (least {min(busy):.1f}%)", flush=True)


def running(s, job):
    return [i for i, state in s.queue() if i.startswith(job + "_") and state == "RUNNING"]


def check_slurm_killed(w, s):
    """A task is killed with -9 in the middle: afterok would wait for ever, the finish comes after anything and solves what is missing."""
    solve, finish, path = submit(w, s, LONG, 3)
    s.wait(lambda: len(running(s, solve)) == 3 and len(poses_of(path + ".poses")) > 4, 120, "three tasks")
    found = subprocess.run(["pgrep", "-f", f"^{w.tool.path} train.*--solve=2/3"], capture_output=True, text=True, check=True).stdout.split()
    mine = [int(p) for p in found if path in open(f"/proc/{p}/cmdline", encoding="utf-8").read()]
    assert len(mine) == 1, found
    os.kill(mine[0], signal.SIGKILL)
    s.wait_for_all(600)
    assert os.path.exists(path), outputs(w, solve) + outputs(w, finish)
    w.check(LONG, path)
    state = s.call("scontrol", "show", "job", f"{solve}_2")
    assert "JobState=FAILED" in state or "NODE_FAIL" in state, state


def check_slurm_drained(w, s):
    """A node is drained in the middle: what runs there ends, the other tasks run elsewhere, and nothing is lost."""
    solve, finish, path = submit(w, s, LONG, 20)
    s.wait(lambda: len(running(s, solve)) >= 8 and len(poses_of(path + ".poses")) > 4, 120, "tasks on both nodes")
    on_first = [line.split()[0] for line in s.call("squeue", "--noheader", "-r", "-w", "n1", "-t", "RUNNING", "-o", "%i").splitlines()]
    s.call("scontrol", "update", "nodename=n1", "state=drain", "reason=test")
    s.wait_for_all(600)
    drained = [line for line in s.states() if line.startswith("n1")]
    s.call("scontrol", "update", "nodename=n1", "state=resume")
    assert os.path.exists(path), outputs(w, solve) + outputs(w, finish)
    w.check(LONG, path)
    assert any("drain" in line for line in drained), drained
    print(f"    {len(on_first)} tasks on the node that was drained", flush=True)


def slurm_cases(cases, w):
    lacking = slurm.missing()

    def skip():
        raise Skip(f"it needs root, and {', '.join(lacking) or 'nothing else'}")
    if lacking or os.geteuid() != 0:
        cases.run("slurm", skip)
        return
    place = tempfile.mkdtemp(prefix="supple-slurm-")
    os.chmod(place, 0o755)  # munged is another user
    try:
        with slurm.Slurm(place) as s:
            for count in COUNTS:
                cases.run(f"slurm_{count}", check_slurm, w, s, count)
            cases.run("slurm_killed", check_slurm_killed, w, s)
            cases.run("slurm_drained", check_slurm_drained, w, s)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", default="", help="cases with this in their names")
    arguments = parser.parse_args()
    os.environ["SUPPLE_TEST_ONLY"] = arguments.only
    import cases as named
    named.ONLY = arguments.only
    cases = Cases()
    with tempfile.TemporaryDirectory(prefix="supple-cluster-") as folder:
        os.environ["SUPPLE_CACHE"] = os.path.join(folder, "cache")
        w = Work(arguments.tool, folder)
        for count in COUNTS:
            cases.run(f"folder_{count}", check_folder, w, count)
        plain = (check_throughput, check_killed, check_replaced, check_frozen, check_gone, check_threads, check_hosts, check_clocks, check_full_disk,
                 check_network_files)
        for check in plain:
            cases.run(check.__name__[len("check_"):], check, w)
        if has("mpirun") and os.path.exists(os.path.join(os.path.dirname(w.tool.path), "libsupple-mpi.so")):
            for count in COUNTS:
                cases.run(f"mpi_{count}", check_mpi, w, count)
            cases.run("mpi_killed", check_mpi_killed, w)
        slurm_cases(cases, w)
    cases.end(plain=True)


if __name__ == "__main__":
    main()
