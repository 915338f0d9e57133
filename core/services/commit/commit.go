// Package commit puts new bytes in a file's place only if the file still
// holds the bytes that the change was based on, and loses nobody's bytes if it
// does not.
//
// # What a reader and a killed process see
//
// A file is not written to where a new one can take its place: the new bytes
// become a whole, flushed file beside it, and names are exchanged in one step,
// so a reader sees the old version or the new one. A process killed at
// any moment leaves one of the two at the path; what else it leaves is
// recognised by its name and content by a later commit in that directory.
//
// Some files are rewritten in place ([MethodInPlace]): a file with several hard
// links, so that its names stay together; one in a directory in which
// the process may not rename (its mode, a sticky bit, a mounted file); and one
// whose owner or group a new file cannot be given. Both versions are kept in a
// recovery file meanwhile.
//
// # What is checked
//
// Programs that save files take no part in any lock. So the target is looked at
// again when the new bytes are flushed: a read lease proves that no program has
// it open for writing, and under the lease it must hash to the base. Nothing is
// exchanged that is stale by then.
//
// The check that counts comes after the exchange, when the displaced file has
// no name that another program knows: it must be the file under the lease, or
// pass the same two checks. Otherwise the exchange is undone, with the same
// checks on our own file. From just before the exchange to this check, and
// through an undo that follows, the new file is leased exclusively: an open
// waits for some microseconds, and after an undo gives the bytes of the target.
//
// # What remains open
//
// An open(2) for writing that found the displaced file by its name before the
// exchange, but had not reached the kernel's count of writers when the lease
// was taken. When it does, it breaks the lease, which is looked at after the
// directory was flushed and [Options.Settle] has passed (then the exchange is
// undone), and once more after the name is gone (then late bytes are kept beside
// the target). An open that stays between these two points in the kernel for
// longer than that goes unseen.
//
// An open for writing that meets the new file just before an undo. What that
// program saves goes to the path as soon as it has closed the file; a save that
// another editor makes there in between is kept beside the target and reported.
//
// A commit that is undone after the check: the directory could not be flushed, or
// a late writer was noticed. The new text could be read for these milliseconds.
//
// An open with O_NONBLOCK does not wait for the check: it fails with EAGAIN. Of
// 2,283,077 such opens by a process that did nothing else, beside one that
// committed all the time, 6,176 did (0.3 %).
//
// Beside eight writing processes on two processors, editors that save by
// rename, by truncating and in place lost none of 51,000 saves; 2 were kept
// beside the target, and reported. None of 15,520 acknowledged commits was lost,
// other than to an editor that saved what it had read before
// (TestEditorsBesideWriters in full).
//
// Without leases (other owners' files without CAP_LEASE, file systems that have
// none, macOS) a program that has the file open and writes after the last hash
// is not noticed, and a text that is refused can be read for a moment: an editor
// that saves on top of it keeps it, as its file stays. Without an exchange of
// names the windows are wider, as [MethodLink] and [MethodRename] say. A rewrite
// in place ([MethodInPlace]) is not atomic for those who already have the file
// open.
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

// Waits of a commit where [Options] say nothing else.
const (
	DefaultLeaseWait = 100 * time.Millisecond // for another program to close the target
	DefaultSettle    = time.Millisecond       // for one whose open is under way
)

// Options configure a [Committer]. The zero value works, except that files
// that have to be rewritten in place are refused.
type Options struct {
	// RecoveryDir is the directory for recovery files, absolute and
	// outside every project. It is made when first needed, with mode 0700.
	// "": files that have to be rewritten in place are refused ([MethodInPlace]).
	RecoveryDir string

	// LeaseWait is how long a commit waits for another program that holds the
	// target open for writing, before it writes anything and again before the
	// exchange; likewise, when it has undone an exchange, for one that has opened
	// the new file meanwhile. Zero:
	// [DefaultLeaseWait]. Negative: it does not wait.
	LeaseWait time.Duration

	// Settle is a further wait between the verification of the displaced file
	// and its removal, in which a program whose open(2) was under way during the
	// exchange is still noticed and the commit undone. Zero: [DefaultSettle].
	// Negative: none beyond the time that flushing the directory takes.
	Settle time.Duration

	// Hook, if set, is called at each [Step] of a commit, on the goroutine of
	// the call, with the directory locked. Its error ends the commit there as a
	// failing system call would. For tests.
	Hook func(Step) error

	// Logger receives what a call could not report to its caller. Nil: nothing
	// is logged.
	Logger *slog.Logger
}

// Committer commits changes. It is safe for concurrent use; commits into one
// directory run one after another, across Committers and processes.
//
// It holds no descriptor, goroutine or file between calls.
type Committer struct {
	options Options
	system  system
	log     *slog.Logger

	queues queues

	now func() time.Time

	mu    sync.Mutex
	swept map[folderID]*sweeping // directories looked through for leftovers
}

// New returns a Committer. It does no I/O.
func New(o Options) *Committer {
	o.LeaseWait = cmp.Or(o.LeaseWait, DefaultLeaseWait)
	o.LeaseWait = max(o.LeaseWait, 0)
	o.Settle = cmp.Or(o.Settle, DefaultSettle)
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Committer{options: o, system: kernel{}, log: log, now: time.Now, swept: make(map[folderID]*sweeping)}
}

// Request is one change to one file.
type Request struct {
	Dir  *os.File // directory that really holds the target, open for reading; borrowed for the call; required
	Name string   // target's base name in Dir; a symbolic link there is refused, not followed; required
	Path string   // target's absolute path, for messages; required
	Data []byte   // the whole new content; not kept, not changed
	Base string   // lower-case hex SHA-256 that the target must have; "": the target must be absent

	// BaseSize is the length in bytes of what Base is the hash of. A longer
	// target is refused as changed without being read to its end. Zero or
	// less: not known, unless Base is the hash of nothing.
	BaseSize int64
}

