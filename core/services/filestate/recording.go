package filestate

import (
	"context"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Recording delays the records of one tool call until it is known whether the conversation receives
// its result: a hook may withhold a result, or replace it. Nothing in it counts as shown before
// [Recording.Commit], and dropped records never do.
//
// Reads are delayed completely. Writes are in the cache immediately, as bytes that the conversation
// does not know; the commit marks them as known. A Recording is safe for concurrent use. Records
// added after its end are dropped.
type Recording struct {
	service *Service
	parent  *Recording // of the call that made this call; nil: none

	mu     sync.Mutex
	events []event
	reads  map[fileKey][]*heldRead // those of events, by their file; nil: not built
	ended  bool
}

// event is one record of a call.
type event struct {
	path    string    // of the file shown; "": none
	sha     string    // of its bytes; "": unknown
	read    *heldRead // nil: not a read
	shown   func()    // called when it is shown; nil: no callback
	dropped func()    // called when it is dropped; nil: no callback
}

// heldRead is a read that is not in the cache yet.
type heldRead struct {
	path    workspace.Path
	reading reading
	version int64
	data    []byte // all bytes, for a [BaseStore]; nil: do not store them
}

// key identifies the file of the read.
func (h *heldRead) key() fileKey { return keyOf(h.path.String(), h.reading.info) }

type recordingKey struct{ *Service }

// Begin returns a context in which the files that s shows are held by the Recording until its
// Commit or Drop, one of which must be called. If ctx already has a Recording of s that has not
// ended, because one call makes another call, Commit passes the records to that Recording.
func (s *Service) Begin(ctx context.Context) (context.Context, *Recording) {
	r := &Recording{service: s, parent: s.recording(ctx)}
	return context.WithValue(ctx, recordingKey{s}, r), r
}

// recording returns the Recording of s in ctx; nil: none, so that every record counts as shown
// immediately.
func (s *Service) recording(ctx context.Context) *Recording {
	r, _ := ctx.Value(recordingKey{s}).(*Recording)
	return r
}

// WhenShown calls shown once the conversation has received the result of the call that ctx belongs
// to: immediately without a [Recording], never if the result is dropped.
func (s *Service) WhenShown(ctx context.Context, shown func()) {
	s.hold(ctx, event{shown: shown})
}

// hold adds an event to the Recording of ctx. Without one it counts as shown immediately.
func (s *Service) hold(ctx context.Context, e event) {
	r := s.recording(ctx)
	if r == nil {
		s.commit([]event{e})
		return
	}
	r.add([]event{e})
}

func (r *Recording) add(events []event) {
	r.mu.Lock()
	ended := r.ended
	if !ended {
		r.events = append(r.events, events...)
		if r.reads != nil {
			r.index(events)
		}
	}
	r.mu.Unlock()
	if ended {
		r.service.drop(events)
	}
}

// Mark returns the number of records, for [Recording.Withhold].
func (r *Recording) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Withhold drops the records before mark. Later ones are kept.
func (r *Recording) Withhold(mark int) {
	r.mu.Lock()
	mark = min(mark, len(r.events))
	dropped := r.events[:mark:mark]
	r.events, r.reads = r.events[mark:], nil
	r.mu.Unlock()
	r.service.drop(dropped)
}

// Commit ends the Recording: the conversation receives its result.
func (r *Recording) Commit() {
	events := r.end()
	if r.parent != nil {
		r.parent.add(events)
		return
	}
	r.service.commit(events)
}

// Drop ends the Recording: the conversation does not receive its result.
func (r *Recording) Drop() { r.service.drop(r.end()) }

func (r *Recording) end() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events, r.reads, r.ended = nil, nil, true
	return events
}

// index adds the reads of events to r.reads; r.mu is held.
func (r *Recording) index(events []event) {
	for i := range events {
		if read := events[i].read; read != nil {
			key := read.key()
			r.reads[key] = append(r.reads[key], read)
		}
	}
}

