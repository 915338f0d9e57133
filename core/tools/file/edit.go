package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/tools"
)

// anyCount as expected_replacements means any number of at least 1. It comes from allow_multiple and is not declared.
const anyCount = math.MinInt32

// EditParams are the parameters of edit.
type EditParams struct {
	FilePath             string `json:"file_path" jsonschema_description:"The file to change: absolute, or relative to the target directory."`
	OldString            string `json:"old_string" jsonschema_description:"The exact text to replace, including white space, with enough surrounding lines to be unique. Empty to create a file."`
	NewString            string `json:"new_string" jsonschema_description:"The replacement text, taken literally."`
	ExpectedReplacements *int   `json:"expected_replacements,omitempty" jsonschema_description:"The exact number of matches, 1 if omitted."`
}

const editDescription = "Replaces literal text in one file. The file must have been read with read_file before, in full, and must not have changed since. " +
	"old_string must match the file exactly, in exactly expected_replacements places (1 if omitted); either all of them are replaced or none. " +
	"Line breaks match whether the file has LF or CRLF. An empty old_string creates a file that does not exist. " +
	"The result has success, message and latest_file_state."

func newEdit() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, EditParams]{
		Spec: tools.Spec{
			Name: Edit, Aliases: []string{"replace"}, DisplayName: "Edit", Description: editDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(changeOutput),
		},
		Rewrite: rewriteEdit,
		Validate: func(_ Services, p EditParams) error {
			if n := p.ExpectedReplacements; n != nil && *n < 1 && *n != anyCount {
				return errors.New("expected_replacements must be a positive number")
			}
			return nonEmpty("file_path", p.FilePath)
		},
		Build: func(s Services, p EditParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.FilePath)
			if err != nil {
				return nil, err
			}
			count := 0
			return &change{
				services: s, params: params, action: "Edit", amend: amendEdit,
				request: mutation.Request{
					Path: path,
					Verb: filestate.Verb{Ing: "editing", Infinitive: "edit", Participle: "edited", Component: "EDIT_PRIOR_READ"},
					Compute: func(base mutation.Base) (mutation.Change, *fault.Error) {
						text, n, err := p.apply(path.String(), base)
						count = n
						return mutation.Change{Text: text}, err
					},
				},
				done: func(plan *mutation.Plan) string {
					if !plan.Base().Exists {
						return "File created successfully."
					}
					return fmt.Sprintf("Replaced %d occurrence(s) successfully.", count)
				},
			}, nil
		},
	})
}

// rewriteEdit accepts gemini-cli's arguments: instruction is ignored, and allow_multiple means any number of
// replacements.
func rewriteEdit(args map[string]json.RawMessage) error {
	delete(args, "instruction")
	text, ok := take(args, "allow_multiple")
	if !ok {
		return nil
	}
	multiple, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("allow_multiple must be true or false")
	}
	if _, given := args["expected_replacements"]; multiple && !given {
		args["expected_replacements"] = json.RawMessage(strconv.Itoa(anyCount))
	}
	return nil
}

// apply returns the new text, or the error of the match.
func (p EditParams) apply(path string, base mutation.Base) (text string, count int, err *fault.Error) {
	switch {
	case p.OldString == "" && base.Exists:
		return "", 0, fault.New(fault.AttemptToCreateExist, "file.edit",
			path+" already exists, and an empty old_string only creates a file.",
			"Pass the text to replace as old_string, or replace the whole file with write_file and its sha256.")
	case p.OldString == "":
		return p.NewString, 1, nil
	case !base.Exists:
		return "", 0, missing(path, "to create the file use an empty old_string")
	}
	want := 1
	if p.ExpectedReplacements != nil {
		want = *p.ExpectedReplacements
	}
	return replacement{p.OldString, p.NewString, want, "old_string", "new_string", "expected_replacements"}.apply(path, base.Text)
}

// missing returns the error of a replacement in a file that does not exist.
func missing(path, create string) *fault.Error {
	return fault.New(fault.FileNotFound, "file.edit", path+" does not exist, so there is nothing to replace in it.",
		"Check the path with list_directory; "+create+".")
}

// replacement is the replacement of a text in a number of places.
type replacement struct {
	from, to                    string
	count                       int    // of places; or anyCount
	fromName, toName, countName string // names of the arguments, for messages; the last is "" if there is no such argument
}

