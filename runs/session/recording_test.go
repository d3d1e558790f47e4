package session

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

func answer(index int32, url, params, response string) *toolhostv1.ServiceAnswer {
	return &toolhostv1.ServiceAnswer{Index: index, Recording: &setupv1.RecordedAnswer{Url: url, ParamsJson: params, ResponseJson: response}}
}

func recordingsOf(t *testing.T, answers ...*toolhostv1.ServiceAnswer) string {
	t.Helper()
	var out strings.Builder
	if err := WriteRecordings(&out, answers); err != nil {
		t.Fatalf("WriteRecordings: %v", err)
	}
	return out.String()
}

func TestWriteRecordings(t *testing.T) {
	failed := answer(7, "https://x", `{"q": "a"}`, "")
	failed.ExceptionType, failed.ExceptionText = "requests.exceptions.HTTPError", "404 Client\nError"
	got := recordingsOf(t,
		answer(3, "https://x", `{"q": "a", "n": 1}`, `{"b":1.0,"a":"é # : \u2028"}`),
		answer(5, "https://x", `{"n": 1.0, "q": "a"}`, `{"a": "é # : \u2028", "b": 1}`),
		failed,
		answer(9, "https://x", `{"q": "a", "n": 1}`, `null`),
		answer(9, "https://y", `{}`, `[1e+16, 1.5, 7]`),
		answer(9, "https://z", `{}`, `123456789012345678901234567890`),
		answer(9, "https://z", `{"q": "\ud800"}`, `1`),
		answer(9, "https://z", `{"q": NaN}`, `1`),
	)
	want := "  recordings:\n" +
		"    - url: \"https://x\"\n      params: {\"q\": \"a\", \"n\": 1}\n      response: {\"b\": 1.0, \"a\": \"é # : \u2028\"}\n" +
		"    # message 7: https://x {\"q\": \"a\"} failed: requests.exceptions.HTTPError: 404 Client Error\n" +
		"    # message 9: https://x {\"q\": \"a\", \"n\": 1} has another answer, too\n" +
		"    - url: \"https://y\"\n      params: {}\n      response: [1.0e+16, 1.5, 7]\n" +
		"    # message 9: https://z {} is omitted: YAML cannot write a number or a character in it\n" +
		"    # message 9: https://z {\"q\": \"\\ud800\"} is omitted: YAML cannot write a number or a character in it\n" +
		"    # message 9: https://z {\"q\": NaN} is omitted: YAML cannot write a number or a character in it\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recordings (-want +got):\n%s", diff)
	}
	if got, want := recordingsOf(t), "  recordings: []\n"; got != want {
		t.Errorf("no answers: got %q, want %q", got, want)
	}
}

// TestRecordingsRoundTrip writes the vectors' service answers to a scenario, loads it and compares.
func TestRecordingsRoundTrip(t *testing.T) {
	const task = "round_trip:\n  categories: [SINGLE_TOOL_CALL, SINGLE_USER_TURN]\n  user: {goal: None., says: Hello.}\n" +
		"  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}\n" +
		"  tables: {setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false, latitude: 52.52, longitude: 13.405}]}\n" +
		"  milestones: {told: {says: Hello.}}\n"
	compared, remaining := 0, 0
	for _, tool := range []string{"search_lat_lon", "search_location_around_lat_lon", "search_weather_around_lat_lon", "search_stock", "convert_currency"} {
		file := vectortest.Dir(t, filepath.Join("tools", "calls", tool+".jsonl"))
		vectortest.Lines(t, file, func(line int, raw []byte) {
			var vector struct {
				API []struct {
					URL              string
					Params, Response json.RawMessage
				}
			}
			if err := json.Unmarshal(raw, &vector); err != nil {
				t.Fatalf("%s, line %d: %v", tool, line, err)
			}
			if len(vector.API) != 1 {
				return
			}
			asked := vector.API[0]
			if strings.Contains(string(raw), "0000000000000000000") {
				remaining++
				return // YAML cannot represent the int
			}
			text := recordingsOf(t, answer(0, asked.URL, string(asked.Params), string(asked.Response)))
			loaded, err := pack.Load(fstest.MapFS{"task.yaml": {Data: []byte(task + text)}}, pack.Options{})
			if err != nil {
				t.Errorf("%s, line %d: %v\n%s", tool, line, err, text)
				return
			}
			got := loaded.Scenarios[0].Scenario.GetSetup().GetRecordings()[0]
			if got.GetUrl() != asked.URL || !sameJSON(t, got.GetParamsJson(), string(asked.Params)) || !sameJSON(t, got.GetResponseJson(), string(asked.Response)) {
				t.Errorf("%s, line %d: got %v\nwant %s %s", tool, line, got, asked.Params, asked.Response)
			}
			compared++
		})
	}
	if compared == 0 || remaining > compared/10 {
		t.Errorf("%d answers compared, %d left out, want most compared", compared, remaining)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	first, err := python.ParseJSON(a)
	if err != nil {
		t.Fatalf("parse %s: %v", a, err)
	}
	second, err := python.ParseJSON(b)
	if err != nil {
		t.Fatalf("parse %s: %v", b, err)
	}
	return python.Repr(first) == python.Repr(second)
}
