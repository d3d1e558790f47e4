package interchange

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/bom"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// maxRead is the largest file of another tool, in bytes, unpacked. maxValues is about the largest
// number of values in it: a value of three bytes takes two hundred when it has been read.
const (
	maxRead   = 512 << 20
	maxValues = 10_000_000
	// mostNamed is the number of files left out that are named.
	mostNamed = 3
)

// ErrFormat means that a file has none of the formats that can be read, or not as its format says.
var ErrFormat = errors.New("not readable")

// foreignRun is a run of another tool: conversations and scores, without milestones and world.
type foreignRun struct {
	agent, user string
	rollouts    []foreignRollout
}

// foreignRollout is a rollout of another tool.
type foreignRollout struct {
	scenario   string
	trial      int // from 0
	categories []string
	score      *float64 // nil without one from 0 to 1
	failure    *string
	seconds    float64
	usage      *results.RoleUsage
	turns      []turn
}

// turn is what a role says in another tool's conversation, or the answer to one of its calls.
type turn struct {
	speaker worldv1.Role
	text    string
	calls   []*worldv1.ToolCall
	// answer is set for an answer of the environment to asker; failed says that the call failed.
	answer bool
	asker  worldv1.Role
	id     string
	failed bool
}

// Load reads a run as analysis.Load does, or a run of another tool: a file of ATIF, of Inspect or
// of tau2, or a directory of such files. It warns of others in it. The error is ErrFormat for
// another file.
func Load(ctx context.Context, name string, acceptEdits bool, warnings io.Writer) (*analysis.Run, error) {
	files, others := foreignFiles(name)
	if len(files) == 0 {
		return analysis.Load(ctx, name, acceptEdits, warnings)
	}
	if n := len(others); n > 0 {
		if n > mostNamed {
			others = append(others[:mostNamed:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
		}
		if err := report.Warn(warnings, "left out of %s, because only its .json and .eval files are read: %s", name, strings.Join(others, ", ")); err != nil {
			return nil, err
		}
	}
	whole := &foreignRun{}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, err := readForeign(file)
		if err != nil {
			return nil, err
		}
		read, err := parse(file, data)
		if err != nil {
			return nil, err
		}
		if len(whole.rollouts) > 0 && (read.agent != whole.agent || read.user != whole.user) {
			return nil, formatError(file, "its agent is %s and its user %q, but those of %s are %s and %q: give each agent's files by themselves", read.agent, read.user, files[0], whole.agent, whole.user)
		}
		whole.agent, whole.user = read.agent, read.user
		whole.rollouts = append(whole.rollouts, read.rollouts...)
	}
	return whole.run(name), nil
}

// foreignFiles returns the files of another tool that a path names, none for a path of a run, and
// the names of what else is in a directory, except hidden files.
func foreignFiles(name string) (files, others []string) {
	if dir, _ := results.Locate(name); dir != name {
		return nil, nil
	}
	if _, err := storage.Size(name); err == nil {
		return []string{name}, nil
	}
	entries, err := storage.ReadDir(name)
	if err != nil || slices.Contains(entries, results.RunFile) || slices.Contains(entries, results.SummaryFile) {
		return nil, nil
	}
	for _, entry := range entries {
		switch {
		case strings.HasSuffix(entry, ".json"), strings.HasSuffix(entry, ".eval"):
			files = append(files, storage.Join(name, entry))
		case !strings.HasPrefix(entry, "."):
			others = append(others, entry)
		}
	}
	return files, others
}

// readForeign reads a file of bounded size.
func readForeign(name string) ([]byte, error) {
	size, err := storage.Size(name)
	if err == nil && size > maxRead {
		err = formatError(name, "it has %d bytes, expected at most %d", size, maxRead)
	}
	if err != nil {
		return nil, err
	}
	return storage.ReadFile(name)
}

// parse reads the content of a file in the format that it has.
func parse(name string, data []byte) (*foreignRun, error) {
	data = bom.Trim(data)
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return readInspect(name, data)
	}
	var kind struct {
		Version     *json.RawMessage `json:"schema_version"`
		Simulations *json.RawMessage `json:"simulations"`
	}
	if err := decode(name, data, &kind); err != nil {
		return nil, fmt.Errorf("%w; expected a file of ATIF or of results of tau2, or an .eval log of Inspect", err)
	}
	switch {
	case kind.Version != nil:
		return readATIF(name, data)
	case kind.Simulations != nil:
		return readTau2(name, data)
	default:
		return nil, formatError(name, "it has neither schema_version, as ATIF has, nor simulations, as results of tau2 have, and is no .eval log of Inspect")
	}
}

