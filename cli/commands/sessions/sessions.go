// Package sessions implements the commands for recorded sessions and for the
// restoration of files.
package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// sessionListing is the JSON output for a whole session.
type sessionListing struct {
	transcript.Header
	Title   string        `json:"title"`
	Updated time.Time     `json:"updated"`
	Path    string        `json:"path"`
	Highest int64         `json:"highestVersion"` // of a state object that it received
	Turns   []turnListing `json:"turns"`
	// Prompts interrupted before an answer, which are not turns.
	Withdrawn   []withdrawnListing `json:"takenBack,omitempty"`
	Interrupted bool               `json:"interrupted,omitempty"` // the last turn was interrupted
	Problems    []recordingProblem `json:"problems,omitempty"`
}

// turnListing is one turn.
type turnListing struct {
	ID      string                `json:"id,omitempty"`
	Time    time.Time             `json:"time"`
	Model   string                `json:"model,omitempty"`
	Content json.RawMessage       `json:"content"`
	Usage   json.RawMessage       `json:"usage,omitempty"`
	Calls   []transcript.ToolCall `json:"calls,omitempty"`
}

// withdrawnListing is an interrupted prompt.
type withdrawnListing struct {
	turnListing
	At int `json:"at"` // 0-based index of the turn it preceded
}

// RunPrompt runs the prompt of the flags and prints the result.
type RunPrompt func(context.Context, *program.Program, *program.Flags, *conversation.Flags) error

// Command returns the fettle sessions command; run resumes a session.
func Command(p *program.Program, g *program.Flags, run RunPrompt) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, resume and delete recorded sessions of this project",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(sessionsListCommand(p, g), sessionsShowCommand(p, g), sessionsResumeCommand(p, g, run), sessionsDeleteCommand(p, g))
	return cmd
}

func sessionsListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return withRecordings(ctx, p, g, func(store *recordings.Store) error {
				list, problems, err := store.List(ctx)
				if err != nil {
					return conversation.Failure(ctx, err)
				}
				printProblems(p, problems)
				if asJSON {
					return program.PrintJSON(p.Out, append([]transcript.Summary{}, list...)) // no sessions: []
				}
				return listSessions(p, list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func sessionsShowCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Print the conversation and the tool calls of a session",
		Long:  namesSession,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withRecordings(ctx, p, g, func(store *recordings.Store) error {
				summary, err := store.Find(ctx, strings.Join(args, ""))
				if err != nil {
					return conversation.Failure(ctx, err)
				}
				session, err := store.Load(ctx, summary.ID)
				if err != nil {
					return conversation.Failure(ctx, err)
				}
				history, lost := recordings.History(session)
				session.Problems = append(session.Problems, lost...)
				printProblems(p, session.Problems)
				if asJSON {
					return program.PrintJSON(p.Out, sessionListingOf(session))
				}
				return showSession(p, session, history)
			})
		},
		ValidArgsFunction: completeSession(p, g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// namesSession explains how to name a session.
const namesSession = `ID is a session id or its beginning, an index of fettle sessions list, or latest for
the most recently recorded session. The default is latest.`

func sessionsResumeCommand(p *program.Program, g *program.Flags, run RunPrompt) *cobra.Command {
	var talk conversation.Flags
	cmd := &cobra.Command{
		Use:   "resume [ID] -p TEXT",
		Short: "Resume a session with a prompt, as fettle --resume does",
		Long:  namesSession,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			talk.Resume = conversation.Latest
			if len(args) == 1 {
				talk.Resume = args[0]
				if strings.TrimSpace(talk.Resume) == "" {
					return program.UsageError("The session ID is empty.", "Give an ID, or omit it for the latest session.")
				}
			}
			return run(cmd.Context(), p, g, &talk)
		},
		ValidArgsFunction: completeSession(p, g),
	}
	talk.Register(cmd.Flags())
	return cmd
}

func sessionsDeleteCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a session and the sessions of its subagents",
		Long:  "ID is a session id or its beginning, an index of fettle sessions list, or latest.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return program.UsageError("Exactly one session ID is required.", "fettle sessions list lists them.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withRecordings(ctx, p, g, func(store *recordings.Store) error {
				summary, err := store.Find(ctx, args[0])
				if err == nil {
					err = store.Delete(ctx, summary.ID)
				}
				if err != nil {
					return conversation.Failure(ctx, err)
				}
				if asJSON {
					return program.PrintJSON(p.Out, map[string]any{"deleted": summary.ID})
				}
				_, err = fmt.Fprintf(p.Out, "Deleted session %s: %s\n", summary.ID, display.Line(summary.Title))
				return err
			})
		},
		ValidArgsFunction: completeSession(p, g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withRecordings opens the store of recorded sessions of the project.
func withRecordings(ctx context.Context, p *program.Program, g *program.Flags, use func(*recordings.Store) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		store, err := config.NewTranscripts(s.Config(), nil)
		if err != nil {
			return &program.ExitError{Code: program.ExitConfig, Err: err}
		}
		return use(store)
	})
}

// printProblems prints the recordings that could not be read.
func printProblems(p *program.Program, problems []fault.Problem) {
	for _, problem := range problems {
		p.PrintError(errors.New(problem.String()))
	}
}

