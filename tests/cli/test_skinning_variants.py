#!/usr/bin/env python3
"""test_skinning_variants.py --tool BUILD/supple: what test_skinning.py does with usual characters, with one character as many programs might have
written it (tests/data/variants): `linear` against the independent reader, and the caches against each other."""
import os

from test_skinning import check_caches, check_linear
from tool import assets, session

# Left to test_fixtures.py, which compares these with the plain file: the reader does not decompress.
OTHERWISE = ("meshopt.glb", "draco.glb", "draco_edges.glb")


def main():
    with session(__doc__) as (tool, cases, folder):
        paths = [path for path in assets() if os.path.basename(os.path.dirname(path)) == "variants" and os.path.basename(path) not in OTHERWISE]
        assert len(paths) > 10, "no variants"
        # Under TSan one character shows what all would, for a tenth of the time.
        for path in paths[:1] if os.environ.get("SUPPLE_SANITIZED") == "thread" else paths:
            name = os.path.basename(path)
            cases.run(f"linear_{name}", check_linear, tool, folder, path, 30)
            cases.run(f"caches_{name}", check_caches, tool, folder, path, 30)


if __name__ == "__main__":
    main()
