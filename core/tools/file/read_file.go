package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// ReadFileParams are the parameters of read_file.
type ReadFileParams struct {
	FilePath string `json:"file_path" jsonschema_description:"Absolute or relative."`
	Offset   *int   `json:"offset,omitempty" jsonschema_description:"First line, 0-based."`
	Limit    *int   `json:"limit,omitempty" jsonschema_description:"Number of lines."`
}

const readFileDescription = "Reads a file. Text comes as JSON: version, sha256, file_path, content. Of two objects for one file the higher version is newer. " +
	"The sha256 is the base of a change of the file. It is null until you have received every line: continue at next_offset. " +
	"If you have received the whole file and it is unchanged, status is file_unchanged; pass offset and limit to see it again. " +
	"Media and PDF come as data and cannot be changed."

func newReadFile() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ReadFileParams]{
		Spec: tools.Spec{
			Name: ReadFile, DisplayName: "ReadFile", Description: readFileDescription,
			Kind: tools.KindRead, Effects: []tools.Effect{tools.EffectReadFiles}, Parallel: true, OutputSchema: json.RawMessage(readFileOutput),
		},
		Rewrite:  rewriteReadFile,
		Validate: validateReadFile,
		Build: func(s Services, p ReadFileParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.FilePath)
			if err != nil {
				return nil, err
			}
			r := filestate.ReadRequest{Path: path, Ranged: p.Offset != nil || p.Limit != nil}
			if p.Offset != nil {
				r.Offset = *p.Offset
			}
			if p.Limit != nil {
				r.Limit = *p.Limit
			}
			return &readFile{s, r, params}, nil
		},
	})
}

// rewriteReadFile accepts gemini-cli's spellings: absolute_path, and start_line with end_line, 1-based and inclusive.
func rewriteReadFile(args map[string]json.RawMessage) error {
	rename(args, "absolute_path", "file_path")
	start, end, err := lineRange(args)
	if err != nil {
		return err
	}
	if start > 0 {
		args["offset"] = json.RawMessage(strconv.Itoa(start - 1))
	}
	if end > 0 {
		args["limit"] = json.RawMessage(strconv.Itoa(end - max(start, 1) + 1))
	}
	return nil
}

// lineRange takes start_line and end_line; 0 means absent.
func lineRange(args map[string]json.RawMessage) (start, end int, err error) {
	if start, err = lineNumber(args, "start_line"); err != nil {
		return 0, 0, err
	}
	if end, err = lineNumber(args, "end_line"); err != nil {
		return 0, 0, err
	}
	if end > 0 && end < start {
		return 0, 0, errors.New("end_line must not be before start_line")
	}
	return start, end, nil
}

// lineNumber takes a 1-based line; 0 means absent.
func lineNumber(args map[string]json.RawMessage, name string) (int, error) {
	text, ok := take(args, name)
	if !ok {
		return 0, nil
	}
	for _, other := range []string{"offset", "limit"} {
		if _, both := args[other]; both {
			return 0, fmt.Errorf("%s and %s exclude each other", name, other)
		}
	}
	line, err := strconv.Atoi(text)
	if err != nil || line < 1 {
		return 0, fmt.Errorf("%s must be a line number of at least 1", name)
	}
	return line, nil
}

func validateReadFile(_ Services, p ReadFileParams) error {
	if err := nonEmpty("file_path", p.FilePath); err != nil {
		return err
	}
	if p.Offset != nil && *p.Offset < 0 {
		return badParameter("Offset must be a non-negative number", "Count lines from 0.")
	}
	if p.Limit != nil && *p.Limit <= 0 {
		return badParameter("Limit must be a positive number", "Request at least 1 line, or omit limit.")
	}
	return nil
}

type readFile struct {
	services Services
	request  filestate.ReadRequest
	params   json.RawMessage
}

func (c *readFile) Params() json.RawMessage { return c.params }

func (c *readFile) Description() string { return short(c.request.Path) }

func (c *readFile) Locations() []tools.Location {
	return []tools.Location{{Path: c.request.Path.String(), Line: c.request.Offset}}
}

func (c *readFile) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *readFile) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	var read *filestate.Read
	err := ctx.Err() // an unchanged file would be returned without a check of ctx
	if err == nil {
		read, err = c.services.Reader.Read(ctx, c.request)
	}
	if err != nil {
		return tools.Fail(asFault(ctx, "file.read_file", fault.ReadContentFailure, err)), nil
	}
	if read.Placeholder == nil {
		c.services.accessed(ctx, c.request.Path)
	}
	return readResult(c.request.Path, read)
}

// readResult formats a read for the model and the user.
func readResult(p workspace.Path, read *filestate.Read) (tools.Result, error) {
	switch {
	case read.Placeholder != nil:
		content, err := tools.JSON(read.Placeholder)
		return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay("Unchanged: " + short(p))}, err
	case read.Payload != nil:
		note := fmt.Sprintf("%s is %s, returned as data; it has no sha256 and cannot be modified.", p.String(), read.Payload.MIMEType)
		structured, err := withheld(p, note)
		return tools.Result{
			LLMContent:    tools.Data(note, read.Payload.MIMEType, read.Payload.Data),
			ReturnDisplay: tools.TextDisplay("Read " + read.Payload.MIMEType + ": " + short(p)),
			Structured:    structured,
		}, err
	case read.State == nil:
		structured, err := withheld(p, read.Refusal)
		return tools.Result{LLMContent: tools.Text(read.Refusal), ReturnDisplay: tools.TextDisplay(read.Refusal), Structured: structured}, err
	}
	content, err := tools.JSON(read.State)
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(readDisplay(p, read.State))}, err
}

// withheld returns the structured form of note for a file without a state.
func withheld(p workspace.Path, note string) (json.RawMessage, error) {
	state := filestate.Withheld(p.String())
	state.Notice = note
	content, err := tools.JSON(state)
	return json.RawMessage(content.String()), err
}

func readDisplay(p workspace.Path, s *filestate.State) string {
	if s.LinesShown == nil {
		return "Read " + short(p)
	}
	return fmt.Sprintf("Read lines %d-%d of %d from %s", s.LinesShown[0], s.LinesShown[1], *s.TotalLines, short(p))
}
