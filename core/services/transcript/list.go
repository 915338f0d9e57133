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

// Summary describes a recorded session.
type Summary struct {
	Header
	Index   int       `json:"index"` // 1-based, in the order of List; 0 for a session that List omits
	Title   string    `json:"title"` // one line of at most 100 characters
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"` // of the current history
	Path    string    `json:"path"`
	// Interrupted reports that the session had a prompt but has no turn, because every prompt was
	// withdrawn before its first complete response.
	Interrupted bool `json:"interrupted,omitempty"`

	conversation bool
}

// List returns the sessions with a prompt, including withdrawn prompts, without the sessions of
// subagents. They are in the order of their beginning, so that a new session leaves the indexes of
// others unchanged. Unreadable recordings are listed as problems. The error has code
// session_unreadable or cancelled.
func (s *Store) List(ctx context.Context) ([]Summary, []fault.Problem, error) {
	all, problems, err := s.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	return listed(all), problems, nil
}

// listed returns the sessions of all that List returns.
func listed(all []Summary) []Summary {
	var list []Summary
	for _, sum := range all {
		if sum.Index > 0 {
			list = append(list, sum)
		}
	}
	return list
}

// all returns every session once, the oldest first. Of several copies it returns the one with the
// latest line.
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
			if errors.Is(err, errNotRecording) {
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

// interrupted reports whether the session had a prompt but has no turn.
func (st *state) interrupted() bool { return st.hasPrompt && len(st.history) == 0 }

func (st *state) summary() Summary {
	return Summary{
		Header: st.header, Title: st.title, Updated: st.updated, Turns: len(st.history), Path: st.path,
		Interrupted: st.interrupted(), conversation: st.hasPrompt,
	}
}

// Find returns the session that ref names: a complete id, an index of List, a unique prefix of an
// id, or "latest" for the session of List with the latest line; "" is the same as "latest". The
// error has code session_not_found, session_unreadable or cancelled.
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
		fmt.Sprintf("The ids of %d recorded sessions begin with %.*q.", len(begin), maxID, ref), "Give more of the id, or the index of the session.")
}
