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

// Lock takes the lock of a directory, which every commit into it takes: it
// excludes this process's and other processes' commits alike (FS-66), and
// nobody else. It waits until ctx ends; then the error has code cancelled.
// dir is borrowed for the call only. unlock is to be called once.
//
// The lock is an flock on an own descriptor of the directory. Where the file
// system or platform has none (NFS, Windows), only calls through this
// Committer exclude each other, and the checks of each commit stand alone.
func (c *Committer) Lock(ctx context.Context, dir *os.File) (unlock func(), err error) {
	_, unlock, err = c.lock(ctx, dir)
	if err != nil {
		return nil, lockFailure(dir.Name(), err)
	}
	return unlock, nil
}

// folderID tells directories apart: by identity where the platform has one, else
// by name.
type folderID struct {
	dev, ino uint64
	name     string
}

// lockedFolder is a directory whose lock we have.
type lockedFolder struct {
	file      *os.File
	id        folderID
	exclusive bool // other processes are excluded too
}

func (c *Committer) lock(ctx context.Context, dir *os.File) (lockedFolder, func(), error) {
	file, err := c.system.openDir(dir)
	if err != nil {
		return lockedFolder{}, nil, err
	}
	info, err := workspace.InfoOf(file)
	if err != nil {
		closeFile(file)
		return lockedFolder{}, nil, err
	}
	folder := lockedFolder{file: file, id: folderID{dev: info.Dev, ino: info.Ino}}
	if info.Dev == 0 && info.Ino == 0 {
		folder.id.name = filepath.Clean(dir.Name())
	}
	leave, err := c.queues.enter(ctx, folder.id)
	if err != nil {
		closeFile(file)
		return lockedFolder{}, nil, err
	}
	err = retryBusy(ctx, -1, func() error { return c.system.tryLock(file) })
	switch {
	case err == nil:
		folder.exclusive = true
	case errors.Is(err, errors.ErrUnsupported):
		c.log.Debug("directory cannot be locked against other processes", "folder", dir.Name(), "error", err)
	default:
		closeFile(file)
		leave()
		return lockedFolder{}, nil, err
	}
	return folder, func() {
		if folder.exclusive {
			c.system.unlock(file)
		}
		closeFile(file)
		leave()
	}, nil
}

// queues lets the calls of one Committer wait for each other without polling.
// The zero value is ready.
type queues struct {
	mu    sync.Mutex
	byDir map[folderID]*queue
}

// queue is one directory's; its channel holds a token while somebody is in.
type queue struct {
	token chan struct{}
	users int // in or waiting; the last one removes the queue
}

// enter waits for the directory's turn. leave is to be called once.
func (q *queues) enter(ctx context.Context, id folderID) (leave func(), err error) {
	q.mu.Lock()
	if q.byDir == nil {
		q.byDir = make(map[folderID]*queue)
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

// Pauses between two tries to get what somebody else has.
const (
	firstPause = 50 * time.Microsecond
	longPause  = 4 * time.Millisecond
)

// retryBusy calls try until it answers other than errBusy, ctx ends, or limit
// has passed (negative: no limit); then it returns ctx's error or errBusy.
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

// sleep waits for d or the end of ctx, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
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
