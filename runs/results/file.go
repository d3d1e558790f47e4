package results

import "github.com/toolsandbox/toolsandbox/internal/euroeval"

// These are the names of the files of a run in its directory.
const (
	// RunFile describes the run and its rollouts, with the data that the original's files lack.
	RunFile = "run.json"
	// SummaryFile holds the scores, PreviousSummaryFile those that ReplaceSummary replaced.
	SummaryFile         = "result_summary.json"
	PreviousSummaryFile = "result_summary.previous.json"
	// ScenarioTableFile holds the scores of SummaryFile as the original's data frame, in Parquet.
	ScenarioTableFile = "scenario_results_polars.parquet"
	// EuroEvalFile contains the verdicts on answers to records of EuroEval's task. Only a run with
	// such records has it.
	EuroEvalFile = "euroeval.json"
	// TrajectoriesDirectory holds one directory per rollout.
	TrajectoriesDirectory = "trajectories"
	// StateDirectory holds the data of the run's services and what a replay needs.
	StateDirectory = ".toolsandbox"
)

// These are the names of the files of a rollout in its directory.
const (
	// conversationFile holds the agent's view as chat messages, with the matches.
	conversationFile = "conversation.json"
	// contextFile holds every message and every version of every table.
	contextFile = "execution_context.json"
	// prettyFile contains the messages as a readable table.
	prettyFile = "pretty_print.txt"
	// exchangesFile holds the exchanges with model providers, one line per turn. Rollouts without a
	// model have none.
	exchangesFile = "exchanges.jsonl"
)

// Files returns the names of all files and directories in the directory of a run, and below
// TrajectoriesDirectory in that of a rollout.
func Files() (run, rollout []string) {
	return []string{SummaryFile, RunFile, TrajectoriesDirectory, TablesDirectory, PreviousSummaryFile, ScenarioTableFile, EuroEvalFile, euroeval.ResultsName, StateDirectory},
		[]string{conversationFile, contextFile, prettyFile, exchangesFile}
}
