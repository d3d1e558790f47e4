// Package cluster runs an installation as separate processes on this machine: a NATS server and the
// four services, each on its own port. It can kill and restart them.
package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// The processes, in the order in which they start.
const (
	NATS         = "nats"
	ToolHost     = "toolhost"
	AgentGateway = "agentgw"
	Evaluator    = "evaluator"
	Orchestrator = "orchestrator"
	// SecondToolHost and ThirdToolHost are further tool hosts, where there are several.
	SecondToolHost = "toolhost-1"
	ThirdToolHost  = "toolhost-2"
	// SecondAgentGateway, SecondEvaluator and SecondOrchestrator are replicas, where there are two.
	SecondAgentGateway = "agentgw-1"
	SecondEvaluator    = "evaluator-1"
	SecondOrchestrator = "orchestrator-1"
)

// Client is the name of the command line in Route. It is not part of a cluster.
const Client = "toolsandbox"

const (
	// readyTimeout bounds the start of one process on a busy machine.
	readyTimeout = 2 * time.Minute
	// stopTimeout bounds the end of a process after a request to terminate.
	stopTimeout = time.Minute
	// dialInterval is the pause between two attempts to reach a process that starts.
	dialInterval = 20 * time.Millisecond
	// limitUnit is the unit of ulimit -f in bytes.
	limitUnit = 512
)

// Services lists the four services, without NATS.
func Services() []string { return []string{ToolHost, AgentGateway, Evaluator, Orchestrator} }

// Config configures a cluster.
type Config struct {
	// Bin is the directory of the program that Build compiles.
	Bin string
	// Earlier, if not empty, is a directory with the program of an earlier version. NATS and the first
	// of each service are of that version until Upgrade.
	Earlier string
	// Dir is the directory of data and logs.
	Dir string
	// MoreToolHosts are tool hosts beside the first, each with its share of the sessions. Start does
	// not start those of LaterToolHosts; the caller may.
	MoreToolHosts, LaterToolHosts []string
	// TwoPlayers runs two gateways and two orchestrators. The second orchestrator reaches the second
	// gateway, everybody else the first ones.
	TwoPlayers bool
	// Replicated runs two of each service, as on Kubernetes: gateways, evaluators and orchestrators
	// are found by names of DNS, and Replace may replace each.
	Replicated bool
	// Users makes each process a user of NATS that may do what its role needs.
	Users bool
	// Metrics makes each service answer scrapes of Prometheus at MetricsAddress.
	Metrics bool
	// Certificates, if not empty, is a directory with NAME.pem and NAME.key of each service and of
	// admin, and with ca.pem. Services then use mutual TLS, and the gateway only addresses of its own
	// configuration.
	Certificates string
	// Env are added to the environment of every service, as NAME=value.
	Env []string
	// Args are added to every service's command line, ToolHostArgs to that of the tool hosts.
	Args, ToolHostArgs []string
	// Route, if not nil, returns the address at which a process, a service or Client, reaches another
	// one that listens at address. Tests can insert a proxy with it.
	Route func(from, to, address string) (string, error)
}

// Cluster is a running installation. It is not safe for concurrent use. The caller stops it.
type Cluster struct {
	cfg       Config
	addresses map[string]string
	scraped   map[string]string
	// release releases the addresses.
	release []func() error
	// routes holds the address at which the first process reaches the second.
	routes  map[[2]string]string
	running map[string]*process
	// upgraded has the processes that Upgrade has replaced.
	upgraded map[string]bool
	replicas *replicas // nil unless they are replicated
}

type process struct {
	cmd  *exec.Cmd
	log  *os.File
	done chan error
}

// Build compiles the programs, without debug information, into a directory. root is the repository.
func Build(ctx context.Context, root, bin string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", bin+string(filepath.Separator), "./cmd/toolsandbox", "./original/cmd/conformance", "./e2e/cmd/slowmodel", "./e2e/cmd/mcpserver")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build programs: %w: %s", err, out)
	}
	return nil
}

