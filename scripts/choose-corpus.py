#!/usr/bin/env python3
"""choose-corpus.py CONTROL BYTES: of the files that libFuzzer's -set_cover_merge has run (its -merge_control_file), those that together reach most
in so many bytes: first the one that reaches most, then again and again the one with the most new edges a byte. Prints their paths."""
import sys


def read_control(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    count = int(lines[0])
    names, size, edges = lines[2:2 + count], {}, {}
    for line in lines[2 + count:]:
        word = line.split()
        if word[:1] == ["STARTED"]:
            size[int(word[1])] = int(word[2])
        elif word[:1] == ["FT"]:  # an edge and how often, in eight classes
            edges[int(word[1])] = {int(number) // 8 for number in word[2:]}
    return [(names[i], size[i], found) for i, found in edges.items()]


def choose(files, room):
    reached = set()
    while files:
        new = {name: len(found - reached) for name, size, found in files if size <= room}
        files = [file for file in files if new.get(file[0])]
        if not files:
            return
        name, size, found = max(files, key=lambda file: (new[file[0]] / (1 if not reached else file[1] + 1), file[0]))
        reached |= found
        room -= size
        yield name


if __name__ == "__main__":
    print("\n".join(choose(read_control(sys.argv[1]), int(sys.argv[2]))))
