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

	mu    sync.Mutex
	made  *process.Service // nil: not used yet
	ended bool
}

// service returns the service; after close, a closed one.
func (o *lazyProcesses) service() *process.Service {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		o.made = o.all.open(o.options())
		if o.ended {
			_ = o.all.close(o.made) // always nil; nothing has been started
		}
	}
	return o.made
}

// close terminates all processes, and waits for them.
func (o *lazyProcesses) close() error {
	o.mu.Lock()
	o.ended = true
	made := o.made
	o.mu.Unlock()
	if made == nil {
		return nil
	}
	return o.all.close(made)
}

// Run calls [process.Service.Run].
func (o *lazyProcesses) Run(ctx context.Context, c process.Command) (process.Result, error) {
	return o.service().Run(ctx, c)
}

// Start calls [process.Service.Start].
func (o *lazyProcesses) Start(ctx context.Context, c process.Command) (process.Info, error) {
	return o.service().Start(ctx, c)
}

// Program calls [process.Service.Program].
func (o *lazyProcesses) Program(ctx context.Context, p process.Program) (process.Output, error) {
	return o.service().Program(ctx, p)
}

// List calls [process.Service.List], if the service was used.
func (o *lazyProcesses) List() []process.Info {
	o.mu.Lock()
	made := o.made
	o.mu.Unlock()
	if made == nil {
		return nil
	}
	return made.List()
}

// Read calls [process.Service.Read].
func (o *lazyProcesses) Read(ctx context.Context, id string, r process.ReadOptions) (process.Unread, error) {
	return o.service().Read(ctx, id, r)
}

// Write calls [process.Service.Write].
func (o *lazyProcesses) Write(ctx context.Context, id, data string, end bool) error {
	return o.service().Write(ctx, id, data, end)
}

// Kill calls [process.Service.Kill].
func (o *lazyProcesses) Kill(ctx context.Context, id string) (process.Info, error) {
	return o.service().Kill(ctx, id)
}
