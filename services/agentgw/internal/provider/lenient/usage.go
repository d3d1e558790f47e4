package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// maxTokens bounds a token count so that sums do not overflow.
const maxTokens = 1 << 40

// Count is a token count: the sum of the fields at some paths of a usage object.
type Count [][]string

// Field returns the count of one field.
func Field(path ...string) Count { return Count{path} }

// UsageFields are the token counts of a usage object.
type UsageFields struct {
	Input, Output, Reasoning Count
	// Cached are the names of one count. The first that has a number counts.
	Cached []Count
	// Total counts all tokens. Those that are neither input nor output are output that a server leaves
	// out of that count: the reasoning at xAI, and at Google's address for clients of OpenAI.
	Total Count
}

// Read decodes a usage object. It returns nil if the provider reported none, or no number of tokens
// in it. Absent and invalid counts are 0, and so are negative ones, which would refund budgets.
// Input includes cached tokens, and output reasoning: a server whose count is below theirs leaves
// them out of it.
func (f *UsageFields) Read(usage json.RawMessage) *agentgwv1.Usage {
	if !bytes.HasPrefix(usage, []byte("{")) {
		return nil
	}
	object := Object(usage)
	input, hasInput := f.Input.in(object)
	output, hasOutput := f.Output.in(object)
	if !hasInput && !hasOutput {
		return nil
	}
	var cached int64
	for i, found := 0, false; i < len(f.Cached) && !found; i++ {
		cached, found = f.Cached[i].in(object)
	}
	if cached > input {
		input = min(input+cached, maxTokens)
	}
	if total, hasTotal := f.Total.in(object); hasTotal && hasInput {
		output = max(output, total-input)
	}
	reasoning, _ := f.Reasoning.in(object)
	if reasoning > output {
		output = min(output+reasoning, maxTokens)
	}
	return &agentgwv1.Usage{InputTokens: input, CachedTokens: cached, OutputTokens: output, ReasoningTokens: reasoning}
}

// in returns the count of a usage object. found is false if it has no number for it.
func (c Count) in(usage any) (sum int64, found bool) {
	for _, path := range c {
		n, ok := tokens(At(usage, path...))
		sum, found = sum+n, found || ok
	}
	return min(sum, maxTokens), found
}

// tokens returns a number, which may be quoted, bounded to what a count can be.
func tokens(value any) (n int64, ok bool) {
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || err == nil && math.IsInf(number, 0) || math.IsNaN(number) {
		return 0, false
	}
	return int64(min(max(number, 0), maxTokens)), true
}
