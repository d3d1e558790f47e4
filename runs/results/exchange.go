package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/storage"
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
	return encode(line, "")
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
