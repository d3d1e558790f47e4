package toolhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/conformance"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// pythonTools returns the built-in tools. Those with the given names are in Python.
func pythonTools(tb testing.TB) (catalogue *tool.Catalogue, names []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "rewritten", "*.py"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("rewritten tools: got %v and %v, want some files", files, err)
	}
	var modules []*setupv1.ToolModule
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		modules = append(modules, &setupv1.ToolModule{Name: strings.TrimSuffix(filepath.Base(file), ".py"), Source: string(source)})
	}
	builtin := slices.Clone(tool.Builtin().All())
	kept := slices.DeleteFunc(slices.Clone(builtin), func(t *tool.Tool) bool {
		return slices.ContainsFunc(modules, func(m *setupv1.ToolModule) bool { return m.GetName() == t.Module })
	})
	catalogue, err = tool.New(kept).Extend(tool.Pack{Modules: modules, Schema: world.Builtin()})
	if err != nil {
		tb.Fatalf("rewritten tools: %v", err)
	}
	if got, want := len(catalogue.All()), len(builtin); got != want {
		tb.Fatalf("rewritten tools: got %d tools with the others, want %d", got, want)
	}
	for _, t := range builtin {
		if !slices.Contains(kept, t) {
			names = append(names, t.Name)
		}
	}
	return catalogue, names
}

// TestLongRewrittenTools executes the vectors of tools in Python, and all vectors of batches and of
// source.
func TestLongRewrittenTools(t *testing.T) {
	catalogue, names := pythonTools(t)
	host := serveTools(t, filepath.Join(t.TempDir(), storeFile), natstest.Start(t), ownsAll, newServices(t, service.ClientConfig{}), catalogue)
	runner := conformance.New(conformance.Services{ToolHost: func(string) grpc.ClientConnInterface { return host.conn }},
		conformance.Config{Run: "rewritten", Parallel: 4, MaxDifferences: 5})
	files := []string{vectortest.Dir(t, "tools/parallel.jsonl"), vectortest.Dir(t, "tools/raw_source.jsonl")}
	for _, name := range names {
		files = append(files, vectortest.Dir(t, "tools/calls/"+name+".jsonl"))
	}
	for _, file := range files {
		report, err := runner.File(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d cases, %d not compared", filepath.Base(file), report.Cases, report.NotCompared)
		if report.Differ > 0 || report.Cases == 0 {
			t.Errorf("%s: got %d of %d cases that differ, want none: %+v %+v", file, report.Differ, report.Cases, report.Missing, report.Differences)
		}
	}
}

// TestRewrittenSchemas compares the declarations of tools in Python with those of the built-in
// ones.
func TestRewrittenSchemas(t *testing.T) {
	catalogue, _ := pythonTools(t)
	for _, want := range tool.Builtin().All() {
		got := catalogue.Find(want.Name)
		if got.WithoutAugmentations().String() != want.WithoutAugmentations().String() {
			t.Errorf("%s: got %v, want %v", want.Name, got.WithoutAugmentations(), want.WithoutAugmentations())
		}
		if got.ReadOnly != want.ReadOnly || got.User != want.User {
			t.Errorf("%s: got read only %t and user %t, want %t and %t", want.Name, got.ReadOnly, got.User, want.ReadOnly, want.User)
		}
	}
}
