#!/usr/bin/env python3
"""Prints process.txt of the toolhost's package fuzzy: what the default processing of rapidfuzz 3.9.3 does with code points.

From the root of the repository, with the conformance vectors:

    python tools/generate/process.py $TOOLSANDBOX_VECTORS/tools/default_process.jsonl \\
        > internal/ported/fuzzy/process.txt
"""
import json
import sys

HEADER = """\
# What default processing changes: the first and last code point of a run, then what is added to
# them, or space. Printed by tools/generate/process.py from the conformance vector
# tools/default_process.jsonl (rapidfuzz 3.9.3)."""


def change(run):
    """Returns the last field of a run's line."""
    return "space" if run["kind"] == "space" else f"{run['offset']:+d}"


def main():
    print(HEADER)
    with open(sys.argv[1], encoding="utf-8") as file:
        for run in map(json.loads, file):
            if run["kind"] != "same":
                print(f"{run['first']:x} {run['last']:x} {change(run)}")


if __name__ == "__main__":
    main()
