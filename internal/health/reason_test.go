package health

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/health"
)

// lines calls a function with each line of a log.
type lines func(slog.Record)

func (l lines) Enabled(context.Context, slog.Level) bool           { return true }
func (l lines) Handle(_ context.Context, record slog.Record) error { l(record); return nil }
func (l lines) WithAttrs([]slog.Attr) slog.Handler                 { return l }
func (l lines) WithGroup(string) slog.Handler                      { return l }

// TestReasons follows a process that is not ready from its start, then ready, then not again. The
// log says why once a start is over, at the change, and every minute.
func TestReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got []string
		server := &Server{states: health.NewServer(), logger: slog.New(lines(func(record slog.Record) {
			got = append(got, time.Since(began).String()+" "+record.Message)
		}))}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Second/2)
		defer cancel()
		server.Follow(ctx, func(context.Context) error {
			if at := time.Since(began); at >= 90*time.Second && at < 120*time.Second {
				return nil
			}
			return errors.New("no gateway can be reached")
		})
		want := []string{"10s not ready", "1m10s not ready", "1m30s ready", "2m0s not ready", "3m0s not ready", "4m0s not ready"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
