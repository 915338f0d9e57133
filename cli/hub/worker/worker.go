// Package worker runs the jobs of one workspace, each as a recorded session. It owns the workspace
// by a lease, which it checks before each call and immediately before each exchange of a file. A
// job whose worker died is delivered again, and its session is resumed. The package does not know
// how a session works: it submits prompts to package chat, and guards the calls.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/fettle-dev/fettle/cli/hub/lease"
	"github.com/fettle-dev/fettle/cli/hub/ledger"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// maxAttempts is the number of deliveries after which a job fails.
const maxAttempts = 50

// Options configure [Run]. All fields up to Program are required.
type Options struct {
	NC        *nats.Conn
	Name      string // of the worker's user
	Workspace string
	Pair      nkeys.KeyPair // signs the ledger
	Program   *program.Program
	Global    *program.Flags // with the directory of the workspace
	Flags     conversation.Flags

	LeaseFor time.Duration    // 0: 15 seconds
	Within   time.Duration    // time for an answer; 0: 10 minutes
	Now      func() time.Time // of the lease; nil: time.Now
	Report   func(text string)
	// Secrets are values that no session may see.
	Secrets []string
}

// worker is a running worker.
type worker struct {
	o      Options
	store  *store.Store
	lease  *lease.Lease
	ledger *ledger.Ledger
}

// Run runs jobs until ctx ends, which is no error. A job that runs then is queued again.
func Run(ctx context.Context, o Options) error {
	o.LeaseFor = cmp.Or(o.LeaseFor, 15*time.Second)
	if o.Report == nil {
		o.Report = func(string) {}
	}
	w := &worker{o: o}
	return w.run(ctx)
}

// retry is the pause after a failed request to the hub.
const retry = 500 * time.Millisecond

// pause waits, and reports false if ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// permanent are the errors that a repetition does not cure.
func permanent() []error {
	return []error{nats.ErrPermissionViolation, nats.ErrAuthorization, nats.ErrConnectionClosed, store.ErrVersion, store.ErrInvalid, store.ErrNoState}
}

// persist calls f until it succeeds, ctx ends or the error is permanent. It reports the first of
// equal errors.
func (w *worker) persist(ctx context.Context, f func() error) error {
	var last string
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if slices.ContainsFunc(permanent(), func(one error) bool { return errors.Is(err, one) }) {
			return err
		}
		if text := err.Error(); text != last {
			w.o.Report(text)
			last = text
		}
		if !pause(ctx, retry) {
			return ctx.Err()
		}
	}
}

func (w *worker) run(ctx context.Context) error {
	if err := w.persist(ctx, func() (err error) {
		w.store, err = store.Open(ctx, w.o.NC)
		return err
	}); err != nil {
		return ended(ctx, err)
	}
	var err error
	if w.ledger, err = ledger.New(w.store.JS, store.LedgerStream, store.Prefix+"ledger."+w.o.Name, w.o.Pair); err != nil {
		return err
	}
	w.lease = lease.New(lease.Options{Bucket: w.store.Leases, Key: w.o.Workspace, Owner: w.o.Name, For: w.o.LeaseFor, Now: w.o.Now})
	for ctx.Err() == nil {
		if err := w.own(ctx); err != nil {
			return ended(ctx, err)
		}
		w.o.Report("The workspace " + w.o.Workspace + " is owned.")
		w.owned(ctx)
		if w.o.NC.IsClosed() { // it would reconnect otherwise
			return errEnded
		}
	}
	return nil
}

// errEnded is returned when the connection does not return: the client gives up after the second
// refusal of its key.
var errEnded = errors.New("the hub refuses the key of this worker: it was removed, or replaced")

// ended returns nil for an error because ctx has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// own waits for the lease.
func (w *worker) own(ctx context.Context) error {
	for {
		var ok bool
		if err := w.persist(ctx, func() (err error) {
			ok, err = w.lease.Try(ctx)
			return err
		}); err != nil || ok {
			return err
		}
		if !pause(ctx, w.o.LeaseFor/10) {
			return ctx.Err()
		}
	}
}

