package toolhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// TestFullFileSystem gives the tool host its own file system, if permitted.
func TestFullFileSystem(t *testing.T) {
	d := mountDisk(t, smallDisk)
	testFullDisk(t, func(natsURL string, space int) *child {
		if space == 0 {
			if err := d.do(func() error { return d.resize(64 * smallDisk) }); err != nil {
				t.Fatalf("make the file system larger: %v", err)
			}
		}
		return startProcess(t, natsURL, d.dir, 0, func(cmd *exec.Cmd) error { return d.do(cmd.Start) })
	})
}

// disk is a file system in its own mount namespace. Only processes that run in do see it. It ends
// with the test or with this process.
type disk struct {
	dir  string
	work chan func() error
	done chan error
}

// mountDisk mounts a file system of some bytes. It skips the test if that is not permitted.
func mountDisk(t *testing.T, size int) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir(), work: make(chan func() error), done: make(chan error)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // never unlocked: the namespace belongs to the thread, which ends with this goroutine
		for f := range d.work {
			d.done <- f()
		}
	}()
	t.Cleanup(func() {
		close(d.work)
		<-ended
	})
	err := d.do(func() error {
		if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
			return err
		}
		if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
			return err
		}
		return syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
	})
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("mounting a file system is not allowed here (%v): TestFullDisk does the same with a limit of the file's size", err)
	}
	if err != nil {
		t.Fatalf("mount a file system: %v", err)
	}
	return d
}

// do runs f in the mount namespace.
func (d *disk) do(f func() error) error {
	d.work <- f
	return <-d.done
}

// resize changes the size of the file system. Call it in do.
func (d *disk) resize(size int) error {
	return syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size))
}

// TestFailedCommit replaces the open file of the sessions, so that the next commit fails. The
// service must end with that error. After a restart it must have everything acknowledged.
func TestFailedCommit(t *testing.T) {
	tests := []struct {
		name string
		// device replaces the file, "" for the file itself without write permission.
		device string
		want   error
	}{
		{"writes find no space", "/dev/full", syscall.ENOSPC},
		{"writes are refused", "", syscall.EBADF},
		{"writes get lost and syncing fails", "/dev/null", syscall.EINVAL},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg, streams := DefaultConfig(), t.TempDir()
			cfg.Dir = t.TempDir()
			file := filepath.Join(cfg.Dir, storeFile)
			client, _, ended := runService(t, cfg, streams)
			sessions := threeSteps(t, client)
			device := test.device
			if device == "" {
				device = file
			}
			replaceOpenFile(t, file, device, test.device != "")

			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			for _, f := range sessions {
				group.Go(func() { f.fill(ctx, client) })
			}
			err := ended()
			cancel() // otherwise the calls wait for the next service
			group.Wait()
			if fatal := (*store.FatalError)(nil); !errors.As(err, &fatal) || !errors.Is(err, test.want) {
				t.Errorf("Run: got %v, want a failed commit because of %q", err, test.want)
			}
			for _, f := range sessions {
				if f.failed == nil || len(f.acknowledged) != 3 {
					t.Errorf("session %s: got error %v after %d steps, want one after 3", f.id, f.failed, len(f.acknowledged))
				}
			}

			client, stop, ended := runService(t, cfg, streams)
			for _, f := range sessions {
				wantAcknowledged(t, client, f)
				wantContinuation(t, client, f)
			}
			stop()
			if err := ended(); err != nil {
				t.Errorf("Run after the restart: %v", err)
			}
		})
	}
}

// threeSteps creates sessions and executes three steps in each. It leaves space in the file, so
// that the next commit does not grow it, which would detect the replacement.
func threeSteps(t *testing.T, client toolhostv1.ToolHostServiceClient) []*filling {
	t.Helper()
	begin := func(id string, steps int) *filling {
		f := &filling{id: id}
		create(t, client, id, smallSetup("small"))
		for step := range steps {
			response, err := client.Execute(t.Context(), f.step(step))
			if err != nil {
				t.Fatalf("session %s, step %d: %v", id, step, err)
			}
			f.acknowledged = append(f.acknowledged, response)
		}
		return f
	}
	begin("room", 20)
	var sessions []*filling
	for i := range 4 {
		sessions = append(sessions, begin(fmt.Sprintf("fault.%d", i), 3))
	}
	if _, err := client.DeleteSession(t.Context(), &toolhostv1.DeleteSessionRequest{SessionId: "room"}); err != nil {
		t.Fatalf("delete session: %v", err)
	}
	return sessions
}

// replaceOpenFile redirects this process's descriptor of a file to another file.
func replaceOpenFile(t *testing.T, file, by string, writable bool) {
	t.Helper()
	flag := os.O_RDONLY
	if writable {
		flag = os.O_RDWR
	}
	other, err := os.OpenFile(by, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	replaced := 0
	for _, descriptor := range descriptors {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", descriptor.Name()))
		number, notNumber := strconv.Atoi(descriptor.Name())
		if err != nil || notNumber != nil || target != file || number == int(other.Fd()) {
			continue
		}
		if err := syscall.Dup3(int(other.Fd()), number, syscall.O_CLOEXEC); err != nil {
			t.Fatalf("replace descriptor %d: %v", number, err)
		}
		replaced++
	}
	if err := other.Close(); err != nil {
		t.Errorf("close %s: %v", by, err)
	}
	if replaced != 1 {
		t.Fatalf("descriptors of %s: got %d, want 1", file, replaced)
	}
}
