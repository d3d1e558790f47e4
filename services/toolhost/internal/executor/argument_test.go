package executor

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// exceptionPattern matches the start of the last line of Python's traceback.
var exceptionPattern = regexp.MustCompile(`^[A-Za-z_.]+(Error|Exception)(: |$|\n)`)

// FuzzArguments calls any tool with any arguments. Every answer must be UTF-8. A failure must have
// the form of a Python exception and change no table. Traces must be JSON, and the same call must
// give the same answer twice.
func FuzzArguments(f *testing.F) {
	for number := range tool.Builtin().All() {
		f.Add(uint8(number), `{}`)
	}
	for _, arguments := range []string{
		`{"name": "Dan", "phone_number": "+14085551111", "is_self": null}`, `{"person_id": "a", "is_self": 1}`, `{"on": "yes"}`, `{"on": false}`,
		`{"latitude": 91, "longitude": 1e400}`, `{"latitude": 37.3, "longitude": -122}`, `{"timestamp": 1e18}`, `{"timestamp": -1, "weeks": 99999999999999999999}`,
		`{"year": 2024, "month": 2, "day": 30, "hour": 0, "minute": 0, "second": 0}`, `{"amount": NaN, "from_unit": "inch", "to_unit": "m**-1"}`,
		`{"amount": 1, "from_currency_code": "usd", "to_currency_code": "CHF"}`, `{"holiday_name": "christmas", "year": 2024}`,
		`{"content": "\ud83d", "reminder_timestamp": 0}`, `{"query": "Apple"}`, `{"days": 3}`, `[1]`, `null`, `{"": {"a": [true]}}`,
	} {
		for number := range tool.Builtin().All() {
			f.Add(uint8(number), arguments)
		}
	}
	backend, err := service.NewOffline(1716399000)
	if err != nil {
		f.Fatalf("offline services: %v", err)
	}
	env, tools := environment(f), tool.Builtin().All()
	f.Fuzz(func(t *testing.T, number uint8, arguments string) {
		args, err := python.ParseJSON(arguments)
		if err != nil || args.Kind() == python.KindStr {
			return // the text would be part of the source, which FuzzRun covers
		}
		called := tools[int(number)%len(tools)]
		source := messagetext.ComposeSource("call_1", called.Name, python.Repr(args))
		run := func() (Answer, session.World) {
			world := someWorld()
			world.Config().Services = backend
			answers, after, err := env.Run(t.Context(), world, sourceMessages(source), agent)
			if err != nil || len(answers) != 1 {
				t.Fatalf("%s: %d answers, error %v", source, len(answers), err)
			}
			return answers[0], after
		}
		answer, after := run()
		if text := answer.Content + answer.Exception + strings.Join(traces(answer), ""); !utf8.ValidString(text) {
			t.Errorf("%s: answer is not UTF-8: %q", source, text)
		}
		if answer.Exception != "" && !exceptionPattern.MatchString(answer.Exception) {
			t.Errorf("%s: got %q, want the form of an exception", source, answer.Exception)
		}
		for _, table := range after.Tables() {
			name := table.Name
			if after.Written(name) && (answer.Exception != "" || called.ReadOnly) {
				t.Errorf("%s: got table %s changed, want none by a call that failed or only reads: %+v", source, name, answer)
			}
		}
		for _, trace := range traces(answer) {
			if _, err := python.ParseJSON(trace); err != nil {
				t.Errorf("%s: trace %q is not JSON: %v", source, trace, err)
			}
		}
		again, _ := run()
		if diff := cmp.Diff(answer, again, protocmp.Transform()); diff != "" {
			t.Errorf("%s: answered twice (-first +second):\n%s", source, diff)
		}
	})
}
