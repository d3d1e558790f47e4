package bus

// Seal and Unseal export the coding of entries for tests.
var (
	Seal   = encodeEntry
	Unseal = decodeEntry
)

// StreamConfigs exports the configuration of all streams for tests.
var StreamConfigs = streamConfigs

// SealOf exports the seal of a document for tests.
var SealOf = sealOf
