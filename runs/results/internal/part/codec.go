package part

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	parquet "github.com/parquet-go/parquet-go/compress/zstd"
)

// window is the reach of the compression, in bytes: more than a page, which is compressed alone.
const window = 1 << 20

// codec is the library's Zstandard with one encoder of little memory. Each of its own encoders
// keeps 16 MiB, and the six writers of a part use several.
type codec struct {
	parquet.Codec
	encoder func() *zstd.Encoder
}

// Encode compresses a page.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder().EncodeAll(src, dst[:0]), nil
}

// compression is the codec of all writers.
var compression = &codec{encoder: sync.OnceValue(func() *zstd.Encoder {
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // an option out of its range
	}
	return encoder
})}
