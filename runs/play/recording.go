package play

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// maxRecorded is the largest message of a file of a recording.
const maxRecorded = 64 << 20

// recording is the recording of a run. It implements sweep.Recording and keeps no file open.
type recording struct {
	dir    string
	digest string
	// hasExternalInput is set if there is external input: only then rollouts have files.
	hasExternalInput bool
}

// specify stores the specification without secrets and returns its digest.
func (d *directory) specify(spec sweep.Spec) (digest string, err error) {
	spec.Agents, spec.Users = withoutSecrets(spec.Agents), withoutSecrets(spec.Users)
	messages := []proto.Message{spec.WithoutScenarios()}
	for _, scenario := range spec.Scenarios {
		messages = append(messages, scenario)
	}
	raw, err := encodeMessages(messages)
	if err != nil {
		return "", fmt.Errorf("specification: %w", err)
	}
	return hexSum(string(raw)), results.WriteFile(storage.Join(d.recordings(), specificationFile), raw)
}

// record stores the external input of a rollout and returns its digest. kept is the digest of the
// existing file if that holds the input of the same conversation: such a file stays, because the
// streams may have lost a part since. wrote is false then.
func (d *directory) record(n int, items []*orchestratorv1.RecordedItem, kept string) (digest string, wrote bool, err error) {
	messages := make([]proto.Message, len(items))
	for i, item := range items {
		messages[i] = item
	}
	raw, err := encodeMessages(messages)
	if err != nil {
		return "", false, fmt.Errorf("recording: %w", err)
	}
	path := storage.Join(d.recordings(), strconv.Itoa(n))
	if digest = hexSum(string(raw)); kept != "" && digest != kept {
		if existing, err := storage.ReadFile(path); err == nil && hexSum(string(existing)) == kept {
			return kept, false, nil
		}
	}
	return digest, true, results.WriteFile(path, raw)
}

// encodeMessages returns length-prefixed messages.
func encodeMessages(messages []proto.Message) ([]byte, error) {
	var out bytes.Buffer
	options := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
	for _, message := range messages {
		if _, err := options.MarshalTo(&out, message); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// errNoRecording means that a directory holds no recording.
var errNoRecording = errors.New("no recording")

// openRecording reads the specification and the record of the run in a directory and checks that
// the recording is complete and unchanged: missing names the scenarios of rollouts without one. The
// error is errNoRecording if there is no recording.
func openRecording(dir string) (spec sweep.Spec, run *results.Run, missing []string, err error) {
	r := &recording{dir: (&directory{path: dir}).recordings()}
	if spec, run, err = r.open(dir); err != nil {
		return sweep.Spec{}, nil, nil, err
	}
	spec.Recording = r
	whole := make(map[int]results.Outcome, len(run.Rollouts))
	for _, rollout := range run.Rollouts {
		if rollout.Damage == "" {
			whole[results.PlanNumber(rollout.ID)] = rollout
		}
	}
	rollouts := spec.Rollouts()
	if len(run.Rollouts) > rollouts {
		return sweep.Spec{}, nil, nil, fmt.Errorf("read %s: %d rollouts, expected at most the %d of the recording", storage.Join(dir, results.RunFile), len(run.Rollouts), rollouts)
	}
	digest := sha256.New()
	for n := range rollouts {
		rollout, ok := whole[n]
		var raw []byte
		if ok && r.hasExternalInput {
			raw, err = readVerified(r.file(n), rollout.RecordingSHA256)
		}
		if !ok || errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, spec.Scenarios[n/(rollouts/len(spec.Scenarios))].GetSetup().GetName())
			continue
		}
		if err != nil {
			return sweep.Spec{}, nil, nil, err
		}
		sum := sha256.Sum256(raw)
		_, _ = digest.Write(sum[:])
	}
	r.digest = hex.EncodeToString(digest.Sum(nil))
	return spec, run, missing, nil
}

