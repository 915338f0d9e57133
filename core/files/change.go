package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/rebase"
	"github.com/fettle-dev/fettle/core/services/replace"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// Change is a change of one file, for [Dir.Apply]. The functions of this package make it.
type Change struct {
	op      string
	base    File
	to      string // new name of a move
	remove  bool
	carries bool                                    // Options.Rebase applies
	compute func(d *Dir, base File) ([]byte, error) // nil: the bytes stay
}

// Write replaces the bytes of a file. A base without hash creates the file and its directories.
func Write(base File, data []byte) Change {
	return Change{op: "write", base: base, carries: true, compute: func(*Dir, File) ([]byte, error) { return data, nil }}
}

// Patch applies a unified diff to a text file. Wrong line numbers and counts are repaired if the diff
// fits in exactly one place; otherwise it fails with code invalid_diff, ambiguous_diff or
// patch_apply_failed. Added lines get the line endings of the file. A base without hash creates the
// file.
func Patch(base File, diff string) Change {
	return Change{op: "patch", base: base, carries: true, compute: func(_ *Dir, base File) ([]byte, error) { return patched(base, diff) }}
}

// Edit replaces from, which occurs exactly once in a text file, by to. LF and CR LF match each other.
// Otherwise it fails with code edit_no_occurrence_found, edit_expected_occurrence_mismatch or
// edit_no_change.
func Edit(base File, from, to string) Change {
	return Change{op: "edit", base: base, carries: true, compute: func(_ *Dir, base File) ([]byte, error) { return edited(base, from, to) }}
}

// Delete removes a file. Its directory stays.
func Delete(base File) Change { return Change{op: "delete", base: base, remove: true} }

// Move gives a file another name, which must be free, with its bytes, mode and owner.
func Move(base File, to string) Change { return Change{op: "move", base: base, to: to} }

// Restore gives a file the bytes of an earlier version, by its SHA-256. A base without hash creates a
// deleted file again. It fails with code restore_refused and reason not_kept if [Options.Versions]
// does not have the version, and with checkpoint_failed if its bytes are damaged.
func Restore(base File, version string) Change {
	return Change{op: "restore", base: base, compute: func(d *Dir, _ File) ([]byte, error) { return d.version(version) }}
}

// version returns the bytes of a version from the store.
func (d *Dir) version(sum string) ([]byte, error) {
	if d.versions == nil {
		return nil, fault.New(fault.RestoreRefused, "", "No earlier versions are kept.", "Set Options.Versions before the first change.").Because(fault.NotKept)
	}
	data, err := d.versions.Content(sum)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(fault.RestoreRefused, "", fmt.Sprintf("The version %.12s is not kept.", sum),
			"Choose a version that was replaced while Options.Versions was set.", err).Because(fault.NotKept)
	}
	return data, err
}

func patched(base File, diff string) ([]byte, error) {
	doc, err := base.document()
	if err != nil {
		return nil, err
	}
	parsed, err := patch.Parse(diff)
	if err != nil {
		return nil, err
	}
	from, change, err := patch.CorrectMarked(doc.Text, doc.Format.BOM, parsed)
	if err != nil {
		return nil, err
	}
	text, err := patch.ApplyStrict(from, change)
	if err != nil {
		return nil, patch.ApplyFailed(err)
	}
	const mark = "\ufeff"
	plain, marked := strings.CutPrefix(text, mark)
	if marked != strings.HasPrefix(from, mark) {
		doc.Format.BOM, text = marked, plain
	}
	return base.encode(doc.Format, text)
}

func edited(base File, from, to string) ([]byte, error) {
	doc, err := base.document()
	if err != nil {
		return nil, err
	}
	text, _, refused := replace.Replacement{From: from, To: to, Count: 1, FromName: "the text", ToName: "the replacement"}.Apply(base.Name, doc.Text)
	if refused != nil {
		return nil, refused
	}
	return base.encode(doc.Format, text)
}

// computed returns the new bytes of a change for the current version of its file, and whether it was
// carried over to that.
func (d *Dir) computed(c Change, now File) (data []byte, carried bool, err error) {
	if c.base.SHA256 == now.SHA256 {
		data, err = c.compute(d, now)
		return data, false, err
	}
	stale := changed(c.base, now)
	if !d.o.Rebase || !c.carries || c.base.SHA256 == "" || now.SHA256 == "" {
		return nil, false, stale
	}
	base := File{Name: now.Name, SHA256: c.base.SHA256, Data: c.base.Data}
	if sumOf(base.Data) != base.SHA256 {
		if base.Data, err = d.version(base.SHA256); err != nil {
			return nil, false, stale
		}
	}
	ours, err := c.compute(d, base)
	if err != nil {
		return nil, false, err
	}
	if data, err = carry(base, now, ours); err != nil {
		return nil, false, fault.Wrap(stale.Code, "", stale.Message+" The change does not carry over: "+strings.TrimSuffix(err.Error(), ".")+".", stale.Remedy, err).Because(stale.Reason)
	}
	return data, true, nil
}

