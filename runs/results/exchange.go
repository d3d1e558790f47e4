package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/services/agentgw/reasoning"
)

// Exchange is the exchange with a model provider about one turn.
type Exchange struct {
	// Index is the index of the turn's first message.
	Index int
	// Data is the exchange itself.
	Data *agentgwv1.Exchange
}

// WriteExchanges writes exchangesFile to the directory of a rollout. WriteTrajectory must have
// accepted name.
func WriteExchanges(dir, name string, exchanges []Exchange) error {
	var out bytes.Buffer
	if err := PrintExchanges(&out, exchanges); err != nil {
		return fmt.Errorf("write exchanges of %s: %w", name, err)
	}
	target := storage.Join(dir, TrajectoriesDirectory, name)
	if err := storage.WriteFile(storage.Join(target, exchangesFile), out.Bytes(), false); err != nil {
		return fmt.Errorf("write exchanges of %s: %w", name, err)
	}
	return nil
}

// PrintExchanges writes one JSON object per line. It embeds complete JSON bodies as JSON. Other
// bodies are texts, truncated ones with their full length.
func PrintExchanges(w io.Writer, exchanges []Exchange) error {
	for _, exchange := range exchanges {
		line, err := exchangeLine(exchange)
		if err != nil {
			return fmt.Errorf("exchange %d: %w", exchange.Index, err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Turn is what the exchange of one turn says about the model, for people.
type Turn struct {
	// Reasoning is the text that the model reasoned, empty if its provider did not show it.
	Reasoning string
	// Usage is nil if the provider did not report it.
	Usage *agentgwv1.Usage
}

// Turn returns the reasoning of the answered attempt, and the usage.
func (e Exchange) Turn() Turn {
	turn := Turn{Usage: e.Data.GetUsage()}
	if attempts := e.Data.GetAttempts(); len(attempts) > 0 {
		turn.Reasoning = reasoning.Of(e.Data.GetProvider(), attempts[len(attempts)-1].GetAnswer())
	}
	return turn
}

// Turns reads the turns of models in a rollout, by the indices of their first messages. There are
// none where the run kept no exchanges: in tables, of other players, and of other tools. A line
// that is no exchange is an error.
func (r *Reader) Turns(name string) (map[int]Turn, error) {
	if !isName(name) {
		return nil, fmt.Errorf("read exchanges of %q: %w", name, ErrName)
	}
	if r.tables != nil || r.memory != nil {
		return nil, nil
	}
	data, err := storage.ReadFile(storage.Join(r.dir, TrajectoriesDirectory, name, exchangesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read exchanges of %s: %w", name, err)
	}
	turns := make(map[int]Turn)
	for line := range bytes.Lines(data) {
		exchange, err := readExchange(line)
		if err != nil {
			return nil, fmt.Errorf("read exchanges of %s: %w", name, err)
		}
		turns[exchange.Index] = exchange.Turn()
	}
	return turns, nil
}

// readExchange reads what Turn needs of a line.
func readExchange(line []byte) (Exchange, error) {
	var read struct {
		Index    int    `json:"index"`
		Provider string `json:"provider"`
		Attempts []struct {
			Answer json.RawMessage `json:"answer"`
		} `json:"attempts"`
		Usage *usageJSON `json:"usage"`
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return Exchange{}, err
	}
	exchange := Exchange{Index: read.Index, Data: &agentgwv1.Exchange{Provider: read.Provider}}
	for _, attempt := range read.Attempts {
		exchange.Data.Attempts = append(exchange.Data.Attempts, &agentgwv1.Attempt{Answer: attempt.Answer})
	}
	if u := read.Usage; u != nil {
		exchange.Data.Usage = &agentgwv1.Usage{InputTokens: u.Input, CachedTokens: u.Cached, OutputTokens: u.Output, ReasoningTokens: u.Reasoning}
	}
	return exchange, nil
}

// exchangeJSON is an exchange for programs.
type exchangeJSON struct {
	Index        int           `json:"index"`
	Provider     string        `json:"provider"`
	Model        string        `json:"model"`
	Path         string        `json:"path"`
	Request      any           `json:"request"`
	RequestBytes *int64        `json:"request_bytes,omitempty"`
	Attempts     []attemptJSON `json:"attempts"`
	Usage        *usageJSON    `json:"usage,omitempty"`
}

// attemptJSON is an attempt.
type attemptJSON struct {
	Status      int32  `json:"status"`
	Answer      any    `json:"answer,omitempty"`
	AnswerBytes *int64 `json:"answer_bytes,omitempty"`
	Failure     string `json:"failure,omitempty"`
}

// usageJSON is the tokens of an exchange.
type usageJSON struct {
	Input     int64 `json:"input_tokens"`
	Cached    int64 `json:"cached_tokens"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_tokens"`
}

func exchangeLine(exchange Exchange) ([]byte, error) {
	data := exchange.Data
	line := exchangeJSON{
		Index: exchange.Index, Provider: data.GetProvider(), Model: data.GetModel(), Path: data.GetPath(),
		Request: body(data.GetRequest(), data.GetRequestBytes()), RequestBytes: truncated(data.GetRequest(), data.GetRequestBytes()),
		Attempts: make([]attemptJSON, len(data.GetAttempts())),
	}
	for i, attempt := range data.GetAttempts() {
		line.Attempts[i] = attemptJSON{Status: attempt.GetStatus(), Failure: attempt.GetFailure()}
		if attempt.GetAnswerBytes() > 0 {
			line.Attempts[i].Answer = body(attempt.GetAnswer(), attempt.GetAnswerBytes())
			line.Attempts[i].AnswerBytes = truncated(attempt.GetAnswer(), attempt.GetAnswerBytes())
		}
	}
	if u := data.GetUsage(); u != nil {
		line.Usage = &usageJSON{u.GetInputTokens(), u.GetCachedTokens(), u.GetOutputTokens(), u.GetReasoningTokens()}
	}
	return output.JSON(line, "")
}

// body returns a complete body of valid JSON in UTF-8 as JSON, otherwise as text. Go's decoder does
// not check UTF-8.
func body(raw []byte, whole int64) any {
	if int64(len(raw)) == whole && utf8.Valid(raw) && json.Valid(raw) {
		return json.RawMessage(raw)
	}
	return strings.ToValidUTF8(string(raw), "\ufffd")
}

// truncated returns the full length of a body, nil if it is complete.
func truncated(raw []byte, whole int64) *int64 {
	if int64(len(raw)) == whole {
		return nil
	}
	return &whole
}
