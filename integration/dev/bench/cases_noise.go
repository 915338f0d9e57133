package main

import (
	"context"
	"crypto/sha256"
	"os/exec"
)

// noiseCases run the same work as two contestants. The distance of their ratio from 1 is the noise
// of the machine.
func noiseCases() []Case {
	hash := func(context.Context, *Lab) (*Prepared, error) {
		data := []byte(source(1 << 20))
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error { _ = sha256.Sum256(data); return nil })}, nil
	}
	start := func(ctx context.Context, lab *Lab) (*Prepared, error) {
		nothing, err := lab.Nothing(ctx)
		if err != nil {
			return nil, err
		}
		return started(lab.Dir, nil, nothing), nil
	}
	write := func(_ context.Context, lab *Lab) (*Prepared, error) {
		dir, err := lab.TempDir("noise")
		if err != nil {
			return nil, err
		}
		data := []byte(source(100 << 10))
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error { return replaceByHand(dir, "f", data) })}, nil
	}
	twice := func(id, title, what string, prepare func(context.Context, *Lab) (*Prepared, error)) Case {
		return Case{ID: "noise/" + id, Title: title, Description: what, Contestants: []Contestant{{"once", Ours, prepare}, {"again", Floor, prepare}}}
	}
	return []Case{
		twice("hash", "SHA-256 of 1 MB", "Processor only.", hash),
		twice("process", "a Go program that does nothing", "Start and end of a process.", start),
		twice("write", "100 KB written, flushed, renamed", "Disk only.", write),
	}
}

// started prepares a command that is started and awaited. With env nil it inherits the environment
// of this process.
func started(dir string, env []string, command ...string) *Prepared {
	return &Prepared{Run: timed(func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.Env = dir, env
		return withOutput(cmd)
	})}
}
