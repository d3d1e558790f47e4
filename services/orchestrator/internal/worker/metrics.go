package worker

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// metrics are the worker's metrics. Nothing reproducible depends on them.
type metrics struct {
	ended, parked, retried, redelivered metric.Int64Counter
	duration, turns                     metric.Float64Histogram
	running                             metric.Int64UpDownCounter
	// turnLabels are made once for each role and kind of player: their making takes longer than a
	// record.
	turnLabels map[turnLabel]metric.MeasurementOption
}

// turnLabel is who played a turn.
type turnLabel struct {
	role worldv1.Role
	kind string
}

func newTurnLabels() map[turnLabel]metric.MeasurementOption {
	labels := make(map[turnLabel]metric.MeasurementOption)
	for _, role := range []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER} {
		for _, kind := range []string{kindModel, kindPlugin, kindRandom, kindUnhelpful, kindScripted} {
			labels[turnLabel{role, kind}] = metric.WithAttributeSet(attribute.NewSet(
				attribute.String(instrument.LabelRole, strings.ToLower(world.RoleName(role))), attribute.String(instrument.LabelKind, kind)))
		}
	}
	return labels
}

func newMetrics() (metrics, error) {
	maker := instrument.NewMaker(otel.Meter("orchestrator"))
	m := metrics{
		ended:       maker.Counter(instrument.RolloutsEnded),
		parked:      maker.Counter(instrument.RolloutsParked),
		retried:     maker.Counter(instrument.RolloutsRetried),
		redelivered: maker.Counter(instrument.JobsRedelivered),
		duration:    maker.Histogram(instrument.RolloutDuration),
		turns:       maker.Histogram(instrument.TurnDuration),
		running:     maker.UpDown(instrument.RolloutsRunning),
		turnLabels:  newTurnLabels(),
	}
	return m, maker.Err()
}

// start records that a rollout starts, and returns the function that records its end. end is nil if
// the rollout did not end here.
func (m metrics) start(ctx context.Context) func(end *busv1.End) {
	start := time.Now()
	m.running.Add(ctx, 1)
	return func(end *busv1.End) {
		m.running.Add(ctx, -1)
		if end == nil {
			return
		}
		m.ended.Add(ctx, 1, metric.WithAttributes(
			attribute.String(instrument.LabelEnd, word(end.GetReason().String(), "END_REASON_")),
			attribute.String(instrument.LabelCause, word(end.GetFailureClass().String(), "FAILURE_CLASS_"))))
		m.duration.Record(ctx, time.Since(start).Seconds())
	}
}

// word returns the label of an enumeration's value: none for the unset one.
func word(value, prefix string) string {
	text := strings.ToLower(strings.TrimPrefix(value, prefix))
	if text == "unspecified" {
		return "none"
	}
	return text
}

// turn records the time of a player's turn.
func (m metrics) turn(ctx context.Context, start time.Time, role worldv1.Role, player *agentgwv1.Player) {
	m.turns.Record(ctx, time.Since(start).Seconds(), m.turnLabels[turnLabel{role, kindOf(player)}])
}

// These are the kinds of players.
const (
	kindModel     = "model"
	kindPlugin    = "plugin"
	kindRandom    = "random"
	kindUnhelpful = "unhelpful"
	kindScripted  = "scripted"
)

// kindOf returns the kind of a player.
func kindOf(player *agentgwv1.Player) string {
	switch player.GetKind().(type) {
	case *agentgwv1.Player_Model:
		return kindModel
	case *agentgwv1.Player_Plugin:
		return kindPlugin
	case *agentgwv1.Player_Random:
		return kindRandom
	case *agentgwv1.Player_Unhelpful:
		return kindUnhelpful
	}
	return kindScripted
}
