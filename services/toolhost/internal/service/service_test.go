package service

import (
	"context"
	"strings"
	"testing"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// ask returns what a backend answers as JSON text, or the error's text.
func ask(t *testing.T, b Backend, url, params string) string {
	t.Helper()
	value, err := python.ParseJSON(params)
	if err != nil {
		t.Fatalf("parameters %s: %v", params, err)
	}
	dict, _ := value.AsDict()
	body, err := b.Get(context.Background(), url, dict)
	if err != nil {
		return err.Error()
	}
	return python.JSON(body)
}

func recording(url, params, response string) *setupv1.RecordedAnswer {
	return &setupv1.RecordedAnswer{Url: url, ParamsJson: params, ResponseJson: response}
}

func TestReplay(t *testing.T) {
	backend, err := NewRecorded([]*setupv1.RecordedAnswer{
		recording("u", `{"a": 1, "b": "x"}`, `{"n": 1}`),
		recording("u", `{"a": 1, "b": "x"}`, `{"n": 2}`),
		recording("u", `{"a": 2}`, `null`),
		recording("v", `{}`, `[1.0, true]`),
	})
	if err != nil {
		t.Fatalf("NewRecorded: %v", err)
	}
	tests := []struct{ name, url, params, want string }{
		{"first of two", "u", `{"a": 1, "b": "x"}`, `{"n": 1}`},
		{"order of parameters", "u", `{"b": "x", "a": 1.0}`, `{"n": 1}`},
		{"null", "u", `{"a": 2}`, `null`},
		{"no parameters", "v", `{}`, `[1.0, true]`},
		{"other parameters", "u", `{"a": 3}`, `ConnectionError: No recorded answer of u for {'a': 3}`},
		{"fewer parameters", "u", `{"a": 1}`, `ConnectionError: No recorded answer of u for {'a': 1}`},
		{"other URL", "w", `{}`, `ConnectionError: No recorded answer of w for {}`},
	}
	for _, test := range tests {
		if got := ask(t, backend, test.url, test.params); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestRecordingErrors(t *testing.T) {
	for name, broken := range map[string]*setupv1.RecordedAnswer{
		"parameters": recording("u", `{`, `1`),
		"response":   recording("u", `{}`, ``),
	} {
		_, err := NewRecorded([]*setupv1.RecordedAnswer{broken})
		if err == nil || !strings.Contains(err.Error(), "recording 0 of u: "+name) {
			t.Errorf("%s: got error %v, want one that names the recording", name, err)
		}
	}
}
