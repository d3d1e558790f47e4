package record

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// TCP starts a proxy for an address. It records both directions of every connection.
func (r *Recorder) TCP(wire, target string) (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("record %s: %w", wire, err)
	}
	p := &tcpProxy{recorder: r, wire: wire, target: target, listener: listener, open: make(map[net.Conn]bool)}
	p.group.Go(p.accept)
	r.onClose(p.close)
	return listener.Addr().String(), nil
}

type tcpProxy struct {
	recorder *Recorder
	wire     string
	target   string
	listener net.Listener
	group    sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

func (p *tcpProxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(conn) })
	}
}

// serve copies until either side ends.
func (p *tcpProxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target) //nolint:noctx // the address is on this machine; close ends the connection
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.track(client, server) {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		both.Go(func() {
			to, from := way[0], way[1]
			_, _ = io.Copy(to, io.TeeReader(from, &stream{recorder: p.recorder, wire: p.wire})) // only the end of the copy matters
			_, _ = to.Close(), from.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, server)
}

// track records connections for close. After close it returns false.
func (p *tcpProxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			_ = conn.Close()
			continue
		}
		p.open[conn] = true
	}
	return !p.closed
}

func (p *tcpProxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.open {
		err = errors.Join(err, ignoreClosed(conn.Close()))
	}
	p.mu.Unlock()
	p.group.Wait()
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