// owned runs jobs while the lease lasts.
func (w *worker) owned(ctx context.Context) {
	parent := ctx
	ctx, lost := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() {
		if err := w.lease.Keep(ctx); errors.Is(err, lease.ErrLost) {
			w.o.Report("The lease of the workspace is lost.")
			lost(err)
		}
	})
	defer func() {
		lost(context.Canceled)
		keeping.Wait()
		last, cancel := context.WithTimeout(context.WithoutCancel(parent), time.Second)
		defer cancel()
		_ = w.lease.Release(last) // otherwise it expires
	}()
	var queue jetstream.Consumer
	if w.persist(ctx, func() (err error) {
		queue, err = w.store.Queue(ctx, w.o.Workspace, w.o.LeaseFor)
		return err
	}) != nil {
		return
	}
	for ctx.Err() == nil && !w.o.NC.IsClosed() {
		m, err := w.next(ctx, queue)
		if m == nil {
			if err != nil && !pause(ctx, retry) {
				return
			}
			continue
		}
		w.deliver(ctx, m)
	}
}

// next returns the next message of the queue, nil if there is none yet.
func (w *worker) next(ctx context.Context, queue jetstream.Consumer) (jetstream.Msg, error) {
	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	batch, err := queue.Fetch(1, jetstream.FetchContext(wait))
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		return m, nil
	}
	return nil, nil
}

// deliver runs the job of a message, and acknowledges it once the outcome is stored.
func (w *worker) deliver(ctx context.Context, m jetstream.Msg) {
	j, err := store.Decode(m, w.o.Workspace)
	if err != nil {
		w.reject(m, err)
		return
	}
	r := &run{worker: w, job: j}
	stored, err := r.begin(ctx)
	if err != nil {
		w.reject(m, err)
		return
	}
	if r.lines != nil {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var alive sync.WaitGroup
		alive.Go(func() { r.keepAlive(ctx, m, j.ID, cancel) })
		stored = r.run(ctx)
		cancel(nil)
		alive.Wait()
	}
	if !stored {
		_ = m.Nak() // if the hub does not receive it, the message is delivered after its wait
		return
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	_ = m.DoubleAck(last) // otherwise it is delivered again, found finished, and acknowledged
}

// reject gives a message back that this program cannot read, because a newer program may, and
// removes one that is no job of the workspace: no worker could ever run it, and it would block the
// jobs behind it.
func (w *worker) reject(m jetstream.Msg, err error) {
	w.o.Report(err.Error())
	if errors.Is(err, store.ErrVersion) {
		_ = m.NakWithDelay(time.Minute)
		return
	}
	_ = m.TermWithReason(err.Error())
}

// errCancelled is the cause of a job's end by a user.
var errCancelled = errors.New("cancelled by a user")

func cancelled(by string) error { return fmt.Errorf("%w: %s", errCancelled, by) }

// keepAlive tells the queue that the job runs, and ends the job when a user cancels it.
func (r *run) keepAlive(ctx context.Context, m jetstream.Msg, id string, cancel context.CancelCauseFunc) {
	now := make(chan struct{}, 1)
	sub, err := r.o.NC.Subscribe(store.Prefix+"cancel."+r.o.Workspace, func(m *nats.Msg) {
		if string(m.Data) == id {
			select {
			case now <- struct{}{}:
			default:
			}
		}
	})
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }()
	}
	tick := time.NewTicker(r.o.LeaseFor / 5)
	defer tick.Stop()
	for {
		if by, err := r.store.CancelledBy(ctx, id); err == nil && by != "" {
			cancel(cancelled(by))
		}
		_ = m.InProgress()
		select {
		case <-ctx.Done():
			return
		case <-now:
		case <-tick.C:
		}
	}
}

// session returns the ID of the session of a job on the bus.
func (r *run) session() string { return r.o.Workspace + "." + r.job.ID }
