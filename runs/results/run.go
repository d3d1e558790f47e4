package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// Run is the content of RunFile. Only its times come from the wall clock.
type Run struct {
	// SweepID is the id of the sweep, SpecDigest the digest of its specification.
	SweepID    string `json:"sweep_id"`
	SpecDigest string `json:"spec_digest"`
	// SpecificationSHA256 is the hex digest of the recorded specification.
	SpecificationSHA256 string `json:"specification_sha256"`
	// Program is the build that began the run.
	Program Program `json:"program"`
	Agent   Player  `json:"agent"`
	User    Player  `json:"user"`
	// Probe is what the servers of models did before the first rollout, null if none was probed.
	Probe *Probes `json:"probe"`
	// Prompts are what the run changed of what players are told and see, nil for nothing.
	Prompts *Prompts `json:"prompts,omitempty"`
	Trials  int      `json:"trials"`
	Seed    int64    `json:"seed"`
	// Packs are the sources of the scenarios, null in a replay. Catalogue is the played part of them.
	Packs     []Pack    `json:"packs"`
	Catalogue Catalogue `json:"catalogue"`
	// Fork is what the run continues, nil for a run from the start.
	Fork *Fork `json:"fork,omitempty"`
	// Lineages are those of the played scenarios that extend others, by name, also of their variants.
	Lineages map[string]Lineage `json:"lineages,omitempty"`
	// Arguments are the positional arguments of the command line.
	Arguments []string `json:"arguments"`
	// Flags are the initial values of all flags. Given names those that are not defaults.
	Flags map[string]string `json:"flags"`
	Given []string          `json:"flags_given"`
	// Started is the first start. Ended is the last end. It is null while the run is active or after a
	// kill.
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended"`
	// Sessions are the times of work: from the start, and from each resumption. Seconds is their sum,
	// without the pauses in between.
	Sessions []Session `json:"sessions"`
	Seconds  float64   `json:"seconds"`
	// Resumptions are the resumptions of the run. Each is a round of the sweep.
	Resumptions []Resumption `json:"resumptions"`
	// Results are the formats of the results: FormatFiles, FormatParquet or both.
	Results []string `json:"results"`
	// Files are the hex SHA-256 of the other files beside RunFile that the run wrote, by name.
	Files map[string]string `json:"files"`
	// Totals and Rollouts describe the last end. With FormatParquet alone RunFile has only the damaged
	// rollouts, and ReadRun reads the others from the tables.
	Totals   *Totals   `json:"totals"`
	Rollouts []Outcome `json:"rollouts"`

	// Version is that of the file in a bucket, by which it has one writer.
	Version string `json:"-"`
}

// Program is a build of the program.
type Program struct {
	Version string `json:"version"`
	// Commit is empty if the build does not know it. Modified reports local changes.
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
}

// Player is the player of a role.
type Player struct {
	Name string `json:"name"`
	// Model is null for other players than models.
	Model *Model `json:"model"`
	// Instances are the processes that answered as an attached agent until the last end, in the order
	// of the rollouts, nil for other players. There are at most 100: the last one stands for all
	// further ones.
	Instances []Instance `json:"instances,omitempty"`
}

// Prompts are changes of what players are told and see. Empty ones change nothing.
type Prompts struct {
	// AgentBefore and AgentAfter are texts around the agent's system prompt.
	AgentBefore string `json:"agent_before,omitempty"`
	AgentAfter  string `json:"agent_after,omitempty"`
	// User is what the simulated user is told: goal or knowledge, empty for all.
	User string `json:"user,omitempty"`
	// UserSees is what the simulated user sees of the agent: calls or results, empty for texts.
	UserSees string `json:"user_sees,omitempty"`
}

// Model is a language model. Null and empty settings are the provider's defaults.
type Model struct {
	Provider        string   `json:"provider"`
	Model           string   `json:"model"`
	BaseURL         string   `json:"base_url"`
	Temperature     *float64 `json:"temperature"`
	MaxTokens       int32    `json:"max_tokens,omitempty"`
	ReasoningEffort string   `json:"reasoning_effort,omitempty"`
	ThinkingBudget  int32    `json:"thinking_budget,omitempty"`
	Stop            []string `json:"stop,omitempty"`
	Seed            *int64   `json:"seed,omitempty"`
}

// Pack is a pack of scenarios.
type Pack struct {
	// From is its path, or the name of a built-in one.
	From string `json:"from"`
	// Name and Version are those of its pack.yaml, empty without them.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Digest is the hex digest of its files. A directory and its archive have the same digest.
	Digest    string `json:"digest"`
	Scenarios int    `json:"scenarios"`
}

// Catalogue is a set of scenarios.
type Catalogue struct {
	Scenarios int `json:"scenarios"`
	// Digest is the hex digest of the scenarios with their evaluations.
	Digest string `json:"digest"`
}