// apply returns the new text and the number of places, or the error of the match. It is called only after the prior read
// is verified, so its errors may show content.
func (r replacement) apply(path, base string) (text string, count int, err *fault.Error) {
	if r.from == r.to {
		return "", 0, r.noChange(path, "are the same")
	}
	places := occurrences(base, r.from)
	switch {
	case len(places) == 0:
		return "", 0, r.noOccurrence(path, base)
	case r.count != anyCount && len(places) != r.count:
		return "", 0, r.wrongCount(path, base, places)
	}
	var b strings.Builder
	at := 0
	for _, pl := range places {
		b.WriteString(base[at:pl[0]])
		matched := base[pl[0]:pl[1]]
		if textfile.NewlineOf(matched) == textfile.NewlineNone {
			matched = base
		}
		b.WriteString(textfile.Restyle(r.to, matched))
		at = pl[1]
	}
	b.WriteString(base[at:])
	if b.String() == base {
		return "", 0, r.noChange(path, "differ in their line endings only, and the file keeps its own")
	}
	return b.String(), len(places), nil
}

// occurrences returns the positions of old in text, as byte ranges that do not overlap. LF and CR LF match each other.
func occurrences(text, old string) [][2]int {
	plain, old := strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")
	// Number of carriage returns removed so far.
	removed, next := 0, strings.Index(text, "\r\n")
	inText := func(at int) int {
		for next >= 0 && next-removed < at {
			removed++
			i := strings.Index(text[next+2:], "\r\n")
			if i < 0 {
				next = -1
			} else {
				next += 2 + i
			}
		}
		return at + removed
	}
	var places [][2]int
	for at := 0; ; {
		i := strings.Index(plain[at:], old)
		if i < 0 {
			return places
		}
		at += i + len(old)
		places = append(places, [2]int{inText(at - len(old)), inText(at)})
	}
}

// linesText lists the line numbers of places, limited to the first few.
func linesText(text string, places [][2]int) string {
	const most = 10
	var b strings.Builder
	b.WriteString("line ")
	if len(places) > 1 {
		b.Reset()
		b.WriteString("lines ")
	}
	line, at := 1, 0
	for i, pl := range places {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(places)-most)
			break
		}
		line += strings.Count(text[at:pl[0]], "\n")
		at = pl[0]
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	return b.String()
}

func (r replacement) noChange(path, why string) *fault.Error {
	return fault.New(fault.EditNoChange, "file.edit",
		fmt.Sprintf("The edit would leave %s unchanged: %s and %s %s.", path, r.fromName, r.toName, why),
		"If the file already has the change, continue; otherwise pass another "+r.toName+".")
}

func (r replacement) wrongCount(path, text string, places [][2]int) *fault.Error {
	remedy := "Add the lines around the text to " + r.fromName + " until it is unique"
	if len(places) < r.count {
		remedy = "Correct " + r.fromName + " so that it also matches the other places"
	}
	if r.countName != "" {
		remedy += fmt.Sprintf(", or set %s to %d if these are what should change", r.countName, len(places))
	}
	return fault.New(fault.EditOccurrenceMismatch, "file.edit",
		fmt.Sprintf("Expected %d occurrence(s) of %s in %s but found %d, at %s.", r.count, r.fromName, path, len(places), linesText(text, places)),
		remedy+".")
}

// noOccurrence returns the error for a missing text, with the place that nearly matches.
func (r replacement) noOccurrence(path, text string) *fault.Error {
	remedy := "Copy " + r.fromName + " from the content as read, white space included."
	if line, found, want, ok := nearest(text, r.from); ok {
		remedy = fmt.Sprintf("Nearest is line %d, which reads %q where %s has %q. %s", line, found, r.fromName, want, remedy)
	}
	return fault.New(fault.EditNoOccurrenceFound, "file.edit", r.fromName+" does not occur in "+path+".", remedy)
}

// nearest finds the place in text where most lines of old match, ignoring outer white space, and returns the first line
// there (1-based) that differs.
func nearest(text, old string) (line int, found, want string, ok bool) {
	have, wanted := splitLines(text), splitLines(old)
	at := make(map[string]int, len(wanted)) // the first index of each line in old
	for i, l := range slices.Backward(wanted) {
		at[strings.TrimSpace(l)] = i
	}
	delete(at, "")
	agree := make(map[int]int) // number of matching lines by start of old in text
	start, most := 0, 0
	for k, l := range have {
		i, known := at[strings.TrimSpace(l)]
		if !known || k < i {
			continue
		}
		agree[k-i]++
		if n := agree[k-i]; n > most || n == most && k-i < start {
			start, most = k-i, n
		}
	}
	if most == 0 {
		return 0, "", "", false
	}
	for i, w := range wanted {
		if start+i >= len(have) {
			return 0, "", "", false
		}
		h := have[start+i]
		if h == w || i == 0 && strings.HasSuffix(h, w) || i == len(wanted)-1 && strings.HasPrefix(h, w) {
			continue
		}
		return start + i + 1, escape.Clip(h, 121), escape.Clip(w, 121), true
	}
	return 0, "", "", false
}

// splitLines returns the lines of text without their endings.
func splitLines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r\n", "\n"), "\n")
}
