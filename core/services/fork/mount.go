package fork

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Mount is the use of a fork by one command, which sees its upper directories mounted over the fork's
// directories. Close ends it.
type Mount struct {
	f      *Fork
	write  bool
	unlock func()
	on     mounting
}

// Mount prepares the fork for a command, whose overlays the caller mounts after the call. With write the
// command may change the upper directories: such a mount excludes all others, of this process and of
// others, and the call waits for their end until ctx ends. The caller calls Close when the command and
// all of its processes have ended.
//
// Errors are *fault.Error: fork_unsupported for a copy, cancelled, file_write_failure, no_space_left,
// permission_denied and read_content_failure.
func (f *Fork) Mount(ctx context.Context, write bool) (*Mount, error) {
	if f.Mode != Overlay {
		return nil, fault.New(fault.ForkUnsupported, "fork.mount", fmt.Sprintf("The fork %s is a copy, which needs no mount.", f.Name), "Run the command in the directory of the copy.")
	}
	m := &Mount{f: f, write: write}
	var err error
	if m.unlock, err = m.lock(ctx, write); err != nil {
		return nil, writeFailure(ctx, "mount", "The fork "+f.Name+" cannot be mounted", err)
	}
	if err = m.begin(ctx); err != nil {
		m.release()
		return nil, writeFailure(ctx, "mount", "The fork "+f.Name+" cannot be mounted", err)
	}
	return m, nil
}

// Layers returns the directories to mount, in the order of Info.Dirs.
func (m *Mount) Layers() []Layer { return m.f.Layers() }

// Close records the base of each file that the command has changed, or why it is not certain, and lets
// the next command begin. A file without a record, because Close was not called or has failed, is a conflict
// of each merge. Errors are *fault.Error: those of [Fork.Touch] and cancelled.
func (m *Mount) Close(ctx context.Context) error {
	if m.unlock == nil {
		return nil
	}
	defer m.release()
	if err := m.end(ctx); err != nil {
		return writeFailure(ctx, "mount", "The changes of the command in the fork "+m.f.Name+" could not be recorded", err)
	}
	return nil
}

// Hold waits until no command uses the fork, and keeps new ones waiting until release is called. A change of the
// upper directories beside a mounted overlay, such as a new directory, can make calls of the command fail. In mode
// Copy it does nothing. Errors are *fault.Error: cancelled, file_write_failure, no_space_left and permission_denied.
func (f *Fork) Hold(ctx context.Context) (release func(), err error) {
	var all []func()
	release = func() {
		for _, unlock := range all {
			unlock()
		}
	}
	if f.Mode == Copy {
		return release, nil
	}
	for n := range f.Dirs {
		unlock, err := lockedfile.Lock(ctx, f.place(n, "mounted"))
		if err != nil {
			release()
			return nil, writeFailure(ctx, "hold", "The fork "+f.Name+" cannot be locked", err)
		}
		all = append(all, unlock)
	}
	return release, nil
}
