// Command slowmodel is an OpenAI chat completions server that delays each answer. It calls the
// first tool several times, then answers with a text. It runs the given command, which finds the
// server by OPENAI_BASE_URL, or serves until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// growth is the GOGC of this program, whose memory counts together with that of the measured one.
const growth = 50

func main() {
	model, address, shared := &model{}, "", false
	flag.StringVar(&address, "listen", "127.0.0.1:0", "address to listen at")
	flag.DurationVar(&model.delay, "delay", 5*time.Second, "how long an answer takes")
	flag.IntVar(&model.calls, "calls", 8, "turns with a call, before the text that ends a turn of the agent")
	flag.BoolVar(&shared, "http2", false, "let requests share connections, over HTTP/2 without TLS")
	flag.Parse()
	debug.SetGCPercent(growth)
	runtime.GOMAXPROCS(1) // leaves the processors to the measured program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, model, address, shared, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "slowmodel:", err)
		os.Exit(1) //nolint:gocritic // nothing to clean up
	}
}

// run serves the model while a command runs. Without a command it serves until the context ends.
func run(ctx context.Context, handler http.Handler, address string, shared bool, command []string) (err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 250}, ReadHeaderTimeout: time.Minute}
	server.Protocols.SetHTTP1(!shared)
	server.Protocols.SetUnencryptedHTTP2(shared)
	base := map[bool]string{false: "http://", true: "h2c://"}[shared] + listener.Addr().String() + "/v1"
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}()
	if len(command) == 0 {
		fmt.Println(base)
		<-ctx.Done()
		return nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+base)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w", command, err)
	}
	return nil
}
