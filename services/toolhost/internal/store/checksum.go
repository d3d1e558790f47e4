package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// checksumSize is the size of the checksum at the end of each stored value.
const checksumSize = 4

// castagnoli is the CRC-32C table, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// addChecksum returns a copy of a value with the checksum of its key and itself.
func addChecksum(key, value []byte) []byte {
	stored := append(make([]byte, 0, len(value)+checksumSize), value...)
	return binary.LittleEndian.AppendUint32(stored, checksum(key, value))
}

// checkedValue returns a stored value without its checksum. The error reports a mismatch of value
// or key.
func checkedValue(key, stored []byte) ([]byte, error) {
	if len(stored) < checksumSize {
		return nil, fmt.Errorf("the value of key %q has no checksum", key)
	}
	value := stored[:len(stored)-checksumSize]
	if got, want := checksum(key, value), binary.LittleEndian.Uint32(stored[len(value):]); got != want {
		return nil, fmt.Errorf("the value of key %q has checksum %08x, expected %08x", key, got, want)
	}
	return value, nil
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}
