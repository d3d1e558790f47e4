package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// ErrForeign means that a message is none of this program's, or belongs to another subject. The
// text names the stream, the sequence and the subject.
var ErrForeign = errors.New("not a message of this program")

// sealHeader is the header with the seal of a document of SWEEP, RECORDING or MEMBER. Nothing else
// tells a whole one from a part of it, or from that of another subject.
const sealHeader = "Seal"

// hasSeals reports whether the messages of a stream are sealed.
func hasSeals(stream string) bool {
	return stream == sweepStream || stream == recordingStream || stream == memberStream
}

// sealOf returns the hex SHA-256 of a subject and a message. It guards against mistakes, not
// against forgery.
func sealOf(subject string, raw []byte) string {
	sum := sha256.New()
	_, _ = sum.Write([]byte(subject + "\n"))
	_, _ = sum.Write(raw)
	return hex.EncodeToString(sum.Sum(nil))
}

// foreignError names a foreign message.
func foreignError(stream, subject string, sequence uint64, reason string) error {
	return fmt.Errorf("%w: stream %s, sequence %d, subject %s: %s", ErrForeign, stream, sequence, subject, reason)
}

// checkSeal returns ErrForeign for a message without its seal. data is decompressed.
func checkSeal(header nats.Header, subject string, sequence uint64, data []byte) error {
	switch seal := header.Get(sealHeader); {
	case seal == "":
		return foreignError(streamOf(subject), subject, sequence, "it has no seal")
	case seal != sealOf(subject, data):
		return foreignError(streamOf(subject), subject, sequence, "its seal is not that of its content")
	}
	return nil
}

func checkSealed(msg *jetstream.RawStreamMsg) error {
	return checkSeal(msg.Header, msg.Subject, msg.Sequence, msg.Data)
}

// newestSealed returns the newest message of a subject that has its seal, and the sequence of the
// newest of all, 0 if there is none. The error is ErrNotFound if none is sealed.
func (b *store) newestSealed(ctx context.Context, stream, subject string) (sealed *jetstream.RawStreamMsg, newest uint64, err error) {
	last, err := b.lastMessage(ctx, stream, subject)
	if err != nil {
		return nil, 0, err
	}
	if checkSealed(last) == nil {
		return last, last.Sequence, nil
	}
	err = b.eachMessage(ctx, stream, subject, func(msg *jetstream.RawStreamMsg) error {
		if checkSealed(msg) == nil {
			sealed = msg
		}
		return nil
	})
	if err == nil && sealed == nil {
		err = fmt.Errorf("%s: %w", subject, ErrNotFound)
	}
	return sealed, last.Sequence, err
}

// RemoveForeign removes the foreign documents of a sweep, and returns an ErrForeign for each.
func (b Sweeps) RemoveForeign(ctx context.Context, sweepID string) (removed []error, err error) {
	err = b.eachMessage(ctx, sweepStream, sweepSubjects(sweepID), func(msg *jetstream.RawStreamMsg) error {
		foreign := checkSealed(msg)
		if foreign == nil {
			return nil
		}
		removed = append(removed, foreign)
		return b.remove(ctx, sweepStream, msg.Sequence)
	})
	if err != nil {
		return removed, fmt.Errorf("remove foreign documents of sweep %s: %w", sweepID, err)
	}
	return removed, nil
}

// decodeJob decodes a job. The error is ErrForeign if it is none, or not that of its subject.
func decodeJob(subject string, sequence uint64, raw []byte) (*busv1.Job, error) {
	job := &busv1.Job{}
	if err := proto.Unmarshal(raw, job); err != nil {
		return nil, foreignError(jobStream, subject, sequence, "it is no job")
	}
	if want := jobSubject(job.GetRollout().GetId(), job.GetRound()); subject != want {
		return nil, foreignError(jobStream, subject, sequence, "it is the job of "+want)
	}
	return job, nil
}

// decodeResult decodes a result. The error is ErrForeign if it is none, or not that of its subject.
func decodeResult(subject string, sequence uint64, raw []byte) (*busv1.Result, error) {
	result := &busv1.Result{}
	if err := proto.Unmarshal(raw, result); err != nil {
		return nil, foreignError(resultStream, subject, sequence, "it is no result")
	}
	if want := resultSubject(result.GetRollout().GetId(), result.GetRound()); subject != want {
		return nil, foreignError(resultStream, subject, sequence, "it is the result of "+want)
	}
	return result, nil
}
