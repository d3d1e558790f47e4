package evaluator

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestWatchScore publishes a rollout entry by entry. Each entry gives the next score, and the
// stored result ends the stream.
func TestWatchScore(t *testing.T) {
	s, client := start(t)
	said := messages()
	at := func(index int32) []*worldv1.TableVersion {
		return []*worldv1.TableVersion{versionAt(index)}
	}
	entries := []*busv1.LogEntry{
		{Start: &busv1.Start{Rollout: s.rollout("s.0"), Messages: said[:1], Versions: at(0), MaxMessages: 30}, Claim: &busv1.Claim{}},
		{Turns: []*busv1.Turn{{Messages: said[1:2], Versions: at(0)}}},
		{Turns: []*busv1.Turn{{Messages: said[2:3], Versions: at(2)}}},
		{Turns: []*busv1.Turn{{Messages: said[3:], Versions: at(2)}}, End: ended(busv1.EndReason_END_REASON_FINISHED)},
	}
	var last bus.Position
	var stream evaluatorv1.EvaluatorService_WatchScoreClient
	type seen struct {
		Messages   int32
		Similarity float64
		Final      bool
	}
	var got []seen
	for i, entry := range entries {
		if i == 2 {
			s.snapshot(t, "s.0")
		}
		var err error
		if last, err = s.Append(t.Context(), "s.0", entry, last); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if stream, err = client.WatchScore(within(t), &evaluatorv1.WatchScoreRequest{RolloutId: "s.0"}); err != nil {
				t.Fatal(err)
			}
		}
		if i == len(entries)-1 {
			break // later scores may share a notification with the result
		}
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, seen{response.GetResult().GetMessageCount(), response.GetResult().GetSimilarity(), response.GetFinal()})
	}
	if diff := cmp.Diff([]seen{{1, 0, false}, {2, 0, false}, {3, 0.5, false}}, got); diff != "" {
		t.Errorf("scores while it runs (-want +got):\n%s", diff)
	}
	if similarity := final(t, stream).GetSimilarity(); similarity != 1 {
		t.Errorf("final score: got %v, want 1", similarity)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the final score: got %v, want the end", err)
	}
}

// final reads a stream until its final score.
func final(t *testing.T, stream evaluatorv1.EvaluatorService_WatchScoreClient) *busv1.Result {
	t.Helper()
	for {
		response, err := stream.Recv()
		if err != nil {
			t.Fatalf("before the final score: %v", err)
		}
		if response.GetFinal() {
			return response.GetResult()
		}
	}
}
