package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// OpenFinished reads the summary of the run in dir and returns a reader of its other files.
// Warnings name rollouts that were not played and, with acceptEdits, files that were changed after
// the run.
func OpenFinished(ctx context.Context, dir string, acceptEdits bool, warnings io.Writer) (*resultfile.Summary, *results.Reader, error) {
	var edited func(string) error
	if acceptEdits {
		edited = func(path string) error { return Warn(warnings, "%s was changed after the run", path) }
	}
	reader, err := results.Open(ctx, dir, edited)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, nil, noSummary(dir)
	}
	if err != nil {
		return nil, nil, WithAdvice(dir, err)
	}
	summary, err := reader.Summary()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, noSummary(dir)
	}
	if err != nil {
		return nil, nil, WithAdvice(dir, err)
	}
	return summary, reader, warnNotPlayed(warnings, dir, reader.Run())
}

// RunsOf returns the directories of the runs that a path names, as results.RunsOf does. Warnings
// name those without results.
func RunsOf(path string, warnings io.Writer) ([]string, error) {
	dirs, without, err := results.RunsOf(path)
	if err != nil || len(without) == 0 {
		return dirs, err
	}
	return dirs, Warn(warnings, "%d of the %d runs of the experiment in %s have no results, and are missing here: %s; toolsandbox run --out %s --resume with its flags plays them",
		len(without), len(dirs)+len(without), path, strings.Join(without, ", "), ShellWord(path))
}

// noSummary is the error for a directory without the results of a run.
func noSummary(dir string) error {
	if _, err := results.ReadRun(dir); err == nil {
		return process.UsageErrorf("RUN: the run in %s has no results yet: toolsandbox run --out %s --resume with its flags plays it to its end", dir, ShellWord(dir))
	}
	if runs, err := filepath.Glob(filepath.Join(dir, "*", results.SummaryFile)); err == nil && len(runs) > 0 {
		return process.UsageErrorf("RUN: %s holds no finished run; did you mean %s?", dir, filepath.Dir(runs[len(runs)-1]))
	}
	return process.UsageErrorf("RUN: %s holds no finished run: give the --out directory of toolsandbox run", dir)
}

// warnNotPlayed warns of a run that has not reached its end.
func warnNotPlayed(w io.Writer, dir string, run *results.Run) error {
	missing := run.NotPlayed()
	if missing == 0 {
		return nil
	}
	return Warn(w, "%d of %d rollouts of the run in %s are not played: toolsandbox run --out %s --resume with its flags plays them",
		missing, run.Totals.Rollouts, dir, ShellWord(dir))
}

// WithAdvice adds what to do about it to the error of a damaged file of the run in dir.
func WithAdvice(dir string, err error) error {
	switch {
	case !errors.Is(err, results.ErrDamaged):
		return err
	case errors.Is(err, results.ErrRecord):
		return fmt.Errorf("%w; it has the digests of the other files, which are read unverified without it", err)
	}
	advice := "toolsandbox run --out " + ShellWord(dir) + " --resume with the run's flags writes it again"
	if errors.Is(err, results.ErrEdited) {
		advice += ", --accept-edits reads it as it is"
	}
	return fmt.Errorf("%w: %s", err, advice)
}
