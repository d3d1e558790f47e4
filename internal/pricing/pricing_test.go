package pricing

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	table, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		provider, model       string
		known                 bool
		input, cached, output int64
		micros                int64
	}{
		{"openai", "gpt-4o-2024-05-13", true, 1000, 0, 100, 6500},
		{"openai", "gpt-4o-2024-08-06", true, 1000, 400, 100, 3000},
		{"openai", "gpt-4o-mini-2024-07-18", true, 1, 0, 0, 1}, // 0.15, rounded up
		{"openai", "gpt-5-mini", true, 1_000_000, 1_000_000, 0, 25_000},
		{"anthropic", "claude-3-sonnet-20240229", true, 10, 10, 0, 30}, // no price of its own for the cache
		{"vertex", "gemini-1.5-pro-001", true, -5, 7, 2, 10},
		{"cohere", "command-a-03-2025", true, math.MaxInt64, 0, math.MaxInt64, 1 << 40},
		{"openai", "gpt-5-unheard-of", false, 0, 0, 0, 0},
		{"openai", "", false, 0, 0, 0, 0},
		{"elsewhere", "gpt-4o", false, 0, 0, 0, 0},
	}
	for _, test := range tests {
		p, known := table.Lookup(test.provider, test.model)
		if got := p.Micros(test.input, test.cached, test.output); known != test.known || got != test.micros {
			t.Errorf("%s of %s: got %d, known: %t, want %d, %t", test.model, test.provider, got, known, test.micros, test.known)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	const header = "source: s\ndate: 2025-01-01\n"
	tests := []struct{ text, want string }{
		{header + "models: {openai: {'*': {input: 1, output: 2}, free: {input: 0, output: 0}}}", ""},
		{header + "models: {openai: {m: {input: 1, inptu: 2}}}", `:3: models.openai.m: "inptu" given, expected input and output in dollars per million tokens, e.g. {input: 2.5, output: 10}`},
		{header + "models:\n  openai:\n    m: {input: -1, output: 1}", ":5: models.openai.m.input: -1 given, expected dollars per million tokens from 0"},
		{header + "models: {openai: {m: {input: 1, output: .nan}}}", ":3: models.openai.m.output: .nan given"},
		{header + "models: {openai: {m: {input: 1, output: 1, cached: 1e7}}}", ":3: models.openai.m.cached: 1e7 given"},
		{header + "models:\n  a:\n    m:\n      output: 1\n  b:\n    n: {}", ":5: models.a.m.input: missing, expected dollars per million tokens"},
		{header + "models:\n  a:\n    m: {input: 0, cached: 1}", ":5: models.a.m.output: missing"},
		{header + "models:\n  a:\n    m:\n    n: {input: 1, output: 2}", ":5: models.a.m: missing, expected input and output in dollars"},
		{header + "models: {a: {m: {input: cheap, output: 2}}}", ":3: models.a.m.input: cheap given, expected dollars per million tokens from 0 to 1e+06"},
		{header + "models: {a: {m: {input: [1], output: 2}}}", ":3: models.a.m.input: a list given, expected dollars"},
		{header + "models: {a: {m: 3}}", ":3: models.a.m: a text given, expected input and output in dollars"},
		{header + "models:\n  gpt-4o: {input: 1, output: 2}", ":4: models.gpt-4o.input: a text given, expected input and output"},
		{header + "models: [a]", ":3: models: a list given, expected providers, each with its models"},
		{header + "models: {a: {m: {input: 1, output: 2}, m: {input: 1, output: 2}}}", `:3: not readable as YAML: mapping key "m" already defined`},
		{header, ":1: models: missing, expected providers"},
		{"models: {}", ":1: source: missing, expected a text"},
		{"source: s\ndate: [1]\nmodels: {}", ":2: date: a list given, expected a text"},
		{"- x", ":1: a list given, expected source, date and models"},
		{"", ":1: missing, expected source, date and models"},
		{"models: [", ":1: not readable as YAML: "},
		{`{"gpt-4o": {"input_cost_per_token": 0.0000025}}`, `:1: "gpt-4o" given, expected source, date and models`},
		{"model,input,output\ngpt-4o,1,2\n", ":1: a text given, expected source, date and models"},
	}
	for _, test := range tests {
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := Load(path)
		if test.want == "" {
			if p, known := table.Lookup("openai", "x"); err != nil || !known || p.Output != 2 {
				t.Errorf("%q: got %v, %t and %v, want the price of all models", test.text, p, known, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%q: got %v, want %q after the file's name", test.text, err, test.want)
		}
	}
	if _, err := Load(path + "x"); err == nil || !strings.Contains(err.Error(), "read prices") {
		t.Errorf("no file: got %v, want an error", err)
	}
}

// TestBuiltin loads the built-in table, which says that nobody has checked it.
func TestBuiltin(t *testing.T) {
	if _, err := Load(""); err != nil {
		t.Fatal(err)
	}
	if want := "\nsource: from memory, unverified;"; !strings.Contains(string(builtin), want) {
		t.Errorf("built-in prices: got no %q in them", want)
	}
}

func TestFormatDollars(t *testing.T) {
	for micros, want := range map[int64]string{0: "$0.00", 1: "$0.000001", 4500: "$0.0045", 9999: "$0.009999", 10_000: "$0.01", 123_456_789: "$123.46"} {
		if got := FormatDollars(micros); got != want {
			t.Errorf("FormatDollars(%d): got %s, want %s", micros, got, want)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add(builtin)
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := decode("fuzz", raw)
		if err != nil {
			return
		}
		price, _ := table.Lookup("openai", "gpt-4o")
		if got := price.Micros(1000, 10, 1000); got < 0 {
			t.Errorf("price of 2000 tokens: got %d, want nothing below 0", got)
		}
	})
}