// Fork is the rollout that a run continues from one of its messages.
type Fork struct {
	// Run is the path of its run, relative to the directory of this one unless either is in a bucket.
	// Rollout is its name there, ID the orchestrator's.
	Run     string `json:"run"`
	Rollout string `json:"rollout"`
	ID      string `json:"id"`
	// Message is the index of the message from which on the run continues it: the messages before it
	// are the origin's.
	Message int `json:"message"`
	// Agent and User are the names of the players who take over, empty for the origin's own.
	Agent string `json:"agent,omitempty"`
	User  string `json:"user,omitempty"`
	// Text replaces that of the message, nil if the players say it.
	Text *string `json:"text,omitempty"`
}

// Lineage is where a scenario comes from that extends another one.
type Lineage struct {
	// Extends is the name of that scenario, Seed that at the end of the chain.
	Extends string `json:"extends"`
	Seed    string `json:"seed"`
	// Kind is paraphrased or derived.
	Kind string `json:"kind"`
}

// Base returns the base of a scenario's name, by which scores cluster: the seed of a scenario that
// extends others, and the scenario itself of a variant. A nil run knows no lineages.
func (r *Run) Base(name string) string {
	if r != nil && r.Lineages[name].Seed != "" {
		return r.Lineages[name].Seed
	}
	return scenario.BaseName(name)
}

// LineagesOf returns the lineages of scenarios, nil if all are seeds.
func LineagesOf(scenarios []*scenariov1.Scenario) map[string]Lineage {
	var all map[string]Lineage
	for _, s := range scenarios {
		if l := s.GetLineage(); l != nil {
			if all == nil {
				all = make(map[string]Lineage)
			}
			all[s.GetSetup().GetName()] = Lineage{l.GetExtends(), l.GetSeed(), scenario.Kind(s)}
		}
	}
	return all
}

// Resumption is one resumption of a run.
type Resumption struct {
	Program Program `json:"program"`
	// Flags are the values of changed flags.
	Flags map[string]string `json:"flags"`
}

// Session is the time from a start or a resumption of a run to its end.
type Session struct {
	Started time.Time `json:"started"`
	// Ended is null while the session is active or after a kill. The next end of the run then sets it
	// to the last message of the session that is stored.
	Ended *time.Time `json:"ended"`
	// Seconds is the time between, 0 without an end.
	Seconds float64 `json:"seconds"`
}

// Work is the time in which a worker played a rollout.
type Work struct{ Started, Ended time.Time }

// Worked returns the time of work, without the pauses in between.
func Worked(all []Work) time.Duration {
	var sum time.Duration
	for _, w := range all {
		sum += max(w.Ended.Sub(w.Started), 0)
	}
	return sum
}

// Round returns the current round of the sweep.
func (r *Run) Round() int32 { return int32(len(r.Resumptions)) }

// Has reports whether the results have a format.
func (r *Run) Has(format string) bool {
	return slices.Contains(r.Results, format) || len(r.Results) == 0 && format == FormatFiles
}

// HasOnlyTables reports whether tables are the only results.
func (r *Run) HasOnlyTables() bool { return !r.Has(FormatFiles) }

// Main returns the name of the file or directory that holds the scores, in the run's directory. A
// nil run is the original's.
func (r *Run) Main() string {
	if r != nil && r.HasOnlyTables() {
		return TablesDirectory
	}
	return SummaryFile
}

// SetRollouts sets the rollouts of a run whose results are tables, in the order of the plan, which
// it gives them. Those that RunFile names as damaged stay so.
func (r *Run) SetRollouts(rollouts []Rollout) {
	slices.SortStableFunc(rollouts, func(a, b Rollout) int { return cmp.Compare(a.planNumber(), b.planNumber()) })
	damaged := make(map[string]Outcome)
	for _, rollout := range r.Damaged() {
		damaged[rollout.ID] = rollout
	}
	r.Rollouts = make([]Outcome, 0, len(rollouts)+len(damaged))
	for _, rollout := range rollouts {
		o := rollout.Outcome()
		if lost, ok := damaged[o.ID]; ok {
			o.Damage = lost.Damage
			delete(damaged, o.ID)
		}
		r.Rollouts = append(r.Rollouts, o)
	}
	r.setInstances(rollouts)
	for _, id := range slices.SortedFunc(maps.Keys(damaged), func(a, b string) int { return cmp.Compare(PlanNumber(a), PlanNumber(b)) }) {
		r.Rollouts = append(r.Rollouts, damaged[id])
	}
}

