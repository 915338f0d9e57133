package fork

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Default limits of [Options].
const (
	DefaultMaxBase      = 64 << 20
	DefaultMaxCopyFiles = 100_000
	DefaultMaxCopyBytes = 4 << 30
)

// Step names a moment for [Options.Hook].
type Step string

// Steps, in the order in which a call reaches them.
const (
	StepMade      Step = "made"      // the directory of a new fork exists under a temporary name
	StepCopied    Step = "copied"    // a file of a copy is complete
	StepDescribed Step = "described" // fork.json is written
	StepCreated   Step = "created"   // the fork has its name

	StepBase   Step = "base"   // the bytes of a base are stored
	StepRecord Step = "record" // a base is recorded

	StepPlanned   Step = "planned"   // merge.json names the changes of a set
	StepCommitted Step = "committed" // the changed files are in the directories
	StepFinished  Step = "finished"  // so are modes and links, and merge.json says so
	StepTaken     Step = "taken"     // one merged file has left the fork
	StepClosed    Step = "closed"    // merge.json is removed

	StepDetached Step = "detached" // a dropped fork has a temporary name
	StepDropped  Step = "dropped"  // it is removed
)

// Options configure a [Store]. Dir is required.
type Options struct {
	Dir          string           // directory of the forks of a project, absolute; created with mode 0700 on first use
	Mode         Mode             // of new forks. "": Overlay
	MaxBase      int64            // bytes of a base that are kept; of a larger one only the hash is. 0: [DefaultMaxBase]
	MaxCopyFiles int              // files of a copy. 0: [DefaultMaxCopyFiles]
	MaxCopyBytes int64            // bytes of a copy. 0: [DefaultMaxCopyBytes]
	Now          func() time.Time // nil: time.Now
	Hook         func(Step) error // is called at each step, for tests; its error ends the operation. Nil: none
}

// Store contains the forks of a project. It is safe for concurrent use, also by several processes.
type Store struct{ o Options }

// New returns a Store. It does no I/O.
func New(o Options) *Store {
	o.MaxBase = cmp.Or(o.MaxBase, DefaultMaxBase)
	o.MaxCopyFiles = cmp.Or(o.MaxCopyFiles, DefaultMaxCopyFiles)
	o.MaxCopyBytes = cmp.Or(o.MaxCopyBytes, DefaultMaxCopyBytes)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{o}
}

func (s *Store) at(step Step) error {
	if s.o.Hook == nil {
		return nil
	}
	return s.o.Hook(step)
}

// Names in the store's directory.
const (
	newPrefix  = ".new-"  // of a fork that is being created
	dropPrefix = ".drop-" // of one that is being removed
	storeLock  = "lock"   // held while a fork gets or loses its name
	forkFile   = "fork.json"
	forkLock   = "lock"
)

