package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// positional takes the arguments of the root command: a session for --resume without a
// value, then a prompt of one argument with white space or of several arguments. A single
// word, and two words of which the first resembles a command, are an unknown command: a
// mistyped command must not become a request to a model.
func positional(p *program.Program, root *cobra.Command, talk *conversation.Flags, args []string) error {
	given := root.Flags().Changed
	if len(args) > 0 && given(conversation.ResumeFlag) && talk.Resume == conversation.Choose && namesSession(args) {
		talk.Resume, args = args[0], args[1:]
	}
	if len(args) == 0 {
		return nil
	}
	prompt := strings.Join(args, " ")
	switch {
	case len(strings.Fields(prompt)) < 2 || len(args) == 2 && len(root.SuggestionsFor(args[0])) > 0:
		return program.UnknownCommand(root, args[0], "See fettle --help; to send a prompt of one word, use fettle -p.")
	case given(conversation.PromptFlag) || given(conversation.FirstFlag):
		return program.UsageError("There are two prompts: one of a flag and "+fmt.Sprintf("%q.", prompt), "Give one of them.")
	}
	flag := conversation.PromptFlag
	if !given(conversation.FormatFlag) && isInteractive(p) {
		flag = conversation.FirstFlag
	}
	return root.Flags().Set(flag, prompt)
}

// namesSession reports whether the first argument after --resume is a session.
func namesSession(args []string) bool {
	if len(args) == 1 {
		return !strings.ContainsAny(args[0], " \t\n")
	}
	return regexp.MustCompile(`^(latest|choose|[0-9]+|[0-9a-f]{8}[0-9a-f-]*)$`).MatchString(args[0])
}

// listings are the flags of the root command that run another command, as the flags of
// Gemini CLI do.
func listings() []struct{ flag, short, about, command string } {
	return []struct{ flag, short, about, command string }{
		{"list-sessions", "", "as fettle sessions list", "sessions list"},
		{"list-extensions", "l", "as fettle extensions list", "extensions list"},
	}
}

// registerListings adds the flags of listings.
func registerListings(root *cobra.Command) {
	for _, l := range listings() {
		root.Flags().BoolP(l.flag, l.short, false, l.about)
	}
	root.Flags().String("delete-session", "", "as fettle sessions delete `SESSION`")
}

// listing returns the command that a flag of the root command runs instead of a prompt,
// and its arguments; nil if no such flag is given.
func listing(root *cobra.Command) (*cobra.Command, []string) {
	for _, l := range listings() {
		if on, _ := root.Flags().GetBool(l.flag); on { // the flag exists
			found, _, _ := root.Find(strings.Fields(l.command))
			return found, nil
		}
	}
	if session, _ := root.Flags().GetString("delete-session"); session != "" {
		found, _, _ := root.Find([]string{"sessions", "delete"})
		return found, []string{session}
	}
	return nil, nil
}
