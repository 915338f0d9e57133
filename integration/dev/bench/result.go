package main

// Result is what came out of a case.
type Result struct {
	Case
	Outcomes []Outcome
	Verdicts []Verdict
	// Skipped says why the case could not be measured here: fettle's own
	// contestant is absent, or nobody it could be compared with is here.
	Skipped string
	// Failed says what went wrong with fettle's own contestant; then there are no
	// outcomes.
	Failed string
}

// Outcome is what came out of one contestant.
type Outcome struct {
	Name string
	Role Role
	// Skipped says why it could not take part, Failed what went wrong; the rest
	// is zero then.
	Skipped, Failed string
	Turns           int // how many were measured
	Calls           int // how often the work was done in one turn
	Stats           Stats
	// Ratio is fettle's figure divided by this one's.
	Ratio Ratios
	// Allocated and Allocations are what one call allocates in this process, -1
	// for work that is done elsewhere.
	Allocated, Allocations float64
}

// Measured reports whether there are figures.
func (o *Outcome) Measured() bool { return o.Turns > 0 }

// Ratios are those of the least figures and of the medians.
type Ratios struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
}

// Verdict says whether a budget is met.
type Verdict struct {
	Budget
	Found Ratios // what Budget.Most limits, by the least figures and by the medians
	Met   Met
	Note  string // why it is undecided
}

// Met is how a budget stands.
type Met string

const (
	MetYes       Met = "yes"
	MetNo        Met = "no"
	MetLeast     Met = "minimum only" // met by the minima, not by the medians
	MetMedian    Met = "median only"
	MetUndecided Met = "undecided"
)

// outcome returns that of the contestant of a name, nil if there is none or it
// has no figures.
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

// compare fills in ratios and verdicts. full says of which size the run was.
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
