package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// RunInfo records when, where and with which versions a run was made.
type RunInfo struct {
	Date    string  `json:"date"` // of its beginning, UTC, YYYY-MM-DD
	Full    bool    `json:"full"`
	PerCase string  `json:"per_case"` // time per case, as "3s"
	Machine Machine `json:"machine"`
	// Load is the system's load average over one minute when the run began; -1: unknown.
	Load float64 `json:"load"`
	// Versions has the version of each program and library, by name.
	Versions map[string]string `json:"versions"`
}

// Machine describes the machine of a run. Unknown values are "" or 0.
type Machine struct {
	OS        string `json:"os"` // and architecture, as "linux/amd64"
	Kernel    string `json:"kernel"`
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	Memory    int64  `json:"memory"` // bytes
	Disk      string `json:"disk"`   // type of the file system of the scratch directory
}

// about describes this machine. The scratch directory of l determines the disk.
func about(ctx context.Context, l *Lab, pace Pace) RunInfo {
	info := RunInfo{
		Date: time.Now().UTC().Format(time.DateOnly), Full: l.Full, PerCase: pace.Time.String(), Load: loadAverage(),
		Machine:  Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()},
		Versions: map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")},
	}
	info.Machine.Kernel = firstLine(ctx, "uname", "-sr")
	info.Machine.Disk = lastLine(ctx, "df", "--output=fstype", l.Dir)
	info.Machine.Processor = field("/proc/cpuinfo", "model name")
	var kilobytes int64
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kilobytes); err == nil {
		info.Machine.Memory = kilobytes << 10
	}
	if commit := firstLine(ctx, "git", "describe", "--always", "--dirty"); commit != "" {
		info.Versions["fettle"] = commit
	}
	maps.Copy(info.Versions, peerVersions(ctx, l))
	return info
}

// loadAverage returns the load average of the last minute, -1 if the system does not report it.
func loadAverage() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	var load float64
	if _, err := fmt.Sscan(string(data), &load); err != nil {
		return -1
	}
	return load
}

// busy returns a warning if other processes used the machine when the run began, otherwise "".
func (i *RunInfo) busy() string {
	if i.Load <= float64(i.Machine.Cores)/2 {
		return ""
	}
	return fmt.Sprintf("the load average was %.1f on %d cores when the run began, so other processes distort the figures; wait for them to end and run again",
		i.Load, i.Machine.Cores)
}

// versions lists all names with their versions, sorted.
func (i *RunInfo) versions() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(i.Versions)) {
		all = append(all, name+" "+i.Versions[name])
	}
	return strings.Join(all, ", ")
}

// field returns the value of the first line of a file that begins with key and a colon.
func field(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func lastLine(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
