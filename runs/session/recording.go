package session

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// Answers returns the answers of hosted services to a session, by message, then in request order.
func (c *Client) Answers(ctx context.Context, id string) ([]*toolhostv1.ServiceAnswer, error) {
	var answers []*toolhostv1.ServiceAnswer
	err := rpc.Follow(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[toolhostv1.ListAnswersResponse], error) {
		return c.toolHost(id).ListAnswers(ctx, &toolhostv1.ListAnswersRequest{SessionId: id})
	}, func() { answers = nil }, func(response *toolhostv1.ListAnswersResponse) error {
		answers = append(answers, response.GetAnswer())
		return nil
	})
	if err != nil {
		return nil, sweep.WrapStatus("list answers of "+id, err)
	}
	return answers, nil
}

// exported is a printed recording.
type exported struct {
	url          string
	params, body python.Value
}

// WriteRecordings prints answers as the recordings of a scenario in YAML, indented like its fields.
// A scenario answers equal requests with the first recording, so only the first answer to a request
// is printed. Comments name different later answers and failed requests.
func WriteRecordings(w io.Writer, answers []*toolhostv1.ServiceAnswer) error {
	var out strings.Builder
	var done []exported
	for _, answer := range answers {
		if answer.GetExceptionType() != "" {
			comment(&out, answer, "failed: "+answer.GetExceptionType()+": "+answer.GetExceptionText())
			continue
		}
		next, err := parseRecording(answer.GetRecording())
		if err != nil {
			return err
		}
		first, repeated := next, false
		for _, before := range done {
			if before.url == next.url && before.params.Equal(next.params) {
				first, repeated = before, true
				break
			}
		}
		text, ok := next.yaml()
		switch {
		case !repeated && !ok:
			comment(&out, answer, "is omitted: YAML cannot write a number or a character in it")
		case !repeated:
			done = append(done, next)
			out.WriteString(text)
		case !first.body.Equal(next.body):
			comment(&out, answer, "has another answer, too")
		}
	}
	text := "  recordings:\n" + out.String()
	if len(done) == 0 {
		text = "  recordings: []\n" + out.String()
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("print recordings: %w", err)
	}
	return nil
}

func parseRecording(recording *setupv1.RecordedAnswer) (exported, error) {
	e := exported{url: recording.GetUrl()}
	var err error
	if e.params, err = python.ParseJSON(recording.GetParamsJson()); err != nil {
		return exported{}, fmt.Errorf("parameters of a request to %s: %w", e.url, err)
	}
	if e.body, err = python.ParseJSON(recording.GetResponseJson()); err != nil {
		return exported{}, fmt.Errorf("answer of %s: %w", e.url, err)
	}
	return e, nil
}

// yaml returns the recording as an item of a YAML list, if YAML can express it.
func (e exported) yaml() (text string, ok bool) {
	ok = true
	out := []byte("    - url: ")
	write := func(value python.Value) {
		var plain bool
		out, plain = appendYAML(out, value)
		ok = ok && plain
	}
	write(python.Str(e.url))
	out = append(out, "\n      params: "...)
	write(e.params)
	out = append(out, "\n      response: "...)
	write(e.body)
	return string(append(out, '\n')), ok
}

// appendYAML appends a value as JSON that YAML reads equally, and returns whether there is such a
// text: YAML reads a float without a point as a text, and has neither numbers beyond 64 bits nor
// lone surrogates.
func appendYAML(out []byte, value python.Value) (appended []byte, ok bool) {
	switch value.Kind() {
	case python.KindFloat:
		number, _ := value.Number()
		text := python.FormatFloat(number)
		if mantissa, exponent, found := strings.Cut(text, "e"); found && !strings.Contains(mantissa, ".") {
			text = mantissa + ".0e" + exponent
		}
		return append(out, text...), !math.IsNaN(number) && !math.IsInf(number, 0)
	case python.KindInt:
		_, ok = value.AsInt()
		return python.AppendJSON(out, value), ok
	case python.KindStr:
		text, _ := value.AsStr()
		return python.AppendJSON(out, value), utf8.ValidString(text)
	case python.KindList:
		items, _ := value.AsList()
		ok, out = true, append(out, '[')
		for i, item := range items {
			if i > 0 {
				out = append(out, ", "...)
			}
			var plain bool
			out, plain = appendYAML(out, item)
			ok = ok && plain
		}
		return append(out, ']'), ok
	case python.KindDict:
		dict, _ := value.AsDict()
		ok, out = true, append(out, '{')
		for i, item := range dict.Items() {
			if i > 0 {
				out = append(out, ", "...)
			}
			var key, plain bool
			out, key = appendYAML(out, python.Str(item.Key))
			out, plain = appendYAML(append(out, ": "...), item.Value)
			ok = ok && key && plain
		}
		return append(out, '}'), ok
	default:
		return python.AppendJSON(out, value), true
	}
}

// comment adds a line about a request.
func comment(out *strings.Builder, answer *toolhostv1.ServiceAnswer, what string) {
	line := fmt.Sprintf("message %d: %s %s %s", answer.GetIndex(), answer.GetRecording().GetUrl(), answer.GetRecording().GetParamsJson(), what)
	out.WriteString("    # " + strings.Join(strings.Fields(line), " ") + "\n")
}
