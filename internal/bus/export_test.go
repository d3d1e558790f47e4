package bus

// Seal and Unseal are for the tests of stored entries.
var (
	Seal   = seal
	Unseal = unseal
)
