package bus

import (
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
)

const (
	// compressFrom is the length from which a message travels and is stored compressed. The server
	// keeps for ten seconds in memory what was just written and read, so length is memory there.
	compressFrom = 16 << 10
	// maxContent bounds what a compressed message may become.
	maxContent = 64 << 20

	encodingHeader = "Content-Encoding"
	encodingS2     = "s2"
)

// compress makes a long message short.
func compress(msg *nats.Msg) {
	if len(msg.Data) < compressFrom {
		return
	}
	msg.Data = s2.Encode(nil, msg.Data)
	msg.Header.Set(encodingHeader, encodingS2)
}

// content returns what was published as a message. Data that is not what its header says is
// returned as it is: nobody can decode it.
func content(header nats.Header, data []byte) []byte {
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
