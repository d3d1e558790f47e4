package cli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
)

// confidentAgent calls a tool and then says that it is done.
type confidentAgent struct {
	agentv1.UnimplementedAgentServiceServer
}

func (confidentAgent) Act(_ context.Context, req *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	if req.GetTurn() == 0 && len(req.GetTools()) > 0 {
		call := &agentv1.ToolCall{Name: req.GetTools()[0].GetName(), ArgumentsJson: "{}"}
		return &agentv1.ActResponse{Calls: []*agentv1.ToolCall{call}, Confidence: new(0.1)}, nil
	}
	return &agentv1.ActResponse{Text: "I did it.", Confidence: new(0.9)}, nil
}

// TestCard plays an agent that states its confidence, with both formats of results, and replays it:
// its card is the same each time.
func TestCard(t *testing.T) {
	listener := listen(t)
	server := grpc.NewServer()
	agentv1.RegisterAgentServiceServer(server, confidentAgent{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	played := []string{"--agent", "grpc://" + listener.Addr().String(), "--floors=false", "--trials", "2", "--results"}
	mustRun(t, append(played, "files", "--out", filepath.Join(dir, "files"), "turn_off_wifi", "delete_my_landlord")...)
	mustRun(t, append(played, "parquet", "--out", filepath.Join(dir, "tables"), "turn_off_wifi", "delete_my_landlord")...)
	mustRun(t, "--replay", filepath.Join(dir, "files"), "--out", filepath.Join(dir, "replayed"))
	code, stdout, stderr := command("report", filepath.Join(dir, "files"), filepath.Join(dir, "tables"), filepath.Join(dir, "replayed"), "--card", "--json")
	var report analysis.Report
	if err := json.Unmarshal([]byte(stdout), &report); code != 0 || err != nil || len(report.Cards) != 3 {
		t.Fatalf("report --card: got code %d, %v and %d cards:\n%s", code, err, len(report.Cards), stderr)
	}
	for at, m := range report.Cards[0].Metrics {
		first, _ := json.Marshal(m)
		for _, card := range report.Cards[1:] {
			if again, _ := json.Marshal(card.Metrics[at]); string(again) != string(first) {
				t.Errorf("run %d: got %s, want %s", card.Run, again, first)
			}
		}
		if m.Name == "predictability_brier_score" && (m.Value == nil || m.Count != 4 || *m.Value < 0.18 || *m.Value > 0.2) {
			t.Errorf("%s: got %s, want 1 − 0.9² of 4 rollouts that fail", m.Name, first)
		}
	}
	if code, stdout, _ := command("report", filepath.Join(dir, "files"), "--card"); code != 0 || !strings.Contains(stdout, " prediction: Brier ") {
		t.Errorf("report --card: got code %d and\n%s", code, stdout)
	}
}
