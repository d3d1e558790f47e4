package analysis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// Parting is the first message in which the trajectories of two runs differ.
type Parting struct {
	// Message is its index.
	Message int `json:"message"`
	// First and Second are the message in each run: who speaks to whom, and the text; empty where the
	// conversation has ended.
	First  string `json:"first"`
	Second string `json:"second"`
}

// findPartings sets where the first trials of the changed scenarios part. It leaves out those of
// which a run has no trajectory.
func (c *Change) findPartings(ctx context.Context, first, second *Run, firstScores, secondScores map[string]*scenarioScores) error {
	if first.reader == nil || second.reader == nil {
		return nil
	}
	for i := range c.Changed {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		change := &c.Changed[i]
		a, err := first.reader.Messages(firstScores[change.Name].trials[0].name)
		if err == nil {
			var b []*worldv1.Message
			if b, err = second.reader.Messages(secondScores[change.Name].trials[0].name); err == nil {
				change.Parting = parting(a, b)
				continue
			}
			err = report.WithAdvice(second.Directory, err)
		} else {
			err = report.WithAdvice(first.Directory, err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// parting returns where two trajectories part, nil if they are equal.
func parting(first, second []*worldv1.Message) *Parting {
	i := PartingAt([][]*worldv1.Message{first, second})
	if i == max(len(first), len(second)) {
		return nil
	}
	return &Parting{Message: i, First: speech(first, i), Second: speech(second, i)}
}

// speech returns a message as text, "" beyond the last one.
func speech(messages []*worldv1.Message, i int) string {
	if i >= len(messages) {
		return ""
	}
	m := messages[i]
	return fmt.Sprintf("%s to %s: %s", world.RoleName(m.GetSender()), world.RoleName(m.GetRecipient()), strings.TrimSpace(messagetext.Content(m)))
}
