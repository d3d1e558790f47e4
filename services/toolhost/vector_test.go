package toolhost

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/vectortest"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/vector"
)

// players is how many cases are played at once.
const players = 32

// shown bounds how many cases of a file are reported.
const shown = 10

// TestVectors plays every case whose tools exist through the service.
func TestVectors(t *testing.T) {
	player := vector.Player{Client: start(t), Worlds: worlds(t)}
	known := toolNames(t, player.Client)
	files, err := filepath.Glob(vectortest.Dir(t, "tools/calls/*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list vectors: %d files, error %v", len(files), err)
	}
	for _, file := range files {
		if !slices.Contains(known, strings.TrimSuffix(filepath.Base(file), ".jsonl")) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) { playAll(t, player, known, file, vector.Single) })
	}
	t.Run("raw_source.jsonl", func(t *testing.T) {
		playAll(t, player, known, vectortest.Dir(t, "tools/raw_source.jsonl"), vector.Single)
	})
	t.Run("parallel.jsonl", func(t *testing.T) {
		playAll(t, player, known, vectortest.Dir(t, "tools/parallel.jsonl"), vector.Parallel)
	})
}

func toolNames(t *testing.T, client toolhostv1.ToolHostServiceClient) []string {
	t.Helper()
	tools, err := client.ListTools(t.Context(), &toolhostv1.ListToolsRequest{})
	if err != nil {
		t.Fatalf("list tools: %v", err)
	}
	var names []string
	for _, info := range tools.GetTools() {
		names = append(names, info.GetTool().GetName())
	}
	return names
}

// line is one case of a file.
type line struct {
	number int
	raw    []byte
}

func playAll(t *testing.T, player vector.Player, known []string, file string, decode func([]byte) (*vector.Case, error)) {
	t.Helper()
	var (
		group             sync.WaitGroup
		mu                sync.Mutex
		compared, differs int
	)
	lines := make(chan line)
	report := func(number int, raw []byte, problem string) {
		if differs++; differs <= shown {
			t.Errorf("line %d: %s\ncase: %.600s", number, problem, raw)
		}
	}
	play := func(l line) {
		c, err := decode(l.raw)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			report(l.number, l.raw, err.Error())
			return
		}
		if slices.ContainsFunc(c.Tools(), func(name string) bool { return !slices.Contains(known, name) }) || callsUnknown(c, known) {
			return
		}
		differences, err := player.Play(t.Context(), fmt.Sprintf("%s.%d", strings.TrimSuffix(filepath.Base(file), ".jsonl"), l.number), c)
		mu.Lock()
		defer mu.Unlock()
		if c.Compared {
			compared++
		}
		if err != nil && (c.Compared || c.Calls[0].Tool == "") { // source is always answered
			report(l.number, l.raw, err.Error())
		}
		if len(differences) > 0 {
			report(l.number, l.raw, strings.Join(differences, "\n"))
		}
	}
	for range players {
		group.Go(func() {
			for l := range lines {
				play(l)
			}
		})
	}
	vectortest.Lines(t, file, func(number int, raw []byte) { lines <- line{number, bytes.Clone(raw)} })
	close(lines)
	group.Wait()
	if compared == 0 {
		t.Error("no case was compared")
	}
	t.Logf("%d cases compared, %d differ", compared, differs)
}

// callsUnknown says whether source names a tool that does not exist here; such cases come with the tool.
func callsUnknown(c *vector.Case, known []string) bool {
	for _, call := range c.Calls {
		if call.Source != "" && c.Compared && !slices.ContainsFunc(known, func(name string) bool { return strings.Contains(call.Source, name+"(") }) {
			return true
		}
	}
	return false
}
