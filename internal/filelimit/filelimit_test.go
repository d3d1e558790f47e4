package filelimit_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/filelimit"
)

func TestCheck(t *testing.T) {
	limit := filelimit.Limit()
	if err := filelimit.Check(limit - filelimit.Reserve); err != nil {
		t.Errorf("as many as there are: got %v, want nil", err)
	}
	err := filelimit.Check(limit)
	if !errors.Is(err, filelimit.ErrLimit) || !strings.Contains(err.Error(), fmt.Sprintf("(limit %d): raise it with ulimit -n ", limit)) {
		t.Errorf("too many: got %v, want ErrLimit with the limit %d", err, limit)
	}
}

func TestExplain(t *testing.T) {
	if err, exhausted := filelimit.WithLimit(os.ErrClosed); exhausted || !errors.Is(err, os.ErrClosed) {
		t.Errorf("another error: got %v, %v, want it, false", err, exhausted)
	}
	err, exhausted := filelimit.WithLimit(fmt.Errorf("dial: %w", syscall.EMFILE))
	if !exhausted || !errors.Is(err, filelimit.ErrLimit) || !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("EMFILE: got %v, %v, want ErrLimit with what to do, true", err, exhausted)
	}
}

// TestExplainText checks a shortage that another service reports in a status.
func TestExplainText(t *testing.T) {
	err, exhausted := filelimit.WithLimit(errors.New("open store: open sessions.db: " + syscall.EMFILE.Error()))
	if want := fmt.Sprintf("out of file descriptors (limit %d): raise it with ulimit -n ", filelimit.Limit()); !exhausted || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, %v, want %q", err, exhausted, want)
	}
	again, _ := filelimit.WithLimit(err)
	if again.Error() != err.Error() {
		t.Errorf("explained twice: got %v, want %v", again, err)
	}
}
