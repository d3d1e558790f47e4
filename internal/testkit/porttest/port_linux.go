package porttest

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Reserve reserves a port of 127.0.0.1 and returns its address. Until release is called, the kernel
// does not assign the port to sockets that ask for any free one. A process that names the port can
// listen on it repeatedly. Meanwhile connections to it are refused.
func Reserve() (address string, release func() error, err error) {
	// Keep a bound socket that never listens. The kernel lets another one bind to the same port if
	// both set SO_REUSEADDR, as Go's listeners do.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	address, err = bind(fd)
	if err != nil {
		_ = syscall.Close(fd)
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	return address, func() error { return syscall.Close(fd) }, nil
}

func bind(fd int) (address string, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	inet, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("bound to %T", bound)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(inet.Port)), nil
}
