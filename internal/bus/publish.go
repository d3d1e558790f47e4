package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// header is an additional header of a message.
type header struct{ name, value string }

// expectLast makes the server reject a message unless the last message of its subject has a
// sequence, 0 for none.
func expectLast(sequence uint64) header {
	return header{jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(sequence, 10)}
}

// expectLastOfStream makes the server reject a message unless the last message of its stream has a
// sequence, 0 for none.
func expectLastOfStream(sequence uint64) header {
	return header{jetstream.ExpectedLastSeqHeader, strconv.FormatUint(sequence, 10)}
}

// publish sends a message and waits for its acknowledgement. retried reports whether it made more
// than one attempt, so that the stored message may be that of an earlier one.
func (b *store) publish(ctx context.Context, subject string, raw []byte, headers ...header) (seq uint64, retried bool, err error) {
	attempts := 0
	err = attempt(ctx, streamOf(subject), func(ctx context.Context) (err error) {
		attempts++
		msg := newMessage(subject, raw)
		if hasSeals(streamOf(subject)) {
			msg.Header.Set(sealHeader, sealOf(subject, raw))
		}
		for _, h := range headers {
			msg.Header.Set(h.name, h.value)
		}
		answer, err := b.js.Conn().RequestMsgWithContext(ctx, msg)
		if err == nil {
			seq, err = acknowledged(answer.Data)
		}
		return err
	})
	return seq, attempts > 1, err
}

// acknowledgement is the server's answer to a publication: an error or the stream.
type acknowledgement struct {
	Error  *jetstream.APIError `json:"error"`
	Stream string              `json:"stream"`
	Seq    uint64              `json:"seq"`
}

// acknowledged returns the stream sequence of a stored message.
func acknowledged(answer []byte) (uint64, error) {
	if seq, ok := parsePlainAck(answer); ok {
		return seq, nil
	}
	var ack acknowledgement
	if err := json.Unmarshal(answer, &ack); err != nil || ack.Error == nil && ack.Stream == "" {
		return 0, jetstream.ErrInvalidJSAck
	}
	if ack.Error != nil {
		return 0, fmt.Errorf("nats: %w", ack.Error)
	}
	return ack.Seq, nil
}

// parsePlainAck parses the usual answer, {"stream":"BUS_0","seq":17}, without a JSON decoder. ok is
// false for any other answer.
func parsePlainAck(answer []byte) (seq uint64, ok bool) {
	stream, number, ok := bytes.Cut(answer, []byte(`"seq":`))
	if !ok || !bytes.HasPrefix(stream, []byte(`{"stream":"`)) {
		return 0, false
	}
	digits, closed := bytes.CutSuffix(number, []byte("}"))
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		seq = 10*seq + uint64(digit-'0')
	}
	return seq, closed && len(digits) > 0 && len(digits) < 19
}

// isWrongSequence reports whether an expected last sequence was not the last one.
func isWrongSequence(err error) bool {
	if err == nil {
		return false
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// storeFailed is the error code of NATS for a message that a stream does not store, and fullText
// its text if the stream has no room for it.
const (
	storeFailed = 10077
	fullText    = "maximum bytes exceeded"
)

// isFull reports whether a stream had no room for a message.
func isFull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == storeFailed && api.Description == fullText
}

// isAmbiguous reports whether a request failed in a way that leaves open whether the server acted
// on it.
func isAmbiguous(err error) bool {
	if err == nil {
		return false
	}
	for _, lost := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Code == 503
}
