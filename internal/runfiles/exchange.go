package runfiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// exchangesFile holds the exchanges with model providers, one line per turn. Rollouts without a
// model have none.
const exchangesFile = "exchanges.jsonl"

// Exchange is the exchange with a model provider about one turn.
type Exchange struct {
	// Index is the index of the turn's first message.
	Index int
	// Said is the exchange itself.
	Said *agentgwv1.Exchange
}

// WriteExchanges writes exchangesFile to the directory of a rollout. WriteTrajectory must have
// accepted name.
func WriteExchanges(dir, name string, exchanges []Exchange) error {
	var out bytes.Buffer
	if err := PrintExchanges(&out, exchanges); err != nil {
		return fmt.Errorf("write exchanges of %s: %w", name, err)
	}
	target := filepath.Join(dir, TrajectoriesDirectory, name)
	if err := errors.Join(os.MkdirAll(target, 0o755), writeFile(filepath.Join(target, exchangesFile), out.Bytes(), false)); err != nil {
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

func exchangeLine(exchange Exchange) ([]byte, error) {
	said := exchange.Said
	line := object{
		{"index", exchange.Index},
		{"provider", said.GetProvider()},
		{"model", said.GetModel()},
		{"path", said.GetPath()},
		{"request", body(said.GetRequest(), said.GetRequestBytes())},
	}
	line = withLength(line, "request_bytes", said.GetRequest(), said.GetRequestBytes())
	tries := make([]object, len(said.GetTries()))
	for i, try := range said.GetTries() {
		tries[i] = object{{"status", try.GetStatus()}}
		if try.GetAnswerBytes() > 0 {
			tries[i] = append(tries[i], member{"answer", body(try.GetAnswer(), try.GetAnswerBytes())})
			tries[i] = withLength(tries[i], "answer_bytes", try.GetAnswer(), try.GetAnswerBytes())
		}
		if try.GetFailure() != "" {
			tries[i] = append(tries[i], member{"failure", try.GetFailure()})
		}
	}
	line = append(line, member{"tries", tries})
	if u := said.GetUsage(); u != nil {
		line = append(line, member{"usage", object{
			{"input_tokens", u.GetInputTokens()}, {"cached_tokens", u.GetCachedTokens()},
			{"output_tokens", u.GetOutputTokens()}, {"reasoning_tokens", u.GetReasoningTokens()},
		}})
	}
	return compact(line)
}

// body returns a complete body of valid JSON in UTF-8 as JSON, otherwise as text. Go's decoder does
// not check UTF-8.
func body(raw []byte, whole int64) any {
	var out bytes.Buffer
	if int64(len(raw)) == whole && utf8.Valid(raw) && json.Compact(&out, raw) == nil {
		return rawJSON(out.Bytes())
	}
	return strings.ToValidUTF8(string(raw), "\ufffd")
}

// withLength adds the full length of a truncated body.
func withLength(to object, key string, raw []byte, whole int64) object {
	if int64(len(raw)) == whole {
		return to
	}
	return append(to, member{key, whole})
}
