// Package commit replaces the content of a file only if the file still has the content that the
// change was based on. If it has changed, no bytes of any program are lost.
//
// # What a reader and a killed process see
//
// A file that can be replaced is never written to. The new bytes are written and flushed to a new
// file in the same directory, and the two names are exchanged in one step, so a reader sees either
// the old version or the new one. A process killed at any moment leaves one of the two at the path.
// Other files that it leaves are recognized by name and content by a later commit in that
// directory.
//
// Some files are rewritten in place ([MethodInPlace]): a file with several hard links, so that its
// names stay together; one in a directory in which the process may not rename (because of its mode,
// a sticky bit, a mounted file); and one whose owner or group cannot be given to a new file.
// Meanwhile a recovery file holds both versions.
//
// # What is checked
//
// Programs that save files do not take part in any lock. The target is therefore checked again when
// the new bytes are flushed: a read lease proves that no program has it open for writing, and under
// the lease it must have the bytes of the base. They are compared if the caller has them, and hashed
// otherwise. If the base is stale by then, no names are exchanged.
//
// The decisive check comes after the exchange, when the displaced file has no name known to other
// programs. It must be the file under the lease, or pass the same two checks. Otherwise the
// exchange is undone, with the same checks on the new file. From just before the exchange until
// this check, and through an undo that follows, the new file has an exclusive lease: an open waits
// for some microseconds, and after an undo returns the bytes of the target.
//
// # What remains open
//
// An open(2) for writing may find the displaced file by its name before the exchange, without
// having reached the kernel's count of writers when the lease was taken. When it reaches it, it
// breaks the lease. The lease is checked after the directory was flushed and [Options.Settle] has
// passed (then the exchange is undone), and again after the name is removed (then late bytes are
// kept next to the target). An open that stays in the kernel between these two points for longer
// than that is not noticed.
//
// An open for writing may reach the new file just before an undo. The bytes that this program saves
// go to the path as soon as it has closed the file. If another editor saves there in between, that
// save is kept next to the target and reported.
//
// A commit may be undone after the check, because the directory could not be flushed or a late
// writer was noticed. The new text could be read for these milliseconds.
//
// An open with O_NONBLOCK does not wait for the check: it fails with EAGAIN. Of 2,283,077 such
// opens by a process that did nothing else, next to one that committed all the time, 6,176 did (0.3
// %).
//
// Next to eight writing processes on two processors, editors that save by rename, by truncating and
// in place lost none of 51,000 saves; 2 were kept next to the target, and reported. None of 15,520
// acknowledged commits was lost, except to an editor that saved a version that it had read before
// (the full run of TestEditorsBesideWriters).
//
// Without leases (files of other owners without CAP_LEASE, file systems without leases, macOS) a
// program that has the file open and writes after the last hash is not noticed, and a refused text
// can be read for a moment. An editor that saves on top of that text keeps it, because its file
// stays. Without an exchange of names the windows are wider, as [MethodLink] and [MethodRename]
// describe. A rewrite in place ([MethodInPlace]) is not atomic for programs that already have the
// file open.
package commit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Default wait times of [Options].
const (
	DefaultLeaseWait = 100 * time.Millisecond // for another program to close the target
	DefaultSettle    = time.Millisecond       // for a program whose open is in progress
)

// Options configure a [Committer]. The zero value is valid, except that files that must be
// rewritten in place are refused.
type Options struct {
	// RecoveryDir is the directory for recovery files, absolute and outside of every project. It is
	// created on first use, with mode 0700. "": files that must be rewritten in place are refused
	// ([MethodInPlace]).
	RecoveryDir string

	// LeaseWait is the time that a commit waits for another program that holds the target open for
	// writing, before it writes anything and again before the exchange. After undoing an exchange
	// it waits as long for a program that has opened the new file. Zero: [DefaultLeaseWait].
	// Negative: it does not wait.
	LeaseWait time.Duration

	// Settle is the least time between the exchange and the removal of the displaced file. The file
	// is verified and the directory is flushed in it. A program whose open(2) was in progress during
	// the exchange is still noticed then, and the commit undone. Zero: [DefaultSettle]. Negative: no
	// wait beyond the time of flushing the directory.
	Settle time.Duration

	// Hook, if set, is called at each [Step] of a commit, on the goroutine of the call, with the
	// directory locked. Its error ends the commit there as a failing system call would. It is for
	// tests.
	Hook func(Step) error

	// Logger receives problems that a call cannot report to its caller. Nil: nothing is logged.
	Logger *slog.Logger
}

// Committer commits changes. It is safe for concurrent use. Commits into one directory run one
// after another, across Committers and processes.
//
// After a call up to four goroutines may still close removed files, which frees their space; the
// owner calls [Committer.Wait] when it is done with the Committer. Otherwise it holds nothing between
// calls.
type Committer struct {
	options Options
	system  system
	log     *slog.Logger
	freeing freeing

	queues queues

	now func() time.Time

	mu    sync.Mutex
	swept map[dirID]*sweeping // directories already searched for leftovers; nil: none
}

