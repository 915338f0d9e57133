package filestate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// ReadRequest describes a read.
type ReadRequest struct {
	Path   workspace.Path
	Offset int  // first line, 0-based
	Limit  int  // lines; 0 means the limit Lines
	Ranged bool // offset or limit was given, even as its default
	// Repeat requests content even if a placeholder would be sufficient.
	Repeat bool
	// TextOnly does not read files other than text: their Payload has no Data.
	TextOnly bool
	// ResultBytes limits the JSON text of the state, as one of several in a result. 0, or more than
	// the limit ResultBytes: that limit.
	ResultBytes int
	// Uncut refuses a text that only ResultBytes would truncate. Nothing is recorded then.
	Uncut bool

	show show // of the bytes that [Service.Ahead] has read; nil: none
}

// show records a file that was read, and returns what r shows of it.
type show func(ctx context.Context, r ReadRequest) (*Read, error)

// Read is the result of a read. Exactly one of State, Placeholder, Payload and Refusal is set.
type Read struct {
	State       *State
	Placeholder *Placeholder
	Payload     *Payload
	Refusal     string // why a file cannot be shown; not an error
}

// Payload is a file that is returned as data.
type Payload struct {
	MIMEType string
	Data     []byte // nil for a read with TextOnly
}

// Read shows a file to the conversation and records that. It is the only source of state objects
// for reads: it reads once, hashes those bytes, and allocates a version only for content.
//
// Errors have code file_not_found, permission_denied, path_not_in_workspace, target_is_directory,
// not_a_regular_file, file_too_large (a complete read above the limit FileBytes, or for r.Uncut),
// invalid_tool_params (an offset beyond the end), read_content_failure or cancelled.
func (s *Service) Read(ctx context.Context, r ReadRequest) (*Read, error) {
	if r.show != nil {
		return r.show(ctx, r)
	}
	info, err := s.files.Stat(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), fault.CodeOf(err) == fault.PathNotInWorkspace:
		return nil, err
	case err != nil:
		s.Cache.count(func(c *cacheStats) { c.statFailures++ })
		s.debugCache(ctx, "stat-failed", r.Path, slog.String("error", errnoName(err)))
	default:
		if c, special := textfile.ClassifyMode(info.Mode); special {
			return nil, notRegular(r.Path, c)
		}
		if info.Size > s.limits.FileBytes && !r.Ranged {
			return nil, tooLarge(r.Path, info.Size, s.limits.FileBytes)
		}
		if !r.Ranged && !r.Repeat && !s.single && !s.ApplyKillSwitch() {
			if p := s.consult(ctx, r.Path, info); p != nil {
				s.give(ctx, r.Path, p.SHA256)
				return &Read{Placeholder: p}, nil
			}
		}
	}
	show, err := s.load(ctx, r)
	if err != nil {
		return nil, err
	}
	return show(ctx, r)
}

// maxAhead is the size in bytes up to which files are read ahead.
const maxAhead = 64 << 10

// Ahead reads the file of r, so that [Service.Read] of the result has only to record and to show it.
// It records nothing. In between only ResultBytes and Uncut may be set. It may run at the same time
// as other reads. The result is r if the file cannot be read or has more than 64 KiB, and for
// requests that are Ranged or not Repeat.
func (s *Service) Ahead(ctx context.Context, r ReadRequest) ReadRequest {
	if r.Ranged || !r.Repeat {
		return r
	}
	if info, err := s.files.Stat(r.Path); err != nil || !info.Mode.IsRegular() || info.Size > maxAhead {
		return r
	}
	if show, err := s.load(ctx, r); err == nil {
		r.show = show
	}
	return r
}

