#!/usr/bin/env python3
"""test_train_many.py --tool BUILD/supple: one training by several processes, small; `make cluster` has the whole of it (tests/cluster)."""
import os
import shlex
import shutil
import signal
import subprocess
import time

from tool import SLOWER, session, same_files
from cases import Skip

SMALL = ("--samples", "10", "--rank", "8", "--set", "max-tets=2500", "--set", "modes=12", "--set", "derivatives=4", "--threads", "1")


class Bench:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.one = self.path("one.supple")
        tool.good("train", "demo:arm", "-o", self.one, *SMALL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, poses, share, *arguments):
        return subprocess.Popen([self.tool.path, "train", "demo:arm", *SMALL, "--poses", poses, "--solve", share, *arguments],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def finish(self, poses, name, *arguments):
        path = self.path(name)
        done = self.tool.good("train", "demo:arm", "-o", path, *SMALL, "--poses", poses, "--finish", *arguments)
        assert same_files(self.one, path), "another model"
        return done


def names(folder, ending=""):
    return [n for n in os.listdir(folder) if n.startswith("pose-") and n.endswith(ending) and (ending or "." not in n)] if os.path.isdir(folder) else []


def check_killed(b):
    """Two workers, one of them killed with -9 while it holds a pose: the other and the finish make the same model, and clean up."""
    poses = b.path("killed")
    workers = [b.start(poses, f"{k}/2", "--lease", "1") for k in (1, 2)]
    end = time.monotonic() + 60 * SLOWER
    while not names(poses) and time.monotonic() < end:
        time.sleep(0.002)
    workers[0].send_signal(signal.SIGKILL)
    for w in workers:
        w.communicate(timeout=120 * SLOWER)
    assert workers[1].returncode == 0 and names(poses)
    assert "poses solved here" in b.finish(poses, "killed.supple", "--lease", "1").err or len(names(poses)) == 0
    assert not os.path.exists(poses), os.listdir(poses)


def check_lost(b):
    """What a finish finds damaged, empty or gone it solves; a claim of nobody, and what killed writers left, are no obstacle."""
    poses = b.path("lost")
    worker = b.start(poses, "1/1")
    assert worker.wait() == 0
    assert len(names(poses)) == 10 and not names(poses, ".claim"), os.listdir(poses)
    os.unlink(os.path.join(poses, "pose-00001"))
    open(os.path.join(poses, "pose-00003"), "w").close()
    with open(os.path.join(poses, "pose-00004"), "r+b") as file:
        file.seek(500), file.write(b"17")
    with open(os.path.join(poses, "pose-00001.claim"), "w") as file:
        file.write("worker-nobody\n")
    os.utime(os.path.join(poses, "pose-00001.claim"), (1, 1))
    open(os.path.join(poses, "pose-00002.partial-abcdefgh"), "w").close()
    said = b.finish(poses, "lost.supple", "--lease", "1").err
    assert "3 of 10 poses solved here, 1 of them taken over" in said and "(7 found" in said, said
    assert not os.path.exists(poses), os.listdir(poses)


def check_strangers(b):
    """A folder of another character or of other parameters is refused, alone or shared; one that cannot be written is named."""
    poses = b.path("strangers")
    b.finish(poses, "strangers.supple", "--keep")
    where = ("--poses", poses)
    for other in (("demo:cylinder", *SMALL), ("demo:arm", *SMALL[2:], "--samples", "9"), ("demo:arm", *SMALL, "--set", "seed=2"),
                  ("demo:arm", *SMALL, "--set", "tolerance=1e-5"), ("demo:arm", *SMALL[:4], "--set", "max-tets=2000", *SMALL[6:])):
        b.tool.bad(3, ["another character", "take another folder"], "train", *other, *where, "--solve", "1/2")
        b.tool.bad(3, ["another character"], "train", *other, *where, "-o", b.path("no.supple"))
    b.tool.bad(4, ["no-such"], "train", "demo:arm", *SMALL, "--poses", b.path("no-such/folder"), "--solve", "1/2")
    with open(os.path.join(poses, "training"), "r+b") as file:
        file.seek(300), file.write(b"17")
    b.tool.bad(3, ["training"], "train", "demo:arm", *SMALL, *where, "--solve", "1/2")
    assert not os.path.exists(b.path("no.supple")) and len(names(poses)) == 10


def check_wrong(b):
    """Shares that are none, options that do not go together: one line each."""
    base = ("train", "demo:arm", "--poses", b.path("wrong"), "-o", b.path("wrong.supple"))
    for share in ("0/2", "3/2", "1", "1/", "/2", "-1/2", "1/0", "a/b", "1/2/3", "1/2 ", " 1/2", "1/9999999", "1/99999999999999999999", ""):
        b.tool.bad(2, ["--solve", "K/N"], *base, f"--solve={share}")
    for number in ("0", "1.5", "x", "-1"):
        b.tool.bad(2, ["--sbatch"], *base, f"--sbatch={number}")
    b.tool.bad(2, ["--lease"], *base, "--finish", "--lease", "0")
    b.tool.bad(2, ["--lease"], *base, "--lease", "5")
    b.tool.bad(2, ["--solve", "--finish"], *base, "--solve", "1/2", "--finish")
    b.tool.bad(2, ["--mpi", "--sbatch"], *base, "--mpi", "--sbatch", "2")
    b.tool.bad(2, ["--quick"], *base, "--quick", "--finish")
    b.tool.bad(2, ["no output"], "train", "demo:arm", "--solve", "1/2")
    b.tool.bad(2, ["no output"], "train", "demo:arm", "--poses", b.path("wrong"), "--finish")
    assert not os.path.exists(b.path("wrong"))


def check_jobs(b):
    """--sbatch prints what, run with an sbatch that runs everything at once, makes the same model: any name survives the quoting."""
    odd = b.path("it's $HOME `x` \"y\" \\n;\nEND_OF_JOB\n&")
    os.makedirs(odd)
    out = os.path.join(odd, "arm.supple")
    done = b.tool("train", "demo:arm", "-o", out, *SMALL, "--lease", "1", "--sbatch", "2", cwd=odd)
    assert done.code == 0 and done.err == "" and not os.listdir(odd), done
    fake = b.path("bin")
    os.makedirs(fake)
    with open(os.path.join(fake, "sbatch"), "w") as file:  # what Slurm does: the script from stdin, once for each task
        file.write("""#!/bin/sh
printf '%s\\n' "$@" >>"$LOG"
for word; do case $word in --array=1-*) last=${word#*-*-} last=${last#*1-};; --chdir=*) cd "${word#*=}";; esac; done
cat >"$LOG.script"
for i in $(seq 1 "${last:-1}"); do SLURM_ARRAY_TASK_ID=$i sh "$LOG.script" >&2; done
echo 17
""")
    os.chmod(os.path.join(fake, "sbatch"), 0o755)
    env = dict(os.environ, PATH=fake + ":" + os.environ["PATH"], LOG=b.path("log"))
    run = subprocess.run(["sh"], input=done.out, capture_output=True, text=True, env=env, cwd=b.folder, timeout=120 * SLOWER)
    assert run.returncode == 0 and run.stdout == "17 17\n", run
    assert same_files(b.one, out) and os.listdir(odd) == ["arm.supple"]
    with open(b.path("log"), encoding="utf-8") as file:
        said = file.read()
    assert "--array=1-2\n" in said and "--dependency=afterany:17\n" in said and "--cpus-per-task=1\n" in said, said
    assert "--keep" not in done.out and "--sbatch" not in done.out.split("#!/bin/sh", 2)[2]


def check_mpi(b):
    """By MPI, where mpirun is there already: the same bytes; without the plug-in one line says so."""
    plugin = os.path.join(os.path.dirname(b.tool.path), "libsupple-mpi.so")
    if not os.path.exists(plugin):
        b.tool.bad(2, ["libsupple-mpi.so", "libopenmpi-dev"], "train", "demo:arm", "-o", b.path("no.supple"), "--mpi")
    mpirun = shutil.which("mpirun")
    if not mpirun or not os.path.exists(plugin):
        raise Skip("there is no mpirun here, or the plug-in was not built")
    if SLOWER > 1:
        raise Skip("MPI keeps memory that a sanitizer counts as lost")
    out = b.path("mpi.supple")
    command = [mpirun, "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n", "3", b.tool.path, "train",
               "demo:arm", "-o", out, *SMALL, "--mpi"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and same_files(b.one, out), done
    assert "10 of 10 poses solved by 3 processes" in done.stderr, done
    for program in (b.tool.path, os.path.join(os.path.dirname(b.tool.path), "libsupple.so")):
        assert "libmpi" not in subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout


def main():
    with session(__doc__) as (tool, cases, folder):
        b = Bench(tool, folder)
        cases.run("killed_worker", check_killed, b)
        cases.run("lost_poses", check_lost, b)
        cases.run("folders_of_others", check_strangers, b)
        cases.run("wrong_options", check_wrong, b)
        cases.run("jobs_for_slurm", check_jobs, b)
        cases.run("mpi", check_mpi, b)


if __name__ == "__main__":
    main()