func listSessions(p *program.Program, list []transcript.Summary) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(p.Out, "This project has no recorded sessions.")
		return err
	}
	turnsOf := func(s transcript.Summary) string {
		turns := fmt.Sprintf("%d turns", s.Turns)
		if s.Interrupted {
			turns += ", interrupted"
		}
		return turns
	}
	if columns, is := display.ColumnsOf(p.Out); is && columns < wideListing {
		return listNarrow(p, list, columns, turnsOf)
	}
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		_, _ = fmt.Fprintf(w, "%d.\t%s\t%s\t%s\t[%s]\n", s.Index, s.Updated.Local().Format("2006-01-02 15:04"), turnsOf(s), display.Line(s.Title), s.ID)
	}
	return w.Flush()
}

// wideListing is the width of a terminal from which a session needs one line: its
// title has 100 characters at most.
const wideListing = 180

// listNarrow lists each session on two lines, the title on the second, which is cut at
// the width of the terminal.
func listNarrow(p *program.Program, list []transcript.Summary, columns int, turnsOf func(transcript.Summary) string) error {
	var b strings.Builder
	for _, s := range list {
		head := fmt.Sprintf("%d.  %s  %s  [%s]", s.Index, s.Updated.Local().Format("2006-01-02 15:04"), turnsOf(s), s.ID)
		b.WriteString(display.Cut(head, columns, "…") + "\n    " + display.Cut(display.Line(s.Title), max(columns-4, 1), "…") + "\n")
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

func sessionListingOf(s *transcript.Session) sessionListing {
	l := sessionListing{Header: s.Header, Title: s.Title, Updated: s.Updated, Path: s.Path, Highest: s.Highest, Problems: recordingProblems(s.Problems), Turns: []turnListing{}, Interrupted: s.Interrupted}
	for _, t := range s.Turns {
		l.Turns = append(l.Turns, turnListingOf(t))
	}
	for _, t := range s.Withdrawn {
		l.Withdrawn = append(l.Withdrawn, withdrawnListing{turnListingOf(t.Turn), t.At})
	}
	return l
}

func turnListingOf(t transcript.Turn) turnListing {
	return turnListing{ID: t.ID, Time: t.Time, Model: t.Model, Content: t.Content, Usage: t.Usage, Calls: t.Calls}
}

// showSession prints a session as text.
func showSession(p *program.Program, s *transcript.Session, history []model.Content) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s, started %s", display.Line(s.Title), s.ID, s.StartTime.Local().Format("2006-01-02 15:04"))
	if s.Model != "" {
		fmt.Fprintf(&b, ", model %s", display.Line(s.Model))
	}
	b.WriteString("\n")
	for i, turn := range history {
		showWithdrawn(&b, s, func(at int) bool { return at == i })
		for _, part := range turn.Parts {
			showPart(&b, turn.Role, part)
		}
	}
	showWithdrawn(&b, s, func(at int) bool { return at >= len(history) })
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// showWithdrawn prints the interrupted prompts at the given places.
func showWithdrawn(b *strings.Builder, s *transcript.Session, here func(at int) bool) {
	for _, prompt := range s.Withdrawn {
		var turn model.Content
		if !here(prompt.At) || json.Unmarshal(prompt.Content, &turn) != nil {
			continue
		}
		for _, part := range turn.Parts {
			showPart(b, turn.Role, part)
		}
		b.WriteString("[interrupted before an answer]\n")
	}
}

// showPart prints a part of a turn: all of its text, and the beginning of a call and
// its result.
func showPart(b *strings.Builder, role model.Role, part model.Part) {
	switch {
	case part.Call != nil:
		fmt.Fprintf(b, "\n→ %s %s\n", display.Line(part.Call.Name), escape.Clip(display.Line(string(part.Call.Object())), display.ListingWidth))
	case part.Response != nil:
		var answer struct {
			Error *fault.Error `json:"error"`
		}
		result := "done"
		if err := json.Unmarshal(part.Response.Response, &answer); err == nil && answer.Error != nil {
			result = answer.Error.Line()
		}
		fmt.Fprintf(b, "← %s: %s\n", display.Line(part.Response.Name), escape.Clip(display.Line(result), 2*display.ListingWidth))
	case part.Data != nil:
		fmt.Fprintf(b, "\n[%d bytes of %s]\n", len(part.Data.Bytes), display.Line(part.Data.MIMEType))
	case part.Thought || part.Text == "":
	case role == model.RoleUser:
		b.WriteString("\n> " + strings.ReplaceAll(strings.TrimSpace(display.Printable(part.Text)), "\n", "\n> ") + "\n")
	default:
		b.WriteString("\n" + strings.TrimSpace(display.Printable(part.Text)) + "\n")
	}
}

// completeSession completes the first argument with ids.
func completeSession(p *program.Program, g *program.Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var ids []cobra.Completion
		if len(args) == 0 {
			_ = withRecordings(cmd.Context(), p, g, func(store *recordings.Store) error { // no sessions, no suggestions
				list, _, err := store.List(cmd.Context())
				for _, s := range list {
					ids = append(ids, cobra.CompletionWithDesc(s.ID, display.Line(s.Title)))
				}
				return err
			})
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