func formatError(name, format string, args ...any) error {
	return fmt.Errorf("%s is %w: %s", name, ErrFormat, fmt.Sprintf(format, args...))
}

// countValues is about the number of values in a JSON document.
func countValues(data []byte) int {
	return bytes.Count(data, []byte(",")) + bytes.Count(data, []byte("{"))
}

// decode reads a JSON document. The error has line, column and field.
func decode(name string, data []byte, into any) error {
	if n := countValues(data); n > maxValues {
		return formatError(name, "it has about %d values, expected at most %d: give parts of it", n, maxValues)
	}
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	offset, what := int64(len(data)), err.Error()
	if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset, what = broken.Offset, broken.Error()
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset, what = wrong.Offset, fmt.Sprintf("%s: expected %s, got %s", cmp.Or(wrong.Field, "document"), jsonKind(wrong.Type.Kind().String()), wrong.Value)
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return formatError(fmt.Sprintf("%s:%d:%d", name, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')), "%s", what)
}

// jsonKind names a kind of Go as JSON does.
func jsonKind(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice":
		return "a list"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	default:
		return "a number"
	}
}

// scenarioName is a name for a directory, unique in the run. taken has the number of scenarios that
// wanted each name.
func scenarioName(scenario string, taken map[string]int) string {
	name := results.SafeName(scenario)
	if strings.Trim(name, ".") == "" {
		name = "rollout" + name
	}
	unique := name
	for taken[unique] > 0 {
		taken[name]++
		unique = fmt.Sprintf("%s-%d", name, taken[name])
	}
	taken[unique]++
	return unique
}

// numberTrials returns the number of trials of a scenario at most. A trial that comes again, as in
// joined files, becomes one more of its scenario.
func (f *foreignRun) numberTrials() int {
	type place struct {
		scenario string
		trial    int
	}
	last, seen, trials := make(map[string]int), make(map[place]bool), 1
	for _, r := range f.rollouts {
		last[r.scenario] = max(last[r.scenario], r.trial)
	}
	for i := range f.rollouts {
		r := &f.rollouts[i]
		if seen[place{r.scenario, r.trial}] {
			last[r.scenario]++
			r.trial = last[r.scenario]
		}
		seen[place{r.scenario, r.trial}] = true
		trials = max(trials, last[r.scenario]+1)
	}
	return trials
}

// run returns the run as those of ToolSandbox are read.
func (f *foreignRun) run(name string) *analysis.Run {
	record := &results.Run{Agent: results.Player{Name: f.agent}, User: results.Player{Name: cmp.Or(f.user, "unknown")}, Trials: f.numberTrials()}
	summary, messages := &resultfile.Summary{}, make(map[string][]*worldv1.Message)
	taken, names := make(map[string]int), make(map[string]string) // by scenario
	for _, r := range f.rollouts {
		if names[r.scenario] == "" {
			names[r.scenario] = scenarioName(r.scenario, taken)
		}
		played := results.RolloutName(names[r.scenario], r.trial, record.Trials)
		messages[played] = messagesOf(r.turns)
		entry := resultfile.ScenarioResult{Name: played, Categories: r.categories, ExceptionType: r.failure, TurnCount: countTurns(messages[played])}
		outcome := results.Outcome{Name: played, Scored: r.score != nil, Calls: results.CountCalls(messages[played]), Seconds: r.seconds}
		if r.score == nil {
			outcome.FailureClass = "unknown"
		} else {
			entry.Similarity = resultfile.Similarity(strconv.FormatFloat(*r.score, 'g', -1, 64))
		}
		if r.usage != nil {
			outcome.Usage = &results.Usage{Agent: r.usage}
		}
		summary.Scenarios, record.Rollouts = append(summary.Scenarios, entry), append(record.Rollouts, outcome)
	}
	return analysis.OpenRun(name, summary, results.NewReader(name, record, summary, messages))
}

// countTurns counts turns as the original does, from the first message of the agent on, since what
// comes before is given. Calls of the agent and their answers are turns, those of the user are not.
func countTurns(messages []*worldv1.Message) int {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	count := 0
	for _, m := range messages {
		sender, recipient := m.GetSender(), m.GetRecipient()
		byUser := sender == user && recipient == environment || sender == environment && recipient == user
		if sender == worldv1.Role_ROLE_AGENT || count > 0 && sender != worldv1.Role_ROLE_SYSTEM && !byUser {
			count++
		}
	}
	return count
}

// messagesOf returns the messages of a conversation.
func messagesOf(turns []turn) []*worldv1.Message {
	const environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	var messages []*worldv1.Message
	tools := make(map[string]string) // by the id of the call
	add := func(m *worldv1.Message) {
		m.Index = int32(len(messages))
		messages = append(messages, m)
	}
	for _, t := range turns {
		if t.answer {
			result := &worldv1.ToolResult{Id: &t.id, Text: &t.text}
			if tool := tools[t.id]; tool != "" {
				result.Name = &tool
			}
			if t.failed {
				result.Exception = &t.text
			}
			add(&worldv1.Message{Sender: environment, Recipient: t.asker, Body: &worldv1.Message_Result{Result: result}})
			continue
		}
		if t.text != "" || len(t.calls) == 0 {
			recipient := worldv1.Role_ROLE_AGENT
			if t.speaker == worldv1.Role_ROLE_AGENT {
				recipient = worldv1.Role_ROLE_USER
			}
			add(&worldv1.Message{Sender: t.speaker, Recipient: recipient, Body: &worldv1.Message_Text{Text: t.text}})
		}
		for _, call := range t.calls {
			tools[call.GetId()] = call.GetTool()
			add(&worldv1.Message{Sender: t.speaker, Recipient: environment, Body: &worldv1.Message_Call{Call: call}})
		}
	}
	return messages
}

// newCall returns a call. Arguments that are no object are kept as the text that they are.
func newCall(id, tool, arguments string) *worldv1.ToolCall {
	c := &worldv1.ToolCall{Id: &id, Tool: tool, ArgumentsJson: arguments}
	if text := strings.TrimSpace(arguments); text != "" && text != "null" && text[0] != '{' {
		c.ArgumentsJson, c.ArgumentsText = "", &text
	}
	return c
}

// parts is a text, or a list of parts of which only texts are shown.
type parts string

// UnmarshalJSON reads the text or the parts.
func (p *parts) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		var list []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		var texts []string
		for _, part := range list {
			if part.Type != "text" {
				part.Text = "[" + part.Type + "]"
			}
			texts = append(texts, part.Text)
		}
		*p = parts(strings.Join(texts, "\n"))
		return nil
	}
	return json.Unmarshal(data, (*string)(p))
}

// scoreOf returns a score from 0 to 1, nil for any other number.
func scoreOf(f *float64) *float64 {
	if f == nil || !(*f >= 0 && *f <= 1) {
		return nil
	}
	return f
}

// idOf returns an identifier that is a text or a number, empty for none.
func idOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil { // null too
		return text
	}
	return string(raw)
}

// stem returns the name of a file without its ending.
func stem(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}
