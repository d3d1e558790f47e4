package store

import (
	"bytes"
	"context"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
)

// answerSize is the size of the number at the end of an answer's key.
const answerSize = 4

// Answer is an external service's answer during an execution. Its data is opaque to the store.
type Answer struct {
	Index  int32  // message index of the execution
	Number uint32 // of the answer in the execution
	Data   []byte
}

// appendAnswerKey appends the key of an answer. The keys of one execution are ordered by number.
func appendAnswerKey(b []byte, id string, index int32, number uint32) []byte {
	return binary.BigEndian.AppendUint32(appendKey(b, id, kindAnswer, 0, index), number)
}

// PutAnswer stores an answer in a session and replaces one with the same index and number. It does
// not change the session's highest index. It fails with ErrNotFound, without a change, if the
// session does not exist. It returns nil only after the commit. If ctx ends first, it returns the
// context's error, and the commit may or may not happen. Other errors: ErrID, ErrClosed,
// *FatalError.
func (s *Store) PutAnswer(ctx context.Context, id string, answer Answer) error {
	key := appendAnswerKey(nil, id, answer.Index, answer.Number)
	data := addChecksum(key, answer.Data)
	return s.write(ctx, "put answer into", id, &request{apply: func(w *writer) (rejected, err error) {
		if old, err := w.session(id); old == nil || err != nil {
			return ErrNotFound, err
		}
		return nil, w.bucket.Put(key, data)
	}})
}

// Answers returns copies of a session's own answers from one index to another, inclusive, by index,
// then number. Errors: ErrNotFound if the session does not exist, ErrID, ErrClosed.
func (s *Store) Answers(id string, from, to int32) ([]Answer, error) {
	var answers []Answer
	err := s.read("read answers of", id, func(b *bolt.Bucket, _ []byte) error {
		prefix := appendPrefix(nil, id, kindAnswer, 0)
		c := b.Cursor()
		for k, v := c.Seek(appendAnswerKey(nil, id, from, 0)); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			index := keyIndex(k[:len(k)-answerSize])
			if index > to {
				break
			}
			value, err := s.value(k, v)
			if err != nil {
				return err
			}
			answers = append(answers, Answer{Index: index, Number: binary.BigEndian.Uint32(k[len(k)-answerSize:]), Data: bytes.Clone(value)})
		}
		return nil
	})
	return answers, err
}
