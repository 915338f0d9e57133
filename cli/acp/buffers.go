package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// buffers reads the texts that the editor holds, which may be unsaved. After a tool has
// read a file, under the policy, it shows the editor's text instead if that differs. Right
// before a tool changes files, it refuses if the editor holds a different text of one of
// them, or if the model has seen only an unsaved text: a hash of an editor's text proves
// nothing about the disk. What remains is the time from that check to the commit of the
// change, some milliseconds.
//
// A text differs if it is not that of the disk, apart from the kind of its line ends and a
// missing line end at its end: editors normalize both.
type buffers struct {
	session *session

	mu    sync.Mutex
	shown map[string]bool // paths whose unsaved text was the last that read_file has shown
}

// mark notes whether read_file has shown the unsaved text of a file, or the disk.
func (b *buffers) mark(p workspace.Path, unsaved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil {
		b.shown = map[string]bool{}
	}
	if delete(b.shown, p.String()); unsaved {
		b.shown[p.String()] = true
	}
}

// marked reports whether the last text of a file that read_file has shown was unsaved.
func (b *buffers) marked(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shown[path]
}

// Limits on the requests to the editor.
const (
	maxBuffer     = 8 << 20   // bytes of a file whose text is requested; a message is limited too
	maxRequested  = 100       // files of one list whose texts are requested
	maxShownLines = 2000      // of an unsaved text in one read
	maxShownBytes = 200 << 10 // likewise
)

// buffer is an unsaved text.
type buffer struct {
	path workspace.Path
	text string
}

// unsaved returns the editor's text of a file if it differs from the disk; nil: it does
// not. An editor that answers with an error holds no text of the file. The error is for
// one that does not answer.
func (b *buffers) unsaved(ctx context.Context, path string) (held *buffer, p workspace.Path, err error) {
	ws, err := b.session.host.Config().Workspace()
	if err != nil {
		return nil, p, err
	}
	if p, err = ws.Resolve(path); err != nil {
		return nil, p, nil //nolint:nilerr // the tool reports it
	}
	text, differs, err := b.text(ctx, ws, p)
	if !differs || err != nil {
		return nil, p, err
	}
	return &buffer{p, text}, p, nil
}

