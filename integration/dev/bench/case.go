package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Case is a unit of work that several contestants do by turns. One of them is fettle; every ratio
// is fettle's figure divided by that of another contestant.
type Case struct {
	// ID identifies the case: the group, a slash, and words in kebab case, such as
	// "patch/5000-lines". It is unique, and -run matches it. The part before the slash is the key
	// of a Group.
	ID string
	// Title is the case's name in tables, such as "10 hunks in 5,000 lines".
	Title string
	// Description states in one sentence what the case measures.
	Description string
	// Unit is the unit of the figures; zero: time.
	Unit Unit
	// Budgets are the limits of the design; it may be empty.
	Budgets []Budget
	// Growth places the case on a line of a plot; nil: on none.
	Growth *Growth
	// Turns is the maximum number of turns; 0: as many as the time allows.
	Turns int
	// Contestants are fettle and the programs or code that it is compared with.
	Contestants []Contestant
}

// Role is the purpose of a contestant in its case.
type Role string

const (
	Ours  Role = "subject" // fettle, once in each case; in the group noise the first of two equal contestants
	Floor Role = "floor"   // the minimal hand-written code for the same work
	Peer  Role = "peer"    // a program or library that a user could choose instead
	Part  Role = "part"    // a part of fettle that the subject includes, or a variant of it
)

// Contestant does the work of a case in one way.
type Contestant struct {
	// Name is unique within the case: "fettle", "ripgrep", "read + SHA-256 + JSON".
	Name string
	Role Role
	// Prepare does all work that is not measured. An [Absent] error skips the contestant and
	// reports its name and reason; any other error ends the case.
	Prepare func(ctx context.Context, lab *Lab) (*Prepared, error)
}

// Prepared is a contestant that is ready to take turns.
type Prepared struct {
	// Run does the work once. It is repeated within a turn if it is short, Reset is nil and it does
	// not measure itself. An error ends the case, because incomplete work has no valid time.
	Run func(ctx context.Context) (Measured, error)
	// Reset is called before each Run, and is not measured; it may be nil.
	Reset func(ctx context.Context) error
	// Close ends what Prepare started and waits for it; it may be nil.
	Close func() error
	// InProcess reports that Run allocates in this process, so that its allocations are counted.
	InProcess bool
}

// Measured is the result of a Run that measures itself. The zero value lets the framework measure
// the time.
type Measured struct {
	// Elapsed is the time of one operation, if the contestant measures it more precisely, as
	// another process does; 0: Run is timed.
	Elapsed time.Duration
	// Value is the figure of a case whose unit is not time.
	Value float64
}

// Unit is the unit of a case.
type Unit string

const (
	Time  Unit = "ns"
	Bytes Unit = "bytes"
	Count Unit = "count" // allocations, goroutines
)

// Budget is a limit of the design. It is met if the minimum and the median meet it.
type Budget struct {
	// Kind selects the limited figure.
	Kind BudgetKind
	// Most is the limit: a factor for Ratio, otherwise in the unit of the case.
	Most float64
	// Against is the name of the other contestant of Ratio and Difference.
	Against string
	// Full restricts the budget to runs of the full size; smaller runs leave it undecided.
	Full bool
}

// ratio returns the budget of a ratio; none if most is 0.
func ratio(most float64, against string) []Budget {
	if most == 0 {
		return nil
	}
	return []Budget{{Kind: Ratio, Most: most, Against: against}}
}

// BudgetKind is the kind of figure that a budget limits.
type BudgetKind string

const (
	Absolute   BudgetKind = "absolute"   // fettle's figure
	Ratio      BudgetKind = "ratio"      // fettle's figure divided by that of another contestant
	Difference BudgetKind = "difference" // fettle's figure minus that of another contestant
)

// Growth places a case in a plot of a figure against a size.
type Growth struct {
	Plot string  // key of a plot in plots.go
	Line string  // line of the plot
	X    float64 // the size
}

// Absent is the error for a contestant, or a whole case, that cannot run on this machine.
type Absent struct{ Reason string }

func (a *Absent) Error() string { return a.Reason }

// absent returns an [Absent] error.
func absent(format string, args ...any) error {
	return &Absent{Reason: fmt.Sprintf(format, args...)}
}

// absence returns the reason if err is an [Absent] error.
func absence(err error) (string, bool) {
	var a *Absent
	if errors.As(err, &a) {
		return a.Reason, true
	}
	return "", false
}

// timed returns a Run that calls f and lets the framework measure the time.
func timed(f func(ctx context.Context) error) func(context.Context) (Measured, error) {
	return func(ctx context.Context) (Measured, error) { return Measured{}, f(ctx) }
}

// group returns the key of the Group that the case belongs to.
func (c *Case) group() string {
	key, _, _ := strings.Cut(c.ID, "/")
	return key
}
