package interchange

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// maxTrial is the largest number of a trial.
const maxTrial = 100_000

// foreignLog is what is read of the header of a log of Inspect.
type foreignLog struct {
	Eval struct {
		Task  string `json:"task"`
		Model string `json:"model"`
	} `json:"eval"`
}

// foreignSample is what is read of a sample.
type foreignSample struct {
	ID       json.RawMessage `json:"id"`
	Epoch    int             `json:"epoch"`
	Messages []foreignChat   `json:"messages"`
	Scores   map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"scores"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	TotalTime   float64                 `json:"total_time"`
	Usage       map[string]foreignUsage `json:"model_usage"`
	Attachments map[string]string       `json:"attachments"`
}

// foreignUsage is the usage of a model. Total has the tokens of a cache, which input may lack.
type foreignUsage struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
	Total  int64  `json:"total_tokens"`
}

// input returns the tokens of the input, with those of a cache.
func (u foreignUsage) input() *int64 {
	if u.Input == nil || u.Output == nil || u.Total < *u.Input+*u.Output {
		return u.Input
	}
	all := u.Total - *u.Output
	return &all
}

// foreignChat is a message of the agent's conversation.
type foreignChat struct {
	Role    string `json:"role"`
	Content parts  `json:"content"`
	Calls   []struct {
		ID        string          `json:"id"`
		Function  string          `json:"function"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_calls"`
	CallID string          `json:"tool_call_id"`
	Error  json.RawMessage `json:"error"`
}

// readInspect reads the samples of a log.
func readInspect(name string, data []byte) (*foreignRun, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, formatError(name, "%v", err)
	}
	archive.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor())
	log, run, left := &foreignLog{}, &foreignRun{}, budget{maxRead, maxValues}
	header, ok := member(archive, "header.json")
	if !ok { // of an evaluation that has not ended
		header, ok = member(archive, "_journal/start.json")
	}
	if !ok {
		return nil, formatError(name, "it has no header.json, as a log of Inspect has")
	}
	if err := decodeMember(name, header, &left, log); err != nil {
		return nil, err
	}
	run.agent = cmp.Or(log.Eval.Model, "unknown")
	for _, file := range archive.File {
		if !strings.HasPrefix(file.Name, "samples/") || !strings.HasSuffix(file.Name, ".json") {
			continue
		}
		sample := &foreignSample{}
		if err := decodeMember(name, file, &left, sample); err != nil {
			return nil, err
		}
		r, err := sample.rollout(log.Eval.Task)
		if err != nil {
			return nil, formatError(name+"/"+file.Name, "%v", err)
		}
		run.rollouts = append(run.rollouts, r)
	}
	if len(run.rollouts) == 0 {
		return nil, formatError(name, "it has no samples")
	}
	return run, nil
}

func member(archive *zip.Reader, name string) (*zip.File, bool) {
	i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return archive.File[i], true
}

// budget is the bytes and the values that the files of an archive may still have.
type budget struct{ bytes, values int64 }

// decodeMember reads a file of the archive, which takes its size from what is left.
func decodeMember(name string, file *zip.File, left *budget, into any) error {
	at := name + "/" + file.Name
	content, err := file.Open()
	if err != nil {
		return formatError(at, "%v", err)
	}
	data, err := io.ReadAll(io.LimitReader(content, left.bytes+1))
	if err = errors.Join(err, content.Close()); err != nil {
		return formatError(at, "%v", err)
	}
	left.bytes -= int64(len(data))
	left.values -= int64(countValues(data))
	if left.bytes < 0 || left.values < 0 {
		return formatError(at, "the files of the log have more than %d bytes or %d values", maxRead, maxValues)
	}
	return decode(at, data, into)
}

// rollout returns a sample as a rollout.
func (s *foreignSample) rollout(task string) (foreignRollout, error) {
	id := idOf(s.ID)
	if id == "" {
		return foreignRollout{}, errors.New("id: missing")
	}
	if s.Epoch < 0 || s.Epoch > maxTrial {
		return foreignRollout{}, errors.New("epoch: expected a number from 1")
	}
	r := foreignRollout{scenario: id, trial: max(s.Epoch-1, 0), score: s.score(), seconds: s.TotalTime}
	if task != "" {
		r.categories = []string{task}
	}
	if s.Error != nil {
		r.failure = &s.Error.Message
	}
	for _, used := range s.Usage {
		if r.usage == nil {
			r.usage = &results.RoleUsage{}
		}
		r.usage.InputTokens, r.usage.OutputTokens = sum(r.usage.InputTokens, used.input()), sum(r.usage.OutputTokens, used.Output)
	}
	speakers := map[string]worldv1.Role{"system": worldv1.Role_ROLE_SYSTEM, "user": worldv1.Role_ROLE_USER, "assistant": worldv1.Role_ROLE_AGENT}
	for _, m := range s.Messages {
		text := s.attached(string(m.Content))
		if m.Role == "tool" {
			failed := len(m.Error) > 0 && string(m.Error) != "null"
			r.turns = append(r.turns, turn{answer: true, asker: worldv1.Role_ROLE_AGENT, id: m.CallID, text: text, failed: failed})
			continue
		}
		speaker, ok := speakers[m.Role]
		if !ok {
			return foreignRollout{}, errors.New("messages: role: expected system, user, assistant or tool, got " + m.Role)
		}
		said := turn{speaker: speaker, text: text}
		for _, call := range m.Calls {
			if call.Function == "" {
				return foreignRollout{}, errors.New("messages: tool_calls: a function is missing")
			}
			said.calls = append(said.calls, newCall(call.ID, call.Function, s.attached(string(call.Arguments))))
		}
		r.turns = append(r.turns, said)
	}
	return r, nil
}

func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	total := *a + *b
	return &total
}

// attached replaces references to attachments, which long texts of a log are.
func (s *foreignSample) attached(text string) string {
	if text, ok := s.Attachments[strings.TrimPrefix(text, "attachment://")]; ok {
		return text
	}
	return text
}

// score returns the score of ToolSandbox's own scorer, or of the first one by name that has one.
// Correct is 1, partially correct 0.5, incorrect and no answer 0.
func (s *foreignSample) score() *float64 {
	names := slices.Sorted(maps.Keys(s.Scores))
	if slices.Contains(names, "toolsandbox") {
		names = []string{"toolsandbox"}
	}
	for _, name := range names {
		value := s.Scores[name].Value
		var number float64
		var letter string
		var is bool
		grades := map[string]float64{"C": 1, "P": 0.5, "I": 0, "N": 0}
		switch {
		case json.Unmarshal(value, &number) == nil && string(value) != "null":
		case json.Unmarshal(value, &is) == nil && string(value) != "null":
			if is {
				number = 1
			}
		case json.Unmarshal(value, &letter) == nil:
			grade, known := grades[letter]
			if !known {
				continue
			}
			number = grade
		default:
			continue
		}
		return scoreOf(&number)
	}
	return nil
}