// Start starts all processes and waits until each is ready.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{
		cfg: cfg, addresses: make(map[string]string), scraped: make(map[string]string), running: make(map[string]*process),
		upgraded: make(map[string]bool),
	}
	if err := errors.Join(c.reserve(), c.connect(), c.makeUsers()); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	for _, name := range c.names() {
		if slices.Contains(cfg.LaterToolHosts, name) {
			continue
		}
		if err := c.Start(ctx, name); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

// reserve chooses the addresses at which the processes listen.
func (c *Cluster) reserve() (err error) {
	if c.cfg.Replicated {
		if c.replicas, err = serveReplicas(); err != nil {
			return err
		}
		c.release = append(c.release, c.replicas.close)
	}
	for _, name := range c.names() {
		address, release, err := porttest.Reserve()
		if err != nil {
			return err
		}
		c.scraped[name], c.release = address, append(c.release, release)
		if first := c.addresses[serviceOf(name)]; first != "" && c.isNamed(name) {
			c.addresses[name] = c.replicas.next(first)
			continue
		}
		if address, release, err = porttest.Reserve(); err != nil {
			return err
		}
		c.addresses[name], c.release = address, append(c.release, release)
	}
	return nil
}

// connect determines the addresses at which the processes reach each other.
func (c *Cluster) connect() error {
	c.routes = make(map[[2]string]string)
	for _, from := range append([]string{Client}, c.names()...) {
		for to, address := range c.addresses {
			if c.isNamed(to) {
				address = c.replicas.target(serviceOf(to), address)
			}
			if c.cfg.Route != nil {
				var err error
				if address, err = c.cfg.Route(from, to, address); err != nil {
					return fmt.Errorf("route from %s to %s: %w", from, to, err)
				}
			}
			c.routes[[2]string{from, to}] = address
		}
	}
	return nil
}

// Address returns the address at which a process listens.
func (c *Cluster) Address(name string) string { return c.addresses[name] }

// MetricsAddress returns the address at which a service answers scrapes.
func (c *Cluster) MetricsAddress(name string) string { return c.scraped[name] }

// ClientArgs returns the flags with which toolsandbox run uses this cluster.
func (c *Cluster) ClientArgs() []string {
	return []string{"--remote", "--orchestrator-addr", c.routes[[2]string{Client, Orchestrator}], "--evaluator-addr", c.routes[[2]string{Client, Evaluator}]}
}

// Start starts a stopped process and waits until it is ready. It makes the streams that NATS lacks.
func (c *Cluster) Start(ctx context.Context, name string) error {
	err := c.start(ctx, name, exec.Command(c.program(name), c.args(name)...)) //nolint:noctx // it outlives the caller's context and is stopped by Stop
	if err == nil && c.isNamed(name) {
		c.replicas.add(serviceOf(name), c.addresses[name])
	}
	if err != nil || name != NATS {
		return err
	}
	args := append([]string{"bus", "init", "--nats-url", "nats://" + c.addresses[NATS]}, c.user("operator")...)
	init := exec.CommandContext(ctx, c.program(name), args...) // the program of this repository
	init.Env = append(os.Environ(), c.cfg.Env...)
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("make streams: %w: %s", err, out)
	}
	return nil
}

// StartOnFullDisk is Start for a process whose files cannot exceed size bytes, as on a full disk.
// It may end by itself.
func (c *Cluster) StartOnFullDisk(ctx context.Context, name string, size int64) error {
	limited := append([]string{"-c", fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, size/limitUnit), c.program(name)}, c.args(name)...)
	return c.start(ctx, name, exec.Command("sh", limited...)) //nolint:noctx // see Start
}

func (c *Cluster) start(ctx context.Context, name string, cmd *exec.Cmd) error {
	log, err := os.OpenFile(c.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), c.cfg.Env...)
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	p := &process{cmd: cmd, log: log, done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	c.running[name] = p
	return c.ready(ctx, name)
}

// Upgrade drains a process and starts it as the version under test.
func (c *Cluster) Upgrade(ctx context.Context, name string) error {
	if err := errors.Join(c.Signal(name, syscall.SIGTERM), c.Wait(name)); err != nil {
		return err
	}
	c.upgraded[name] = true
	return c.Start(ctx, name)
}