// Method says how the bytes were put in place.
type Method string

// Methods, from the safest to the plainest.
const (
	// MethodCreate placed a new file with an operation that never replaces
	// (FS-62). There is no window, unless the file system has neither such an
	// operation nor hard links: then it is a rename after a last check.
	MethodCreate Method = "create"

	// MethodExchange exchanged names and verified what was displaced (FS-59).
	// Where the system grants no read lease (another owner's file without
	// CAP_LEASE, a file system without leases, macOS), an in-place writer that
	// holds the file open and writes after the last hash is not noticed.
	MethodExchange Method = "exchange"

	// MethodLink gave the old file a second name, renamed over it and verified
	// it (FS-61). A file renamed to the path by somebody else between these two
	// system calls is lost.
	MethodLink Method = "link"

	// MethodRename renamed over the target after a last check (FS-61). A change
	// by somebody else between that check and the rename is lost if it came by
	// rename; if it was written in place, its bytes are kept beside the target
	// where the platform lets an open file be replaced.
	MethodRename Method = "rename"

	// MethodInPlace rewrote the file itself through one descriptor, with both
	// versions in a recovery file meanwhile. It serves files that no new
	// file can replace: those with several hard links; those in a directory that
	// forbids it by its mode or sticky bit; a file that is mounted over another;
	// and those whose owner or group the process cannot give to a new file. On
	// Linux no other program can open the file during the write. Where a program
	// already reads it or the system grants no write lease (always so for
	// another owner's file without CAP_LEASE), that reader can see a mixture, and
	// a change by another program between the last check and the write is
	// overwritten.
	MethodInPlace Method = "in_place"
)

// Outcome is what a commit did.
type Outcome struct {
	// Info describes the file at the path after a commit without error.
	Info workspace.Info
	// SHA256 is the lower-case hex hash of its content, "" with an error.
	SHA256 string
	// Kept lists absolute names of files that hold another program's bytes, put
	// or left beside the target, and the recovery file of a rewrite in place that
	// left a mixture. Equal bytes of one target are kept once, and the same file
	// is named again. Kept can be set with an error too. It includes what killed
	// runs left in the directory, which a Committer reports once.
	Kept []string
	// Method is how the bytes were put in place, "" with an error.
	Method Method
}

// Commit puts r.Data in the target's place if the target still has the content
// that r.Base names, and keeps its mode, owner and extended attributes. A target
// that no new file can replace is rewritten in place ([MethodInPlace]). A new
// file gets mode 0666 less the umask, or what the directory's default ACL says.
//
// A nil error means that the new bytes are at the path and flushed to disk,
// with the directory's entry. Any error means that the target was not changed by
// this call, with three exceptions that the error's message states: the
// exchange of names could not be undone (code file_write_failure; the previous
// file is then in Kept, unless somebody has removed it), a new file could not be
// withdrawn (the same code), and the old bytes of a file that was rewritten in
// place could not be put back. No temporary file of the call is left, unless it cannot
// be removed: then it is logged, and goes with a later commit in the directory.
//
// An ended ctx stops the call with code cancelled up to the moment at which
// the names are exchanged (AR-29); after it the commit is carried through.
//
// Errors are *fault.Error with code
//   - file_changed_since_read: reason changed, disappeared, or open_elsewhere
//     (another program holds the target open for writing; FS-59)
//   - edit_requires_prior_read, reason never_read: Base is "" and the name is
//     taken, however late that came about (FS-62)
//   - not_a_regular_file: the target is a link, directory or special file
//   - permission_denied: also for a target that may not be written, though a
//     rename would get round its mode, and without a RecoveryDir for one in a
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

	t := &transaction{
		Committer: c,
		Request:   r,
		dir:       dir.file,
		sum:       sync.OnceValue(func() string { return sumOf(r.Data) }),
	}
	defer t.closeFiles()
	// The new bytes are hashed while the target is checked and they are
	// flushed; whoever needs the hash waits for it.
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
	out := Outcome{Kept: t.kept}
	if err != nil {
		return out, t.failure(err)
	}
	out.Info, out.SHA256, out.Method = t.info, t.sum(), method
	return out, nil
}

// base is what the target must hold.
func (r Request) base() content {
	if r.BaseSize <= 0 && r.Base != sumOf(nil) {
		return content{r.Base, unlimited}
	}
	return content{r.Base, max(r.BaseSize, 0)}
}

// transaction is one commit under way. It belongs to one goroutine.
type transaction struct {
	*Committer
	Request
	dir    *os.File      // our own descriptor of Request.Dir
	folder string        // its absolute name, for reports; see folderPath
	sum    func() string // hash of Data

	target  *os.File       // the file that held the base, open for reading; nil before the check, and once a watch has it
	checked workspace.Info // of target, when it was checked
	ours    *os.File       // the new file; nil until it has a name
	info    workspace.Info // of the new file, once it is in place
	kept    []string

	oursWritable bool // ours is open for writing too
	shielded     bool // and leased, so that nothing else opens it
}

// run chooses the way to commit.
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

// written is what our own file holds.
func (t *transaction) written() content { return content{t.sum(), int64(len(t.Data))} }

// step tells the hook where the commit is.
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

// closeFile closes a file that was only read, or whose writes were synced:
// nothing is left that closing could report.
func closeFile(f *os.File) { _ = f.Close() }

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
