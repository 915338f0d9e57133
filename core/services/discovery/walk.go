package discovery

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Walk configures [Finder.Walk].
type Walk struct {
	// Start is the first directory. Required. It counts as named by the caller: it is walked even
	// if it is ignored.
	Start workspace.Path
	// Depth is the number of directory levels below Start; 0 stays in it, a negative value means no
	// limit.
	Depth int
	// Keep reports whether a file is wanted, by its path relative to Start with slashes. It is
	// called from several goroutines concurrently. Nil: all.
	Keep func(rel string) bool
	// Enter reports, likewise, whether a directory may contain wanted files. Nil: all.
	Enter func(rel string) bool
	// Links adds symbolic links to regular files in the workspace. Links to directories are never
	// followed.
	Links bool
	// Times fills in File.MtimeNS.
	Times bool
	// Bare adds everything except directories: symbolic links with any target, and special files.
	// It sets File.Info, for a link that of the link itself; Links and Times are ignored then.
	Bare bool
}

// File is a file found by a walk.
type File struct {
	Dir     string // its directory, relative to the start, with slashes; "" is the start
	Name    string
	Link    bool
	MtimeNS int64           // last change of the file, with links followed, in nanoseconds since 1970; 0 unless Walk.Times
	Info    *workspace.Info // of the name itself; nil unless Walk.Bare
}

// Rel returns the path relative to the start, with slashes.
func (f File) Rel() string { return join(f.Dir, f.Name) }

// Tally contains the counts of a walk. If its caller ended the walk, it covers the part before
// that, which differs from run to run.
type Tally struct {
	Ignored    int       // ignored names; an ignored directory counts once
	Reasons    []Verdict // for the first few of them, one for each line of an ignore file, sorted
	Unreadable int       // directories that could not be listed
	Closed     []string  // the first few of them, absolute, sorted
	Partial    bool      // a limit ended the walk early
	Start      Verdict   // the verdict on the start
}

const (
	maxReasons = 8
	maxClosed  = 8
	// maxAhead limits the files that are found but not yet returned.
	maxAhead = 200_000
	// maxWalked limits the names that one walk inspects.
	maxWalked = 2_000_000
)

// Walk calls yield with each wanted file below a directory, sorted by path, until yield returns
// false. Files are yielded during the walk, by the calling goroutine; several goroutines list
// directories, and have ended when Walk returns. A directory that cannot be listed is skipped and
// counted. A walk over more than two million names ends there, Partial.
//
// Errors concern the start: those of [workspace.Workspace.Stat], or cancelled.
func (f *Finder) Walk(ctx context.Context, r Walk, yield func(File) bool) (Tally, error) {
	scope, directory, err := f.scopeOf(ctx, r.Start, true)
	if err != nil {
		return Tally{}, err
	}
	defer directory.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := &walker{f: f, Walk: r, top: directory, ctx: ctx}
	k.changed = sync.NewCond(&k.mu)
	k.tally.Start = scope.Directory
	root := &node{scope: scope, depth: r.Depth, listed: true, claimed: true}
	if err := k.listDirectory(root, directory, make([]byte, listingBuffer)); err != nil {
		if ctx.Err() != nil {
			err = cancelled(ctx.Err())
		}
		return Tally{}, err
	}
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		running.Go(k.work)
	}
	stop := context.AfterFunc(ctx, k.wake)
	err = k.emit(root, yield)
	cancel()
	stop()
	k.wake()
	running.Wait()
	return k.tally, err
}

const (
	maxWorkers    = 8
	listingBuffer = 32 << 10
)

// node is a directory of a walk.
type node struct {
	dir   string // relative to the start
	depth int    // number of directory levels further down
	scope *Scope // scope of the parent until the directory is listed; of the start, its own

	claimed bool // a goroutine lists it, or has; guarded by walker.mu
	listed  bool // items are available; guarded by walker.mu
	items   []item
}

// item is a file, or a directory if sub is set.
type item struct {
	name  string
	sub   *node
	link  bool
	mtime int64
	info  *workspace.Info
}