// New returns a Committer. It does no I/O.
func New(o Options) *Committer {
	o.LeaseWait = cmp.Or(o.LeaseWait, DefaultLeaseWait)
	o.LeaseWait = max(o.LeaseWait, 0)
	o.Settle = cmp.Or(o.Settle, DefaultSettle)
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Committer{options: o, system: kernel{}, log: log, now: time.Now}
}

// Wait returns once all removed files are closed. The Committer can be used further.
func (c *Committer) Wait() { c.freeing.wait() }

// Request is a change to one file.
type Request struct {
	Dir  *os.File // directory that contains the target, with links resolved, open for reading; borrowed for the call; required
	Name string   // target's base name in Dir; a symbolic link there is refused, not followed; required
	Path string   // target's absolute path, for messages; required
	Data []byte   // the complete new content; not kept, not changed
	Base string   // lower-case hex SHA-256 of the target's expected content; "": the target must not exist

	// BaseSize is the length in bytes of the content that Base is the hash of. A longer target is
	// refused as changed without being read to its end. Zero or less: unknown, unless Base is the
	// hash of empty content.
	BaseSize int64

	// BaseData is the content that Base is the hash of. The target is then compared with it instead of
	// being hashed, which is faster and proves the same. It is not kept, and must not be changed during
	// the call. Nil: unknown.
	BaseData []byte

	// Layer is that of [workspace.Location], for Name. In an upper directory a whiteout is no file: a new
	// file takes its place in one step. The removal of a file that exists below leaves a whiteout.
	Layer workspace.Layer
	// BaseInfo is the stat data of the target when the content with the hash Base was read. If the
	// target still has it, its bytes are not hashed before the new bytes are written, but only
	// afterwards, before the exchange. Zero: unknown.
	BaseInfo workspace.Info
}

// Method is the way in which the bytes were put in place.
type Method string

// Methods, from the safest to the simplest.
const (
	// MethodCreate placed a new file with an operation that never replaces one. There is no race
	// window, unless the file system has neither such an operation nor hard links: then it is a
	// rename after a last check.
	MethodCreate Method = "create"

	// MethodExchange exchanged names and verified the displaced file. If the system grants no read
	// lease (a file of another owner without CAP_LEASE, a file system without leases, macOS), an
	// in-place writer that holds the file open and writes after the last hash is not noticed.
	MethodExchange Method = "exchange"

	// MethodLink gave the old file a second name, renamed the new file over it and verified it. A
	// file that another process renames to the path between these two system calls is lost.
	MethodLink Method = "link"

	// MethodRename renamed the new file over the target after a last check. If another process
	// changes the target between that check and the rename, the change is lost if it was a rename.
	// If it was written in place, its bytes are kept next to the target on platforms that let an
	// open file be replaced.
	MethodRename Method = "rename"

	// MethodInPlace rewrote the file itself through one descriptor, while a recovery file held both
	// versions. It is used for files that no new file can replace: files with several hard links;
	// files in a directory that forbids it by its mode or sticky bit; a file that is mounted over
	// another; and files whose owner or group the process cannot give to a new file. On Linux no
	// other program can open the file during the write. If a program is already reading it, or the
	// system grants no write lease (always so for a file of another owner without CAP_LEASE), that
	// reader can see a mixture, and a change by another program between the last check and the
	// write is overwritten.
	MethodInPlace Method = "in_place"
)

// Outcome is the result of a commit.
type Outcome struct {
	// Info describes the file at the path after a commit without error.
	Info workspace.Info
	// SHA256 is the lower-case hex hash of its content, "" with an error.
	SHA256 string
	// KeptFiles contains the absolute names of files with bytes of another program, put or left next to
	// the target, and of the recovery file of a rewrite in place that left a mixture. Equal bytes
	// of one target are kept once, and the same file is listed again. KeptFiles can be set with an error
	// too. It includes files that killed runs left in the directory, which a Committer reports
	// once.
	KeptFiles []string
	// Method is the way in which the bytes were put in place, "" with an error.
	Method Method
}