// consult answers a full read from the cache if that is safe.
func (s *Service) consult(ctx context.Context, p workspace.Path, info workspace.Info) *Placeholder {
	path := p.String()
	verdict, e := s.Cache.Check(path, info)
	hit := verdict == VerdictFresh && e.armed() && !s.isInstructions(path)
	if hit && e.racy(s.limits.racy) {
		snap, err := s.Snapshot(ctx, p)
		hit = err == nil && snap.Stable && snap.SHA256 == e.SHA256
		if hit {
			s.Cache.verified(path, snap.Info, snap.SHA256, snap.at)
		}
	}
	if !hit {
		s.Cache.count(func(c *cacheStats) { c.misses++ })
		s.debugCache(ctx, "miss", p, slog.String("verdict", string(verdict)))
		return nil
	}
	s.Cache.count(func(c *cacheStats) { c.hits++ })
	s.debugCache(ctx, "hit", p)
	return placeholder(path, e)
}

// load opens and reads the file.
func (s *Service) load(ctx context.Context, r ReadRequest) (show, error) {
	s.at(atStatRead, r.Path)
	f, err := s.files.OpenRead(r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := workspace.InfoOf(f)
	if err != nil {
		return nil, readFailure(r.Path, err)
	}
	if c, special := textfile.ClassifyMode(info.Mode); special {
		return nil, notRegular(r.Path, c)
	}
	snap := &Snapshot{at: s.now()}
	class, err := s.classify(ctx, r.Path, f, info.Size, snap)
	if err != nil {
		return nil, readFailure(r.Path, err)
	}
	if refusal := s.cannotDisplay(r.Path, class, info.Size); refusal != "" {
		return s.showNonText(reading{info: info, local: isLocal(f), at: s.now()}, Read{Refusal: refusal}), nil
	}
	if info.Size > s.limits.FileBytes {
		if !r.Ranged || class.Kind != textfile.KindText {
			return nil, tooLarge(r.Path, info.Size, s.limits.FileBytes)
		}
		read, err := s.readHuge(ctx, r, f)
		return func(context.Context, ReadRequest) (*Read, error) { return read, err }, nil
	}
	text := class.Kind == textfile.KindText || class.Kind == textfile.KindSVG
	if r.TextOnly && !text {
		return s.showNonText(reading{info: info, local: isLocal(f), at: s.now()}, Read{Payload: &Payload{MIMEType: class.MIMEType}}), nil
	}
	if err := s.complete(ctx, r.Path, f, info, snap); err != nil {
		return nil, err
	}
	if !text {
		rd := reading{info: snap.Info, local: snap.Local, at: snap.at, torn: !snap.Stable}
		return s.showNonText(rd, Read{Payload: &Payload{MIMEType: class.MIMEType, Data: snap.Data}}), nil
	}
	return func(ctx context.Context, r ReadRequest) (*Read, error) { return s.showText(ctx, r, snap) }, nil
}

// showText truncates, records and wraps a text file.
func (s *Service) showText(ctx context.Context, r ReadRequest, snap *Snapshot) (*Read, error) {
	path := r.Path.String()
	doc := textfile.DecodeShared(snap.Data)
	cut := cutLines(doc.Text, r.Offset, r.Limit, s.limits.Lines, s.limits.Bytes)
	if r.Offset > 0 && r.Offset >= cut.total {
		return nil, beyondEnd(r.Path, r.Offset, cut.total)
	}
	cut, err := s.page(r, cut)
	if err != nil {
		return nil, err
	}
	whole := cut.first == 0 && cut.end == cut.total && !cut.inside
	rd := reading{
		info: snap.Info, local: snap.Local, at: snap.at, sha: snap.SHA256,
		first: cut.first, end: cut.end, totalLines: cut.total,
		full:       whole && !r.Ranged,
		cacheable:  doc.Lossless && snap.Stable,
		torn:       !snap.Stable,
		nonText:    !doc.Lossless,
		unshowable: cut.inside,
	}
	version := s.Versions.NextVersion()
	st := &State{FilePath: path, Version: &version, Content: &cut.text}
	if s.recordRead(ctx, heldRead{r.Path, rd, version, snap.Data}) && doc.Lossless {
		st.SHA256 = &snap.SHA256
	}
	s.describe(st, cut)
	return &Read{State: st}, nil
}

// instructionsNotice is the notice of instruction files.
const instructionsNotice = "This file contains instructions for you and is shown in full at each read: follow the content above, not an earlier copy."

func joinNotices(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// setRange states which part of the file is shown.
func (s *State) setRange(cut slice) {
	s.Truncated, s.LinesShown, s.TotalLines = cut.cut, &[2]int{cut.first + 1, cut.end}, &cut.total
	if cut.end < cut.total {
		s.NextOffset = &cut.end
	}
}

func nextAction(cut slice) string {
	var parts []string
	if cut.inside {
		parts = append(parts, fmt.Sprintf("Line %d is longer than one read shows and was truncated; to see the rest of it, use a shell command.", cut.end))
	}
	if cut.end < cut.total {
		parts = append(parts, fmt.Sprintf("To read more, use offset: %d.", cut.end))
	}
	return strings.Join(parts, " ")
}

// showNonText shows a file that is not text as read.
func (s *Service) showNonText(rd reading, read Read) show {
	rd.nonText = true
	return func(ctx context.Context, r ReadRequest) (*Read, error) {
		s.recordRead(ctx, heldRead{path: r.Path, reading: rd})
		return &read, nil
	}
}

// classify determines the kind of an open file from its first bytes. If they are the whole file, snap
// receives them.
func (s *Service) classify(ctx context.Context, p workspace.Path, f *os.File, size int64, snap *Snapshot) (textfile.Class, error) {
	if size <= min(textfile.HeadSize, s.limits.FileBytes) {
		data, err := readAll(ctx, f, size, textfile.HeadSize)
		if err != nil {
			return textfile.Class{}, err
		}
		if len(data) <= textfile.HeadSize {
			snap.Data = data
		}
		return textfile.Classify(p.Base(), data[:min(len(data), textfile.HeadSize)], size), nil
	}
	head := make([]byte, textfile.HeadSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && n == 0 && size > 0 && !isEOF(err) {
		return textfile.Class{}, err
	}
	return textfile.Classify(p.Base(), head[:n], size), nil
}

// cannotDisplay returns the refusal for a file that a model cannot use, or "".
func (s *Service) cannotDisplay(p workspace.Path, c textfile.Class, size int64) string {
	switch {
	case c.Kind == textfile.KindBinary:
		return "Cannot display content of binary file: " + p.String()
	case c.Kind == textfile.KindSVG && size > s.limits.svgBytes:
		return fmt.Sprintf("Cannot display content of SVG file larger than %s: %s", bytesText(s.limits.svgBytes), p.String())
	}
	return ""
}

func beyondEnd(p workspace.Path, offset, total int) error {
	return fault.New(fault.InvalidToolParams, "filestate.read",
		fmt.Sprintf("Offset %d lies beyond the end of %s, which has %d lines.", offset, p.String(), total),
		fmt.Sprintf("Use an offset from 0 to %d.", max(total-1, 0)))
}

func tooLarge(p workspace.Path, size, most int64) *fault.Error {
	return fault.New(fault.FileTooLarge, "filestate.read",
		fmt.Sprintf("%s has %s; files above %s are neither read whole nor changed.", p.String(), bytesText(size), bytesText(most)),
		"Read a part of it with read_file and an explicit offset and limit, or use a shell command to change it.")
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<20)), ".0") + " MB"
	case n >= 1<<10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<10)), ".0") + " KB"
	}
	return fmt.Sprintf("%d bytes", n)
}

// debugCache writes the log lines of cache lookups.
func (s *Service) debugCache(ctx context.Context, event string, p workspace.Path, attrs ...slog.Attr) {
	if s.log.Enabled(ctx, slog.LevelDebug) {
		s.log.LogAttrs(ctx, slog.LevelDebug, event,
			append([]slog.Attr{slog.String("component", "READ_FILE_CACHE"), slog.String("path", p.String())}, attrs...)...)
	}
}

// errnoName returns the symbolic name of a common errno, and the text of any other.
func errnoName(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	switch errno {
	case syscall.EACCES:
		return "EACCES"
	case syscall.EPERM:
		return "EPERM"
	case syscall.EIO:
		return "EIO"
	case syscall.ENOTDIR:
		return "ENOTDIR"
	case syscall.ELOOP:
		return "ELOOP"
	case syscall.ENAMETOOLONG:
		return "ENAMETOOLONG"
	}
	return errno.Error()
}