// AddDamaged lists rollouts as damaged, in the order of the plan.
func (r *Run) AddDamaged(damaged []Outcome) {
	added := make(map[string]bool)
	for _, rollout := range damaged {
		added[rollout.ID] = true
	}
	r.Rollouts = slices.DeleteFunc(r.Rollouts, func(o Outcome) bool { return added[o.ID] })
	r.Rollouts = append(r.Rollouts, damaged...)
	slices.SortStableFunc(r.Rollouts, func(a, b Outcome) int { return cmp.Compare(PlanNumber(a.ID), PlanNumber(b.ID)) })
}

func (r Rollout) planNumber() int { return PlanNumber(r.Result.GetRollout().GetId()) }

// PlanNumber returns a rollout's number in the plan, the last part of its id, -1 for no id.
func PlanNumber(id string) int {
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:])
	if err != nil {
		return -1
	}
	return n
}

// Damaged returns the rollouts with damaged stored data.
func (r *Run) Damaged() []Outcome {
	var damaged []Outcome
	for _, rollout := range r.Rollouts {
		if rollout.Damage != "" {
			damaged = append(damaged, rollout)
		}
	}
	return damaged
}

// NotPlayed returns the number of rollouts without a result at the last end of the run.
func (r *Run) NotPlayed() int {
	if r == nil || r.Totals == nil {
		return 0
	}
	return r.Totals.Rollouts - r.Totals.Done
}

// Causes returns the causes of each rollout, by its name. Those of a nil run are unknown.
func (r *Run) Causes() map[string][]Cause {
	causes := make(map[string][]Cause)
	if r != nil {
		for _, rollout := range r.Rollouts {
			causes[rollout.Name] = rollout.Causes
		}
	}
	return causes
}

// Outcome is the data of a rollout besides its score.
type Outcome struct {
	// Name is the name in the summary. ID is the orchestrator's.
	Name string `json:"name"`
	ID   string `json:"id"`
	Seed int64  `json:"seed"`
	// End is finished, message_limit, repeated_turn, model_failure, infrastructure or cancelled.
	End string `json:"end"`
	// ConversationEnd is how the conversation ended if only its scoring failed, else empty.
	ConversationEnd string `json:"conversation_end,omitempty"`
	Scored          bool   `json:"scored"`
	// Calls is the number of the agent's calls of tools. Seconds is the time in which workers played
	// it, without pauses.
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	// FailureClass is the reason why the rollout has no score: provider, network, user (the simulated
	// one), context or internal. A scored failure is the agent's own; of these, only context is named.
	FailureClass string `json:"failure_class,omitempty"`
	// ContextSHA256 is the hex digest of its execution_context.json.
	ContextSHA256 string `json:"execution_context_sha256,omitempty"`
	// RecordingSHA256 is the hex digest of its recorded external input, empty without any.
	RecordingSHA256 string `json:"recording_sha256,omitempty"`
	// Damage is the reason why the result or the trajectory cannot be read. Its files are then old, if
	// they exist.
	Damage string `json:"damage,omitempty"`
	// UserFlags are places where the simulated user may have left its role.
	UserFlags []UserFlag `json:"user_flags,omitempty"`
	// Causes are what may have cost the agent its score.
	Causes []Cause `json:"causes,omitempty"`
	// Confidence is the last probability of success that the agent stated, nil without any.
	Confidence *float64 `json:"confidence,omitempty"`
	// Usage is the usage of models, nil without models.
	Usage *Usage `json:"usage,omitempty"`
	// Round is the round of the sweep that its result is of: 0, or that of the resumption that played
	// it.
	Round int32 `json:"round,omitempty"`
	// AnsweredBy is which process answered which turns, nil without attached agents.
	AnsweredBy *Answered `json:"answered_by,omitempty"`
}

// Totals sums up the outcomes of a run.
type Totals struct {
	// Rollouts is the number of rollouts, Done the number that ended, Scored the number of those with
	// a score.
	Rollouts int `json:"rollouts"`
	Done     int `json:"done"`
	Scored   int `json:"scored"`
	// Ends counts rollouts by end. FailureClasses counts those without a score by class.
	Ends           map[string]int `json:"ends"`
	FailureClasses map[string]int `json:"failure_classes,omitempty"`
	// UserFlagCounts counts the flags of simulated users, nil if no user was checked.
	UserFlagCounts *UserFlagCounts `json:"user_flag_counts,omitempty"`
	// CauseCounts counts the causes of the scored rollouts, nil without any.
	CauseCounts *CauseCounts `json:"cause_counts,omitempty"`
	// Floors are what agents without a model score on these scenarios, nil if they were not played.
	Floors *Floors `json:"floors,omitempty"`
	// Usage is the usage of all models.
	Usage *Usage `json:"usage,omitempty"`
}