// walker is one walk. Directories wait on a stack, the next in order on top. The caller's
// goroutine, which yields files in order, lists a directory itself if no other goroutine has begun
// to. So it never waits for a goroutine that waits for it.
type walker struct {
	Walk
	f   *Finder
	top *workspace.Dir
	ctx context.Context

	mu      sync.Mutex
	changed *sync.Cond // a directory is listed, one is available to list, there is room again, or ctx has ended
	stack   []*node
	ahead   int // items listed and not yielded yet
	walked  int // names inspected
	tally   Tally
}

func (k *walker) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changed.Broadcast()
}

// work lists directories until ctx ends.
func (k *walker) work() {
	buf := make([]byte, listingBuffer)
	for {
		n := k.next()
		if n == nil {
			return
		}
		k.listBelow(n, buf)
	}
}

// next claims the directory on top of the stack; nil once ctx has ended.
func (k *walker) next() *node {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.ctx.Err() == nil {
		for len(k.stack) > 0 && k.ahead < maxAhead {
			n := k.stack[len(k.stack)-1]
			k.stack = k.stack[:len(k.stack)-1]
			if !n.claimed {
				n.claimed = true
				return n
			}
		}
		k.changed.Wait()
	}
	return nil
}

// emit yields the files below root, in order.
func (k *walker) emit(root *node, yield func(File) bool) error {
	type position struct {
		n *node
		i int
	}
	buf := make([]byte, listingBuffer)
	stack := []position{{root, 0}}
	for len(stack) > 0 {
		at := &stack[len(stack)-1]
		if at.i == len(at.n.items) {
			k.release(at.n)
			stack = stack[:len(stack)-1]
			continue
		}
		it := at.n.items[at.i]
		at.i++
		if it.sub == nil {
			if !yield(File{at.n.dir, it.name, it.link, it.mtime, it.info}) {
				return nil
			}
			continue
		}
		k.await(it.sub, buf)
		if err := k.ctx.Err(); err != nil {
			return cancelled(err)
		}
		stack = append(stack, position{it.sub, 0})
	}
	return nil
}

// release makes room after the items of n were yielded.
func (k *walker) release(n *node) {
	k.mu.Lock()
	defer k.mu.Unlock()
	full := k.ahead >= maxAhead
	k.ahead -= len(n.items)
	n.items = nil
	if full && k.ahead < maxAhead {
		k.changed.Broadcast()
	}
}

// await returns when n is listed, or ctx has ended.
func (k *walker) await(n *node, buf []byte) {
	k.mu.Lock()
	if !n.claimed {
		n.claimed = true
		k.mu.Unlock()
		k.listBelow(n, buf)
		return
	}
	defer k.mu.Unlock()
	for !n.listed && k.ctx.Err() == nil {
		k.changed.Wait()
	}
}

