"""Reads the tables of a run as pandas, polars, DuckDB and pyarrow do, and compares them with the run's files."""

import json
import pathlib
import sys

import duckdb
import pandas
import polars
import polars.testing
import pyarrow.parquet

TABLES = ["rollouts", "messages", "calls", "constraints", "versions", "causes"]
KEY = ["rollout", "scenario", "base", "variant", "trial", "agent", "user"]

run = pathlib.Path(sys.argv[1])
summary = json.loads((run / "result_summary.json").read_text())
entries = {entry["name"]: entry for entry in summary["per_scenario_results"]}


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def context(name):
    return json.loads((run / "trajectories" / name / "execution_context.json").read_text())["_dbs"]


for table in TABLES:
    folder = run / "tables" / table
    pandas_rows = pandas.read_parquet(folder)
    polars_rows = polars.read_parquet(folder / "*.parquet")
    duckdb_rows = duckdb.sql(f"SELECT count(*) FROM '{folder}/*.parquet'").fetchall()[0][0]
    arrow_rows = pyarrow.parquet.read_table(folder)
    check(f"columns of {table}", list(pandas_rows.columns[:7]), KEY)
    check(f"columns of {table}", polars_rows.columns, list(pandas_rows.columns))
    check(f"columns of {table}", arrow_rows.column_names, list(pandas_rows.columns))
    check(f"rows of {table}", (len(polars_rows), duckdb_rows, arrow_rows.num_rows), (len(pandas_rows),) * 3)

rollouts = pandas.read_parquet(run / "tables/rollouts").set_index("rollout")
check("rollouts", sorted(rollouts.index), sorted(entries))
for name, entry in entries.items():
    row = rollouts.loc[name]
    check(f"similarity of {name}", row.similarity, entry["similarity"])
    check(f"minefield_similarity of {name}", row.minefield_similarity, entry["minefield_similarity"])
    check(f"categories of {name}", list(row.categories), entry["categories"])
    check(f"turns of {name}", row.turns, entry["turn_count"])
    check(f"scenario of {name}", f"{row.scenario}_trial_{row.trial}", name)

mean = duckdb.sql(f"SELECT avg(similarity) FROM '{run}/tables/rollouts/*.parquet'").fetchall()[0][0]
want = summary["category_aggregated_results"]["ALL_CATEGORIES"]["similarity"]
check("mean similarity", round(mean, 9), round(want, 9))

# As the original's extract_scenario_results makes it; columns without any text stay texts in the file.
frame = polars.DataFrame(summary["per_scenario_results"], strict=False, infer_schema_length=None).with_columns(polars.col(polars.Null).cast(polars.String))
polars.testing.assert_frame_equal(polars.read_parquet(run / "scenario_results_polars.parquet"), frame)

messages = polars.read_parquet(run / "tables/messages/*.parquet")
versions = polars.read_parquet(run / "tables/versions/*.parquet")
for name in list(entries)[:20]:
    tables = context(name)
    rows = [row for row in tables["SANDBOX"] if row["sender"] is not None]
    of_rollout = messages.filter(polars.col("rollout") == name).sort("index")
    check(f"contents of {name}", of_rollout["content"].to_list(), [row["content"] for row in rows])
    check(f"traces of {name}", of_rollout["tool_trace"].to_list(), [row["tool_trace"] or [] for row in rows])
    contacts = versions.filter((polars.col("rollout") == name) & (polars.col("table") == "CONTACT")).sort("index", "row")
    found = [{"sandbox_message_index": row["index"], **json.loads(row["values"])} for row in contacts.iter_rows(named=True) if row["values"]]
    check(f"contacts of {name}", found, [row for row in tables["CONTACT"] if row["person_id"] is not None])

# A node of milestones with a similarity is that of the mapping.
nodes = duckdb.sql(f"""SELECT DISTINCT rollout, node, index, node_similarity FROM '{run}/tables/constraints/*.parquet'
    WHERE graph = 'milestones' AND matched""").fetchall()
for name, node, index, similarity in nodes:
    check(f"milestone {node} of {name}", [index, similarity], entries[name]["milestone_mapping"].get(str(node), [index, 0.0]))
print(f"{len(entries)} rollouts, {len(messages)} messages, {len(nodes)} matched milestones")