// program returns the program of a process.
func (c *Cluster) program(name string) string {
	dir := c.cfg.Bin
	if c.cfg.Earlier != "" && !c.upgraded[name] && slices.Contains(append([]string{NATS}, Services()...), name) {
		dir = c.cfg.Earlier
	}
	return filepath.Join(dir, "toolsandbox")
}

// Processes lists those that run, in the order in which they start.
func (c *Cluster) Processes() []string {
	return slices.DeleteFunc(c.names(), func(name string) bool { return c.running[name] == nil })
}

// names lists all processes, in the order in which they start.
func (c *Cluster) names() []string {
	names := append([]string{NATS}, Services()...)
	names = append(names, c.cfg.MoreToolHosts...)
	names = append(names, c.cfg.LaterToolHosts...)
	switch {
	case c.cfg.Replicated:
		names = append(names, SecondToolHost, SecondAgentGateway, SecondEvaluator, SecondOrchestrator)
	case c.cfg.TwoPlayers:
		names = append(names, SecondAgentGateway, SecondOrchestrator)
	}
	return names
}

// Streams returns the directory of the streams.
func (c *Cluster) Streams() string { return filepath.Join(c.cfg.Dir, "streams") }

// Sessions returns the directory of a tool host's sessions.
func (c *Cluster) Sessions(name string) string { return filepath.Join(c.cfg.Dir, "sessions-of-"+name) }

// passwords returns the directory of the passwords of NATS.
func (c *Cluster) passwords() string { return filepath.Join(c.cfg.Dir, "passwords") }

// user returns the flags by which a role connects to NATS.
func (c *Cluster) user(role string) []string {
	if !c.cfg.Users {
		return nil
	}
	return []string{"--nats-password-file", filepath.Join(c.passwords(), role)}
}

// makeUsers writes the passwords.
func (c *Cluster) makeUsers() error {
	if !c.cfg.Users {
		return nil
	}
	if err := os.MkdirAll(c.passwords(), 0o700); err != nil {
		return fmt.Errorf("passwords of NATS: %w", err)
	}
	for _, role := range append(Services(), "operator") {
		if err := os.WriteFile(filepath.Join(c.passwords(), role), []byte("secret-of-"+role), 0o600); err != nil {
			return fmt.Errorf("passwords of NATS: %w", err)
		}
	}
	return nil
}

func (c *Cluster) args(name string) []string {
	if name == NATS {
		args := []string{"serve", "nats", "--listen", c.addresses[NATS], "--dir", c.Streams()}
		if c.cfg.Users {
			args = append(args, "--passwords", c.passwords())
		}
		return args
	}
	to := func(other string) string { return c.routes[[2]string{name, other}] }
	service, gateway := serviceOf(name), AgentGateway
	if name == SecondOrchestrator {
		gateway = SecondAgentGateway
	}
	args := []string{
		"serve", service, "--grace", "2s",
		"--listen", c.addresses[name],
		"--nats-url", "nats://" + to(NATS),
		"--agentgw-addr", to(gateway),
		"--evaluator-addr", to(Evaluator),
		"--orchestrator-addr", to(Orchestrator),
	}
	if c.cfg.Metrics {
		args = append(args, "--metrics-listen", c.scraped[name])
	}
	switch service {
	case ToolHost: // all others reach it at one address, which it announces
		args = append(append(args, "--toolhost-dir", c.Sessions(name), "--toolhost-announce", c.routes[[2]string{Orchestrator, name}]), c.cfg.ToolHostArgs...)
	case AgentGateway:
		if c.cfg.Certificates == "" {
			args = append(args, "--agentgw-model-base-urls", "*") // servers of the test
		}
	case Orchestrator:
		if !c.cfg.Replicated {
			// Repeated kills and lost leases on a busy machine must not use up a rollout's attempts.
			args = append(args, "--orchestrator-lease", "2s", "--orchestrator-attempts", "30")
		}
	}
	return slices.Concat(args, c.user(service), c.TLSArgs(service), c.cfg.Args)
}

// TLSArgs returns the flags of a certificate, none without certificates.
func (c *Cluster) TLSArgs(name string) []string {
	if c.cfg.Certificates == "" {
		return nil
	}
	file := func(name string) string { return filepath.Join(c.cfg.Certificates, name) }
	return []string{"--tls-cert", file(name + ".pem"), "--tls-key", file(name + ".key"), "--tls-ca", file("ca.pem")}
}

