package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// repository is the root of this repository.
var repository = filepath.Join("..", "..", "..", "..")

// golden compares a file with its text, and writes it with -update.
func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%s (%v): run go test ./cmd/toolsandbox/internal/cli -update (-want +got):\n%s", path, err, diff)
	}
}

// TestShippedPermissions compares the users of the shipped NATS servers with those of the command.
func TestShippedPermissions(t *testing.T) {
	path := filepath.Join(repository, "deploy", "k8s", "components", "nats", "permissions.conf")
	var out, errs strings.Builder
	if code := Main([]string{"bus", "permissions"}, &out, &errs); code != 0 {
		t.Fatalf("bus permissions: got code %d and %s", code, errs.String())
	}
	golden(t, path, out.String())
	options, err := server.ProcessConfigFile(path)
	if err != nil || len(options.Users) != len(bus.Roles()) {
		t.Errorf("NATS reads %v and %v, want a user for each role", options, err)
	}
}

// TestSubjectTable compares the table of docs/security.md with that of the code.
func TestSubjectTable(t *testing.T) {
	const begin, end = "-update -->\n", "<!-- end -->"
	path := filepath.Join(repository, "docs", "security.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s: no place for the table", path)
	}
	var table strings.Builder
	table.WriteString("\n| subject | stream | content | publishes | reads the newest | reads | answers |\n| -- | -- | -- | -- | -- | -- | -- |\n")
	names := func(roles []bus.Role) string {
		var texts []string
		for _, role := range roles {
			texts = append(texts, string(role))
		}
		return strings.Join(texts, ", ")
	}
	quoted := func(name string) string {
		if name == "" {
			return ""
		}
		return "`" + name + "`"
	}
	for _, row := range bus.Subjects() {
		answers := ""
		if row.Answered {
			answers = names(row.Read)
		}
		cells := []string{quoted(row.Name), quoted(row.Stream), row.Content, names(row.Publish), names(row.Get), names(row.Read), answers}
		for _, cell := range cells {
			table.WriteString("| " + cell + " ")
		}
		table.WriteString("|\n")
	}
	golden(t, path, head+begin+table.String()+"\n"+end+tail)
}
