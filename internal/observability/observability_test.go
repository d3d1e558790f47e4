package observability_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/observability"
)

var update = flag.Bool("update", false, "write the files of deploy/observability and the table of docs/operations.md")

var (
	repository = filepath.Join("..", "..")
	deploy     = filepath.Join(repository, "deploy", "observability")
	operations = filepath.Join(repository, "docs", "operations.md")
)

// TestFiles compares the committed files with what is made of the table of metrics.
func TestFiles(t *testing.T) {
	for name, write := range map[string]func() ([]byte, error){"alerts.yaml": observability.Rules, "dashboard.json": observability.Dashboard} {
		want, err := write()
		if err != nil {
			t.Fatal(err)
		}
		compare(t, filepath.Join(deploy, name), want)
	}
}

func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); err != nil || diff != "" {
		t.Errorf("%s: %v, run `make observability`, -want +got:\n%s", path, err, diff)
	}
}

// TestReference compares the table of metrics in docs/operations.md.
func TestReference(t *testing.T) {
	page, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	reference := observability.Reference()
	first, _, _ := bytes.Cut(reference, []byte("\n"))
	start := bytes.Index(page, first)
	if start < 0 {
		t.Fatalf("%s: the table of metrics is missing", operations)
	}
	end := start + len(page[start:])
	if after := bytes.Index(page[start:], []byte("\n\n")); after >= 0 {
		end = start + after + 1
	}
	compare(t, operations, slices.Concat(page[:start], reference, page[end:]))
}

// TestAlertsAreExplained checks that docs/operations.md has an entry for each alert, and for no
// other: what it means, what to look at and what to do.
func TestAlertsAreExplained(t *testing.T) {
	page, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, entry := range regexp.MustCompile(`(?m)^##`).Split(string(page), -1) {
		title, text, _ := strings.Cut(strings.TrimPrefix(entry, "# "), "\n")
		if !strings.HasPrefix(title, "ToolSandbox") {
			continue
		}
		got = append(got, title)
		for _, part := range []string{"It means: ", "Look at: ", "Do: "} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the entry of %s lacks %q", operations, title, part)
			}
		}
	}
	for _, alert := range observability.Alerts() {
		want = append(want, alert.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of alerts (-alerts +page):\n%s", diff)
	}
}

// TestAlertsAreTested checks that a test of the rules makes each alert fire, and that another one
// has it silent.
func TestAlertsAreTested(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(deploy, "alerts_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Cases []struct {
				Name     string      `yaml:"alertname"`
				Expected []yaml.Node `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := make(map[string]bool), make(map[string]bool)
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			if len(c.Expected) > 0 {
				fires[c.Name] = true
			} else {
				silent[c.Name] = true
			}
		}
	}
	for _, alert := range observability.Alerts() {
		if !fires[alert.Name] || !silent[alert.Name] {
			t.Errorf("alerts_test.yaml: %s fires %v and is silent %v, want both", alert.Name, fires[alert.Name], silent[alert.Name])
		}
	}
}

// TestEveryMetricIsShown checks that the dashboard or an alert uses each metric of the table, and
// no metric of another name.
func TestEveryMetricIsShown(t *testing.T) {
	all := strings.Join(observability.Expressions(), "\n")
	var known []string
	for _, i := range instrument.All() {
		name := i.Prometheus()
		if i.Kind == instrument.Histogram {
			known = append(known, name+"_bucket", name+"_sum", name+"_count")
		} else {
			known = append(known, name)
		}
		if !regexp.MustCompile(`\b` + name + `(_bucket|_sum|_count)?\b`).MatchString(all) {
			t.Errorf("%s: no graph and no alert uses it", name)
		}
	}
	for _, name := range regexp.MustCompile(`\b(toolsandbox_|gen_ai_client_)\w+`).FindAllString(all, -1) {
		if !slices.Contains(known, name) {
			t.Errorf("%s: used in an expression, and not in the table", name)
		}
	}
}

// TestTable checks the names, units and sentences of the table.
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, i := range instrument.All() {
		name := i.Prometheus()
		if seen[name] || name == "" {
			t.Errorf("%s: the name %q in Prometheus is empty or twice", i.Name, name)
		}
		seen[name] = true
		if !strings.HasSuffix(i.Help, ".") || i.Unit == "" || i.From == "" {
			t.Errorf("%s: unit %q, from %q, meaning %q: want all three, and a sentence", i.Name, i.Unit, i.From, i.Help)
		}
		if (i.Kind == instrument.Histogram) != (len(i.Buckets) > 0) || !slices.IsSorted(i.Buckets) {
			t.Errorf("%s: got the buckets %v for a %s", i.Name, i.Buckets, i.Kind)
		}
	}
}
