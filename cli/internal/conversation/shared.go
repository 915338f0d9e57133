package conversation

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// BeginTurn has what comes of an input counted as a turn that can be taken back.
func BeginTurn(c *config.Config, input string) {
	if kept, err := c.Checkpoints(); err == nil { // else there is no place for them
		kept.BeginTurn(input)
	}
}

// Ended returns what a run that ended so is to the caller of the program: nil if
// it is done. err is what to tell where the event has no error of its own.
func Ended(last agent.Event, err error) error {
	switch last.Type {
	case agent.EventDone, agent.EventStopped:
		return nil
	case agent.EventCancelled:
		return program.Interrupted()
	case agent.EventBlocked:
		return fault.New(fault.StopExecution, "cli", "The prompt was refused: "+last.Text, "")
	}
	if last.Err != nil {
		err = last.Err
	}
	switch fault.CodeOf(err) {
	case fault.Cancelled:
		return program.Interrupted()
	case fault.InvalidConfig:
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	case fault.LimitReached:
		return &program.ExitError{Code: program.ExitLimit, Err: err}
	}
	return &program.ExitError{Code: program.ExitToolError, Err: err}
}

// ProjectNotices say what the project of a session gives because it is trusted, and
// which tools a trusted one switches off.
func ProjectNotices(c *config.Config) []string {
	var notices []string
	if powers, err := c.ProjectPowers(); err == nil && len(powers) > 0 {
		notices = append(notices, "Files that you trust give "+byFile(powers)+".")
	}
	if c.TrustedFolder() {
		notices = append(notices, program.SwitchNotices(c)...)
	}
	return notices
}

// byFile names powers in a few words, the files behind what they give.
func byFile(powers []settings.Power) string {
	var files []string
	words := map[string][]string{}
	for _, power := range powers {
		word := power.Key
		switch {
		case power.Address != "":
			word = power.Variable + " " + power.Address
		case power.Variable != "":
			word = power.Variable
		case power.Key == "model.name":
			word = "the model " + strings.TrimPrefix(power.Text, "sends the conversation to the model ")
		}
		if !slices.Contains(files, power.Source) {
			files = append(files, power.Source)
		}
		if !slices.Contains(words[power.Source], word) {
			words[power.Source] = append(words[power.Source], word)
		}
	}
	parts := make([]string, len(files))
	for i, file := range files {
		parts[i] = strings.Join(words[file], ", ") + " (" + file + ")"
	}
	return strings.Join(parts, "; ")
}
