// Package results holds the files of a run: those in the original's format, see
// [resultfile], with which existing tools for them work, and run.json with the data that the
// original lacks.
//
// The functions have no state. They replace each file atomically. After a failure of the machine
// this holds for all files from the summary on, which is written last.
package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// ErrName means that a name is not valid for a directory.
var ErrName = errors.New("not a name for a directory")

// ErrDamaged means that a file is invalid, or is not as the run wrote it, which is ErrEdited as
// well.
var (
	ErrDamaged = errors.New("damaged")
	// ErrRecord means that RunFile is damaged, which no command writes again. It is ErrDamaged as
	// well.
	ErrRecord = errors.New("restore a copy of it")
	ErrEdited = errors.New("not as the run wrote it")
)

// Rollout is the input for the files of one rollout.
type Rollout struct {
	resultfile.Rollout
	// Usage is the usage of models by turn.
	Usage []*busv1.TurnUsage
	// Answered is which process answered which turn of an attached agent.
	Answered []*busv1.AnsweredTurn
	// Confidence is the last probability of success that the agent stated, nil without any.
	Confidence *float64
	// Calls is the number of the agent's calls of tools.
	Calls int
	// Work is when workers played the rollout.
	Work []Work
	// Ended is how its conversation ended, which a failure to score it hides. Unspecified is unknown.
	Ended busv1.EndReason
	// Damage is the reason why the trajectory cannot be read, empty if it can.
	Damage string
	// Digest is the result of WriteTrajectory.
	Digest string
	// RecordingDigest is the hex digest of its recorded external input, empty without any.
	RecordingDigest string
}

// CountCalls returns the number of the agent's calls of tools: of its messages to the execution
// environment.
func CountCalls(messages []*worldv1.Message) int {
	count := 0
	for _, m := range messages {
		if m.GetSender() == worldv1.Role_ROLE_AGENT && m.GetRecipient() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
			count++
		}
	}
	return count
}

// Summarize returns the summary of a run's rollouts in their order.
func Summarize(rollouts []Rollout) *resultfile.Summary {
	return resultfile.Summarize(ofOriginal(rollouts))
}

// CategoriesOf returns the means of a run's rollouts by category.
func CategoriesOf(rollouts []Rollout) resultfile.Categories {
	return resultfile.CategoriesOf(ofOriginal(rollouts))
}

func ofOriginal(rollouts []Rollout) []resultfile.Rollout {
	played := make([]resultfile.Rollout, len(rollouts))
	for i, r := range rollouts {
		played[i] = r.Rollout
	}
	return played
}

// RunDirectory returns the name of a run's directory, e.g.
// agent_oracle_user_scripted_05_22_2024_10_30_00. The time is in its own location. Underscores
// replace unsafe characters.
func RunDirectory(agent, user string, now time.Time) string {
	return "agent_" + SafeName(agent) + "_user_" + SafeName(user) + "_" + now.Format("01_02_2006_15_04_05")
}

// SafeName keeps letters, digits, dots, dashes and underscores, and replaces the rest.
func SafeName(name string) string {
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
	name := r.Name()
	if !isName(name) {
		return "", fmt.Errorf("write trajectory %q: %w", name, ErrName)
	}
	files := []struct {
		name  string
		write func() ([]byte, error)
	}{
		{conversationFile, func() ([]byte, error) { return resultfile.Conversation(r.Rollout) }},
		{contextFile, func() ([]byte, error) { return resultfile.Context(r.Rollout) }},
		{prettyFile, func() ([]byte, error) { return resultfile.PrettyPrint(r.Rollout), nil }},
	}
	if r.Failed() {
		files = files[1:]
	}
	target := storage.Join(dir, TrajectoriesDirectory, name)
	for _, file := range files {
		data, err := file.write()
		if err == nil {
			err = storage.WriteFile(storage.Join(target, file.name), data, false)
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

// ContextDigest returns the digest that WriteTrajectory would return.
func ContextDigest(r Rollout) (string, error) {
	data, err := resultfile.Context(r.Rollout)
	return digestOf(data), err
}

func digestOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// SummaryFiles returns the original's files of a whole run, by name.
func SummaryFiles(rollouts []Rollout) (map[string][]byte, error) {
	return encodeSummary(Summarize(rollouts))
}

func encodeSummary(summary *resultfile.Summary) (map[string][]byte, error) {
	data, err := output.JSON(summary, "    ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", SummaryFile, err)
	}
	table, err := summary.Table()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ScenarioTableFile, err)
	}
	return map[string][]byte{SummaryFile: data, ScenarioTableFile: table}, nil
}

// WriteResults writes what is left at the end of a run to its directory, which it creates: RunFile
// with the digests of all files, then content by name, the summary last. written are the digests of
// files that are written already, such as those that Tables.Close returned.
func WriteResults(dir string, run *Run, content map[string][]byte, written map[string]string) error {
	run.Files = maps.Clone(written)
	if run.Files == nil {
		run.Files = make(map[string]string, len(content))
	}
	for name, data := range content {
		run.Files[name] = digestOf(data)
	}
	if err := WriteRun(dir, run); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if name == SummaryFile {
			continue
		}
		if err := WriteFile(storage.Join(dir, name), content[name]); err != nil {
			return err
		}
	}
	if summary, ok := content[SummaryFile]; ok {
		return writeSummary(dir, summary)
	}
	return nil
}

// writeSummary writes the encoded summary of a run. It first syncs all earlier files. If the
// machine fails before, resuming the run writes all files again.
func writeSummary(dir string, data []byte) error {
	if err := storage.Sync(dir); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return WriteFile(storage.Join(dir, SummaryFile), data)
}

// isName reports whether a name is valid for a directory.
func isName(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, `/\`)
}

// damagedError returns the error of a file that cannot be read. The file is not at fault for
// resultfile.ErrSchema.
func damagedError(dir, name string, err error) error {
	if errors.Is(err, resultfile.ErrSchema) {
		return fmt.Errorf("read %s: %w", storage.Join(dir, name), err)
	}
	return fmt.Errorf("%s is %w: %w", storage.Join(dir, name), ErrDamaged, err)
}

// editedError is damagedError for a file with another digest than source says.
func editedError(dir, name, got, source, want string) error {
	return damagedError(dir, name, fmt.Errorf("%w: its SHA-256 is %.12s, %s says %.12s", ErrEdited, got, source, want))
}

// WriteFile replaces a file atomically, also if the machine crashes, and creates its directory. It
// keeps the permissions of the old file. A file has one writer.
func WriteFile(path string, data []byte) error {
	if err := storage.WriteFile(path, data, true); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
