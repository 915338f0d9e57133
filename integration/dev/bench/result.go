package main

// Result is the result of a case.
type Result struct {
	Case
	Outcomes []Outcome
	Verdicts []Verdict
	// Skipped is the reason why the case could not be measured here: fettle's own contestant or all
	// other contestants are absent.
	Skipped string
	// Failed is the error of fettle's own contestant. If it is set, there are no outcomes.
	Failed string
}

// Outcome is the result of one contestant.
type Outcome struct {
	Name string
	Role Role
	// Skipped is the reason why it did not take part, Failed its error. If one of them is set, the
	// other fields are zero.
	Skipped, Failed string
	Turns           int // number of measured turns
	Calls           int // repetitions of the work in one turn
	Stats           Stats
	// Ratio is fettle's figure divided by that of this contestant.
	Ratio Ratios
	// Allocated and Allocations are the bytes and the allocations of one call in this process, -1
	// for work in other processes.
	Allocated, Allocations float64
}

// Measured reports whether there are figures.
func (o *Outcome) Measured() bool { return o.Turns > 0 }

// Ratios are the ratios of the minima and of the medians.
type Ratios struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
}

// Verdict reports whether a budget is met.
type Verdict struct {
	Budget
	Found Ratios // the figure that Budget.Most limits, by the minima and by the medians
	Met   Met
	Note  string // why it is undecided
}

// Met is the result of a budget.
type Met string

const (
	MetYes       Met = "yes"
	MetNo        Met = "no"
	MetLeast     Met = "minimum only" // met by the minima, not by the medians
	MetMedian    Met = "median only"
	MetUndecided Met = "undecided"
)

// outcome returns the outcome of the contestant with a name, nil if it does not exist or has no
// figures.
func (r *Result) outcome(name string) *Outcome {
	for i := range r.Outcomes {
		if r.Outcomes[i].Name == name && r.Outcomes[i].Measured() {
			return &r.Outcomes[i]
		}
	}
	return nil
}

// ours returns fettle's own outcome, nil if it has none.
func (r *Result) ours() *Outcome {
	for i := range r.Outcomes {
		if r.Outcomes[i].Role == Ours && r.Outcomes[i].Measured() {
			return &r.Outcomes[i]
		}
	}
	return nil
}

// compare computes ratios and verdicts. full reports whether the run had the full size.
func (r *Result) compare(full bool) {
	ours := r.ours()
	if ours == nil {
		return
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Measured() {
			o.Ratio = Ratios{quotient(ours.Stats.Least, o.Stats.Least), quotient(ours.Stats.Median, o.Stats.Median)}
		}
	}
	r.Verdicts = nil
	for _, b := range r.Budgets {
		r.Verdicts = append(r.Verdicts, r.judge(b, ours, full))
	}
}

func (r *Result) judge(b Budget, ours *Outcome, full bool) Verdict {
	v := Verdict{Budget: b, Met: MetUndecided}
	if b.Kind == Absolute {
		v.Found = Ratios{ours.Stats.Least, ours.Stats.Median}
	} else {
		other := r.outcome(b.Against)
		if other == nil {
			v.Note = b.Against + " was not measured"
			return v
		}
		if b.Kind == Ratio {
			v.Found = other.Ratio
		} else {
			v.Found = Ratios{ours.Stats.Least - other.Stats.Least, ours.Stats.Median - other.Stats.Median}
		}
	}
	if b.Full && !full {
		v.Note = "the budget is for the full size: use -full"
		return v
	}
	switch least, median := v.Found.Least <= b.Most, v.Found.Median <= b.Most; {
	case least && median:
		v.Met = MetYes
	case least:
		v.Met = MetLeast
	case median:
		v.Met = MetMedian
	default:
		v.Met = MetNo
	}
	return v
}
