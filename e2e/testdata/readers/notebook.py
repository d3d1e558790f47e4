"""Executes the code of examples/notebook/figures.ipynb on a run, and compares its numbers with those of a report.

Arguments: the notebook, the directory of the runs, the report as JSON, a directory for the figures.
"""

import json
import os
import pathlib
import sys

import matplotlib

notebook, run, report, figures = (pathlib.Path(path) for path in sys.argv[1:])
os.environ["TOOLSANDBOX_RUN"] = str(run)
matplotlib.use("Agg")

cells = json.loads(notebook.read_text())["cells"]
names = {}
for cell in cells:
    if cell["cell_type"] != "code":
        continue
    if cell["outputs"] or cell["execution_count"]:
        sys.exit(f"{cell['id']}: has outputs: clear them before you commit")
    exec(compile("".join(cell["source"]), cell["id"], "exec"), names)


def close(what, got, want):
    if abs(got - want) > 1e-9:
        sys.exit(f"{what}: got {got}, want {want}")


# The groups of a report are of runs by number, a category and a variant.
groups = json.loads(report.read_text())
directories = [pathlib.Path(r["directory"]).name.removeprefix("agent=") for r in groups["runs"]]
compared = 0
means = dict(names["means"].select("run", "score").iter_rows())
for group in groups["groups"]:
    if group["variant"] != "all" or group["score"]["mean"] is None:
        continue
    name = directories[group["run"]]
    if group["category"] == "ALL_CATEGORIES":
        close(f"mean of {name}", means[name], group["score"]["mean"])
    else:
        mean, low, high = names["category_means"][group["category"], name]
        close(f"{group['category']} of {name}", mean, group["score"]["mean"])
        if not low - 1e-9 <= mean <= high + 1e-9:
            sys.exit(f"{group['category']} of {name}: {mean} is not between {low} and {high}")
    compared += 1

plots = matplotlib.pyplot.get_fignums()
for number in plots:
    matplotlib.pyplot.figure(number).savefig(figures / f"{number}.png", dpi=100)
print(f"{len(plots)} figures, {compared} means")