// held returns the pending reads of a file. One call may hold many reads of others.
func (r *Recording) held(key fileKey) []*heldRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	const few = 8 // events that are searched faster than indexed
	if r.reads == nil && len(r.events) <= few {
		var reads []*heldRead
		for _, e := range r.events {
			if e.read != nil && e.read.key() == key {
				reads = append(reads, e.read)
			}
		}
		return reads
	}
	if r.reads == nil {
		r.reads = make(map[fileKey][]*heldRead)
		r.index(r.events)
	}
	return r.reads[key]
}

// Hash returns the hash of all bytes of the file at p in its last pending read; "" without one, and
// for files other than text.
func (r *Recording) Hash(p workspace.Path) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range slices.Backward(r.events) {
		if e.read != nil && e.read.path == p {
			return e.read.reading.sha
		}
	}
	return ""
}

func (s *Service) commit(events []event) {
	for _, e := range events {
		if e.read != nil {
			s.commitRead(*e.read)
		}
		if e.shown != nil {
			e.shown()
		}
	}
}

func (s *Service) drop(events []event) {
	for _, e := range events {
		if e.path != "" {
			s.dropped.add(e.path, e.sha)
		}
		if e.dropped != nil {
			e.dropped()
		}
	}
}

// recordRead records a read, immediately or with the Recording of ctx, and reports whether the
// conversation then knows every byte.
func (s *Service) recordRead(ctx context.Context, read heldRead) (whole bool) {
	r := s.recording(ctx)
	if r == nil {
		return s.commitRead(read)
	}
	if s.ApplyKillSwitch() {
		whole = read.reading.whole()
	} else {
		whole = s.Cache.foresee(read, r.held(read.key())).qualifying()
	}
	r.add([]event{{path: read.path.String(), sha: read.reading.sha, read: &read}})
	return whole
}

// commitRead records a read that the conversation has received.
func (s *Service) commitRead(read heldRead) (whole bool) {
	path, rd := read.path.String(), read.reading
	if s.ApplyKillSwitch() {
		whole = rd.whole()
	} else {
		whole = s.Cache.recordRead(path, rd, read.version).qualifying()
	}
	if whole {
		s.dropped.remove(path, rd.sha)
		s.given.add(path, rd.sha)
		if read.data != nil {
			s.keepBase(read.path, rd.info, rd.sha, read.data)
		}
	}
	return whole
}

// whole reports whether the read alone shows every byte of a text.
func (rd reading) whole() bool {
	return rd.cacheable && !rd.unshowable && rd.first == 0 && rd.end == rd.totalLines
}

// droppedSet records files, and states of files, that were read or written by calls whose results
// were dropped. It is unbounded, because a file that it forgot could be shown. Its zero value is
// empty; it is safe for concurrent use.
type droppedSet struct {
	mu     sync.Mutex
	paths  map[string]struct{}
	hashes map[string]struct{}
}

// Dropped reports whether the file at p, or the content with the hash sha, was last in a result
// that the conversation did not receive. Only a read may show it then: a refusal does not, nor the
// result of a change. After a change the file stays marked.
func (s *Service) Dropped(p workspace.Path, sha string) bool { return s.dropped.has(p.String(), sha) }

func (d *droppedSet) has(path, sha string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, byPath := d.paths[path]
	_, byHash := d.hashes[sha]
	if byHash {
		d.paths[path] = struct{}{}
	}
	return byPath || byHash
}

func (d *droppedSet) add(path, sha string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paths == nil {
		d.paths, d.hashes = make(map[string]struct{}), make(map[string]struct{})
	}
	d.paths[path] = struct{}{}
	if sha != "" && sha != EmptySHA256 {
		d.hashes[sha] = struct{}{}
	}
}

func (d *droppedSet) remove(path, sha string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.paths, path)
	delete(d.hashes, sha)
}