// open reads the specification, and the record of the run in dir.
func (r *recording) open(dir string) (spec sweep.Spec, run *results.Run, err error) {
	if spec, err = r.specification(); err != nil {
		return sweep.Spec{}, nil, err
	}
	if run, err = results.ReadRun(dir); err != nil {
		return sweep.Spec{}, nil, err
	}
	if run.SpecificationSHA256 == "" {
		return sweep.Spec{}, nil, process.UsageErrorf("the run in %s has not come to its end: complete it with its own flags and --resume", dir)
	}
	if _, err := readVerified(storage.Join(r.dir, specificationFile), run.SpecificationSHA256); err != nil {
		return sweep.Spec{}, nil, err
	}
	r.hasExternalInput = spec.Fork != nil
	toolServers := sweep.HasToolServers(spec.Scenarios)
	for _, agent := range spec.Agents {
		for _, user := range spec.Users {
			r.hasExternalInput = r.hasExternalInput || sweep.HasExternalInput(toolServers, spec.Services, agent, user)
		}
	}
	return spec, run, nil
}

// readVerified reads a file of the recording whose digest is in the run's record.
func readVerified(path, digest string) ([]byte, error) {
	raw, err := storage.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if got := hexSum(string(raw)); got != digest {
		return nil, fmt.Errorf("%s is %w: its SHA-256 is %s, %s says %s", path, results.ErrDamaged, got, results.RunFile, digest)
	}
	return raw, nil
}

func (r *recording) file(n int) string { return storage.Join(r.dir, strconv.Itoa(n)) }

// specification reads the specification.
func (r *recording) specification() (sweep.Spec, error) {
	path := storage.Join(r.dir, specificationFile)
	stored, spec := &orchestratorv1.SweepSpec{}, sweep.Spec{}
	first := true
	err := readMessages(path, func(read func(proto.Message) error) error {
		if first {
			first = false
			return read(stored)
		}
		scenario := &scenariov1.Scenario{}
		err := read(scenario)
		spec.Scenarios = append(spec.Scenarios, scenario)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return sweep.Spec{}, errNoRecording
	}
	if err == nil && (len(spec.Scenarios) == 0 || len(stored.GetAgents()) == 0 || len(stored.GetUsers()) == 0 || stored.GetTrials() < 1) {
		err = fmt.Errorf("read %s: expected scenarios, players and trials", path)
	}
	spec.Agents, spec.Users, spec.Trials = stored.GetAgents(), stored.GetUsers(), int(stored.GetTrials())
	spec.Seed, spec.Compat, spec.Services = stored.GetSeed(), stored.GetCompat(), stored.GetHostedServices()
	spec.MaxBytes, spec.RepeatLimit, spec.Fork = stored.GetMaxBytes(), stored.RepeatLimit, stored.GetFork()
	return spec, err
}

// Digest implements sweep.Recording.
func (r *recording) Digest() string { return r.digest }

// Visit implements sweep.Recording.
func (r *recording) Visit(n int, visit func(*orchestratorv1.RecordedItem) error) error {
	if !r.hasExternalInput {
		return nil
	}
	return readMessages(r.file(n), func(read func(proto.Message) error) error {
		item := &orchestratorv1.RecordedItem{}
		if err := read(item); err != nil {
			return err
		}
		return visit(item)
	})
}

// readMessages calls next once for each message of a file; next must read it.
func readMessages(path string, next func(read func(proto.Message) error) error) (err error) {
	file, err := storage.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := bufio.NewReader(io.NewSectionReader(file, 0, file.Size()))
	for n := 1; ; n++ {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		err := next(func(message proto.Message) error {
			if err := (protodelim.UnmarshalOptions{MaxSize: maxRecorded}).UnmarshalFrom(in, message); err != nil {
				return fmt.Errorf("read %s: message %d: expected %s: %w", path, n, message.ProtoReflect().Descriptor().Name(), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}
