//go:build linux || darwin

package toolhost

import "golang.org/x/sys/unix"

// diskSpace returns the bytes that the file system of a directory has free for this process, and
// all its bytes. ok is false if the system does not say.
func diskSpace(dir string) (free, size uint64, ok bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, 0, false
	}
	return fs.Bavail * uint64(fs.Bsize), fs.Blocks * uint64(fs.Bsize), true
}
