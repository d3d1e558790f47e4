package filelimit

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// noticeEvery is the interval of log lines about connections that wait for a descriptor.
const noticeEvery = time.Minute

// Listener returns a listener that logs when no descriptor is left for a connection. Servers retry
// then, so their clients wait and would not know why.
func Listener(listener net.Listener, logger *slog.Logger) net.Listener {
	return &logged{Listener: listener, logger: logger}
}

type logged struct {
	net.Listener
	logger *slog.Logger

	mu   sync.Mutex
	last time.Time // time of the last line
}

// Accept implements net.Listener.
func (l *logged) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		if explained, exhausted := WithLimit(err); exhausted {
			l.notice(explained)
		}
	}
	return conn, err
}

func (l *logged) notice(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.last.IsZero() || now.Sub(l.last) >= noticeEvery {
		l.last = now
		l.logger.Error("connections wait", "address", l.Addr().String(), "error", err)
	}
}
