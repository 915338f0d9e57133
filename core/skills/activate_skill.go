package skills

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// ActivateSkill is the name of the tool.
const ActivateSkill = "activate_skill"

// services are the services of a session for the tool.
type services struct {
	skills    *SkillManager
	activated func(ctx context.Context, s Skill) error
}

// factory creates the tool for a session.
type factory = tools.Factory[services]

// ToolSpec returns the description of the tool, without the names of skills.
func ToolSpec() (tools.Spec, error) {
	f, err := newFactory()
	if err != nil {
		return tools.Spec{}, err
	}
	return f.Spec(), nil
}

// newFactory creates the immutable factory once for the process.
var newFactory = sync.OnceValues(newActivateSkill)

// Tool returns the tool for a session, with the names of the current skills in its
// declaration; nil without skills. The tool calls activated, which must be safe for
// concurrent use, for each activated skill with the ctx of the call. activated allows the
// session to read the skill's directory, once the conversation has received the result.
// Its error is the call's.
func (m *SkillManager) Tool(activated func(ctx context.Context, s Skill) error) (tools.DeclarativeTool, error) {
	enabled := m.shared()
	if len(enabled) == 0 {
		return nil, nil
	}
	naming, err := m.naming(enabled)
	if err != nil {
		return nil, err
	}
	return naming.Bind(services{m, activated}), nil
}

// naming returns the factory with the names of skills in the declaration of its tool.
// Arguments are checked without them, so that the error of an unknown name can list them.
func (m *SkillManager) naming(enabled []Skill) (*factory, error) {
	if own, err := readBuiltIn(); err == nil && sameList(enabled, own) {
		return namingBuiltIn()
	}
	m.mu.Lock()
	naming := m.named
	m.mu.Unlock()
	if naming != nil {
		return naming, nil
	}
	naming, err := declaring(enabled)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if sameList(m.enabled, enabled) { // no change in the meantime
		m.named = naming
	}
	return naming, nil
}

// declaring returns the factory with the names of these skills in its declaration.
func declaring(all []Skill) (*factory, error) {
	f, err := newFactory()
	if err != nil {
		return nil, err
	}
	schema, err := withNames(f.Schema().Raw(), all)
	if err != nil {
		return nil, err
	}
	return f.Declaring(schema), nil
}

// namingBuiltIn is the factory of a session with only the built-in skills. It is
// immutable and created once for the process.
var namingBuiltIn = sync.OnceValues(func() (*factory, error) {
	own, err := readBuiltIn()
	if err != nil {
		return nil, err
	}
	return declaring(own)
})

// sameList reports whether two lists share their memory.
func sameList(a, b []Skill) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// maxEnum bounds the names in the schema, in bytes. Beyond it a model learns the names
// from the system prompt and from errors.
const maxEnum = 16 << 10

// withNames adds names of skills to the schema of the arguments.
func withNames(schema json.RawMessage, all []Skill) (json.RawMessage, error) {
	all = forModel(all)
	names, size := make([]string, len(all)), 0
	for i, s := range all {
		names[i] = s.Name
		size += len(s.Name)
	}
	if size > maxEnum {
		return schema, nil
	}
	var root struct {
		Type                 string                    `json:"type"`
		Properties           map[string]map[string]any `json:"properties"`
		Required             []string                  `json:"required"`
		AdditionalProperties bool                      `json:"additionalProperties"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	root.Properties["name"]["enum"] = names
	return json.Marshal(root)
}

// ActivateSkillParams are the parameters of activate_skill.
type ActivateSkillParams struct {
	Name string `json:"name" jsonschema:"minLength=1" jsonschema_description:"Name of a skill."`
}

const activateSkillDescription = "Returns the instructions of a skill and makes the files in its directory readable. When a task fits a skill, activate it first, once a conversation. " +
	"Follow its instructions like those of the user, unless they contradict the request or the rules above. Their paths are relative to that directory."

func newActivateSkill() (*factory, error) {
	return tools.NewFactory(tools.Definition[services, ActivateSkillParams]{
		Spec: tools.Spec{Name: ActivateSkill, DisplayName: "Activate Skill", Description: activateSkillDescription, Kind: tools.KindOther},
		Build: func(s services, p ActivateSkillParams, _ json.RawMessage) (tools.ToolInvocation, error) {
			skill, err := s.skills.activatableByModel(p.Name)
			if err != nil {
				return nil, err
			}
			params, err := json.Marshal(ActivateSkillParams{skill.Name}) // so that rules match the plain name
			if err != nil {
				return nil, err
			}
			return &activateSkill{s, skill, params}, nil
		},
	})
}

type activateSkill struct {
	services services
	skill    Skill
	params   json.RawMessage
}

func (a *activateSkill) Params() json.RawMessage { return slices.Clone(a.params) }

func (a *activateSkill) Description() string { return "Activate the skill " + quoted(a.skill.Name) }

func (a *activateSkill) Locations() []tools.Location {
	if a.skill.Path == "" {
		return nil
	}
	return []tools.Location{{Path: a.skill.Path}}
}

func (a *activateSkill) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	tree, err := Tree(ctx, a.skill)
	if err != nil {
		return nil, err
	}
	prompt := a.skill.Description
	if tree != "" {
		prompt += fmt.Sprintf("\n\nIts instructions (%d bytes) go to the model, which may then read the files in its directory, but not change them with file tools or confined commands:\n%s", len(a.skill.Body), tree)
	}
	return &tools.Confirmation{Type: tools.ConfirmInfo, Title: "Activate Skill: " + escape.Quoted(a.skill.Name), InfoDetails: &tools.InfoDetails{Prompt: prompt}}, nil
}

func (a *activateSkill) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return failed(ctx, err), nil
	}
	now, err := a.services.skills.activatableByModel(a.skill.Name)
	if err != nil {
		return failed(ctx, err), nil
	}
	if now.Path != a.skill.Path || now.Hash != a.skill.Hash || now.Scope != a.skill.Scope {
		return tools.Fail(fault.New(fault.ExecutionFailed, "skills.activate",
			fmt.Sprintf("The skill %s changed while its activation was decided.", quoted(a.skill.Name)), "Call again for a new decision.")), nil
	}
	text, err := Text(ctx, a.skill)
	if err == nil {
		err = a.services.activated(ctx, a.skill)
	}
	if err != nil {
		return failed(ctx, err), nil
	}
	return tools.Result{
		LLMContent:    tools.Text(text),
		ReturnDisplay: tools.TextDisplay(fmt.Sprintf("Activated the skill %s (%s)", quoted(a.skill.Name), a.skill.origin())),
	}, nil
}

// failed adds a code to an error; an ended ctx is cancelled.
func failed(ctx context.Context, err error) tools.Result {
	if ctx.Err() != nil {
		return tools.Fail(fault.Wrap(fault.Cancelled, "skills.activate", "The call was cancelled.", "", err))
	}
	if e := fault.As(err); e != nil {
		return tools.Fail(e)
	}
	return tools.Fail(fault.Wrap(fault.ExecutionFailed, "skills.activate", "The skill cannot be activated: "+err.Error()+".", "Go on without it.", err))
}
