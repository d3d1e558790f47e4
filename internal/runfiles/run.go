package runfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// RunFile says what was run and, for each rollout, what the original's files have no place for.
const RunFile = "run.json"

// Run is the content of RunFile. Its times are the only ones that a run takes from the clock.
type Run struct {
	// SweepID names the sweep, and SpecDigest tells what it is to do.
	SweepID    string `json:"sweep_id"`
	SpecDigest string `json:"spec_digest"`
	// Program is what began the run.
	Program Program `json:"program"`
	Agent   Player  `json:"agent"`
	User    Player  `json:"user"`
	Trials  int     `json:"trials"`
	Seed    int64   `json:"seed"`
	// Packs are where the scenarios come from, null in a replay. Catalogue is what of them is played.
	Packs     []Pack    `json:"packs"`
	Catalogue Catalogue `json:"catalogue"`
	// Arguments are what stood on the command line beside flags.
	Arguments []string `json:"arguments"`
	// Flags are the values of all flags with which the run began, and Given names those that are no
	// defaults.
	Flags map[string]string `json:"flags"`
	Given []string          `json:"flags_given"`
	// Started is the first start. Ended is the last end, null while the run goes on or if it was
	// killed.
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended"`
	// Resumptions are the times that the run went on; each is a round of the sweep.
	Resumptions []Resumption `json:"resumptions"`
	// Totals and Rollouts are those of the last end.
	Totals   *Totals   `json:"totals"`
	Rollouts []Outcome `json:"rollouts"`
}

// Program is a build of the program.
type Program struct {
	Version string `json:"version"`
	// Commit is empty if the build does not know it, and Modified says that it was changed.
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
}

// Player is who played a role.
type Player struct {
	Name string `json:"name"`
	// Model is null for others than models.
	Model *Model `json:"model"`
}

// Model is a language model. What is null or empty is left to the provider.
type Model struct {
	Provider        string   `json:"provider"`
	Model           string   `json:"model"`
	BaseURL         string   `json:"base_url"`
	Temperature     *float64 `json:"temperature"`
	MaxTokens       int32    `json:"max_tokens,omitempty"`
	ReasoningEffort string   `json:"reasoning_effort,omitempty"`
	ThinkingBudget  int32    `json:"thinking_budget,omitempty"`
}

// Pack is a pack of scenarios.
type Pack struct {
	// From is its path, or the name of a built-in one.
	From string `json:"from"`
	// Name and Version are those of its pack.yaml, empty without them.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Digest tells its files apart, in hex: a directory and an archive of it have the same.
	Digest    string `json:"digest"`
	Scenarios int    `json:"scenarios"`
}

// Catalogue is a set of scenarios.
type Catalogue struct {
	Scenarios int `json:"scenarios"`
	// Digest tells the scenarios with their scoring apart, in hex.
	Digest string `json:"digest"`
}

// Resumption is a time that a run went on.
type Resumption struct {
	Program Program `json:"program"`
	// Flags are the values of those flags that were others before.
	Flags   map[string]string `json:"flags"`
	Started time.Time         `json:"started"`
	Ended   *time.Time        `json:"ended"`
}

// Round returns the round of the sweep that the run is in.
func (r *Run) Round() int32 { return int32(len(r.Resumptions)) }

// Damaged returns the ids of the rollouts whose trajectories could not be read.
func (r *Run) Damaged() []string {
	var ids []string
	for _, rollout := range r.Rollouts {
		if rollout.Damage != "" {
			ids = append(ids, rollout.ID)
		}
	}
	return ids
}

// Digests returns the digest of each rollout's execution_context.json, by the rollout's name.
func (r *Run) Digests() map[string]string {
	digests := make(map[string]string, len(r.Rollouts))
	for _, rollout := range r.Rollouts {
		digests[rollout.Name] = rollout.ContextSHA256
	}
	return digests
}

