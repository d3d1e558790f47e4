package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// sealSize is the size of the checksum at the end of each stored value.
const sealSize = 4

// castagnoli is the CRC-32C table, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns a copy of a value with the checksum of its key and itself.
func seal(key, value []byte) []byte {
	sealed := append(make([]byte, 0, len(value)+sealSize), value...)
	return binary.LittleEndian.AppendUint32(sealed, checksum(key, value))
}

// unseal returns a stored value without its checksum. The error reports a mismatch of value or key.
func unseal(key, sealed []byte) ([]byte, error) {
	if len(sealed) < sealSize {
		return nil, fmt.Errorf("the value of key %q has no checksum", key)
	}
	value := sealed[:len(sealed)-sealSize]
	if got, want := checksum(key, value), binary.LittleEndian.Uint32(sealed[len(value):]); got != want {
		return nil, fmt.Errorf("the value of key %q has checksum %08x, expected %08x", key, got, want)
	}
	return value, nil
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}
