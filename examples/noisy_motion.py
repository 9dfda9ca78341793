#!/usr/bin/python3
"""A captured motion with more noise: each angle of each frame by so many degrees at random.

    noisy_motion.py IN.bvh OUT.bvh [DEGREES]

Dynamics must not answer noise with jitter (docs/subspace.md, "Captured motions"): at 120 frames a second 0.3 degrees are some hundred m/s^2 at a
hand. The same noise every time."""
import random
import sys


def main():
    source, out = sys.argv[1:3]
    degrees = float(sys.argv[3]) if len(sys.argv) > 3 else 0.3
    random.seed(1)
    lines, is_motion = [], False
    with open(source) as f:
        for line in f:
            if is_motion and line.strip():
                # the first three numbers are the root's place
                values = [float(word) + (degrees * random.gauss(0, 1) if k >= 3 else 0) for k, word in enumerate(line.split())]
                line = " ".join(f"{value:.4f}" for value in values) + "\n"
            lines.append(line)
            is_motion = is_motion or line.startswith("Frame Time")
    with open(out, "w") as f:
        f.writelines(lines)


if __name__ == "__main__":
    main()
