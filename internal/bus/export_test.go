package bus

// Seal and Unseal export the coding of entries for tests.
var (
	Seal   = encodeEntry
	Unseal = decodeEntry
)