// Credentials returns the credentials of a certificate, those of no TLS without certificates.
func (c *Cluster) Credentials(name string) (credentials.TransportCredentials, error) {
	if c.cfg.Certificates == "" {
		return insecure.NewCredentials(), nil
	}
	file := filepath.Join(c.cfg.Certificates, name)
	certificate, err := tls.LoadX509KeyPair(file+".pem", file+".key")
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	authority, err := os.ReadFile(filepath.Join(c.cfg.Certificates, "ca.pem"))
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool, MinVersion: tls.VersionTLS13}), nil
}

// ready waits until a process answers.
func (c *Cluster) ready(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(dialInterval)
	defer ticker.Stop()
	for {
		err := c.probe(ctx, name)
		if err == nil {
			return nil
		}
		select {
		case exit := <-c.running[name].done:
			c.running[name].done <- exit
			return fmt.Errorf("%s ended at its start (%w): see %s", name, exit, c.running[name].log.Name())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %w: see %s", name, readyTimeout, err, c.running[name].log.Name())
		case <-ticker.C:
		}
	}
}

// probe connects to a process. A service listens when it has everything that it needs to serve.
func (c *Cluster) probe(ctx context.Context, name string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.addresses[name])
	if err != nil {
		return err
	}
	return conn.Close()
}

// Kill kills a process and waits until it is gone. The error is os.ErrProcessDone if it had ended
// by itself. It can be restarted in both cases.
func (c *Cluster) Kill(name string) error {
	p := c.running[name]
	delete(c.running, name)
	err := p.cmd.Process.Kill()
	if err != nil {
		err = fmt.Errorf("kill %s: %w", name, err)
	}
	<-p.done //nolint:errcheck // it says that the process was killed
	return errors.Join(err, p.log.Close())
}

// Ended reports whether a process that was started ended by itself.
func (c *Cluster) Ended(name string) bool {
	p := c.running[name]
	select {
	case exit := <-p.done:
		p.done <- exit
		return true
	default:
		return false
	}
}

// Pid returns the id of a process that runs.
func (c *Cluster) Pid(name string) int { return c.running[name].cmd.Process.Pid }

// Log returns the log file of a process over all its starts.
func (c *Cluster) Log(name string) string { return filepath.Join(c.cfg.Dir, name+".log") }

// Signal sends a signal to a process that runs.
func (c *Cluster) Signal(name string, signal os.Signal) error {
	if err := c.running[name].cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s: %w", name, err)
	}
	return nil
}

// Wait waits for the end of a process after a signal. An exit code other than 0 is an error. It can
// be restarted in both cases.
func (c *Cluster) Wait(name string) error {
	p := c.running[name]
	delete(c.running, name)
	return wait(name, p)
}

// Stop terminates all processes in reverse order and waits for them. A process that has to be
// killed is an error. The cluster cannot be restarted.
func (c *Cluster) Stop() error {
	var errs []error
	names := c.names()
	slices.Reverse(names)
	for _, name := range names {
		if p := c.running[name]; p != nil {
			errs = append(errs, stop(name, p))
			delete(c.running, name)
		}
	}
	for _, release := range c.release {
		errs = append(errs, release())
	}
	c.release = nil
	return errors.Join(errs...)
}

func stop(name string, p *process) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return errors.Join(fmt.Errorf("stop %s: %w", name, err), p.log.Close())
	}
	return wait(name, p)
}

// wait waits for a process that was asked to end.
func wait(name string, p *process) error {
	defer func() { _ = p.log.Close() }()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case err := <-p.done:
		if err != nil {
			return fmt.Errorf("stop %s: %w: see %s", name, err, p.log.Name())
		}
		return nil
	case <-timer.C:
		err := p.cmd.Process.Kill()
		<-p.done //nolint:errcheck // it says that the process was killed
		return errors.Join(fmt.Errorf("%s did not stop within %s: see %s", name, stopTimeout, p.log.Name()), err)
	}
}