// End records the end of a run and keeps its floors. total is the number of rollouts, rollouts the
// finished ones in order. Rollouts then has those that RunFile lists.
func (r *Run) End(now time.Time, total int, rollouts []Rollout) {
	r.Ended = &now
	r.endSessions(now, rollouts)
	totals := &Totals{Rollouts: total, Ends: map[string]int{}, FailureClasses: map[string]int{}, UserFlagCounts: CountUserFlags(rollouts)}
	if r.Totals != nil {
		totals.Floors = r.Totals.Floors
	}
	r.Rollouts = []Outcome{}
	var turns []*busv1.TurnUsage
	for _, rollout := range rollouts {
		o := rollout.Outcome()
		if !r.HasOnlyTables() || o.Damage != "" {
			r.Rollouts = append(r.Rollouts, o)
		}
		totals.count(o)
		turns = append(turns, rollout.Usage...)
	}
	r.setInstances(rollouts)
	totals.Usage = usage(turns)
	totals.CauseCounts = CountCauses(CausedScores(rollouts), len(rollouts), totals.FailureClasses[UserFailure])
	r.Totals = totals
}

// count counts an ended rollout.
func (t *Totals) count(o Outcome) {
	t.Done++
	t.Ends[o.End]++
	if o.Scored {
		t.Scored++
	}
	if o.FailureClass != "" {
		t.FailureClasses[o.FailureClass]++
	}
}

// endSessions ends the sessions of work: the last one now, and one that was killed with its last
// work.
func (r *Run) endSessions(now time.Time, rollouts []Rollout) {
	r.Seconds = 0
	for i := range r.Sessions {
		session := &r.Sessions[i]
		switch {
		case i == len(r.Sessions)-1:
			session.Ended = &now
		case session.Ended == nil:
			ended := lastWork(rollouts, session.Started, r.Sessions[i+1].Started)
			session.Ended = &ended
		}
		session.Seconds = session.Ended.Sub(session.Started).Seconds()
		r.Seconds += session.Seconds
	}
}

// lastWork returns the last end of work that began from a time to another one, the former without
// any.
func lastWork(rollouts []Rollout, from, to time.Time) time.Time {
	last := from
	for _, rollout := range rollouts {
		for _, work := range rollout.Work {
			if !work.Started.Before(from) && work.Started.Before(to) && work.Ended.After(last) {
				last = work.Ended
			}
		}
	}
	return last.UTC().Truncate(time.Millisecond)
}

// EndName returns the name of the end of a rollout in files, e.g. message_limit.
func EndName(reason busv1.EndReason) string {
	return strings.ToLower(strings.TrimPrefix(reason.String(), "END_REASON_"))
}

// Outcome returns the data of the rollout besides its score, without AnsweredBy.
func (r Rollout) Outcome() Outcome {
	end := r.Result.GetEnd()
	o := Outcome{
		Name: r.Name(), ID: r.Result.GetRollout().GetId(), Seed: r.Result.GetRollout().GetSeed(),
		End:   EndName(end.GetReason()),
		Calls: r.Calls, Seconds: Worked(r.Work).Seconds(),
		Damage: r.Damage, ContextSHA256: r.Digest, RecordingSHA256: r.RecordingDigest,
		Confidence: r.Confidence, Scored: resultfile.Scored(r.Result), UserFlags: userFlags(r.Result.GetUserFlags()), Causes: Causes(r.Result.GetCauses()), Usage: usage(r.Usage),
		Round: r.Result.GetRound(),
	}
	if r.Ended != end.GetReason() && r.Ended != busv1.EndReason_END_REASON_UNSPECIFIED {
		o.ConversationEnd = EndName(r.Ended)
	}
	class := end.GetFailureClass()
	if class == agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT || !o.Scored && class != agentgwv1.FailureClass_FAILURE_CLASS_UNSPECIFIED {
		o.FailureClass = strings.ToLower(strings.TrimPrefix(class.String(), "FAILURE_CLASS_"))
	}
	return o
}

// Fence returns an error that wraps storage.ErrChanged once another client has written RunFile in a
// bucket since run was read or written.
func (r *Run) Fence(dir string) error {
	return fenced(storage.CheckVersion(storage.Join(dir, RunFile), r.Version))
}

func fenced(err error) error {
	if errors.Is(err, storage.ErrChanged) {
		return fmt.Errorf("%w: another run writes there, or has continued this one: choose another --out", err)
	}
	return err
}

// WriteRun writes RunFile into a run's directory, which it creates. The file is synced. In a bucket
// the error wraps storage.ErrChanged if another client has written it since run was read or
// written.
func WriteRun(dir string, run *Run) error {
	stored := *run
	if run.HasOnlyTables() {
		stored.Rollouts = append([]Outcome{}, run.Damaged()...)
	}
	data, err := output.JSON(stored, "    ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", RunFile, err)
	}
	run.Version, err = storage.WriteVersion(storage.Join(dir, RunFile), append(data, '\n'), run.Version)
	if err != nil {
		return fenced(fmt.Errorf("write %s: %w", storage.Join(dir, RunFile), err))
	}
	return nil
}
