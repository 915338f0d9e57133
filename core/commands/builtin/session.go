package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

func permissionsCommand(s *Services) *commands.Command {
	set := func(name, description string, trusted bool) *commands.Command {
		return &commands.Command{
			Name: name, Description: description,
			Action: func(ctx context.Context, _ *commands.Context, dir string) (commands.Result, error) {
				note, err := s.Trust.SetTrust(ctx, dir, trusted)
				if err != nil || note == "" {
					return nil, err
				}
				return info("%s", line(note)), nil
			},
		}
	}
	return &commands.Command{
		Name: "permissions", Description: "Shows and changes the trust in the directory.", AutoExecute: true,
		Action: withoutArgs(func(context.Context) (commands.Result, error) {
			dir, state := s.Trust.State()
			means := map[string]string{
				"trusted":   "its settings, rules, hooks, skills, agents and commands apply.",
				"untrusted": "its files can only forbid, and the approval mode yolo is refused.",
			}[state]
			means = cmp.Or(means, "its files can only forbid. /permissions trust trusts it.")
			return info("The directory %s is **%s**: %s", code(dir), line(state), means), nil
		}),
		SubCommands: []*commands.Command{
			set("trust", "Trusts a directory, this one if none is named.", true), set("untrust", "Records that a directory is not trusted.", false),
		},
	}
}

func policyCommand(s *Services) *commands.Command {
	list := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		for _, r := range s.Policy.Rules() {
			about := code(r.About)
			if r.Name != "" {
				about += " (" + line(r.Name) + ")"
			}
			fmt.Fprintf(&b, "- %.3f **%s** %s — %s, %s\n", r.Priority, escaped(r.Decision), about, line(r.Tier), line(r.Source))
		}
		return titled("The rules in the order of evaluation; the first match decides:", &b, "There are no rules."), nil
	}
	return &commands.Command{
		Name: "policy", AltNames: []string{"policies"}, Description: "Lists the policy rules in the order of evaluation.", AutoExecute: true,
		Action: withoutArgs(list), SubCommands: []*commands.Command{plain("list", "Lists them.", list)},
	}
}

func memoryCommand(s *Services) *commands.Command {
	list := func(ctx context.Context) (commands.Result, error) {
		files, err := s.Memory.Files(ctx)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for _, f := range files {
			item(&b, f.Path, thousands(len(f.Text))+" bytes")
		}
		return titled("The context files of the model:", &b, "The model has no context files."), nil
	}
	memory := &commands.Command{
		Name: "memory", Description: "Lists and reloads the context files, or adds a fact.", AutoExecute: true,
		Action: withoutArgs(list),
		SubCommands: []*commands.Command{
			plain("show", "Shows their content.", func(ctx context.Context) (commands.Result, error) {
				files, err := s.Memory.Files(ctx)
				if err != nil {
					return nil, err
				}
				var b strings.Builder
				for _, f := range files {
					b.WriteString("From " + code(f.Path) + ":\n\n" + fenced("markdown", f.Text) + "\n\n")
				}
				return listed(&b, "The model has no context files."), nil
			}),
			plain("list", "Lists the files.", list),
			plain("reload", "Reads them again.", func(ctx context.Context) (commands.Result, error) {
				if err := s.Memory.Reload(ctx); err != nil {
					return nil, err
				}
				return list(ctx)
			}, "refresh"),
		},
	}
	if s.Memory != nil && s.Memory.CanAdd() {
		memory.SubCommands = append(memory.SubCommands, &commands.Command{
			Name: "add", Description: "Saves a fact for later sessions: /memory add FACT",
			Action: func(_ context.Context, _ *commands.Context, fact string) (commands.Result, error) {
				if fact == "" {
					return nil, missing("fact", "Type /memory add FACT.")
				}
				args, err := json.Marshal(map[string]string{"fact": fact})
				if err != nil {
					return nil, err
				}
				return commands.RunTool{Name: "save_memory", Args: args}, nil
			},
		})
	}
	return memory
}

