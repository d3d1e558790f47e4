package results

import (
	"time"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TablesDirectory holds the tables of a run with FormatParquet: one directory per table, in it one
// Parquet file per part. docs/results.md documents the columns.
const TablesDirectory = "tables"

// These are the formats of results.
const (
	// FormatFiles is the original's layout: the summary, and a directory per rollout.
	FormatFiles = "files"
	// FormatParquet is tables.
	FormatParquet = "parquet"
)

// These are the names of the tables.
const (
	rolloutsTable    = "rollouts"
	messagesTable    = "messages"
	callsTable       = "calls"
	constraintsTable = "constraints"
	versionsTable    = "versions"
	causesTable      = "causes"
)

// TableNames returns the names of the tables. rollouts comes last: a part counts once it has it.
func TableNames() []string {
	return []string{messagesTable, callsTable, constraintsTable, versionsTable, causesTable, rolloutsTable}
}

// key begins each row of each table, so that no analysis needs a join or has to cut names.
type key struct {
	Rollout  string `parquet:"rollout,dict" json:"rollout"`
	Scenario string `parquet:"scenario,dict" json:"scenario"`
	Base     string `parquet:"base,dict" json:"base"`
	Variant  string `parquet:"variant,dict" json:"variant"`
	Trial    int32  `parquet:"trial" json:"trial"`
	Agent    string `parquet:"agent,dict" json:"agent"`
	User     string `parquet:"user,dict" json:"user"`
}

func (k key) rolloutName() string { return k.Rollout }

// keyed is a row of any table.
type keyed interface{ rolloutName() string }

// rolloutRow is a row of the table rollouts.
type rolloutRow struct {
	key
	Kind                string     `parquet:"kind,dict" json:"kind"`
	ID                  string     `parquet:"id" json:"id"`
	Seed                int64      `parquet:"seed" json:"seed"`
	Round               int32      `parquet:"round" json:"round"`
	Categories          []string   `parquet:"categories,list" json:"categories"`
	End                 string     `parquet:"end,dict" json:"end"`
	Scored              bool       `parquet:"scored" json:"scored"`
	Similarity          *float64   `parquet:"similarity,optional" json:"similarity"`
	MilestoneSimilarity *float64   `parquet:"milestone_similarity,optional" json:"milestone_similarity"`
	MinefieldSimilarity *float64   `parquet:"minefield_similarity,optional" json:"minefield_similarity"`
	Milestones          int32      `parquet:"milestones" json:"milestones"`
	Minefields          int32      `parquet:"minefields" json:"minefields"`
	Turns               int32      `parquet:"turns" json:"turns"`
	Calls               int32      `parquet:"calls" json:"calls"`
	UserFlags           int32      `parquet:"user_flags" json:"user_flags"`
	Confidence          *float64   `parquet:"confidence,optional" json:"confidence"`
	ExceptionType       *string    `parquet:"exception_type,optional,dict" json:"exception_type"`
	Traceback           *string    `parquet:"traceback,optional" json:"traceback"`
	FailureClass        *string    `parquet:"failure_class,optional,dict" json:"failure_class"`
	Damage              *string    `parquet:"damage,optional" json:"damage"`
	Started             *time.Time `parquet:"started,optional,timestamp(microsecond)" json:"started"`
	Ended               *time.Time `parquet:"ended,optional,timestamp(microsecond)" json:"ended"`
	Seconds             float64    `parquet:"seconds" json:"seconds"`
	AgentInputTokens    *int64     `parquet:"agent_input_tokens,optional" json:"agent_input_tokens"`
	AgentCachedTokens   *int64     `parquet:"agent_cached_tokens,optional" json:"agent_cached_tokens"`
	AgentOutputTokens   *int64     `parquet:"agent_output_tokens,optional" json:"agent_output_tokens"`
	AgentReasonTokens   *int64     `parquet:"agent_reasoning_tokens,optional" json:"agent_reasoning_tokens"`
	AgentCost           *float64   `parquet:"agent_cost_usd,optional" json:"agent_cost_usd"`
	UserInputTokens     *int64     `parquet:"user_input_tokens,optional" json:"user_input_tokens"`
	UserCachedTokens    *int64     `parquet:"user_cached_tokens,optional" json:"user_cached_tokens"`
	UserOutputTokens    *int64     `parquet:"user_output_tokens,optional" json:"user_output_tokens"`
	UserReasonTokens    *int64     `parquet:"user_reasoning_tokens,optional" json:"user_reasoning_tokens"`
	UserCost            *float64   `parquet:"user_cost_usd,optional" json:"user_cost_usd"`
	// MessageRows and VersionRows are the rollout's rows of these tables. The rows of one rollout are
	// together, in the same part and in the order of this table.
	MessageRows     int32  `parquet:"message_rows" json:"message_rows"`
	VersionRows     int32  `parquet:"version_rows" json:"version_rows"`
	ContextSHA256   string `parquet:"execution_context_sha256" json:"execution_context_sha256"`
	RecordingSHA256 string `parquet:"recording_sha256" json:"recording_sha256"`
	// Result and Played are the stored messages from which a resumed run and the reader rebuild
	// the rollout: bus.v1.Result, with the names of the players alone, and the usage, the work and
	// the processes of orchestrator.v1.GetTrajectoryResponse.
	Result []byte `parquet:"result" json:"-"`
	Played []byte `parquet:"played" json:"-"`
}

// messageRow is a row of the table messages: the original's table SANDBOX.
type messageRow struct {
	key
	Index              int32    `parquet:"index" json:"index"`
	Sender             *string  `parquet:"sender,optional,dict" json:"sender"`
	Recipient          *string  `parquet:"recipient,optional,dict" json:"recipient"`
	Content            *string  `parquet:"content,optional,dict" json:"content"`
	ToolCallID         *string  `parquet:"tool_call_id,optional,dict" json:"tool_call_id"`
	FunctionName       *string  `parquet:"function_name,optional,dict" json:"function_name"`
	ConversationActive *bool    `parquet:"conversation_active,optional" json:"conversation_active"`
	Exception          *string  `parquet:"exception,optional,dict" json:"exception"`
	ToolTrace          []string `parquet:"tool_trace,list" json:"tool_trace"`
	VisibleTo          []string `parquet:"visible_to,list" json:"visible_to"`
}

// callRow is a row of the table calls.
type callRow struct {
	key
	Index       int32   `parquet:"index" json:"index"`
	Caller      string  `parquet:"caller,dict" json:"caller"`
	Tool        *string `parquet:"tool,optional,dict" json:"tool"`
	Arguments   *string `parquet:"arguments,optional,dict" json:"arguments"`
	Code        *string `parquet:"code,optional,dict" json:"code"`
	AnswerIndex *int32  `parquet:"answer_index,optional" json:"answer_index"`
	Answer      *string `parquet:"answer,optional,dict" json:"answer"`
	Exception   *string `parquet:"exception,optional,dict" json:"exception"`
}

// constraintRow is a row of the table constraints.
type constraintRow struct {
	key
	Graph          string  `parquet:"graph,dict" json:"graph"`
	Node           int32   `parquet:"node" json:"node"`
	NodeName       *string `parquet:"node_name,optional,dict" json:"node_name"`
	Matched        bool    `parquet:"matched" json:"matched"`
	Index          int32   `parquet:"index" json:"index"`
	NodeSimilarity float64 `parquet:"node_similarity" json:"node_similarity"`
	Guardrail      bool    `parquet:"guardrail" json:"guardrail"`
	Constraint     int32   `parquet:"constraint" json:"constraint"`
	Table          string  `parquet:"table,dict" json:"table"`
	Measure        string  `parquet:"measure,dict" json:"measure"`
	Reference      *int32  `parquet:"reference,optional" json:"reference"`
	Similarity     float64 `parquet:"similarity" json:"similarity"`
	Problem        *string `parquet:"problem,optional,dict" json:"problem"`
	Wanted         *string `parquet:"wanted,optional,dict" json:"wanted"`
	Found          *string `parquet:"found,optional,dict" json:"found"`
}

// versionRow is a row of the table versions.
type versionRow struct {
	key
	Table string `parquet:"table,dict" json:"table"`
	Index int32  `parquet:"index" json:"index"`
	// Row and Values are null for a version without rows.
	Row    *int32  `parquet:"row,optional" json:"row"`
	Values *string `parquet:"values,optional,dict" json:"values"`
}

// causeRow is a row of the table causes.
type causeRow struct {
	key
	Kind   string  `parquet:"kind,dict" json:"kind"`
	Role   string  `parquet:"role,dict" json:"role"`
	Count  int32   `parquet:"count" json:"count"`
	Index  int32   `parquet:"index" json:"index"`
	Detail *string `parquet:"detail,optional,dict" json:"detail"`
}

// rows are the rows of one rollout.
type rows struct {
	rollout     rolloutRow
	messages    []messageRow
	calls       []callRow
	constraints []constraintRow
	versions    []versionRow
	causes      []causeRow
}

// withoutPlayers returns a result whose rollout has the names of its players alone. The others may
// hold secrets, and the plan has them.
func withoutPlayers(result *busv1.Result) *busv1.Result {
	r := result.GetRollout()
	return &busv1.Result{
		Rollout: &busv1.Rollout{
			Id: r.GetId(), SweepId: r.GetSweepId(), Scenario: r.GetScenario(), Trial: r.GetTrial(), Seed: r.GetSeed(),
			Agent: named(r.GetAgent()), User: named(r.GetUser()),
		},
		End: result.GetEnd(), MilestoneSimilarity: result.GetMilestoneSimilarity(), MinefieldSimilarity: result.GetMinefieldSimilarity(),
		Similarity: result.GetSimilarity(), TurnCount: result.GetTurnCount(), Milestones: result.GetMilestones(), Minefields: result.GetMinefields(),
		MilestoneCount: result.GetMilestoneCount(), MessageCount: result.GetMessageCount(), Round: result.GetRound(), LogDigest: result.GetLogDigest(),
		UserFlags: result.GetUserFlags(), CallGrade: result.GetCallGrade(), Causes: result.GetCauses(),
	}
}
