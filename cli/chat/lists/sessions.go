package lists

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Sessions returns the list of recorded sessions, the last used one first, then the
// recordings that cannot be read.
func Sessions(list []transcript.Summary, problems []fault.Problem, current string, now time.Time) interactive.Pick {
	p := interactive.Pick{Title: "Sessions of this project", Usage: "/resume ID continues a session.", Empty: "This project has no recorded sessions."}
	wrong := map[string][]string{} // problems by path
	for _, problem := range problems {
		wrong[problem.Path] = append(wrong[problem.Path], problem.Message)
	}
	slices.SortStableFunc(list, func(a, b transcript.Summary) int { return b.Updated.Compare(a.Updated) })
	for _, s := range list {
		turns := fmt.Sprintf("%d turns", s.Turns)
		switch {
		case s.Interrupted:
			turns = "interrupted"
		case s.Turns == 1:
			turns = "1 turn"
		}
		item := interactive.PickItem{
			Name: cmp.Or(s.Title, "(no text)"), State: ago(now.Sub(s.Updated), s.Updated), Description: turns + ", " + s.ID, Submit: "/resume " + s.ID,
			Detail: s.ID + "\nstarted " + s.StartTime.Local().Format("2006-01-02 15:04") + ", " + turns,
		}
		if s.Model != "" {
			item.Detail += ", model " + s.Model
		}
		for _, message := range wrong[s.Path] {
			item.Detail += "\n" + message
		}
		delete(wrong, s.Path)
		if s.ID == current {
			item.State, item.Submit, item.Selected = "current", "", true
		}
		p.Items = append(p.Items, item)
	}
	for _, problem := range problems {
		if messages := wrong[problem.Path]; messages != nil {
			delete(wrong, problem.Path)
			p.Items = append(p.Items, interactive.PickItem{
				Name: filepath.Base(problem.Path), State: "broken", Description: messages[0], Detail: strings.Join(append(messages, problem.Path), "\n"),
			})
		}
	}
	return p
}

// ago formats an age; then is the time itself, for long ones.
func ago(age time.Duration, then time.Time) string {
	const day = 24 * time.Hour
	switch {
	case age < time.Minute:
		return "just now"
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", age/time.Minute)
	case age < day:
		return fmt.Sprintf("%d h ago", age/time.Hour)
	case age < 2*day:
		return "1 day ago"
	case age < 30*day:
		return fmt.Sprintf("%d days ago", age/day)
	}
	return then.Local().Format("2006-01-02")
}
