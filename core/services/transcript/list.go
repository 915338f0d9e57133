package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Summary is a recorded session at a glance.
type Summary struct {
	Header
	Index   int       `json:"index"` // 1-based, in the order of List; 0 for a session that List leaves out
	Title   string    `json:"title"` // at most 100 characters, in one line
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"` // of the history as it is now
	Path    string    `json:"path"`
	// Interrupted says that there was a prompt, and that no turn is left, as each
	// was taken back before the first whole answer.
	Interrupted bool `json:"interrupted,omitempty"`

	conversation bool
}

// List returns the sessions in which somebody has said something, also where it
// was taken back as no answer came, those of subagents left out, in the order in which they began, so that an index stays
// that of its session when others are added. Recordings that cannot be read are
// among the problems. The error is of code session_unreadable or cancelled.
func (s *Store) List(ctx context.Context) ([]Summary, []fault.Problem, error) {
	all, problems, err := s.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	return listed(all), problems, nil
}

// listed are those of all that List returns.
func listed(all []Summary) []Summary {
	var list []Summary
	for _, sum := range all {
		if sum.Index > 0 {
			list = append(list, sum)
		}
	}
	return list
}

// all returns every session, the oldest first, each once: of copies that which
// was written to last.
func (s *Store) all(ctx context.Context) ([]Summary, []fault.Problem, error) {
	paths, err := s.recordings()
	if err != nil {
		return nil, nil, err
	}
	var problems []fault.Problem
	byID := map[string]Summary{}
	for _, path := range paths {
		st, err := s.read(ctx, path, false)
		if fault.CodeOf(err) == fault.Cancelled {
			return nil, nil, err
		}
		if err != nil {
			problem := fault.Problem{Path: path, Message: fault.As(err).Message}
			if errors.Is(err, errNoRecording) {
				problem.Kind = kindDamaged
			}
			problems = append(problems, problem)
			continue
		}
		problems = append(problems, st.problems...)
		sum := st.summary()
		if other, twice := byID[sum.ID]; !twice || sum.Updated.After(other.Updated) {
			byID[sum.ID] = sum
		}
	}
	all := make([]Summary, 0, len(byID))
	for _, sum := range byID {
		all = append(all, sum)
	}
	slices.SortFunc(all, func(a, b Summary) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.ID, b.ID))
	})
	index := 0
	for i := range all {
		if all[i].conversation && all[i].Kind != KindSubagent {
			index++
			all[i].Index = index
		}
	}
	return all, problems, nil
}

// interrupted reports whether somebody said something and nothing of it is left.
func (st *state) interrupted() bool { return st.spoken && len(st.history) == 0 }

func (st *state) summary() Summary {
	return Summary{
		Header: st.header, Title: st.title, Updated: st.updated, Turns: len(st.history), Path: st.path,
		Interrupted: st.interrupted(), conversation: st.spoken,
	}
}

// Find returns the session that a person names: by its whole id, by its index
// in List, by the beginning of its id where no other begins so, or as "latest",
// which is that of List which was recorded last; "" is the same. The error is of
// code session_not_found, session_unreadable or cancelled.
func (s *Store) Find(ctx context.Context, ref string) (Summary, error) {
	all, _, err := s.all(ctx)
	if err != nil {
		return Summary{}, err
	}
	list := listed(all)
	if ref == "" || ref == latest {
		if len(list) == 0 {
			return Summary{}, fault.New(fault.SessionNotFound, "transcript.find", "No session of this project has been recorded yet.", "Begin one.")
		}
		return slices.MaxFunc(list, func(a, b Summary) int { return cmp.Or(a.Updated.Compare(b.Updated), a.Index-b.Index) }), nil
	}
	for _, sum := range all {
		if sum.ID == ref {
			return sum, nil
		}
	}
	if n, err := strconv.Atoi(ref); err == nil && n >= 1 && n <= len(list) {
		return list[n-1], nil
	}
	var begin []Summary
	for _, sum := range list {
		if strings.HasPrefix(sum.ID, ref) {
			begin = append(begin, sum)
		}
	}
	switch len(begin) {
	case 0:
		return Summary{}, notFound(ref)
	case 1:
		return begin[0], nil
	}
	return Summary{}, fault.New(fault.SessionNotFound, "transcript.find",
		fmt.Sprintf("The ids of %d recorded sessions begin with %.*q.", len(begin), maxID, ref), "Give more of the id, or the session's number.")
}
