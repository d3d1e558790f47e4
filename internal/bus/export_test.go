package bus

// Seal and Unseal export seal and unseal for tests.
var (
	Seal   = encodeEntry
	Unseal = decodeEntry
)