func statsCommand(s *Services) *commands.Command {
	session := func(context.Context) (commands.Result, error) {
		n := s.Stats.Stats()
		calls, failed := 0, 0
		for _, t := range n.Tools {
			calls, failed = calls+t.Calls, failed+t.Failed
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Since this session began:\n\n- session: %s\n- time: %s, since %s\n- prompts: %s\n- tool calls: %s, %s failed\n- approvals: %s asked, %s free, %s confined, %s refused\n- lines: %s added, %s removed\n",
			code(n.SessionID), took(n.Elapsed), n.Started.Local().Format("15:04"), thousands(n.Prompts), thousands(calls), thousands(failed),
			thousands(n.Approvals.Prompts), thousands(n.Approvals.Free), thousands(n.Approvals.Confined), thousands(n.Approvals.Refused), thousands(n.Added), thousands(n.Removed))
		for _, m := range n.Models {
			fmt.Fprintf(&b, "- %s: %s, %s tokens in, %s out%s\n", code(m.Model), count(m.Requests, "request", "requests"), thousands(m.Input), thousands(m.Output), costOf(m))
		}
		return info("%s", b.String()), nil
	}
	return &commands.Command{
		Name: "stats", AltNames: []string{"usage"}, Description: "Shows the statistics of this session.", AutoExecute: true,
		Action: withoutArgs(session),
		SubCommands: []*commands.Command{
			plain("session", "Shows a summary.", session),
			plain("model", "Shows requests and tokens of each model.", func(context.Context) (commands.Result, error) {
				var b strings.Builder
				for _, m := range s.Stats.Stats().Models {
					item(&b, m.Model, fmt.Sprintf("%s, %s failed; tokens: %s in, of which %s cached, %s out%s; %s waited for",
						count(m.Requests, "request", "requests"), thousands(m.Failed), thousands(m.Input), thousands(m.Cached), thousands(m.Output), costOf(m), took(m.Waited)))
				}
				return titled("Since this session began:", &b, "No model request was sent yet."), nil
			}),
			plain("tools", "Shows the calls of each tool.", func(context.Context) (commands.Result, error) {
				var b strings.Builder
				for _, t := range s.Stats.Stats().Tools {
					item(&b, t.Tool, fmt.Sprintf("%s, %s failed; %s accepted, %s rejected; %s",
						count(t.Calls, "call", "calls"), thousands(t.Failed), thousands(t.Accepted), thousands(t.Rejected), took(t.Took)))
				}
				return titled("Since this session began:", &b, "No tool was called yet."), nil
			}),
		},
	}
}

// costOf returns the cost of a model for the end of its line.
func costOf(m ModelNumbers) string {
	if m.Cost == "" {
		return ""
	}
	return "; " + m.Cost
}

// took formats a duration.
func took(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func directoryCommand(s *Services) *commands.Command {
	show := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		for _, dir := range s.Directories.List() {
			item(&b, dir, "")
		}
		return titled("The directories of the workspace:", &b, "The workspace has no directory."), nil
	}
	return &commands.Command{
		Name: "directory", AltNames: []string{"dir"}, Description: "Shows the directories of the workspace, or adds some.", AutoExecute: true,
		Action: withoutArgs(show),
		SubCommands: []*commands.Command{
			plain("show", "Shows them.", show),
			{
				Name: "add", Description: "Adds directories: /directory add PATH,PATH",
				Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
					var added []string
					for path := range strings.SplitSeq(args, ",") {
						if path = strings.TrimSpace(path); path == "" {
							continue
						}
						if err := s.Directories.Add(ctx, path); err != nil {
							return nil, err
						}
						added = append(added, code(path))
					}
					if len(added) == 0 {
						return nil, missing("directory", "Type /directory add PATH.")
					}
					return info("Added to the workspace: %s.", strings.Join(added, ", ")), nil
				},
			},
		},
	}
}

// initPrompt makes the model write the project's instructions.
const initPrompt = "Write the file %s: the instructions for a developer who is new to this project. " +
	"First inspect the list of files, the README, the build and the tests, the configuration of the tools, and a few files that show the style of the code. " +
	"Then describe, in at most a page and in this order: the purpose of the project; how to build, run and test it, with exact commands; its directories; " +
	"conventions of style and naming; common mistakes. Write only facts from the files, nothing that applies to any project. " +
	"If there is no code, describe the content and the purpose of the directory."

func initCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "init", Description: "Asks the model to write the project's context file, if there is none.", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, _ string) (commands.Result, error) {
			path, exists, err := s.ContextFile.Find(ctx)
			switch {
			case err != nil:
				return nil, err
			case exists:
				return info("The file %s exists and is unchanged.", code(path)), nil
			}
			return commands.SubmitPrompt{Content: tools.Text(fmt.Sprintf(initPrompt, path)), Expanded: true}, nil
		},
	}
}

func restoreCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "restore", Description: "Lists checkpoints, or undoes a turn or one call: /restore ID, with --partial as far as possible", AutoExecute: true,
		Action: func(ctx context.Context, c *commands.Context, args string) (commands.Result, error) {
			id, partial, err := restoreArgs(args)
			switch {
			case err != nil:
				return nil, err
			case id == "":
				return s.checkpoints(ctx)
			case c.OverwriteConfirmed:
				note, err := s.Checkpoints.Restore(ctx, id, partial)
				if err != nil {
					return nil, err
				}
				return info("%s", line(note)), nil
			}
			p, err := s.Checkpoints.Preview(ctx, id, partial)
			switch {
			case err != nil:
				return nil, err
			case p.Refused != "":
				return nil, fault.New(fault.ExecutionFailed, "builtin.restore", p.Refused, "")
			}
			var b strings.Builder
			for _, note := range p.Notes {
				b.WriteString(line(note) + "\n\n")
			}
			if p.Diff == "" {
				return info("%sThe files are in that state already; there is nothing to restore.", b.String()), nil
			}
			return commands.ConfirmAction{Prompt: fmt.Sprintf("Restore %s?\n\n%s%s", named(p.Paths), b.String(), fenced("diff", p.Diff))}, nil
		},
		Completion: func(ctx context.Context, _ *commands.Context, partial string) (found []commands.Candidate, err error) {
			all, err := s.Checkpoints.List(ctx)
			for _, point := range all {
				found = append(found, commands.Candidate{Value: point.ID, Description: escape.Plain(point.Prompt, maxLine)})
				for _, call := range point.Calls {
					found = append(found, commands.Candidate{Value: call.ID, Description: call.Tool + " " + strings.Join(call.Paths, ", ")})
				}
			}
			return beginning(found, partial), err
		},
	}
}

// named lists paths in a sentence.
func named(paths []string) string {
	const most = 5
	var shown []string
	for _, path := range paths[:min(len(paths), most)] {
		shown = append(shown, code(path))
	}
	if over := len(paths) - most; over > 0 {
		shown = append(shown, fmt.Sprintf("%s more", thousands(over)))
	}
	if len(shown) < 2 {
		return strings.Join(shown, "")
	}
	last := len(shown) - 1
	return strings.Join(shown[:last], ", ") + " and " + shown[last]
}

// restoreArgs parses the arguments of /restore: an id, and --partial before or after it.
func restoreArgs(args string) (id string, partial bool, err error) {
	for _, word := range strings.Fields(args) {
		switch {
		case word == "--partial":
			partial = true
		case id != "" || strings.HasPrefix(word, "-"):
			return "", false, fault.New(fault.InvalidToolParams, "builtin.restore", "/restore takes the number of a turn or call, and --partial.", "Type /restore alone for a list.")
		default:
			id = word
		}
	}
	if partial && id == "" {
		return "", false, missing("ID of the change", "Type /restore alone for a list.")
	}
	return id, partial, nil
}

// checkpoints lists the checkpoints.
func (s *Services) checkpoints(ctx context.Context) (commands.Result, error) {
	all, err := s.Checkpoints.List(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, point := range all {
		item(&b, point.ID, point.Time.Local().Format("15:04:05")+" "+line(point.Prompt))
		for _, call := range point.Calls {
			b.WriteString("  ")
			item(&b, call.ID, line(call.Tool+" "+strings.Join(call.Paths, ", ")))
		}
	}
	return listed(&b, fmt.Sprintf("There is no change to undo. For earlier sessions run %s restore.", cmp.Or(s.Product, "fettle"))), nil
}
