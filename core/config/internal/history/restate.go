package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// RestateOptions configures [History.Restate]. The zero value of each field is its
// default.
type RestateOptions struct {
	Files  int   // maximum number of files; negative: none
	Bytes  int64 // maximum total size
	Tokens int   // maximum length of the result; 0: only Bytes applies, negative: the result is empty
}

const (
	defaultRestatedFiles = 10
	mostRestatedBytes    = 512 << 10
	mostNamedFiles       = 100 // of files listed by name only
)

// Restated is the message to the model about its files after compaction.
type Restated struct {
	Kind      string   `json:"kind"`
	Notice    string   `json:"notice"`
	Files     []any    `json:"files"` // state objects or errors, the most recently used first
	ReadAgain []string `json:"read_again,omitempty"`
}

// Kind marks a [Restated].
const Kind = "files_after_compaction"

// unstated is the element for a file that could not be read.
type unstated struct {
	FilePath string       `json:"file_path"`
	Error    *fault.Error `json:"error"`
}

const restatedNotice = "The conversation was compacted, so file content shown before is void, with its versions and hashes. " +
	"The files below, the last used one first, have their current content under new versions, and count as read: base changes on these hashes. " +
	"Files in read_again were in use too; read them before you change or quote them. Read any other file before you rely on it."

// Restate clears the cache, reads the files in use again and records them as
// read. The error has code cancelled; then no file counts as read.
func (h *History) Restate(ctx context.Context, o RestateOptions) ([]model.Part, error) {
	h.o.State.ApplyKillSwitch()
	known := h.o.State.Cache.Recent()
	r := h.restater(o, known)
	if h.o.Messages {
		h.o.Tracker.ForgetLoadedByAccess()
		h.announced = 0
	}
	h.ForgetFiles()
	parts, err := r.parts(ctx, known)
	if err != nil {
		h.ForgetFiles() // the content that was read is not in the history
	}
	return parts, err
}

func (h *History) restatingDefaults(o RestateOptions) RestateOptions {
	o.Files = cmp.Or(o.Files, defaultRestatedFiles)
	if o.Bytes == 0 {
		o.Bytes = restatedBytes(h.o.Limit())
	}
	return o
}

// restatedShare is the denominator of the share of a request available for
// restated files.
const restatedShare = 8

// restatedBytes returns the maximum size of restated files for a request of limit
// tokens.
func restatedBytes(limit int) int64 {
	const perToken = 4
	return min(int64(limit)*perToken/restatedShare, mostRestatedBytes)
}

// restater reads files again within its remaining limits.
type restater struct {
	*History
	left RestateOptions
	// shown contains, by path, the hashes under which files were shown, if steps
	// or hooks inspect calls: they have not seen later content. nil: nothing
	// inspects calls.
	shown map[string]string
}

// restater returns a restater. It must be created while the known files are in
// the cache.
func (h *History) restater(o RestateOptions, known []string) *restater {
	r := &restater{History: h, left: h.restatingDefaults(o)}
	if !h.o.Watched() {
		return r
	}
	r.shown = make(map[string]string, len(known))
	for _, path := range known {
		if e, ok := h.o.State.Cache.ByPath(path); ok {
			r.shown[path] = e.SHA256
		}
	}
	return r
}

// restatable is a file to read again, or the reason why it cannot be read.
type restatable struct {
	name string
	path workspace.Path
	err  error
}

// parts returns the message about the known files, which are no longer in the
// cache; nil for none. The files in the message count as read.
func (r *restater) parts(ctx context.Context, known []string) ([]model.Part, error) {
	if len(known) == 0 || r.left.Tokens < 0 {
		return nil, nil
	}
	most := r.left.Tokens
	restated, chosen, err := r.all(ctx, known)
	if err != nil {
		return nil, err
	}
	for {
		content, err := tools.JSON(restated)
		if err != nil {
			return nil, err
		}
		parts := []model.Part{model.TextPart(content.String())}
		switch {
		case most == 0 || partTokens(parts) <= most:
			return parts, nil
		case len(restated.Files) > 0: // escapes of JSON and non-ASCII text take more tokens than their bytes suggest
			last := len(restated.Files) - 1
			r.o.State.Cache.Invalidate(chosen[last].path.String())
			restated.ReadAgain = slices.Insert(restated.ReadAgain, 0, chosen[last].name)
			restated.Files = restated.Files[:last]
		case len(restated.ReadAgain) > 0:
			restated.ReadAgain = restated.ReadAgain[:len(restated.ReadAgain)/2]
		default:
			return nil, nil
		}
	}
}

