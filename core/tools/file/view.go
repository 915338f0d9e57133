package file

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

const (
	// numberBytes is the maximum size of a line number and what follows it, for files of less than a billion lines.
	numberBytes = len("999999999: ")
	// viewedLines is the maximum number of lines of a view.
	viewedLines = 2000
)

// view is the invocation of the command view of str_replace_based_edit_tool. It is decided like a read.
type view struct {
	services Services
	request  filestate.ReadRequest
	end      int // last requested line, 1-based; 0: that of the file
	params   json.RawMessage
}

func newView(s Services, path workspace.Path, lines []int, params json.RawMessage) *view {
	v := &view{services: s, params: params, request: filestate.ReadRequest{Path: path, Repeat: true}}
	most := s.resultBytes()
	v.request.Limit = max(min(viewedLines, most/4/numberBytes), 1)
	v.request.ResultBytes = max(most-v.request.Limit*numberBytes, 1)
	if lines == nil {
		return v
	}
	v.request.Ranged, v.request.Offset = true, lines[0]-1
	if lines[1] > 0 {
		v.end = lines[1]
		v.request.Limit = min(v.request.Limit, lines[1]-v.request.Offset)
	}
	return v
}

// Narrow returns spec for a call that only reads. Rules about the tools that read apply to it, and not those about tools
// that change files.
func (v *view) Narrow(spec tools.Spec) tools.Spec {
	spec.Kind, spec.Effects, spec.GovernedBy = tools.KindRead, []tools.Effect{tools.EffectReadFiles}, []string{ReadFile, ListDirectory}
	return spec
}

func (v *view) Params() json.RawMessage { return v.params }

func (v *view) Description() string { return "View " + short(v.request.Path) }

func (v *view) Files() []string { return []string{v.request.Path.String()} }

func (v *view) Locations() []tools.Location {
	return []tools.Location{{Path: v.request.Path.String(), Line: v.request.Offset}}
}

func (v *view) Confirmation(context.Context) (*tools.Confirmation, error) {
	return &tools.Confirmation{
		Type: tools.ConfirmInfo, Title: "Confirm " + v.Description(), InfoDetails: &tools.InfoDetails{Prompt: v.Description()}, Paths: v.Files(),
	}, nil
}

func (v *view) Execute(ctx context.Context, out tools.Output) (tools.Result, error) {
	if info, err := v.services.Directories.Stat(v.request.Path); err == nil && info.Mode.IsDir() {
		if v.request.Ranged {
			return tools.Fail(badParameter(v.request.Path.String()+" is a directory, which has no lines.", "Omit view_range.")), nil
		}
		return (&listDirectory{v.services, v.request.Path, nil, v.params}).Execute(ctx, out)
	}
	read, err := v.services.Reader.Read(ctx, v.request)
	if err != nil {
		return tools.Fail(v.failed(ctx, err)), nil
	}
	v.services.accessed(ctx, v.request.Path)
	if read.State == nil {
		return readResult(v.request.Path, read)
	}
	text := v.numbered(read.State)
	structured, err := tools.JSON(map[string]string{"view": text})
	return tools.Result{
		LLMContent: tools.Text(text), ReturnDisplay: tools.TextDisplay(readDisplay(v.request.Path, read.State)),
		Structured: json.RawMessage(structured.String()),
	}, err
}

// failed returns the error of a read, with lines counted from 1.
func (v *view) failed(ctx context.Context, err error) *fault.Error {
	e := *asFault(ctx, "file.text_editor", fault.ReadContentFailure, err)
	if e.Code == fault.InvalidToolParams {
		e.Message = strings.Replace(e.Message, fmt.Sprintf("Offset %d ", v.request.Offset), fmt.Sprintf("Line %d ", v.request.Offset+1), 1)
		e.Remedy = "Use a view_range within the file; [1, -1] is the whole file."
	}
	return &e
}

// numbered returns the content of a state with line numbers, and notes about the lines that are not shown.
func (v *view) numbered(st *filestate.State) string {
	first, last, total := 1, 0, 0
	if st.LinesShown != nil {
		first, last, total = st.LinesShown[0], st.LinesShown[1], *st.TotalLines
	}
	var b strings.Builder
	n := first
	for line := range strings.Lines(*st.Content) {
		b.WriteString(strconv.Itoa(n) + ": " + line)
		n++
	}
	text := b.String()
	var notes []string
	switch {
	case text == "":
		notes = append(notes, "The file is empty.")
	case st.Truncated:
		notes = append(notes, strings.Replace(st.Notice, fmt.Sprintf("use offset: %d.", last), fmt.Sprintf("use view_range: [%d, %d].", last+1, cmp.Or(v.end, -1)), 1))
	case last < min(cmp.Or(v.end, total), total):
		notes = append(notes, fmt.Sprintf("Lines %d to %d of %d are shown. To see more, use view_range: [%d, %d].", first, last, total, last+1, cmp.Or(v.end, -1)))
	}
	if !st.Truncated && st.Notice != "" {
		notes = append(notes, st.Notice)
	}
	if len(notes) == 0 {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + strings.Join(notes, "\n") + "]"
}
