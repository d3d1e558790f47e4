//go:build !linux

package porttest

import (
	"fmt"
	"net"
)

// Reserve chooses a free port of 127.0.0.1 and returns its address. This system cannot reserve it:
// another process may take it before its server listens. release does nothing.
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