// carry makes the change from base to ours in the bytes of now.
func carry(base, now File, ours []byte) ([]byte, error) {
	var texts [3]string
	var format textfile.Format
	for i, data := range [][]byte{base.Data, ours, now.Data} {
		doc, err := File{Name: now.Name, Data: data}.document()
		if doc.Format.Newline = ""; err != nil || i > 0 && doc.Format != format {
			return nil, errors.New("a version is not text, or has another encoding")
		}
		texts[i], format = doc.Text, doc.Format
	}
	text, conflict := rebase.Carry(texts[0], texts[1], texts[2])
	if conflict != nil {
		return nil, errors.New(conflict.Reason)
	}
	return now.encode(format, text)
}

// changed returns the refusal of a change that is based on another version.
func changed(base, now File) *fault.Error {
	switch {
	case base.SHA256 == "":
		return fault.New(fault.AttemptToCreateExist, "", fmt.Sprintf("%s exists already, with the SHA-256 %s.", now.Name, now.SHA256), "")
	case now.SHA256 == "":
		return fault.New(fault.FileChangedSinceRead, "", base.Name+" no longer exists.", "").Because(fault.Disappeared)
	}
	return fault.New(fault.FileChangedSinceRead, "",
		fmt.Sprintf("%s has the SHA-256 %s now, and the change is based on %s.", now.Name, now.SHA256, base.SHA256), "").Because(fault.Changed)
}

// maxRebases is the number of times that one call carries changes over, as other programs keep
// changing the files.
const maxRebases = 5

// Apply makes changes of different files: all of them with a nil error, otherwise none. It returns
// the new versions, in order; that of a deleted file has no hash, and that of a moved one its new
// name. A set has at most 100 changes and needs [Options.Recovery], as one of Delete and Move does.
//
// If the process is killed, each file has its old or its new version, and [Dir.Recover] makes a set
// whole. Until then, and during the call, other programs can see new versions of some of its files.
//
// A nil error means that the new bytes are flushed to disk. An end of ctx stops the call before the
// first exchange. Errors are those of [Dir.Read] and of the functions that make changes, and
//   - file_changed_since_read: reason changed, disappeared, or open_elsewhere (another program holds
//     the file open for writing)
//   - attempt_to_create_existing_file
//   - no_space_left, file_write_failure: the message states which version is on disk
//   - invalid_tool_params: an invalid set, such as two changes of one file
//   - checkpoint_failed: the old version could not be kept in [Options.Versions]
func (d *Dir) Apply(ctx context.Context, changes ...Change) ([]File, error) {
	op := "apply"
	if len(changes) == 1 {
		op = changes[0].op
	}
	for tries := 0; ; tries++ {
		after, operations, err := d.plan(ctx, changes)
		if err != nil {
			return nil, failure(op, err)
		}
		kept, err := d.commit.Commit(ctx, operations)
		switch {
		case err == nil:
			for i := range after {
				after[i].Kept = kept
			}
			return after, nil
		case !d.o.Rebase || !errors.Is(err, &fault.Error{Code: fault.FileChangedSinceRead, Reason: fault.Changed}) || len(kept) > 0 || tries == maxRebases:
			return nil, failure(op, err, kept...)
		}
	}
}

// plan reads the files of changes, and returns their new versions and the operations for them.
func (d *Dir) plan(ctx context.Context, changes []Change) (after []File, operations []Operation, err error) {
	if len(changes) == 0 {
		return nil, nil, fault.New(fault.InvalidToolParams, "", "There are no changes to apply.", "")
	}
	names := map[string]bool{}
	for _, c := range changes {
		now, next, err := d.change(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		if names[now.Name] || c.to != "" && names[next.Name] || now.Name == next.Name && c.to != "" {
			return nil, nil, fault.New(fault.InvalidToolParams, "", "Two changes concern "+next.Name+".", "Combine them into one change.")
		}
		names[now.Name], names[next.Name] = true, true
		if now.SHA256 != "" && d.versions != nil {
			if _, err := d.versions.Put(now.Data); err != nil {
				return nil, nil, fault.Wrap(fault.CheckpointFailed, "", fmt.Sprintf("The version of %s before the change could not be kept: %s.", now.Name, err), "", err)
			}
		}
		o := Operation{Name: now.Name, Base: now.SHA256, Delete: c.remove}
		if c.compute != nil {
			o.Data = next.Data
		}
		if c.to != "" {
			o.To = next.Name
		}
		after, operations = append(after, next), append(operations, o)
	}
	return after, operations, nil
}

// change computes a change for the current version of its file.
func (d *Dir) change(ctx context.Context, c Change) (now, next File, err error) {
	now, err = d.read(ctx, c.base.Name)
	if fault.CodeOf(err) == fault.FileNotFound {
		now.Name, err = d.name(c.base.Name)
	}
	next.Name = now.Name
	if err == nil && c.to != "" {
		next.Name, err = d.name(c.to)
	}
	switch {
	case err != nil:
	case c.base.SHA256 == "" && now.SHA256 == "" && (c.compute == nil || c.op == "edit"):
		err = fault.New(fault.FileNotFound, "", now.Name+" does not exist.", "")
	case c.compute != nil:
		next.Data, next.Carried, err = d.computed(c, now)
		next.SHA256 = sumOf(next.Data)
	case c.base.SHA256 != now.SHA256:
		err = changed(c.base, now)
	case !c.remove:
		next.SHA256, next.Data = now.SHA256, now.Data
	}
	if err == nil && int64(len(next.Data)) > d.o.MaxBytes {
		err = tooLarge(now.Name, d.o.MaxBytes)
	}
	return now, next, err
}
