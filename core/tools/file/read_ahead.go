package file

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
)

// ahead reads the files of the targets while their results are made: as text, and never as file_unchanged. Each call of
// next returns the request for the next target, or its error. end must be called.
func (c *readManyFiles) ahead(ctx context.Context, targets []target) (next func() (filestate.ReadRequest, error), end func()) {
	type result struct {
		request filestate.ReadRequest
		err     error
	}
	const depth = 16 // files that are read before they are needed
	ctx, cancel := context.WithCancel(ctx)
	var ready [depth]chan result // of target i: ready[i%depth]
	var begun atomic.Int64
	room := make(chan struct{}, depth)
	for i := range ready {
		ready[i] = make(chan result, 1)
		room <- struct{}{}
	}
	var reading sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(targets), 4) {
		reading.Go(func() {
			for {
				select {
				case <-room:
				case <-ctx.Done():
					return
				}
				i := int(begun.Add(1) - 1)
				if i >= len(targets) {
					return
				}
				var r result
				r.err = tools.Protect("read_many_files", "execute", func() (err error) {
					r.request, err = c.prepare(ctx, targets[i])
					return err
				})
				ready[i%depth] <- r
			}
		})
	}
	taken := 0
	next = func() (filestate.ReadRequest, error) {
		select {
		case r := <-ready[taken%depth]:
			taken++
			room <- struct{}{}
			return r.request, r.err
		case <-ctx.Done():
			return filestate.ReadRequest{}, ctx.Err()
		}
	}
	return next, func() {
		cancel()
		reading.Wait()
	}
}

// prepare reads the file of a target ahead if it may be shown.
func (c *readManyFiles) prepare(ctx context.Context, t target) (filestate.ReadRequest, error) {
	request := filestate.ReadRequest{Path: t.path, Repeat: true, TextOnly: true}
	switch {
	case t.err != nil:
		return request, t.err
	case !c.services.Reader.MayShow(t.path):
		return request, fault.New(fault.PolicyViolation, "file.read_many_files", "This file is not shown, because read_file may not show it, or needs approval for it.",
			"Call read_file for it, which requests approval, or continue without it.")
	}
	return c.services.Reader.Ahead(ctx, request), nil
}
