package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
)

// The kinds of JSON lines. Each is an object with the key "kind".
const (
	kindRun         = "run"         // RunInfo; the first line, and again, with all versions, the last
	kindMeasurement = "measurement" // one contestant of one case
	kindMissing     = "missing"     // a contestant without figures, and the reason
	kindBudget      = "budget"      // a budget of the design with its result
)

type runLine struct {
	Kind string `json:"kind"`
	RunInfo
}

type measurementLine struct {
	Kind       string `json:"kind"`
	Case       string `json:"case"`
	Title      string `json:"title"`
	Unit       Unit   `json:"unit"` // of least, median, p10 and p90
	Contestant string `json:"contestant"`
	Role       Role   `json:"role"`
	Turns      int    `json:"turns"`
	Calls      int    `json:"calls"` // in each turn
	Stats
	Ratio Ratios `json:"ratio"` // the subject's figure divided by this one
	// Per call in this process; absent for other contestants.
	AllocatedBytes *float64 `json:"allocated_bytes,omitempty"`
	Allocations    *float64 `json:"allocations,omitempty"`
}

type missingLine struct {
	Kind       string `json:"kind"`
	Case       string `json:"case"`
	Contestant string `json:"contestant"`
	Role       Role   `json:"role"`
	Reason     string `json:"reason"`
	Failed     bool   `json:"failed"` // true: it failed; false: it is not available
}

type budgetLine struct {
	Kind    string     `json:"kind"`
	Case    string     `json:"case"`
	Limit   BudgetKind `json:"limit"`
	Most    float64    `json:"most"`
	Against string     `json:"against,omitempty"`
	Found   Ratios     `json:"found"` // the limited figure, by the minima and the medians
	Met     Met        `json:"met"`
	Note    string     `json:"note,omitempty"`
}

// lineWriter writes JSON lines. Its zero value writes nothing.
type lineWriter struct{ w io.Writer }

func (l lineWriter) put(v any) error {
	if l.w == nil {
		return nil
	}
	return json.NewEncoder(l.w).Encode(v)
}

func (l lineWriter) run(info RunInfo) error { return l.put(runLine{kindRun, info}) }

func (l lineWriter) result(r Result) error {
	for _, o := range r.Outcomes {
		var v any
		switch {
		case o.Measured():
			m := measurementLine{Kind: kindMeasurement, Case: r.ID, Title: r.Title, Unit: r.unit(), Contestant: o.Name, Role: o.Role,
				Turns: o.Turns, Calls: o.Calls, Stats: o.Stats, Ratio: o.Ratio}
			if o.Allocations >= 0 {
				m.AllocatedBytes, m.Allocations = &o.Allocated, &o.Allocations
			}
			v = m
		case o.Failed != "":
			v = missingLine{kindMissing, r.ID, o.Name, o.Role, o.Failed, true}
		case o.Skipped != "":
			v = missingLine{kindMissing, r.ID, o.Name, o.Role, o.Skipped, false}
		default:
			continue // the case ended before this contestant ran
		}
		if err := l.put(v); err != nil {
			return err
		}
	}
	for _, v := range r.Verdicts {
		if err := l.put(budgetLine{kindBudget, r.ID, v.Kind, v.Most, v.Against, v.Found, v.Met, v.Note}); err != nil {
			return err
		}
	}
	return nil
}

// readLines reads the lines of a run that a lineWriter has written. It computes ratios and budgets
// again.
func readLines(in io.Reader, cases []Case) (info RunInfo, results []Result, err error) {
	byID := map[string]*Case{}
	for i := range cases {
		byID[cases[i].ID] = &cases[i]
	}
	at := map[string]int{} // index of the case's result
	outcome := func(id string) (*Result, error) {
		i, ok := at[id]
		if !ok {
			c := byID[id]
			if c == nil {
				return nil, fmt.Errorf("case %s does not exist any more: measure again", id)
			}
			i, at[id] = len(results), len(results)
			results = append(results, Result{Case: *c})
		}
		return &results[i], nil
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := readLine(lines.Bytes(), &info, outcome); err != nil {
			return info, nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return info, nil, err
	}
	if info.Date == "" {
		return info, nil, fmt.Errorf("there is no line of kind %q: pass a file that -json has written", kindRun)
	}
	for i := range results {
		results[i].compare(info.Full)
	}
	return info, results, nil
}

func readLine(line []byte, info *RunInfo, result func(id string) (*Result, error)) error {
	var kind struct{ Kind string }
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case kindRun:
		var l runLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		merged := maps.Clone(info.Versions)
		*info = l.RunInfo
		for name, version := range merged {
			info.Versions[name] = version
		}
	case kindMeasurement:
		var l measurementLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		r, err := result(l.Case)
		if err != nil {
			return err
		}
		o := Outcome{Name: l.Contestant, Role: l.Role, Turns: l.Turns, Calls: l.Calls, Stats: l.Stats, Allocated: -1, Allocations: -1}
		if l.Allocations != nil && l.AllocatedBytes != nil {
			o.Allocated, o.Allocations = *l.AllocatedBytes, *l.Allocations
		}
		r.Outcomes = append(r.Outcomes, o)
	case kindMissing:
		var l missingLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		r, err := result(l.Case)
		if err != nil {
			return err
		}
		o := Outcome{Name: l.Contestant, Role: l.Role, Skipped: l.Reason}
		if l.Failed {
			o.Skipped, o.Failed = "", l.Reason
		}
		if l.Role == Ours {
			r.Skipped, r.Failed = o.Skipped, o.Failed
		}
		r.Outcomes = append(r.Outcomes, o)
	case kindBudget: // computed again
	default:
		return fmt.Errorf("kind %q is not one that -json writes", kind.Kind)
	}
	return nil
}
