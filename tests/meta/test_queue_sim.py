#!/usr/bin/env python3
"""test_queue_sim.py ROOT: bench/queue_sim loses no pose, and agrees with what can be said on paper."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases  # noqa: E402

PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "bench", "queue_sim")


def simulate(**options):
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = subprocess.run([sys.executable, PROGRAM, "--json", *words], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_one_worker():
    """Nobody to wait for: the time is that of the poses, and of the folder."""
    r = simulate(workers=1, poses=40, failures=0, spread=0, solve=100, tree="chain")
    assert 4000 < r["seconds"] < 4060 and r["busy"] > 0.98 and r["collisions"] == 0, r
    assert r["operations_by"]["write"] == 5 * 40 and r["operations_by"]["claim"] == 2 * 40, r


def check_chain():
    """Poses that wait for each other are no quicker with many."""
    r = simulate(workers=20, poses=30, failures=0, spread=0, solve=50, tree="chain")
    assert 1500 <= r["path_s"] == r["bound_s"] <= r["seconds"] < 1700, r


def check_no_parents():
    r = simulate(workers=50, poses=500, failures=0, spread=0, solve=100, tree="none")
    assert r["bound_s"] == 1000 and 1000 < r["seconds"] < 1100 and r["twice"] == 0, r


def check_failures():
    """Workers fail every few minutes: what they held is solved by others, nothing is lost."""
    r = simulate(workers=30, poses=300, failures=6, lease=60, solve=60)
    calm = simulate(workers=30, poses=300, failures=0, lease=60, solve=60)
    assert r["failed"] > 20 and r["solved"] == 300 and r["seconds"] > calm["seconds"], r


def check_beats():
    """A beat a second of N workers is N operations a second; that many the server cannot do stops all others."""
    r = simulate(workers=100, poses=300, tree="none", failures=0, beat=1, solve=60, spread=0)
    assert abs(r["operations_by"]["beat"] / r["seconds"] - 100) < 5, r
    full = simulate(workers=100, poses=300, tree="none", failures=0, beat=1, solve=60, spread=0, ops=90)
    assert full["server_busy"] > 0.95 and full["seconds"] > 1.2 * r["seconds"], full


def check_listing():
    """A listing that is believed for ten poses' time spares most of them."""
    options = dict(workers=200, poses=2000, solve=20, failures=0, ops=300, tree="none")
    often, seldom = simulate(listing=0, **options), simulate(listing=200, **options)
    assert often["operations_by"]["list"] > 2 * seldom["operations_by"]["list"], (often, seldom)


def check_paper():
    """Well below saturation the simulation asks for what the formula says."""
    r = simulate(workers=300, poses=3000, tree="none", failures=0, spread=0.2)
    ratio = r["operations_a_second"] / r["on_paper"]["operations_a_second"]
    assert 0.5 < ratio < 1.5, (ratio, r)


def check_same():
    assert simulate(workers=20, poses=100, seed=7) == simulate(workers=20, poses=100, seed=7)


cases = Cases()
cases.run("one_worker_takes_what_poses_take", check_one_worker)
cases.run("a_chain_is_no_quicker_with_many", check_chain)
cases.run("poses_of_their_own_share_the_workers", check_no_parents)
cases.run("workers_that_fail_lose_no_pose", check_failures)
cases.run("beats_cost_and_saturate", check_beats)
cases.run("a_listing_believed_costs_less", check_listing)
cases.run("on_paper_and_simulated_agree", check_paper)
cases.run("one_seed_one_result", check_same)
cases.end()