// text returns the editor's text of a file, and whether it differs from the disk.
func (b *buffers) text(ctx context.Context, ws *workspace.Workspace, p workspace.Path) (text string, differs bool, err error) {
	disk, exists, err := textOnDisk(ws, p)
	if err != nil {
		return "", false, nil //nolint:nilerr // it is not text, or the tool reports it
	}
	asking, cancel := context.WithTimeout(ctx, b.session.agent.patience)
	defer cancel()
	r, err := b.session.agent.conn.ReadTextFile(asking, sdk.ReadTextFileRequest{SessionId: sdk.SessionId(b.session.id), Path: p.String()})
	switch answered := new(sdk.RequestError); {
	case asking.Err() != nil:
		return "", false, fmt.Errorf("the editor did not answer within %s", b.session.agent.patience)
	case errors.As(err, &answered):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	same := !exists && r.Content == "" || exists && sameText(r.Content, disk)
	return r.Content, !same, nil
}

// errNotText reports a file that no editor holds as text.
var errNotText = errors.New("not a text file")

// textOnDisk returns the decoded text of a file; exists is false if there is none.
func textOnDisk(ws *workspace.Workspace, p workspace.Path) (text string, exists bool, err error) {
	f, err := ws.OpenRead(p)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBuffer {
		return "", true, errors.Join(errNotText, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBuffer))
	if err != nil {
		return "", true, err
	}
	doc := textfile.Decode(data)
	if strings.ContainsRune(doc.Text, 0) {
		return "", true, errNotText
	}
	return doc.Text, true, nil
}

// sameText reports whether an editor with this text has no change of the disk.
func sameText(held, disk string) bool {
	if held == disk {
		return true
	}
	plain := func(text string) string {
		text = strings.TrimPrefix(text, "\ufeff")
		return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	held, disk = plain(held), plain(disk)
	return held == disk || held+"\n" == disk
}

// unsavedState is the state of a file as the editor holds it.
type unsavedState struct {
	Version  *int64 `json:"version"`
	SHA256   string `json:"sha256"` // of the editor's text, in UTF-8
	FilePath string `json:"file_path"`
	Origin   string `json:"origin"` // always "editor"
	Content  string `json:"content"`

	Truncated  bool    `json:"truncated,omitempty"`
	LinesShown *[2]int `json:"lines_shown,omitempty"`
	TotalLines int     `json:"total_lines,omitempty"`
	NextOffset *int    `json:"next_offset,omitempty"`
	Notice     string  `json:"notice"`
}

const unsavedNotice = "This is the unsaved text of the user's editor, not the file on disk. The file cannot be changed until the user has saved it; " +
	"then read it again. This sha256 is not a base for a change."

// after replaces texts in the results of read_file and read_many_files by those of the
// editor.
func (b *buffers) after(ctx context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
	switch {
	case d.Spec.Origin.Group != tools.GroupBuiltIn:
	case d.Spec.Name == file.ReadFile && (r.Error == nil || r.Error.Code == fault.FileNotFound):
		return b.afterRead(ctx, d.Args, r)
	case d.Spec.Name == file.ReadManyFiles && r.Error == nil:
		return b.afterReadMany(ctx, r)
	case r.Error != nil && d.Spec.Mutates():
		return b.afterRefusal(d.Args, r), nil
	}
	return r, nil
}

// afterRefusal explains the refusal of a change that is based on unsaved text.
func (b *buffers) afterRefusal(args json.RawMessage, r tools.Result) tools.Result {
	var p struct {
		FilePath string `json:"file_path"`
	}
	ws, err := b.session.host.Config().Workspace()
	if err != nil || json.Unmarshal(args, &p) != nil || p.FilePath == "" {
		return r
	}
	if at, err := ws.Resolve(p.FilePath); err == nil && b.marked(at.String()) {
		r.Context = strings.TrimSpace(r.Context + "\nThe text of " + at.String() + " that you have read is unsaved text of the user's editor. " +
			"Ask the user to save the file; then read it again.")
	}
	return r
}

func (b *buffers) afterRead(ctx context.Context, args json.RawMessage, r tools.Result) (tools.Result, error) {
	var p file.ReadFileParams
	if json.Unmarshal(args, &p) != nil {
		return r, nil
	}
	held, at, err := b.unsaved(ctx, p.FilePath)
	if err != nil {
		return fromDisk(r, p.FilePath, err), nil
	}
	if r.Error == nil {
		b.mark(at, held != nil)
	}
	if held == nil {
		return r, nil
	}
	content, err := tools.JSON(b.stateOf(*held, p))
	if err != nil {
		return r, err
	}
	if r.Error != nil { // it exists only in the editor: the error stays, with the text
		r.Context = strings.TrimSpace(r.Context + "\n" + content.String())
		return r, nil
	}
	r.LLMContent, r.Structured = content, nil
	r.ReturnDisplay = tools.TextDisplay("Read the unsaved text of " + held.path.Base())
	return r, nil
}

// afterReadMany does the same for each file of a list. Of long lists only the first files
// are requested.
func (b *buffers) afterReadMany(ctx context.Context, r tools.Result) (tools.Result, error) {
	var list struct {
		Files []json.RawMessage `json:"files"`
	}
	if json.Unmarshal(r.Structured, &list) != nil {
		return r, nil
	}
	replaced := false
	for i, raw := range list.Files[:min(len(list.Files), maxRequested)] {
		var one struct {
			FilePath string  `json:"file_path"`
			SHA256   *string `json:"sha256"`
		}
		if json.Unmarshal(raw, &one) != nil || one.SHA256 == nil { // refused, or not text
			continue
		}
		held, at, err := b.unsaved(ctx, one.FilePath)
		if err != nil {
			r = fromDisk(r, one.FilePath, err)
			break // nor will it answer about the others
		}
		if b.mark(at, held != nil); held == nil {
			continue
		}
		content, err := tools.JSON(b.stateOf(*held, file.ReadFileParams{}))
		if err != nil {
			return r, err
		}
		list.Files[i], replaced = json.RawMessage(content.String()), true
	}
	if !replaced {
		return r, nil
	}
	content, err := tools.JSON(list.Files)
	if err != nil {
		return r, err
	}
	more := r.LLMContent.Parts[min(1, len(r.LLMContent.Parts)):]
	r.LLMContent, r.Structured = content, json.RawMessage(`{"files":`+content.String()+`}`)
	r.LLMContent.Parts = append(r.LLMContent.Parts, more...)
	return r, nil
}

// fromDisk notes that the text of a file is that of the disk.
func fromDisk(r tools.Result, path string, why error) tools.Result {
	r.Context = strings.TrimSpace(r.Context + "\n" + fmt.Sprintf("The text of %s is that of the disk: %s.", path, why))
	return r
}

// stateOf returns the requested part of an unsaved text.
func (b *buffers) stateOf(held buffer, p file.ReadFileParams) unsavedState {
	s := unsavedState{SHA256: filestate.Sum([]byte(held.text)), FilePath: held.path.String(), Origin: "editor", Content: held.text, Notice: unsavedNotice}
	if versions, err := b.session.host.Config().SessionStateService(); err == nil {
		s.Version = sdk.Ptr(versions.NextVersion())
	}
	lines := strings.SplitAfter(held.text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first, limit := 0, maxShownLines
	if p.Offset != nil {
		first = min(*p.Offset, len(lines))
	}
	if p.Limit != nil {
		limit = min(*p.Limit, limit)
	}
	end, size := first, 0
	for end < len(lines) && end < first+limit && (size+len(lines[end]) <= maxShownBytes || end == first) {
		size += len(lines[end])
		end++
	}
	if first == 0 && end == len(lines) {
		return s
	}
	s.Content, s.Truncated = strings.Join(lines[first:end], ""), p.Limit == nil && end < len(lines)
	s.LinesShown, s.TotalLines = &[2]int{first + 1, end}, len(lines)
	if end < len(lines) {
		s.NextOffset = &end
	}
	return s
}

// executing refuses a call that would change a file whose text the editor has not saved.
func (b *buffers) executing(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
	if p.Spec.Origin.Group != tools.GroupBuiltIn || !p.Spec.Mutates() || p.Spec.Kind == tools.KindExecute {
		return nil, nil
	}
	for _, l := range inv.Locations() {
		held, at, err := b.unsaved(ctx, l.Path)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, refusal(fmt.Sprintf("It is unknown whether %s has unsaved changes in the editor: %s.", l.Path, err))
		case held != nil:
			return nil, refusal(l.Path + " has unsaved changes in the editor. Nothing was changed.")
		case b.marked(at.String()):
			return nil, refusal("The text of " + l.Path + " that you have read was unsaved then. Nothing was changed.")
		}
	}
	return nil, nil
}

func refusal(message string) error {
	return fault.New(fault.FileChangedSinceRead, "acp.buffers", message,
		"Read the file with read_file. If it still has the origin editor, ask the user to save it or to discard the changes.").Because(fault.OpenElsewhere)
}
