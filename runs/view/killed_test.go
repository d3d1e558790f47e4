package view

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestSiteOfKilledRun opens a run whose process was killed: its socket is left, and nobody listens.
func TestSiteOfKilledRun(t *testing.T) {
	dir := t.TempDir()
	if err := results.WriteRun(dir, &results.Run{SweepID: "s", SpecDigest: "d"}); err != nil {
		t.Fatal(err)
	}
	if err := results.WriteFile(play.Socket(dir), nil); err != nil {
		t.Fatal(err)
	}
	sources, err := OpenAll(t.Context(), []string{dir}, false, io.Discard, noScenarios, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	site := NewSite(sources, noScenarios, noEvaluator, "")
	served, exported := site.Serve(ctx, listener), site.Export(ctx, filepath.Join(dir, "pages"), false, io.Discard)
	for _, err := range []error{served, exported} {
		if err == nil || !strings.Contains(err.Error(), "RUN: the run in "+dir+" has no results yet") {
			t.Errorf("got %v, want that the run has no results yet", err)
		}
	}
}

// TestExportOfDyingRun exports a run whose process ends with the first question: that is no run
// without rollouts.
func TestExportOfDyingRun(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(results.WriteRun(dir, &results.Run{SweepID: "s", SpecDigest: "d"}), os.MkdirAll(filepath.Dir(play.Socket(dir)), 0o700)); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", play.Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	dying := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		_ = os.Remove(play.Socket(dir))
		return status.Error(codes.NotFound, "the process ends")
	}))
	served := make(chan error, 1)
	go func() { served <- dying.Serve(listener) }()
	sources, err := OpenAll(t.Context(), []string{dir}, false, io.Discard, noScenarios, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = NewSite(sources, noScenarios, noEvaluator, "").Export(t.Context(), filepath.Join(dir, "pages"), false, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "has no results yet") {
		t.Errorf("got %v, want that the run has no results yet", err)
	}
	dying.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestSettle waits for the summary of a run that has noted its end: the process that plays it
// writes the summary when it is asked for the second time.
func TestSettle(t *testing.T) {
	dir := writeRun(t, catalogued(t)["turn_off_wifi"], "Done.", 1, "turn_off_wifi")
	summary := filepath.Join(dir, results.SummaryFile)
	if err := errors.Join(os.Rename(summary, summary+".new"), os.MkdirAll(filepath.Dir(play.Socket(dir)), 0o700)); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", play.Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		for range 2 {
			if conn, err := listener.Accept(); err == nil {
				_ = conn.Close()
			}
		}
		written <- os.Rename(summary+".new", summary)
	}()
	d := &directory{path: dir, warnings: io.Discard}
	d.settle(t.Context())
	if _, err := d.load(t.Context()); err != nil {
		t.Errorf("got %v, want the run with its summary", err)
	}
	if err := errors.Join(listener.Close(), <-written); err != nil {
		t.Error(err)
	}
}