// Request describes a new fork.
type Request struct {
	Name    string   // letters, digits, '-', '_' and '.'; at most 64. "": the ID
	Dirs    []string // required
	Mode    Mode     // "": that of the Store
	Session string
}

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`) })

// Create creates a fork and opens it. It first removes what killed processes have left.
//
// Errors are *fault.Error: invalid_tool_params for an invalid name or one in use, fork_unsupported if the
// state directory cannot hold changes in the format of overlayfs, limit_reached for a copy that is too
// large, cancelled, no_space_left, permission_denied and file_write_failure.
func (s *Store) Create(ctx context.Context, r Request) (*Fork, error) {
	if len(r.Dirs) == 0 {
		return nil, fault.New(fault.InvalidToolParams, "fork.create", "A fork needs at least one directory.", "Name the directory to work in.")
	}
	if r.Name != "" && !validName().MatchString(r.Name) {
		return nil, fault.New(fault.InvalidToolParams, "fork.create", fmt.Sprintf("%q is not a name of a fork.", r.Name), "Use at most 64 letters, digits, '-', '_' and '.'.")
	}
	f, err := s.create(ctx, r)
	if err != nil {
		return nil, writeFailure(ctx, "create", "The fork could not be created", err)
	}
	return f, nil
}

func (s *Store) create(ctx context.Context, r Request) (_ *Fork, err error) {
	if err := os.MkdirAll(s.o.Dir, lockedfile.DirMode); err != nil {
		return nil, err
	}
	s.clean()
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	f := &Fork{store: s, dir: filepath.Join(s.o.Dir, newPrefix+id), Info: Info{
		ID: id, Name: cmp.Or(r.Name, id), Created: s.o.Now().UTC(), Mode: cmp.Or(r.Mode, s.o.Mode, Overlay), Owner: Owner{os.Getpid(), r.Session},
	}}
	if err := s.free(f.Name); err != nil {
		return nil, err
	}
	if err := os.Mkdir(f.dir, lockedfile.DirMode); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			if f.unlock != nil {
				_ = f.Close() // it is removed
			}
			_ = removeTree(f.dir) // the next clean-up does otherwise
		}
	}()
	if f.unlock, err = lockedfile.LockIfFree(filepath.Join(f.dir, forkLock)); err != nil {
		return nil, err
	}
	if err := s.at(StepMade); err != nil {
		return nil, err
	}
	if err := f.fill(ctx, r.Dirs); err != nil {
		return nil, err
	}
	if err := f.describe(); err != nil {
		return nil, err
	}
	if err := s.at(StepDescribed); err != nil {
		return nil, err
	}
	return f, s.name(ctx, f)
}

// fill creates the directories of a new fork.
func (f *Fork) fill(ctx context.Context, dirs []string) (err error) {
	for _, name := range []string{baseDir} {
		if err := os.Mkdir(filepath.Join(f.dir, name), lockedfile.DirMode); err != nil {
			return err
		}
	}
	if f.bases, err = openBases(f.dir, true); err != nil {
		return err
	}
	limit := &budget{files: f.store.o.MaxCopyFiles, bytes: f.store.o.MaxCopyBytes}
	for n, dir := range dirs {
		if dir, err = filepath.Abs(dir); err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return err
		}
		f.Dirs = append(f.Dirs, dir)
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if below(dir, f.store.o.Dir) {
			return fault.New(fault.ForkUnsupported, "fork.create", fmt.Sprintf("The directory of the forks, %s, is in %s.", f.store.o.Dir, dir), "Work in a directory that does not contain it.")
		}
		for _, name := range []string{"upper", "work"} {
			if err := os.MkdirAll(f.place(n, name), lockedfile.DirMode); err != nil {
				return err
			}
		}
		if f.Mode == Copy {
			if err := f.copyDir(ctx, n, limit); err != nil {
				return err
			}
		} else if err := probe(f.place(n, "work")); err != nil {
			return fault.Wrap(fault.ForkUnsupported, "fork.create", fmt.Sprintf("Changes of a fork cannot be kept in %s: %v.", f.store.o.Dir, err),
				"Set fork.copy to true, so that the fork is a copy of the directories.", err)
		}
		if err := os.Chmod(f.upper(n), info.Mode().Perm()|0o700); err != nil { // a mounted overlay shows it
			return err
		}
	}
	return nil
}

// below reports whether path is dir or in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func (f *Fork) describe() error {
	data, err := json.Marshal(record{version, f.Info})
	if err != nil {
		return err
	}
	return lockedfile.Replace(filepath.Join(f.dir, forkFile), append(data, '\n'))
}

// name gives a complete fork its name in the store.
func (s *Store) name(ctx context.Context, f *Fork) error {
	unlock, err := lockedfile.Lock(ctx, filepath.Join(s.o.Dir, storeLock))
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.free(f.Name); err != nil {
		return err
	}
	final := filepath.Join(s.o.Dir, f.ID)
	if err := f.bases.close(); err != nil { // Windows renames no directory with an open file
		return err
	}
	if err := os.Rename(f.dir, final); err != nil {
		return err
	}
	f.dir = final
	if f.bases, err = openBases(f.dir, true); err != nil {
		return err
	}
	return s.at(StepCreated)
}

// free returns an error if a fork has the name.
func (s *Store) free(name string) error {
	for _, info := range s.infos() {
		if info.Name == name || info.ID == name {
			return fault.New(fault.InvalidToolParams, "fork.create", fmt.Sprintf("A fork named %s exists.", name), "Choose another name, or merge or drop the fork: see fettle forks.")
		}
	}
	return nil
}

// infos returns the descriptions of the forks, oldest first. Damaged ones are omitted.
func (s *Store) infos() []Info {
	entries, _ := os.ReadDir(s.o.Dir) // none: there are no forks
	var all []Info
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() {
			continue
		}
		if r, err := readRecord(filepath.Join(s.o.Dir, e.Name())); err == nil && r.ID == e.Name() {
			all = append(all, r.Info)
		}
	}
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all
}

func readRecord(dir string) (record, error) {
	var r record
	data, err := lockedfile.Read(filepath.Join(dir, forkFile), 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && (r.Version != version || len(r.Dirs) == 0 || r.Mode != Overlay && r.Mode != Copy) {
		err = fmt.Errorf("%s is not of a supported version", filepath.Join(dir, forkFile))
	}
	return r, err
}

// Open opens the fork with that name or ID and locks it. Session becomes that of its owner, unless it is
// empty. Errors are *fault.Error: file_not_found, execution_failed for a fork in use,
// read_content_failure and permission_denied.
func (s *Store) Open(name, session string) (*Fork, error) {
	f, err := s.find("open", name)
	if err != nil {
		return nil, err
	}
	if err := f.take(); err != nil {
		return nil, err
	}
	f.Owner.PID, f.Owner.Session = os.Getpid(), cmp.Or(session, f.Owner.Session)
	if err := f.describe(); err != nil {
		_ = f.Close() // the other error is returned
		return nil, writeFailure(context.Background(), "open", "The fork could not be opened", err)
	}
	return f, nil
}

// Look opens the fork with that name or ID for [Fork.Compare] alone, also while it is in use. Nothing is
// written. Errors are those of Open.
func (s *Store) Look(name string) (*Fork, error) {
	f, err := s.find("look", name)
	if err != nil {
		return nil, err
	}
	if f.bases, err = openBases(f.dir, false); err != nil {
		return nil, failed(fault.ReadContentFailure, "look", fmt.Sprintf("The records of the fork %s cannot be read.", f.Name), "", err)
	}
	return f, nil
}

func (s *Store) find(op, name string) (*Fork, error) {
	for _, info := range s.infos() {
		if info.Name == name || info.ID == name {
			return &Fork{Info: info, store: s, dir: filepath.Join(s.o.Dir, info.ID)}, nil
		}
	}
	return nil, fault.New(fault.FileNotFound, "fork."+op, fmt.Sprintf("This project has no fork %q.", name), "fettle forks list prints the names.")
}

// take locks the fork and opens its records.
func (f *Fork) take() (err error) {
	f.unlock, err = lockedfile.LockIfFree(filepath.Join(f.dir, forkLock))
	switch {
	case errors.Is(err, lockedfile.ErrBusy):
		return fault.Wrap(fault.ExecutionFailed, "fork.open", fmt.Sprintf("The fork %s is in use by process %d.", f.Name, f.Owner.PID), "End the session that uses it first.", err)
	case err != nil:
		return failed(fault.PermissionDenied, "open", fmt.Sprintf("The fork %s cannot be locked.", f.Name), "", err)
	}
	if _, err = os.Lstat(filepath.Join(f.dir, forkFile)); err == nil { // it was not dropped meanwhile
		f.bases, err = openBases(f.dir, true)
	}
	if err != nil {
		f.unlock()
		f.unlock = nil
		return failed(fault.ReadContentFailure, "open", fmt.Sprintf("The records of the fork %s cannot be read.", f.Name), "", err)
	}
	return nil
}

func writeFailure(ctx context.Context, op, what string, err error) error {
	if fault.As(err) != nil {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fault.WasCancelled("fork."+op, err)
	}
	code, remedy := fault.FileWriteFailure, "Call again when the cause is removed."
	switch {
	case isNoSpace(err):
		code, remedy = fault.NoSpaceLeft, "Free some space or raise the quota, then call again."
	case errors.Is(err, fs.ErrPermission) || isReadOnly(err):
		code, remedy = fault.PermissionDenied, "Make the user's state directory writable."
	}
	return fault.Wrap(code, "fork."+op, fmt.Sprintf("%s: %s.", what, strings.TrimSuffix(err.Error(), ".")), remedy, err)
}
