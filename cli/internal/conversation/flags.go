package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
)

// Flags are the command-line flags of a prompt run.
type Flags struct {
	Prompt string
	Format string // "": from the settings
	Resume string // names a session; "": a new session
	Exact  bool   // Resume is a whole id
	// Resuming is called once the recording that Resume names was found and read, before it is opened; nil: not.
	Resuming  func(context.Context)
	SessionID string // id of a new session; "": random
	NoRecord  bool
	Fork      string // names the fork that the prompt works in, or [NewFork]; "": none
	// Adjust changes the Parameters of the session; nil: none.
	Adjust   func(*config.Parameters)
	maxTurns int
	maxTime  time.Duration
	traffic  trafficFlags

	First string // first prompt of an interactive session
	Plain bool   // line mode of an interactive session
}

// Register adds the flags of a prompt run.
func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVarP(&f.Prompt, PromptFlag, "p", "", "run one prompt and exit; piped input precedes this `text`")
	format := program.NewChoice(&f.Format, FormatText, FormatJSON, FormatStream)
	f.Format = ""
	set.VarP(format, FormatFlag, "o", "output `format`: text|json|stream-json (default text)")
	set.BoolVar(&f.NoRecord, "no-record", false, "do not record the session")
	set.IntVar(&f.maxTurns, "max-turns", 0, "maximum number of `requests` to the model (default 100; -1: unlimited)")
	set.DurationVar(&f.maxTime, "max-time", 0, "maximum `duration` of the prompt, such as 10m (default: unlimited)")
	f.traffic.register(set)
}

// RegisterSession adds the flags that select the session of a prompt.
func (f *Flags) RegisterSession(root *cobra.Command) {
	set := root.Flags()
	set.StringVarP(&f.Resume, ResumeFlag, "r", "", "resume a recorded `session`: latest, an index or id of fettle sessions list, the beginning of an id, or choose from a list")
	set.Lookup(ResumeFlag).NoOptDefVal = Choose
	set.StringVarP(&f.First, FirstFlag, "i", "", "start an interactive session with this `text`")
	set.BoolVar(&f.Plain, PlainFlag, false, "interactive session: print line by line, for example for a screen reader")
	set.BoolVar(&f.Plain, "screen-reader", false, "the same as --plain")
	set.StringVar(&f.Fork, ForkFlag, "", "with -p: work in a `fork` of the project, which fettle forks merges: in the named one, or in a new one")
	set.Lookup(ForkFlag).NoOptDefVal = NewFork
	set.StringVar(&f.SessionID, sessionIDFlag, "", "`id` of the new session (default: random)")
}

// CheckSession rejects an empty session name, such as an unset shell variable: a new
// session would start where an existing one is meant.
func (f *Flags) CheckSession(given *pflag.FlagSet) error {
	switch {
	case given.Changed(ResumeFlag) && strings.TrimSpace(f.Resume) == "":
		return program.UsageError("--resume has an empty value.", "Give a session of fettle sessions list, or latest.")
	case given.Changed(ForkFlag) && f.Fork == "":
		return program.UsageError("--fork has an empty name.", "Give a name, or --fork alone for a new fork.")
	case given.Changed(ForkFlag) && !given.Changed(PromptFlag):
		return program.UsageError("--fork needs a prompt.", "Give it with -p TEXT.")
	case given.Changed(sessionIDFlag) && f.SessionID == "":
		return program.UsageError("--session-id has an empty value.", "Give an id, or omit the flag for a random one.")
	}
	return nil
}

// checkLimits rejects invalid limits.
func (f *Flags) checkLimits() error {
	switch {
	case f.maxTurns < -1:
		return program.UsageError(fmt.Sprintf("--max-turns cannot be %d.", f.maxTurns), "Give a number of requests, or -1 for no limit.")
	case f.maxTime < 0:
		return program.UsageError(fmt.Sprintf("--max-time cannot be %s.", f.maxTime), "Give a duration such as 10m, or omit the flag for no limit.")
	}
	return nil
}

// Values of --resume that are no ids.
const (
	Latest = "latest" // the most recently recorded session
	Choose = "choose" // the user chooses from a list; without one, as Latest
)

// ResumeFlag is the flag --resume; its value is optional.
const ResumeFlag = "resume"

// NewFork is the value of --fork that creates a fork with a random name.
const NewFork = "new"

// Flag names.
const (
	ForkFlag      = "fork"
	sessionIDFlag = "session-id"
	FirstFlag     = "prompt-interactive"
	PlainFlag     = "plain"
	PromptFlag    = "prompt"
	FormatFlag    = "output-format"
)

// Values of --output-format.
const (
	FormatText   = "text"
	FormatJSON   = "json"
	FormatStream = "stream-json"
)