// Commit replaces the target's content with r.Data if its content still has the hash r.Base. It
// keeps the target's mode, owner and extended attributes. A target that no new file can replace is
// rewritten in place ([MethodInPlace]). A new file gets mode 0666 less the umask, or the mode of
// the directory's default ACL.
//
// A nil error means that the new bytes are at the path and flushed to disk, with the directory's
// entry. Any error means that this call did not change the target, with three exceptions that the
// error's message states: the exchange of names could not be undone (code file_write_failure; the
// previous file is then in KeptFiles, unless another process has removed it), a new file could not be
// withdrawn (the same code), and the old bytes of a file that was rewritten in place could not be
// restored. No temporary file of the call is left, unless it cannot be removed: then it is logged,
// and a later commit in the directory removes it.
//
// If ctx ends before the names are exchanged, the call stops with code cancelled; after that the
// commit is completed.
//
// Errors are *fault.Error with code
//   - file_changed_since_read: reason changed, disappeared, or open_elsewhere
//     (another program holds the target open for writing)
//   - edit_requires_prior_read, reason never_read: Base is "" and the name
//     exists, however late it was created
//   - not_a_regular_file: the target is a link, directory or special file
//   - permission_denied: also for a target that may not be written, although a
//     rename would bypass its mode, and without a RecoveryDir for one in a
//     directory that may not be written, or whose owner cannot be kept
//   - no_space_left, file_write_failure, cancelled
//
// Commit takes [Committer.Lock]; the caller must not hold it.
func (c *Committer) Commit(ctx context.Context, r Request) (Outcome, error) {
	if err := checkRequest(r); err != nil {
		return Outcome{}, err
	}
	dir, unlock, err := c.lock(ctx, r.Dir)
	if err != nil {
		return Outcome{}, lockFailure(r.Path, err)
	}
	defer unlock()

	t := c.begin(r, dir.file)
	t.size = int64(len(r.Data))
	t.sum = sync.OnceValue(func() string { return sumOf(r.Data) })
	defer t.closeFiles()
	// The new bytes are hashed while the target is checked and the bytes are flushed; sum waits for
	// the hash.
	var hashing sync.WaitGroup
	hashing.Go(func() { t.sum() })
	defer hashing.Wait()
	if err := t.step(StepLocked); err != nil {
		return Outcome{}, t.failure(err)
	}
	if dir.exclusive {
		t.sweep(ctx, dir.id)
	}
	method, err := t.run(ctx)
	out := Outcome{KeptFiles: t.kept}
	if err != nil {
		return out, t.failure(err)
	}
	out.Info, out.SHA256, out.Method = t.info, t.sum(), method
	return out, nil
}

// base returns the expected content of the target.
func (r Request) base() content {
	switch {
	case r.BaseData != nil:
		return content{sum: r.Base, size: int64(len(r.BaseData)), data: r.BaseData}
	case r.BaseSize <= 0 && r.Base != sumOf(nil):
		return content{sum: r.Base, size: unlimited}
	}
	return content{sum: r.Base, size: max(r.BaseSize, 0)}
}

// transaction is one commit in progress. It belongs to one goroutine.
type transaction struct {
	*Committer
	Request
	system    system        // of the directory; see layered
	dir       *os.File      // the transaction's own descriptor of Request.Dir
	directory string        // its absolute name, for reports; see dirPath
	sum       func() string // hash of Data

	target  *os.File       // the file with the base content, open for reading; nil before the check, and once a watch owns it
	checked workspace.Info // of target, when it was checked
	byStat  bool           // the check compared stat data and no bytes
	ours    *os.File       // the new file; nil until it has a name
	info    workspace.Info // of the new file, once it is in place
	kept    []string

	size int64  // of the new content
	temp string // the temporary name of a change in a set; "": random names

	oursWritable bool // ours is open for writing too
	shielded     bool // and leased, so that nothing else opens it
}

// begin returns a transaction in dir.
func (c *Committer) begin(r Request, dir *os.File) *transaction {
	t := &transaction{Committer: c, Request: r, dir: dir, system: c.system}
	if r.Layer != workspace.Plain {
		t.system = layered{c.system, t}
	}
	return t
}

// run chooses the method of the commit and runs it.
func (t *transaction) run(ctx context.Context) (Method, error) {
	if t.Base == "" {
		return MethodCreate, t.create(ctx)
	}
	var err error
	if t.target, t.checked, err = t.check(ctx); err != nil {
		return "", err
	}
	if err := t.step(StepChecked); err != nil {
		return "", err
	}
	why := t.obstacleOf(t.checked)
	if why == nil {
		var method Method
		temp, err := t.writeTemp(ctx, t.target)
		if err == nil {
			method, err = t.replace(ctx, temp)
		}
		if why = asObstacle(err); why == nil {
			return method, err
		}
		t.log.Debug("target cannot be replaced by a new file", "target", t.Path, "error", err)
	}
	t.closeFiles()
	return MethodInPlace, t.rewrite(ctx, why)
}

// written returns the content of the new file.
func (t *transaction) written() content { return content{sum: t.sum(), size: t.size} }

// step reports a step to the hook.
func (t *transaction) step(s Step) error {
	if t.options.Hook == nil {
		return nil
	}
	return t.options.Hook(s)
}

func (t *transaction) closeFiles() {
	for _, f := range []**os.File{&t.target, &t.ours} {
		if *f != nil {
			closeFile(*f)
			*f = nil
		}
	}
}

// closeFile closes a file that was only read, or whose writes were synced, so that closing has no
// error to report.
func closeFile(f *os.File) { _ = f.Close() }

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
