//go:build !linux && !darwin

package toolhost

// diskSpace returns that the system does not say.
func diskSpace(string) (free, size uint64, ok bool) { return 0, 0, false }
