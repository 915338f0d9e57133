package commit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Lock takes the lock of a directory. Every commit into the directory takes it, so it excludes
// commits of this process and of other processes, but no other program. It waits until ctx ends;
// then the error has code cancelled. dir is borrowed only for the call. unlock must be called once.
//
// The lock is an flock on a separate descriptor of the directory. If the file system or platform
// has none (NFS, Windows), only calls through this Committer exclude each other, and otherwise only
// the checks of each commit apply.
func (c *Committer) Lock(ctx context.Context, dir *os.File) (unlock func(), err error) {
	_, unlock, err = c.lock(ctx, dir)
	if err != nil {
		return nil, lockFailure(dir.Name(), err)
	}
	return unlock, nil
}

// dirID identifies a directory: by device and inode where the platform has them, otherwise by name.
type dirID struct {
	dev, ino uint64
	name     string
}

// identify returns the identity of an open directory with that name.
func identify(dir *os.File, name string) (dirID, error) {
	info, err := workspace.InfoOf(dir)
	id := dirID{dev: info.Dev, ino: info.Ino}
	if info.Dev == 0 && info.Ino == 0 {
		id.name = filepath.Clean(name)
	}
	return id, err
}

// lockedDirectory is a directory whose lock is held.
type lockedDirectory struct {
	file      *os.File
	id        dirID
	exclusive bool // other processes are excluded too
}

func (c *Committer) lock(ctx context.Context, dir *os.File) (lockedDirectory, func(), error) {
	c.freeing.wait()
	file, err := c.system.openDir(dir)
	if err != nil {
		return lockedDirectory{}, nil, err
	}
	id, err := identify(file, dir.Name())
	if err != nil {
		closeFile(file)
		return lockedDirectory{}, nil, err
	}
	directory := lockedDirectory{file: file, id: id}
	leave, err := c.queues.enter(ctx, directory.id)
	if err != nil {
		closeFile(file)
		return lockedDirectory{}, nil, err
	}
	err = retryBusy(ctx, -1, func() error { return c.system.tryLock(file) })
	switch {
	case err == nil:
		directory.exclusive = true
	case errors.Is(err, errors.ErrUnsupported):
		c.log.Debug("directory cannot be locked against other processes", "directory", dir.Name(), "error", err)
	default:
		closeFile(file)
		leave()
		return lockedDirectory{}, nil, err
	}
	return directory, func() {
		if directory.exclusive {
			c.system.unlock(file)
		}
		closeFile(file)
		leave()
	}, nil
}

// queues lets the calls of one Committer wait for each other without polling. The zero value is
// ready to use.
type queues struct {
	mu    sync.Mutex
	byDir map[dirID]*queue
}

// queue is the queue of one directory; its channel holds a token while a call has the turn.
type queue struct {
	token chan struct{}
	users int // calls inside or waiting; the last one removes the queue
}

// enter waits for the directory's turn. leave must be called once.
func (q *queues) enter(ctx context.Context, id dirID) (leave func(), err error) {
	q.mu.Lock()
	if q.byDir == nil {
		q.byDir = make(map[dirID]*queue)
	}
	own := q.byDir[id]
	if own == nil {
		own = &queue{token: make(chan struct{}, 1)}
		q.byDir[id] = own
	}
	own.users++
	q.mu.Unlock()

	forget := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(q.byDir, id)
		}
	}
	if err := ctx.Err(); err != nil {
		forget()
		return nil, err
	}
	select {
	case own.token <- struct{}{}:
		return func() { <-own.token; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// Pauses between two attempts to acquire a busy resource.
const (
	firstPause = 50 * time.Microsecond
	longPause  = 4 * time.Millisecond
)

// retryBusy calls try until it returns something other than errBusy, ctx ends, or limit has passed
// (negative: no limit); then it returns ctx's error or errBusy.
func retryBusy(ctx context.Context, limit time.Duration, try func() error) error {
	start := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := try()
		if !errors.Is(err, errBusy) {
			return err
		}
		if limit >= 0 {
			left := limit - time.Since(start)
			if left <= 0 {
				return err
			}
			pause = min(pause, left)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// sleep waits for d or the end of ctx, whose error it returns. It does not notice that ctx ends
// during a wait of up to shortSleep.
func sleep(ctx context.Context, d time.Duration) error {
	const shortSleep = 2 * time.Millisecond
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	if d <= shortSleep {
		pause(d)
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
