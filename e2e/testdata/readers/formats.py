"""Reads the exports of a run with the tools whose formats they have: harbor's models of ATIF,
inspect_ai, and the schemas of Every Eval Ever. The arguments are the run and its exports."""

import json
import sys
from pathlib import Path

import every_eval_ever
import jsonschema
from harbor.models.trajectories.trajectory import Trajectory
from inspect_ai.log import read_eval_log

run, exports = map(Path, sys.argv[1:])
summary = {r["name"]: r for r in json.loads((run / "result_summary.json").read_text())["per_scenario_results"]}
mean = sum(r["similarity"] for r in summary.values()) / len(summary)


def equal(what: str, got: object, want: object) -> None:
    if got != want:
        raise SystemExit(f"{what}: got {got}, want {want}")


def context(name: str) -> list[dict]:
    rows = json.loads((run / "trajectories" / name / "execution_context.json").read_text())["_dbs"]["SANDBOX"]
    seen = [row for row in rows if "AGENT" in (row["visible_to"] or ["AGENT"])]  # no demonstrations for the user
    return [row for row in seen if "AGENT" in (row["sender"], row["recipient"])]


trajectories = {path.stem: Trajectory.model_validate_json(path.read_text()) for path in (exports / "atif").glob("*.json")}
equal("trajectories", sorted(trajectories), sorted(summary))
for name, trajectory in trajectories.items():
    equal(f"score of {name}", trajectory.extra["score"], summary[name]["similarity"])
    calls = [call for step in trajectory.steps for call in step.tool_calls or []]
    answers = [result for step in trajectory.steps if step.observation for result in step.observation.results]
    said = [step for step in trajectory.steps if not step.tool_calls]
    equal(f"messages of {name}", len(calls) + len(answers) + len(said), len(context(name)))

(path,) = (exports / "inspect").glob("*.eval")
log = read_eval_log(str(path))
equal("status", log.status, "success")
equal("samples", len(log.samples), len(summary))
equal("mean", round(log.results.scores[0].metrics["mean"].value, 9), round(mean, 9))
equal("scores", sorted(s.scores["toolsandbox"].value for s in log.samples), sorted(r["similarity"] for r in summary.values()))
equal("epochs", {s.epoch for s in log.samples}, {1, 2})

schemas = Path(every_eval_ever.__file__).parent / "schemas"
validators = [jsonschema.Draft7Validator(json.loads((schemas / name).read_text())) for name in ("eval.schema.json", "instance_level_eval.schema.json")]
(path,) = (exports / "eee").rglob("*.json")
record = json.loads(path.read_text())
validators[0].validate(record)
equal("mean", round(record["evaluation_results"][0]["score_details"]["score"], 9), round(mean, 9))
lines = (exports / "eee" / record["detailed_evaluation_results"]["file_path"]).read_text().splitlines()
equal("rows", len(lines), record["detailed_evaluation_results"]["total_rows"])
for line in lines:
    validators[1].validate(json.loads(line))
print("all read")