// Outcome is what is known of a rollout beside its score.
type Outcome struct {
	// Name is that in the summary, and ID is the orchestrator's.
	Name string `json:"name"`
	ID   string `json:"id"`
	Seed int64  `json:"seed"`
	// End says how it ended: finished, message_limit, model_failure, infrastructure or cancelled.
	End    string `json:"end"`
	Scored bool   `json:"scored"`
	// FailureClass says whose fault it is that the rollout is not scored: provider, network, user
	// (the simulated one) or internal. A failure that is scored is the agent's own.
	FailureClass string `json:"failure_class,omitempty"`
	// ContextSHA256 is the hex digest of its execution_context.json.
	ContextSHA256 string `json:"execution_context_sha256,omitempty"`
	// Damage says why its trajectory cannot be read any more; then the files are those that were
	// written before, if any.
	Damage string `json:"damage,omitempty"`
	// UserFlags say where a simulated user broke its contract.
	UserFlags []UserFlag `json:"user_flags,omitempty"`
	// Usage is what models used; only where one played.
	Usage *Usage `json:"usage,omitempty"`
}

// Totals sums up the outcomes of a run.
type Totals struct {
	// Rollouts is how many the run has, Done how many of them ended, Scored how many of these have
	// a score.
	Rollouts int `json:"rollouts"`
	Done     int `json:"done"`
	Scored   int `json:"scored"`
	// Ends counts the rollouts of each end, and FailureClasses those without a score of each class.
	Ends           map[string]int `json:"ends"`
	FailureClasses map[string]int `json:"failure_classes,omitempty"`
	// UserContract says how often simulated users broke their contract; only where one was watched.
	UserContract *UserContract `json:"user_contract,omitempty"`
	// Usage is what all models used.
	Usage *Usage `json:"usage,omitempty"`
}

// End notes how a run of so many rollouts ended: these are done, in this order.
func (r *Run) End(at time.Time, planned int, rollouts []Rollout) {
	r.Ended = &at
	if last := len(r.Resumptions) - 1; last >= 0 {
		r.Resumptions[last].Ended = &at
	}
	totals := &Totals{Rollouts: planned, Done: len(rollouts), Ends: map[string]int{}, FailureClasses: map[string]int{}, UserContract: Contract(rollouts)}
	r.Rollouts = make([]Outcome, len(rollouts))
	var turns []*busv1.TurnUsage
	for i, rollout := range rollouts {
		o := outcome(rollout)
		r.Rollouts[i] = o
		totals.Ends[o.End]++
		if o.Scored {
			totals.Scored++
		}
		if o.FailureClass != "" {
			totals.FailureClasses[o.FailureClass]++
		}
		turns = append(turns, rollout.Usage...)
	}
	totals.Usage = usage(turns)
	r.Totals = totals
}

func outcome(r Rollout) Outcome {
	end := r.Result.GetEnd()
	o := Outcome{
		Name: r.directory(), ID: r.Result.GetRollout().GetId(), Seed: r.Result.GetRollout().GetSeed(),
		End:    strings.ToLower(strings.TrimPrefix(end.GetReason().String(), "END_REASON_")),
		Damage: r.Damage, ContextSHA256: r.Digest,
		Scored: Scored(r.Result), UserFlags: userFlags(r.Result.GetUserFlags()), Usage: usage(r.Usage),
	}
	if class := end.GetFailureClass(); !o.Scored && class != agentgwv1.FailureClass_FAILURE_CLASS_UNSPECIFIED {
		o.FailureClass = strings.ToLower(strings.TrimPrefix(class.String(), "FAILURE_CLASS_"))
	}
	return o
}

// ReadRun reads RunFile from a run's directory. The error wraps fs.ErrNotExist if there is none and
// ErrDamaged if it does not say what was run.
func ReadRun(dir string) (*Run, error) {
	run := &Run{}
	if err := readFile(dir, RunFile, "", run); err != nil {
		return nil, err
	}
	if run.SweepID == "" || run.SpecDigest == "" {
		return nil, damaged(dir, RunFile, errors.New("no sweep_id or spec_digest"))
	}
	return run, nil
}

// WriteRun writes RunFile into a run's directory, which is made if it is missing. It lasts once
// this returns.
func WriteRun(dir string, run *Run) error {
	data, err := encode(run, "    ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = writeFile(filepath.Join(dir, RunFile), append(data, '\n'), true)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, RunFile), err)
	}
	return nil
}
