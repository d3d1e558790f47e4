package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// countParts returns the number of messages, texts and byte strings in an encoded message, or more
// than most if there are more. Each takes up memory of its own when it is decoded, even if it is
// empty. The count of malformed data ends at the fault.
func countParts(d protoreflect.MessageDescriptor, data []byte, most int) int {
	count := 0
	for len(data) > 0 && count <= most {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return count
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return count
		}
		if kind == protowire.BytesType {
			count++
			if field := d.Fields().ByNumber(number); field != nil && field.Message() != nil {
				value, _ := protowire.ConsumeBytes(data)
				count += countParts(field.Message(), value, most-count)
			}
		}
		data = data[n:]
	}
	return count
}
