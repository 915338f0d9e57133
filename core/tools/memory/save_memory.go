package memory

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools"
)

// SaveMemoryParams are the parameters of save_memory.
type SaveMemoryParams struct {
	Fact string `json:"fact" jsonschema:"minLength=1" jsonschema_description:"The fact, in one sentence that can be understood by itself; at most 4 KiB. Line breaks become spaces."`
}

// Report is the result of a successful call, for the model.
type Report struct {
	Success   bool     `json:"success"`
	Message   string   `json:"message"`
	KeptFiles []string `json:"kept_files,omitempty"` // copies of content that another program wrote meanwhile
}

// output is the JSON schema of a Report.
const output = `{"type":"object","oneOf":[{"type":"object","properties":{"success":{"const":true},"message":{"type":"string"},` +
	`"kept_files":{"type":"array","minItems":1,"items":{"type":"string"}}},"required":["success","message"],"additionalProperties":false},` +
	tools.PreviewSchema + `]}`

const saveMemoryDescription = "Saves a fact about the user for later sessions in all projects: it is added to the memory section of the user's own context file. " +
	"Use it when the user asks you to remember something, or states a lasting preference or fact about themselves or their tools. " +
	"Do not use it for facts that matter only in this conversation, for facts about one project, which belong in a file of that project, for long texts, or for secrets. " +
	"If you are unsure whether a fact is worth saving, ask first. " +
	"You need not read the file first, and the rest of it is kept; an existing fact is not added again. The user is asked for approval before anything is written."

// newSaveMemory returns the factory of the tool. Its kind is other, not edit: the file affects every later session, so
// an approval mode that allows edits must not let a model write there without approval. Its effect still declares that a
// file is written.
func newSaveMemory() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, SaveMemoryParams]{
		Spec: tools.Spec{
			Name: SaveMemory, DisplayName: "Save Memory", Description: saveMemoryDescription,
			Kind: tools.KindOther, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles},
			OutputSchema: json.RawMessage(output),
		},
		Validate: func(_ Services, p SaveMemoryParams) error {
			_, err := memory.Fact(p.Fact)
			return err
		},
		Build: func(s Services, p SaveMemoryParams, params json.RawMessage) (tools.ToolInvocation, error) {
			fact, err := memory.Fact(p.Fact)
			return &saveMemory{s, fact, params}, err
		},
	})
}

type saveMemory struct {
	services Services
	fact     string
	params   json.RawMessage
}

func (m *saveMemory) Params() json.RawMessage { return m.params }

func (m *saveMemory) Description() string { return "Remember: " + m.fact }

func (m *saveMemory) Locations() []tools.Location {
	if path := m.services.Facts.Path(); path != "" {
		return []tools.Location{{Path: path}}
	}
	return nil
}

// Confirmation shows the resulting file. It names no base: the user approves the fact, which is added to the content of
// the file at the time of writing. The model does not see the diff, because it may not read the file; it sees only its
// own fact.
func (m *saveMemory) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	c, err := m.services.Facts.Preview(ctx, m.fact)
	if err != nil {
		if e := fault.As(err); e != nil && e.Code != fault.Cancelled {
			return nil, tools.WillRefuse(tools.Fail(e))
		}
		return nil, err
	}
	diff := fileDiff(c)
	preview := "The call would add this fact to " + c.Path + ": " + m.fact
	if c.Known() {
		preview = c.Path + " has this fact already, so the call would write nothing: " + m.fact
	}
	return &tools.Confirmation{
		Type: tools.ConfirmEdit, Title: "Confirm Memory: " + diff.FileName,
		EditDetails: &tools.EditDetails{
			FileName: diff.FileName, FilePath: diff.FilePath, FileDiff: diff.FileDiff,
			OriginalContent: diff.OriginalContent, NewContent: diff.NewContent, DiffStat: diff.DiffStat,
		},
		UserOnly: true,
		ForModel: preview,
		Paths:    []string{c.Path},
	}, nil
}

func (m *saveMemory) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	c, err := m.services.Facts.Save(ctx, m.fact)
	if err != nil {
		e := fault.As(err)
		if e == nil {
			return tools.Result{}, err
		}
		return tools.Fail(e), nil
	}
	report := Report{Success: true, Message: "Remembered: " + m.fact, KeptFiles: c.KeptFiles}
	display := tools.TextDisplay("Remembered already: " + m.fact)
	if c.Known() {
		report.Message = "The fact is already saved, so nothing was written: " + m.fact
	} else {
		diff := fileDiff(c)
		display = tools.Display{Diff: &diff}
	}
	content, err := tools.JSON(report)
	return tools.Result{LLMContent: content, ReturnDisplay: display}, err
}

func fileDiff(c memory.Change) tools.FileDiff {
	change := patch.Between(c.Before, c.After)
	stat, name, before := change.Stat(), filepath.Base(c.Path), "/dev/null"
	d := tools.FileDiff{FileName: name, FilePath: c.Path, NewContent: c.After, IsNewFile: !c.Exists}
	if c.Exists {
		d.OriginalContent, before = &c.Before, "a/"+name
	}
	d.FileDiff = change.Unified(before, "b/"+name)
	d.DiffStat = &tools.DiffStat{
		ModelAddedLines: stat.AddedLines, ModelRemovedLines: stat.RemovedLines,
		ModelAddedChars: stat.AddedChars, ModelRemovedChars: stat.RemovedChars,
	}
	return d
}
