package evaluator

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/instrument"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// measureTimeout bounds one measurement.
const measureTimeout = 5 * time.Second

// noCategory is the label of a scenario without categories or whose setup cannot be read.
const noCategory = "none"

// meters are the metrics of an evaluator. Nothing reproducible depends on them.
type meters struct {
	score, duration metric.Float64Histogram
	waiting         metric.Int64UpDownCounter
}

func newMeters() (*meters, error) {
	maker := instrument.NewMaker(otel.Meter("evaluator"))
	m := &meters{
		score: maker.Histogram(instrument.Score), duration: maker.Histogram(instrument.ScoreDuration), waiting: maker.UpDown(instrument.ScoresWaiting),
	}
	return m, maker.Err()
}

// measureEvaluations exports the room of the stream of evaluations, which no other service may ask
// for, until stop is called.
func measureEvaluations(stores bus.Evaluations, logger *slog.Logger) (stop func() error, err error) {
	maker := instrument.NewMaker(otel.Meter("evaluator"))
	size, limit := maker.Gauge(instrument.StreamBytes), maker.Gauge(instrument.StreamLimit)
	stop = maker.Observe(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, measureTimeout)
		defer cancel()
		room, err := stores.Room(ctx)
		if err != nil {
			logger.Warn("gauges cannot be measured", "error", err)
			return nil
		}
		stream := metric.WithAttributes(attribute.String(instrument.LabelStream, room.Stream))
		o.ObserveFloat64(size, float64(room.Bytes), stream)
		if room.Limit > 0 {
			o.ObserveFloat64(limit, float64(room.Limit), stream)
		}
		return nil
	}, size, limit)
	return stop, maker.Err()
}

// stored records a result that was stored.
func (s *scorer) stored(ctx context.Context, start time.Time, result *busv1.Result) {
	s.meters.duration.Record(ctx, time.Since(start).Seconds())
	if bus.IsUnscored(result.GetEnd()) || !s.meters.score.Enabled(ctx) {
		return
	}
	categories := []string{noCategory}
	if starting, err := s.startingWorld(ctx, result.GetRollout().GetSetupDigest()); err == nil && len(starting.categories) > 0 {
		categories = starting.categories
	}
	for _, category := range categories {
		s.meters.score.Record(ctx, result.GetSimilarity(), metric.WithAttributes(attribute.String(instrument.LabelCategory, category)))
	}
}
