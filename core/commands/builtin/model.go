package builtin

import (
	"context"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

func modelCommand(s *Services) *commands.Command {
	show := func() commands.Result {
		var b strings.Builder
		b.WriteString("The model is " + code(s.Models.Model()) + ".")
		if known := s.Models.Known(); len(known) > 0 {
			b.WriteString(" /model NAME selects another:\n\n")
			for _, name := range known {
				item(&b, name, "")
			}
		}
		return info("%s", b.String())
	}
	complete := func(_ context.Context, _ *commands.Context, partial string) (found []commands.Candidate, _ error) {
		for _, name := range s.Models.Known() {
			found = append(found, commands.Candidate{Value: name})
		}
		return beginning(found, partial), nil
	}
	return &commands.Command{
		Name: "model", Description: "Shows or selects the model: /model NAME, with --persist for later sessions too", AutoExecute: true, Completion: complete,
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			if args == "" {
				return show(), nil
			}
			return s.setModel(ctx, args)
		},
		SubCommands: []*commands.Command{{
			Name: "set", Description: "Selects the model: /model set NAME; --persist stores it for later sessions.", Completion: complete,
			Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
				return s.setModel(ctx, args)
			},
		}},
	}
}

// setModel selects the model for this session or permanently.
func (s *Services) setModel(ctx context.Context, args string) (commands.Result, error) {
	const persist = "--persist"
	name, save := "", false
	for word := range strings.FieldsSeq(args) {
		switch {
		case word == persist:
			save = true
		case name != "":
			return nil, fault.New(fault.InvalidToolParams, "builtin.model", "The name of a model has no spaces.", "Type /model set NAME, or /model set NAME "+persist+".")
		default:
			name = word
		}
	}
	if name == "" {
		return nil, missing("name of the model", "Type /model set NAME.")
	}
	if err := s.Models.SetModel(ctx, name, save); err != nil {
		return nil, err
	}
	if save {
		return info("The model is %s now, and in later sessions.", code(name)), nil
	}
	return info("The model is %s for this session.", code(name)), nil
}

// modes returns the approval modes and their effects.
func modes() []commands.Candidate {
	var all []commands.Candidate
	for _, m := range policy.Modes() {
		all = append(all, commands.Candidate{Value: m.String(), Description: m.Meaning()})
	}
	return all
}

func modeCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "mode", AltNames: []string{"approval-mode"}, Description: "Shows or selects the approval mode: /mode NAME", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, name string) (commands.Result, error) {
			if name != "" {
				return setMode(ctx, s, name)
			}
			var b strings.Builder
			b.WriteString("The approval mode is " + code(s.Mode.Mode()) + ". /mode NAME selects another:\n\n")
			for _, m := range modes() {
				item(&b, m.Value, m.Description)
			}
			return info("%s", b.String()), nil
		},
		Completion: func(_ context.Context, _ *commands.Context, partial string) ([]commands.Candidate, error) {
			return beginning(modes(), partial), nil
		},
	}
}

func setMode(ctx context.Context, s *Services, name string) (commands.Result, error) {
	if err := s.Mode.SetMode(ctx, name); err != nil {
		return nil, err
	}
	now := s.Mode.Mode()
	return info("The approval mode is %s now: it %s.", code(now), policy.ApprovalMode(now).Meaning()), nil
}

func planCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "plan", Description: "Selects plan mode, in which nothing is changed, and sends the task to the model: /plan TASK", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, task string) (commands.Result, error) {
			result, err := setMode(ctx, s, string(policy.ModePlan))
			if err != nil || task == "" {
				return result, err
			}
			return commands.SubmitPrompt{Content: tools.Text(task)}, nil
		},
	}
}
