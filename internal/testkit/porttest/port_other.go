//go:build !linux

package porttest

import (
	"fmt"
	"net"
)

// Reserve chooses a port of 127.0.0.1 on which nobody listens and returns its address. This system
// has no way to keep it: somebody else may take it until its server listens. There is nothing to
// release.
func Reserve() (address string, release func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	return address, func() error { return nil }, nil
}
