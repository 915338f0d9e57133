package config

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/services/process"
)

// lazyProcesses is a process service that is created at its first use, because most
// sessions are idle. It is safe for concurrent use.
type lazyProcesses struct {
	all     *processes
	options func() process.Options

	mu     sync.Mutex
	opened *process.Service // nil: not used yet
	ended  bool
}

// service returns the service; after close, a closed one.
func (l *lazyProcesses) service() *process.Service {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = l.all.open(l.options())
		if l.ended {
			_ = l.all.close(l.opened) // always nil; nothing has been started
		}
	}
	return l.opened
}

// close terminates all processes, and waits for them. It waits for options, too, which may run a program.
func (l *lazyProcesses) close() error {
	l.mu.Lock()
	l.ended = true
	opened := l.opened
	l.mu.Unlock()
	if opened == nil {
		return nil
	}
	return l.all.close(opened)
}

// Run calls [process.Service.Run].
func (l *lazyProcesses) Run(ctx context.Context, c process.Command) (process.Result, error) {
	return l.service().Run(ctx, c)
}

// Start calls [process.Service.Start].
func (l *lazyProcesses) Start(ctx context.Context, c process.Command) (process.Info, error) {
	return l.service().Start(ctx, c)
}

// Program calls [process.Service.Program].
func (l *lazyProcesses) Program(ctx context.Context, p process.Program) (process.Output, error) {
	return l.service().Program(ctx, p)
}

// List calls [process.Service.List], if the service was used.
func (l *lazyProcesses) List() []process.Info {
	l.mu.Lock()
	opened := l.opened
	l.mu.Unlock()
	if opened == nil {
		return nil
	}
	return opened.List()
}

// Read calls [process.Service.Read].
func (l *lazyProcesses) Read(ctx context.Context, id string, r process.ReadOptions) (process.Unread, error) {
	return l.service().Read(ctx, id, r)
}

// Write calls [process.Service.Write].
func (l *lazyProcesses) Write(ctx context.Context, id, data string, end bool) error {
	return l.service().Write(ctx, id, data, end)
}

// Kill calls [process.Service.Kill].
func (l *lazyProcesses) Kill(ctx context.Context, id string) (process.Info, error) {
	return l.service().Kill(ctx, id)
}
