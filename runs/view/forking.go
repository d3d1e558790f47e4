package view

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/process"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// forkLimit bounds the bytes of a form that forks, startWait the wait for the start of its run,
	// startPoll is the interval of looking for it.
	forkLimit = 1 << 20
	startWait = 30 * time.Second
	startPoll = 20 * time.Millisecond
)

// RunCommand runs the program with these arguments until ctx is done. It may be called
// concurrently.
type RunCommand func(ctx context.Context, args []string) error

// forking lets forms of the pages fork rollouts.
type forking struct {
	run RunCommand
	// token is in each form. Pages of other sites cannot know it.
	token string
	// starting serializes starts: directories and letters are taken in order.
	starting sync.Mutex
	life     context.Context // of the site, set when it serves
}

// form returns the token of forms, empty if they may not fork.
func (f *forking) form() string {
	if f == nil {
		return ""
	}
	return f.token
}

// AllowForks adds forms to the pages that continue a rollout in a new run beside its own, which the
// site then shows. Call it before Serve.
func (s *Site) AllowForks(run RunCommand) { s.forking = &forking{run: run, token: rand.Text()} }

// checkForks refuses forms where others than this machine reach them.
func (s *Site) checkForks(listener net.Listener) error {
	address, ok := listener.Addr().(*net.TCPAddr)
	if s.forking == nil || ok && address.IP.IsLoopback() {
		return nil
	}
	return process.UsageErrorf("--allow-fork: %s is not an address of this machine alone, and anybody there could start runs", listener.Addr())
}

// serveFork answers a form that forks. The host and the origin are already checked.
func (s *Site) serveFork(w http.ResponseWriter, r *http.Request) {
	if s.forking == nil {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The pages are for reading: toolsandbox view --allow-fork forks.", http.StatusMethodNotAllowed)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, forkLimit)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(s.forking.token)) != 1 {
		http.Error(w, "The form is not one of these pages, or of an earlier start: load its page again.", http.StatusForbidden)
		return
	}
	dir, args, err := s.forkArguments(r)
	switch {
	case errors.Is(err, errNoPage):
		http.Error(w, "There is no such rollout.", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	letter, err := s.startFork(dir, args)
	if err != nil {
		http.Error(w, "The fork did not start: "+err.Error(), http.StatusBadRequest)
		return
	}
	http.Redirect(w, r, "/"+tablePath("run", letter), http.StatusSeeOther)
}

// forkArguments returns the command line of a form, without its --out, and the directory of the
// origin.
func (s *Site) forkArguments(r *http.Request) (dir string, args []string, err error) {
	s.mu.Lock()
	v := s.viewer
	s.mu.Unlock()
	message, err := strconv.Atoi(r.PostForm.Get("message"))
	if v == nil || err != nil {
		return "", nil, errNoPage
	}
	from, name := v.run(r.PostForm.Get("run")), r.PostForm.Get("rollout")
	if from == nil {
		return "", nil, errNoPage
	}
	if _, ok := from.index[name]; !ok {
		return "", nil, errNoPage
	}
	trajectory, err := from.read(r.Context(), name, nil)
	if err != nil {
		return "", nil, err
	}
	args = []string{"run", "--fork=" + storage.Join(from.Directory, name) + "@" + strconv.Itoa(message)}
	for _, role := range []struct {
		flag string
		role worldv1.Role
	}{{"agent", worldv1.Role_ROLE_AGENT}, {"user", worldv1.Role_ROLE_USER}} {
		value := strings.TrimSpace(r.PostForm.Get(role.flag))
		if value == "" {
			continue
		}
		if parsed, err := player.Parse(role.role, value); err == nil && player.AtTerminal(parsed) {
			return "", nil, fmt.Errorf("%s %s: a person at a terminal needs toolsandbox run --fork there", role.flag, value)
		}
		args = append(args, "--"+role.flag+"="+value)
	}
	if message >= 0 && message < len(trajectory.Messages) {
		if text := editedText(r.PostForm.Get("text"), trajectory.Messages[message].GetText()); text != "" {
			args = append(args, "--text="+play.ForkText(text))
		}
	}
	return from.Directory, args, nil
}

// editedText returns the text of a form that showed the original, "" for an unchanged one. A
// browser sends each end of a line as CRLF, html/template replaces NUL, and a page shows some
// characters as escapes: those of the original stand for the characters again.
func editedText(sent, original string) string {
	var escapes []string
	seen := make(map[rune]bool)
	for _, r := range original {
		const after = "." // nothing is known of a last \r
		if escape := strings.TrimSuffix(output.Printable(string(r)+after), after); escape != string(r) && !seen[r] {
			seen[r], escapes = true, append(escapes, escape, string(r))
		}
	}
	text := strings.NewReplacer(escapes...).Replace(strings.ReplaceAll(sent, "\r\n", "\n"))
	if text == strings.NewReplacer("\r\n", "\n", "\x00", "\uFFFD").Replace(original) {
		return ""
	}
	return text
}

// startFork starts a run beside dir, waits until it has begun, and returns its letter. The site
// shows the run even if nobody waits for the answer any more, because it is played anyway.
func (s *Site) startFork(dir string, args []string) (letter string, err error) {
	s.forking.starting.Lock()
	defer s.forking.starting.Unlock()
	s.mu.Lock()
	full := len(s.sources) >= mostSources
	s.mu.Unlock()
	if full {
		return "", fmt.Errorf("%d runs are shown, and there are at most %[1]d: start toolsandbox view again with fewer", mostSources)
	}
	out, err := freeDirectory(dir)
	if err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	s.group.Go(func() {
		ended <- s.forking.run(s.forking.life, append(args, "--out="+out))
		s.wake()
	})
	ctx, cancel := context.WithTimeoutCause(s.forking.life, startWait, fmt.Errorf("%s has not begun after %s", out, startWait))
	defer cancel()
	ticker := time.NewTicker(startPoll)
	defer ticker.Stop()
	for {
		var failed error
		isOver := false
		select {
		case failed = <-ended:
			isOver = true
		case <-ticker.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if started, err := play.HasRun(out); err == nil && !started && !isOver {
			continue
		}
		source, err := OpenDirectory(ctx, out, false, io.Discard, s.scenarios)
		if err == nil {
			return s.shown(ctx, s.add(source), ticker.C)
		}
		if isOver {
			return "", cmp.Or(failed, err)
		}
	}
}

// freeDirectory returns the directory of a new fork of a run.
func freeDirectory(dir string) (string, error) {
	for n := 1; ; n++ {
		out := forkDirectory(dir)
		if n > 1 {
			out += "-" + strconv.Itoa(n)
		}
		if taken, err := storage.Exists(out); err != nil || !taken {
			return out, err
		}
	}
}

// add shows one more source, and returns its letter.
func (s *Site) add(source Source) (letter string) {
	s.mu.Lock()
	i := len(s.sources)
	s.sources, s.progress, s.ended = append(s.sources, source), append(s.progress, nil), append(s.ended, false)
	s.playing++
	s.mu.Unlock()
	s.group.Go(func() { s.follow(s.forking.life, i, source) })
	s.wake()
	return analysis.Letter(i)
}

// shown waits until the pages show a run.
func (s *Site) shown(ctx context.Context, letter string, poll <-chan time.Time) (string, error) {
	for {
		s.mu.Lock()
		v := s.viewer
		s.mu.Unlock()
		if v.run(letter) != nil {
			return letter, nil
		}
		select {
		case <-poll:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