// partTokens estimates the length of parts.
func partTokens(parts []model.Part) int {
	return model.EstimateTokens(&model.Request{Contents: []model.Content{{Parts: parts}}})
}

// all reads files again. The most recently used ones are chosen first and read
// last, which preserves the order of use.
func (r *restater) all(ctx context.Context, known []string) (restated Restated, chosen []restatable, err error) {
	restated = Restated{Kind: Kind, Notice: restatedNotice}
	for _, name := range known {
		p, fits, err := r.choose(name)
		switch {
		case err != nil || fits:
			chosen = append(chosen, restatable{name, p, err})
		case len(restated.ReadAgain) < mostNamedFiles:
			restated.ReadAgain = append(restated.ReadAgain, name)
		}
	}
	restated.Files = make([]any, len(chosen))
	for i, f := range slices.Backward(chosen) {
		var element any
		err := f.err
		if err == nil {
			element, err = r.read(ctx, f.name, f.path)
		}
		if ctx.Err() != nil {
			return Restated{}, nil, fault.WasCancelled("config.Restate", ctx.Err())
		}
		if err != nil {
			element = unstated{f.name, asFault(err)}
		}
		restated.Files[i] = element
	}
	return restated, chosen, nil
}

// choose reports whether a file fits into the limits. The error is the reason why
// it cannot be read; it is listed as long as files are.
func (r *restater) choose(name string) (p workspace.Path, fits bool, err error) {
	if r.left.Files <= 0 {
		return workspace.Path{}, false, nil
	}
	p, err = r.o.Workspace.Resolve(name)
	var info workspace.Info
	if err == nil {
		info, err = r.o.Workspace.Stat(p)
	}
	if err == nil && !r.o.State.MayShow(p) {
		err = fault.New(fault.PolicyViolation, "config.restate", "This file is not shown, because read_file may not show it, or needs approval for it.",
			"Call read_file for it, which requests approval, or continue without it.")
	}
	size := min(info.Size, int64(r.o.State.Limits().Bytes))
	if err == nil && size > r.left.Bytes {
		return p, false, nil
	}
	r.left.Files--
	if err != nil {
		return p, false, err
	}
	r.left.Bytes -= size
	return p, true, nil
}

// read shows a file to the conversation as read_file would, except for content
// that hooks have withheld or not seen.
func (r *restater) read(ctx context.Context, name string, p workspace.Path) (any, error) {
	ctx, held := r.o.State.Begin(ctx)
	element, err := r.readHeld(ctx, p)
	if err == nil && r.unseen(name, p, held.Hash(p)) {
		err = fault.New(fault.PolicyViolation, "config.restate", "This file is not shown again, because a hook withheld it, or it has changed since hooks inspected it.",
			"Call read_file for it if it is needed.")
	}
	if err != nil {
		held.Drop()
		return nil, err
	}
	held.Commit()
	return element, nil
}

// unseen reports whether content of a file with the hash sha was withheld by
// hooks, or not seen by them.
func (r *restater) unseen(name string, p workspace.Path, sha string) bool {
	return r.o.State.Dropped(p, sha) || r.shown != nil && sha != r.shown[name]
}

func (r *restater) readHeld(ctx context.Context, p workspace.Path) (any, error) {
	read, err := r.o.State.Read(ctx, filestate.ReadRequest{Path: p, Repeat: true, TextOnly: true})
	if err != nil {
		return nil, err
	}
	r.o.Tracker.Accessed(ctx, p) // so that its instructions are found
	if read.State != nil {
		return read.State, nil
	}
	if read.Payload != nil {
		read.Refusal = "This is " + read.Payload.MIMEType + "; read_file returns it as data."
	}
	withheld := filestate.Withheld(p.String())
	withheld.Notice = read.Refusal
	return withheld, nil
}

// asFault converts an error into a *fault.Error.
func asFault(err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.ReadContentFailure, "config.restate", fmt.Sprintf("The file cannot be read: %s.", err),
		"Check that it exists and is readable.", err)
}
