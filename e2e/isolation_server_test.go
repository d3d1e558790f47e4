package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/record"
)

// deskServer and shopServer name the tool servers' connections.
const deskServer, shopServer = "tool server over gRPC", "MCP server"

// recordedDesk is a pack with a server over gRPC behind a recorded connection.
type recordedDesk struct{ pack, address string }

// serveDesk starts the server of the notes. The pack contains the list of its tools.
func serveDesk(t *testing.T, r *record.Recorder) recordedDesk {
	t.Helper()
	server := serveTools(t, "127.0.0.1:0")
	pack := writeServedPack(t, deskPack, server.address)
	toolsandbox(t, "pack", "freeze", pack)
	address, err := r.GRPC(wire(cluster.ToolHost, deskServer), server.address)
	if err != nil {
		t.Fatal(err)
	}
	return recordedDesk{pack, address}
}

// shopRecords is the shop's MCP server. The files contain its environment, its input and its
// output.
type shopRecords struct {
	command string
	files   []string
}

// recordedShop builds the server.
func recordedShop(t *testing.T) shopRecords {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "shop")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./packs/shop/server")
	build.Dir = ".."
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the shop: %v\n%s", err, printed)
	}
	s := shopRecords{files: []string{filepath.Join(dir, "environment"), filepath.Join(dir, "read"), filepath.Join(dir, "written")}}
	script := `env >> "$1" && tee -a "$2" | "$4" | tee -a "$3"`
	words, err := json.Marshal(append([]string{"sh", "-c", script, "sh"}, append(s.files, program)...))
	if err != nil {
		t.Fatal(err)
	}
	s.command = "stdio:" + string(words)
	return s
}

// add records the input and output of the server.
func (s shopRecords) add(t *testing.T, r *record.Recorder) {
	t.Helper()
	for _, file := range s.files {
		raw, err := os.ReadFile(file)
		if err != nil || len(raw) == 0 {
			t.Errorf("%s: got %d bytes and %v, want some", filepath.Base(file), len(raw), err)
		}
		r.Add(wire(cluster.ToolHost, shopServer), raw)
	}
}
