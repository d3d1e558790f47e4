package view

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pause"
)

// eventsPath is the path of the server-sent events.
const eventsPath = "events"

const (
	// mostStreams is the number of open streams of events. Further ones are refused, so that pages
	// have files left.
	mostStreams = 500
	// eventEvery is the least time between two events of a stream, eventWrite bounds the writing of
	// one, aliveEvery is the interval of comments by which a dead connection is found.
	eventEvery = 500 * time.Millisecond
	eventWrite = 5 * time.Second
	aliveEvery = 15 * time.Second
)

// news tells streams of server-sent events the version of the pages. A stream keeps nothing here: a
// slow one misses versions, and no other one waits for it.
type news struct {
	streams chan struct{}

	mu      sync.Mutex
	version int
	changed chan struct{} // closed by the next version
}

func newNews() *news {
	return &news{streams: make(chan struct{}, mostStreams), version: 1, changed: make(chan struct{})}
}

// add counts another version.
func (n *news) add() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.version++
	close(n.changed)
	n.changed = make(chan struct{})
}

// now returns the version, and what closes when there is another one.
func (n *news) now() (version int, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.version, n.changed
}

// serve sends the version now and whenever it changes, until the client leaves or does not read.
func (n *news) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case n.streams <- struct{}{}:
		defer func() { <-n.streams }()
	default:
		w.Header().Set("Retry-After", "60")
		http.Error(w, "Too many pages follow the runs.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's is for requests
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(eventWrite))
		_, err := fmt.Fprint(w, text)
		return err == nil && control.Flush() == nil
	}
	for {
		version, changed := n.now()
		if !send(fmt.Sprintf("data: %d\n\n", version)) || !pause.For(r.Context(), eventEvery) {
			return
		}
		for waiting := true; waiting; {
			timer := time.NewTimer(aliveEvery)
			select {
			case <-changed:
				waiting = false
			case <-timer.C:
				if !send(":\n\n") {
					return
				}
			case <-r.Context().Done():
			}
			timer.Stop()
			if r.Context().Err() != nil {
				return
			}
		}
	}
}
