package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
)

// maxSocketName is the longest name of a unix socket that every system takes.
const maxSocketName = 100

// SocketTarget returns the address of a unix socket for Config.Orchestrators. Close ends it. The
// error is that nobody listens there.
func SocketTarget(ctx context.Context, path string) (target string, closeTarget func() error, err error) {
	name, closeTarget, err := linked(path)
	if err != nil {
		return "", nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", name)
	if err != nil {
		return "", nil, errors.Join(err, closeTarget())
	}
	return "unix://" + name, closeTarget, conn.Close()
}

// linked returns a short name of a file without special characters, by a link to its directory.
func linked(path string) (name string, unlink func() error, err error) {
	directory, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	temporary, err := os.MkdirTemp("", "toolsandbox-")
	if err != nil {
		return "", nil, err
	}
	unlink = func() error { return os.RemoveAll(temporary) }
	link := filepath.Join(temporary, "d")
	if err := os.Symlink(directory, link); err != nil {
		return "", nil, errors.Join(err, unlink())
	}
	if name = filepath.Join(link, filepath.Base(path)); len(name) > maxSocketName {
		return "", nil, errors.Join(fmt.Errorf("%s is too long a name for a socket: set TMPDIR to a shorter one", name), unlink())
	}
	return name, unlink, nil
}

// socketServer is a service of this process that a unix socket serves too, for other processes of
// this user.
type socketServer struct {
	*memoryServer
	socket   *grpc.Server
	listener *net.UnixListener
	path     string
}

// openSocket makes a server that the socket serves too. Its directory is for this user alone.
func openSocket(inner *memoryServer, path string, g *guard, limit int) (_ *socketServer, err error) {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	name, unlink, err := linked(path)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err = errors.Join(err, unlink()); err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // its name is gone
	options := append([]grpc.ServerOption{
		grpc.MaxSendMsgSize(limit), grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream), grpc.WaitForHandlers(true),
	}, g.receiveOptions(limit)...)
	return &socketServer{inner, grpc.NewServer(options...), listener, path}, nil
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *socketServer) RegisterService(desc *grpc.ServiceDesc, service any) {
	s.memoryServer.RegisterService(desc, service)
	s.socket.RegisterService(desc, service)
}

// Serve implements server. A socket that fails is of no concern to callers in this process.
func (s *socketServer) Serve() error {
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.socket.Serve(s.listener) })
	err := s.memoryServer.Serve()
	s.socket.Stop()
	serving.Wait()
	return errors.Join(err, os.Remove(s.path))
}

// GracefulStop implements server.
func (s *socketServer) GracefulStop() {
	s.socket.GracefulStop()
	s.memoryServer.GracefulStop()
}

// Stop implements server.
func (s *socketServer) Stop() {
	s.socket.Stop()
	s.memoryServer.Stop()
}
