package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/net/dns/dnsmessage"
)

// maxQuery is the maximum size of a DNS message over UDP.
const maxQuery = 1232

// Replace replaces a process as a rolling update does. A process that is found by a name of DNS
// starts at a new address, and the old one then ends. Any other one ends first, and then starts
// with the same address and disk. An exit code other than 0 is an error.
func (c *Cluster) Replace(ctx context.Context, name string) error {
	if !c.isNamed(name) {
		return errors.Join(c.Signal(name, syscall.SIGTERM), c.Wait(name), c.Start(ctx, name))
	}
	old, address := c.running[name], c.addresses[name]
	c.addresses[name] = c.replicas.next(address)
	if err := c.Start(ctx, name); err != nil {
		return errors.Join(err, stop(name, old))
	}
	c.replicas.remove(serviceOf(name), address)
	return stop(name, old)
}

// isNamed reports whether a process is one of those behind a name of DNS.
func (c *Cluster) isNamed(name string) bool {
	service := serviceOf(name)
	return c.replicas != nil && service != NATS && service != ToolHost
}

// serviceOf returns the service of a process.
func serviceOf(name string) string {
	service, _, _ := strings.Cut(name, "-")
	return service
}

// replicas is a DNS server on this machine that resolves the name of a service to the addresses of
// its processes. Safe for concurrent use.
type replicas struct {
	conn   net.PacketConn
	served sync.WaitGroup

	mu    sync.Mutex
	last  byte // of the addresses that were given out: 127.0.0.last
	hosts map[string][]netip.Addr
}

func serveReplicas() (*replicas, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // on this machine
	if err != nil {
		return nil, fmt.Errorf("name server: %w", err)
	}
	r := &replicas{conn: conn, last: 1, hosts: make(map[string][]netip.Addr)}
	r.served.Go(r.serve)
	return r, nil
}

// target returns the address at which gRPC finds the processes of a service. One of them listens at
// address, the others at other addresses with its port.
func (r *replicas) target(service, address string) string {
	_, port, _ := net.SplitHostPort(address)
	return "dns://" + r.conn.LocalAddr().String() + "/" + service + ".test.:" + port
}

// next returns an address that no process has had, with the port of another one. 127.0.0.0/8 is
// this machine.
func (r *replicas) next(address string) string {
	_, port, _ := net.SplitHostPort(address)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	host := netip.AddrFrom4([4]byte{127, 0, 0, r.last})
	return net.JoinHostPort(host.String(), port)
}

// add adds the address of a process that serves.
func (r *replicas) add(service, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts[service] = append(r.hosts[service], netip.MustParseAddrPort(address).Addr())
}

// remove removes the address of a process that ends.
func (r *replicas) remove(service, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts[service] = slices.DeleteFunc(r.hosts[service], func(host netip.Addr) bool { return host == netip.MustParseAddrPort(address).Addr() })
}

// serve answers queries until the server is closed.
func (r *replicas) serve() {
	query := make([]byte, maxQuery)
	for {
		n, from, err := r.conn.ReadFrom(query)
		if err != nil {
			return
		}
		if answer, err := r.answer(query[:n]); err == nil { // a query that is none gets no answer
			_, _ = r.conn.WriteTo(answer, from)
		}
	}
}

func (r *replicas) answer(query []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	service, found := strings.CutSuffix(question.Name.String(), ".test.")
	r.mu.Lock()
	hosts := slices.Clone(r.hosts[service])
	r.mu.Unlock()
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true},
		Questions: []dnsmessage.Question{question},
	}
	if !found || len(hosts) == 0 {
		reply.RCode = dnsmessage.RCodeNameError
	}
	for _, host := range hosts {
		if question.Type == dnsmessage.TypeA {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: host.As4()},
			})
		}
	}
	return reply.Pack()
}

func (r *replicas) close() error {
	err := r.conn.Close()
	r.served.Wait()
	return err
}
