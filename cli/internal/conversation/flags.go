package conversation

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// Flags are those of a run of one prompt, as they were given.
type Flags struct {
	Prompt    string
	Format    string // "": the settings'
	Resume    string // names a session; "": a new one
	SessionID string // of a new one; "": a random one
	NoRecord  bool
	maxTurns  int
	maxTime   time.Duration
	traffic   trafficFlags

	First string // is said first in a session at the terminal
	Plain bool   // such a session is led line by line
}

// Register adds the flags of a prompt.
func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVarP(&f.Prompt, PromptFlag, "p", "", "what is to be done: works on it and ends. What is piped in goes before this `text`")
	format := program.NewChoice(&f.Format, FormatText, FormatJSON, FormatStream)
	f.Format = ""
	set.VarP(format, FormatFlag, "o", "how the answer is printed: text|json|stream-json (default text)")
	set.BoolVar(&f.NoRecord, "no-record", false, "do not record the session")
	set.IntVar(&f.maxTurns, "max-turns", 0, "how many `requests` to the model the prompt may make (default 100; -1: any number)")
	set.DurationVar(&f.maxTime, "max-time", 0, "how `long` the prompt may take, as 10m (default: any time)")
	f.traffic.register(set)
}

// RegisterSession registers the flags that say which session a prompt is part of.
func (f *Flags) RegisterSession(root *cobra.Command) {
	set := root.Flags()
	set.StringVarP(&f.Resume, ResumeFlag, "r", "", "go on with a recorded `session`: latest, or its index or id as fettle sessions lists them, or how its id begins")
	set.Lookup(ResumeFlag).NoOptDefVal = Latest
	set.StringVarP(&f.First, FirstFlag, "i", "", "begin a session at the terminal with this `text`")
	set.BoolVar(&f.Plain, PlainFlag, false, "a session at the terminal: print lines one after the other, as for a screen reader")
	set.StringVar(&f.SessionID, sessionIDFlag, "", "the `id` of the new session (default: a random one)")
}

// CheckSession refuses a session that is named by nothing, as by a variable that
// is not set: a new one would begin where another is meant.
func (f *Flags) CheckSession(given *pflag.FlagSet) error {
	switch {
	case given.Changed(ResumeFlag) && strings.TrimSpace(f.Resume) == "":
		return program.UsageError("--resume is given an empty name.", "Name a session as fettle sessions list does, or give --resume alone for the latest.")
	case given.Changed(sessionIDFlag) && f.SessionID == "":
		return program.UsageError("--session-id is given an empty id.", "Give an id, or leave the flag out for a random one.")
	}
	return nil
}

// checkLimits refuses limits that mean nothing.
func (f *Flags) checkLimits() error {
	switch {
	case f.maxTurns < -1:
		return program.UsageError(fmt.Sprintf("--max-turns cannot be %d.", f.maxTurns), "Give a number of requests, or -1 for any number.")
	case f.maxTime < 0:
		return program.UsageError(fmt.Sprintf("--max-time cannot be %s.", f.maxTime), "Give a time as 10m, or leave the flag out for any time.")
	}
	return nil
}

// Latest names the session that was recorded last.
const Latest = "latest"

// ResumeFlag may stand alone, or before what names a session.
const ResumeFlag = "resume"

// Names of flags.
const (
	sessionIDFlag = "session-id"
	FirstFlag     = "prompt-interactive"
	PlainFlag     = "plain"
	PromptFlag    = "prompt"
	FormatFlag    = "output-format"
)

// The values of --output-format.
const (
	FormatText   = "text"
	FormatJSON   = "json"
	FormatStream = "stream-json"
)
