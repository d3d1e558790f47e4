package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of processor time in /proc.
const ticksPerSecond = 100

// Usage is what a process has used since its start.
type Usage struct {
	Processor time.Duration
	PeakBytes int64 // of memory that is resident
}

// Usage returns what a process that runs has used. It needs /proc.
func (c *Cluster) Usage(name string) (Usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(c.Pid(name)))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Usage{}, fmt.Errorf("usage of %s: %w", name, err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // behind the name: state ppid pgrp session tty tpgid flags faults×4 utime stime
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("usage of %s: %d fields", name, len(fields))
	}
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	peak, peakErr := peakKilobytes(filepath.Join(dir, "status"))
	if err := errors.Join(userErr, systemErr, peakErr); err != nil {
		return Usage{}, fmt.Errorf("usage of %s: %w", name, err)
	}
	return Usage{Processor: time.Duration(user+system) * time.Second / ticksPerSecond, PeakBytes: peak << 10}, nil
}

// peakKilobytes reads the peak of the resident memory from a process's status.
func peakKilobytes(status string) (int64, error) {
	raw, err := os.ReadFile(status)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		}
	}
	return 0, errors.New("no VmHWM")
}