// listBelow lists a directory other than the start.
func (k *walker) listBelow(n *node, buf []byte) {
	directory, err := k.top.Below(n.dir)
	if err == nil {
		err = k.listDirectory(n, directory, buf)
		directory.Close()
	}
	if err != nil && k.ctx.Err() == nil {
		k.unreadable(n, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	n.listed = true
	k.changed.Broadcast()
}

func (k *walker) unreadable(n *node, err error) {
	if c := fault.CodeOf(err); c == fault.FileNotFound || c == fault.PathIsNotADirectory {
		return // it is gone
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tally.Unreadable++
	k.tally.Closed = append(k.tally.Closed, filepath.Join(k.Start.String(), filepath.FromSlash(n.dir)))
	slices.Sort(k.tally.Closed)
	k.tally.Closed = k.tally.Closed[:min(len(k.tally.Closed), maxClosed)]
}

// listDirectory sets the items of n.
func (k *walker) listDirectory(n *node, directory *workspace.Dir, buf []byte) error {
	var (
		names []workspace.Name
		found markers
	)
	err := directory.Names(buf, func(name workspace.Name) bool {
		found.note(name.Name, k.f.options.IgnoreFile)
		names = append(names, name)
		return len(names)%1024 != 0 || k.ctx.Err() == nil
	})
	if err == nil {
		err = k.ctx.Err()
	}
	if err != nil {
		return err
	}
	scope := n.scope
	if n.dir != "" {
		scope = k.f.options.enter(scope, directory, join(scope.dir, lastElement(n.dir)), found)
	}
	var tally Tally
	items := make([]item, 0, len(names))
	for _, name := range names {
		if it, ok := k.judge(n, scope, directory, name, &tally); ok {
			items = append(items, it)
		}
	}
	slices.SortFunc(items, compareItems)
	n.items = items
	k.add(n, len(names), tally)
	return nil
}

// judge returns the item for a name that is wanted.
func (k *walker) judge(n *node, scope *Scope, directory *workspace.Dir, name workspace.Name, tally *Tally) (it item, ok bool) {
	isDir := name.Type.IsDir()
	if scope.inGit || name.Name == gitName {
		return item{}, false
	}
	if l, r := scope.match(name.Name, isDir); r != nil && !r.negated {
		tally.Ignored++
		tally.because(l, r, func() string { return scope.path(name.Name) })
		return item{}, false
	}
	it = item{name: name.Name, link: name.Type&fs.ModeSymlink != 0}
	switch {
	case isDir:
		it.sub = &node{dir: join(n.dir, name.Name), depth: n.depth - 1, scope: scope}
		return it, n.depth != 0 && (k.Enter == nil || k.Enter(it.sub.dir))
	case k.Bare:
		info, err := directory.Lstat(name.Name)
		it.info = &info
		return it, err == nil && (k.Keep == nil || k.Keep(join(n.dir, name.Name)))
	case it.link && !k.Links, !it.link && name.Type != 0:
		return item{}, false
	case k.Keep != nil && !k.Keep(join(n.dir, name.Name)):
		return item{}, false
	case it.link:
		info, err := k.stat(n, name.Name)
		it.mtime = info.MtimeNS
		return it, err == nil && info.Mode.IsRegular()
	case k.Times:
		info, err := directory.Lstat(name.Name)
		it.mtime = info.MtimeNS
		return it, err == nil
	}
	return it, true
}

// stat describes the target of a link.
func (k *walker) stat(n *node, name string) (workspace.Info, error) {
	p, err := k.f.files.Resolve(filepath.Join(k.Start.String(), filepath.FromSlash(n.dir), name))
	if err != nil {
		return workspace.Info{}, err
	}
	return k.f.files.Stat(p)
}

// compareItems orders items so that the paths below them are in order.
func compareItems(a, b item) int {
	if a.sub == nil && b.sub == nil {
		return strings.Compare(a.name, b.name)
	}
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return int(a.byteAt(n)) - int(b.byteAt(n))
}

// byteAt returns a byte of the name, which for a directory ends in a slash; 0 beyond its end.
func (it *item) byteAt(i int) byte {
	switch {
	case i < len(it.name):
		return it.name[i]
	case i == len(it.name) && it.sub != nil:
		return '/'
	}
	return 0
}

// add adds the result of a listing: directories onto the stack, the first on top.
func (k *walker) add(n *node, names int, tally Tally) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ahead += len(n.items)
	k.walked += names
	k.tally.Ignored += tally.Ignored
	for _, v := range tally.Reasons {
		k.tally.addReason(v)
	}
	if k.walked > maxWalked {
		k.tally.Partial = true
		n.items = slices.DeleteFunc(n.items, func(it item) bool { return it.sub != nil })
		return
	}
	for _, it := range slices.Backward(n.items) {
		if it.sub != nil {
			k.stack = append(k.stack, it.sub)
		}
	}
	k.changed.Broadcast()
}

// because records a rule as a reason, once; path is the path that it matches.
func (t *Tally) because(l level, r *rule, path func() string) {
	for _, known := range t.Reasons {
		if known.Source == l.source && known.Line == r.line {
			return
		}
	}
	t.addReason(Verdict{true, l.source, r.line, r.text, path()})
}

// addReason records a reason, each line of a file once, and keeps the first few in order.
func (t *Tally) addReason(v Verdict) {
	i, known := slices.BinarySearchFunc(t.Reasons, v, func(a, b Verdict) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line))
	})
	if known {
		t.Reasons[i].Path = min(t.Reasons[i].Path, v.Path)
		return
	}
	if i < maxReasons {
		t.Reasons = slices.Insert(t.Reasons, i, v)
		t.Reasons = t.Reasons[:min(len(t.Reasons), maxReasons)]
	}
}
