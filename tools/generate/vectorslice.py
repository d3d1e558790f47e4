"""Cuts the slice of the conformance vectors that is committed as testdata.

Usage: python3 tools/generate/vectorslice.py VECTORS e2e/testdata/vectors

The slice holds facts only: rows with prose of the original's worlds (messages and reminders) are left out, and so is every
case that would show them. Lines are taken at even distances, so that the slice is the same whenever it is cut again.
"""

import json
import pathlib
import sys

# Tables whose rows in the original's worlds are prose.
PROSE = ("MESSAGING", "REMINDER")
# Tools that read or write those tables: only their cases on the empty world are taken.
PROSE_TOOLS = (
    "search_messages", "send_message_with_phone_number", "add_reminder", "modify_reminder", "search_reminder", "remove_reminder",
)
# At most this many lines of one file.
CALLS, PARALLEL, SOURCES, TEXTS, EVALUATIONS = 60, 200, 150, 300, 250


def evenly(lines, most):
    if len(lines) <= most:
        return lines
    return [lines[i * len(lines) // most] for i in range(most)]


def factual(case):
    tools = {call["tool"] for call in case.get("setup_calls", []) + case.get("calls", [])}
    tools.add(case.get("tool", ""))
    text = case.get("source", "") + json.dumps(case.get("calls", [])) + " ".join(tools)
    if case["world"] == "empty":
        return True
    return not any(name in text for name in PROSE_TOOLS) and not any(table in case.get("changed", {}) for table in PROSE)


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line if line.endswith("\n") else line + "\n" for line in lines), encoding="utf-8")


def read(path):
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def main(source, target):
    worlds = json.loads((source / "tools/worlds.json").read_text(encoding="utf-8"))
    for world in worlds.values():
        for table in PROSE:
            world["tables"][table] = [{"index": 0, "rows": []}]
    (target / "tools").mkdir(parents=True, exist_ok=True)
    (target / "tools/worlds.json").write_text(json.dumps(worlds, indent=1) + "\n", encoding="utf-8")
    for path in sorted((source / "tools/calls").glob("*.jsonl")):
        lines = [line for line in read(path) if factual(json.loads(line))]
        if lines:
            write(target / "tools/calls" / path.name, evenly(lines, CALLS))
    for name, most in (("parallel", PARALLEL), ("raw_source", SOURCES)):
        lines = [line for line in read(source / f"tools/{name}.jsonl") if factual(json.loads(line))]
        write(target / f"tools/{name}.jsonl", evenly(lines, most))
    for name in ("repr", "dict_literal"):
        write(target / f"tools/{name}.jsonl", evenly(read(source / f"tools/{name}.jsonl"), TEXTS))
    write(target / "evaluation/random.jsonl", evenly(read(source / "evaluation/random.jsonl"), EVALUATIONS))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
