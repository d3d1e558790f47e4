// Package runfile writes the files of a run in the original's format, so that existing tools for
// them work: result_summary.json and, per rollout, conversation.json, execution_context.json and
// pretty_print.txt. run.json contains the data that the original lacks.
//
// The functions have no state. They replace each file atomically. After a failure of the machine
// this holds for all files from the summary on, which is written last.
package runfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// These are the names of the files.
const (
	// SummaryFile holds the scores of a run. It is at the top of the run's directory.
	SummaryFile = "result_summary.json"
	// TrajectoriesDirectory holds one directory per rollout.
	TrajectoriesDirectory = "trajectories"
	// conversationFile holds the agent's view as chat messages, with the matches.
	conversationFile = "conversation.json"
	// contextFile holds every message and every version of every table.
	contextFile = "execution_context.json"
	// prettyFile contains the messages as a readable table.
	prettyFile = "pretty_print.txt"
)

// ErrName means that a name is not valid for a directory.
var ErrName = errors.New("not a name for a directory")

// ErrDamaged means that a file has another content than was written.
var ErrDamaged = errors.New("damaged")

// Rollout is the input for the files of one rollout.
type Rollout struct {
	// Scenario is the scenario of the rollout.
	Scenario *scenariov1.Scenario
	// Result is the score with the flags of the simulated user.
	Result *busv1.Result
	// Messages are all messages including the starting ones. Message i has index i.
	Messages []*worldv1.Message
	// Tables are all stored versions including the starting ones, in any order.
	Tables []*worldv1.Table
	// Usage is the usage of models by turn.
	Usage []*busv1.TurnUsage
	// Directory is the rollout's name below TrajectoriesDirectory; empty means the scenario's name.
	Directory string
	// Damage is the reason why the trajectory cannot be read, empty if it can.
	Damage string
	// Digest is the result of WriteTrajectory.
	Digest string
	// RecordingDigest is the hex digest of its recorded external input, empty without any.
	RecordingDigest string
}

// directory returns the rollout's directory name.
func (r Rollout) directory() string {
	return cmp.Or(r.Directory, r.Scenario.GetSetup().GetName())
}

// failed reports whether the rollout raised in the original's sense: its score does not result from
// its conversation.
func (r Rollout) failed() bool {
	reason := r.Result.GetEnd().GetReason()
	return reason == busv1.EndReason_END_REASON_MODEL_FAILURE || reason == busv1.EndReason_END_REASON_INFRASTRUCTURE ||
		reason == busv1.EndReason_END_REASON_CANCELLED
}

// RunDirectory returns the name of a run's directory, e.g.
// agent_oracle_user_scripted_05_22_2024_10_30_00. The time is in its own location. Underscores
// replace unsafe characters.
func RunDirectory(agent, user string, now time.Time) string {
	return "agent_" + safeName(agent) + "_user_" + safeName(user) + "_" + now.Format("01_02_2006_15_04_05")
}

// safeName keeps letters, digits, dots, dashes and underscores, and replaces the rest.
func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		default:
			return '_'
		}
	}, name)
}

// WriteTrajectory writes the files of one rollout to its directory below dir, the run's directory.
// It creates missing directories. A failed rollout has no conversation.json. digest is the hex
// SHA-256 of execution_context.json. The error is ErrName for an unsafe directory name, otherwise
// that of the file system.
func WriteTrajectory(dir string, r Rollout) (digest string, err error) {
	name := r.directory()
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("write trajectory %q: %w", name, ErrName)
	}
	files := []struct {
		name  string
		write func() ([]byte, error)
	}{
		{conversationFile, func() ([]byte, error) { return encodeDocument(conversation(r), "  ") }},
		{contextFile, func() ([]byte, error) { return encodeDocument(executionContext(r), "    ") }},
		{prettyFile, func() ([]byte, error) { return prettyPrint(r), nil }},
	}
	if r.failed() {
		files = files[1:]
	}
	target := filepath.Join(dir, TrajectoriesDirectory, name)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", fmt.Errorf("write trajectory: %w", err)
	}
	for _, file := range files {
		data, err := file.write()
		if err == nil {
			err = writeFile(filepath.Join(target, file.name), data, false)
		}
		if err != nil {
			return "", fmt.Errorf("write trajectory %s: %w", name, err)
		}
		if file.name == contextFile {
			digest = digestOf(data)
		}
	}
	return digest, nil
}

func digestOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// WriteSummary writes the summary of a run to its directory, which it creates. It first syncs all
// earlier files. If the machine fails before, resuming the run writes all files again.
func WriteSummary(dir string, summary *Summary) error {
	data, err := encode(summary, "    ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if err := syncFiles(dir); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if err := writeFile(filepath.Join(dir, SummaryFile), data, true); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// readFile reads a JSON file of a run and checks its digest unless that is empty. The error wraps
// ErrDamaged if the digest differs or decoding fails.
func readFile(dir, name, digest string, into any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if got := digestOf(data); digest != "" && got != digest {
		return damagedError(dir, name, fmt.Errorf("its SHA-256 is %.12s, %s says %.12s", got, RunFile, digest))
	}
	if err := json.Unmarshal(data, into); err != nil {
		return damagedError(dir, name, err)
	}
	return nil
}

func damagedError(dir, name string, err error) error {
	return fmt.Errorf("%s is %w: %w", filepath.Join(dir, name), ErrDamaged, err)
}

// WriteFile replaces a file atomically, also if the machine crashes, and creates its directory. It
// keeps the permissions of the old file. A file has one writer.
func WriteFile(path string, data []byte) error {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), writeFile(path, data, true)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeFile replaces a file atomically: readers see the old or the new content, also after a crash
// of the process and, with lasting, of the machine. It keeps the permissions of the old file. The
// next write reuses the temporary file of a crash. A file has one writer.
func writeFile(path string, data []byte, lasting bool) (err error) {
	dir := filepath.Dir(path)
	old, missing := os.Stat(path)
	file, err := os.OpenFile(filepath.Join(dir, "."+filepath.Base(path)+".new"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if missing == nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if lasting && err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil || !lasting {
		return err
	}
	return syncDirectory(dir)
}

// syncDirectory syncs a rename.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
