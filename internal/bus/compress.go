package bus

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
)

const (
	// minCompressed is the length from which a message is compressed. The server keeps recent messages
	// in memory for ten seconds, so their length matters.
	minCompressed = 2 << 10
	// maxContent bounds a decompressed message.
	maxContent = 64 << 20
	// maxScratch bounds the size of the buffers that compress keeps.
	maxScratch = 1 << 20

	encodingHeader = "Content-Encoding"
	encodingS2     = "s2"
)

// scratch holds buffers of compress, which needs more space than a compressed message has.
var scratch sync.Pool // of *[]byte

// compress compresses a long message.
func compress(msg *nats.Msg) {
	if len(msg.Data) < minCompressed {
		return
	}
	buffer, ok := scratch.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer scratch.Put(buffer)
	encoded := s2.Encode(*buffer, msg.Data)
	msg.Data = bytes.Clone(encoded)
	if *buffer = encoded[:cap(encoded)]; len(*buffer) > maxScratch {
		*buffer = nil
	}
	msg.Header.Set(encodingHeader, encodingS2)
}

// answeredHeader is a header that NATS adds to its answer to a direct get.
const answeredHeader = "Nats-Stream"

// isAnswer reports whether NATS published a message itself, as the answer to a direct get whose
// requester named the subject. Permissions do not apply to such a subject, so the message counts as
// foreign.
func isAnswer(header nats.Header) bool { return len(header[answeredHeader]) > 0 }

// foreignData is the data of a message that counts as foreign. No decoder accepts it.
var foreignData = []byte{0}

// decompressedData returns the decompressed data of a message. Data that contradicts its header is
// returned as it is: it cannot be decoded anyway.
func decompressedData(header nats.Header, data []byte) []byte {
	if isAnswer(header) {
		return foreignData
	}
	if header.Get(encodingHeader) != encodingS2 {
		return data
	}
	if n, err := s2.DecodedLen(data); err != nil || n > maxContent {
		return data
	}
	decoded, err := s2.Decode(nil, data)
	if err != nil {
		return data
	}
	return decoded
}
