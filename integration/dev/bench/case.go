package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Case is one piece of work that several contestants do, by turns. One of them
// is fettle; every ratio is fettle's figure divided by that of another.
type Case struct {
	// ID names the case: the group, a slash, words in kebab case, such as
	// "patch/5000-lines". It is unique, and what -run matches. The part before
	// the slash is the key of a Group.
	ID string
	// Title is the case's name in tables, such as "10 hunks in 5,000 lines".
	Title string
	// What says in one sentence what is measured.
	What string
	// Unit is what is measured; zero: time.
	Unit Unit
	// Budgets are the limits of the design; none: none is set.
	Budgets []Budget
	// Growth places the case on a line of a plot; nil: on none.
	Growth *Growth
	// Turns is how many turns are made at most; 0: as many as the time allows.
	Turns int
	// Contestants are fettle and what it is compared with.
	Contestants []Contestant
}

// Role says what a contestant stands for.
type Role string

const (
	Ours  Role = "subject" // fettle, of which there is one in each case; in the group noise a floor itself
	Floor Role = "floor"   // the least that the same work costs by hand
	Peer  Role = "peer"    // what a user would pick instead
	Part  Role = "part"    // a part of fettle that ours contains, or another way to it
)

// Contestant does the work of a case in one way.
type Contestant struct {
	// Name is unique within the case: "fettle", "ripgrep", "read + SHA-256 + JSON".
	Name string
	Role Role
	// Prepare gets everything ready that is not measured. An [Absent] error
	// leaves the contestant out, by name, with its reason; any other ends
	// the case.
	Prepare func(ctx context.Context, lab *Lab) (*Prepared, error)
}

// Prepared is a contestant that is ready to take turns.
type Prepared struct {
	// Run does the work once. It is repeated within a turn when it is short, if
	// Reset is nil and it does not measure itself. An error ends the case:
	// a contestant that does not do the work has no time.
	Run func(ctx context.Context) (Measured, error)
	// Reset is called before each Run, and is not measured; it may be nil.
	Reset func(ctx context.Context) error
	// Close ends what Prepare began and waits for it; it may be nil.
	Close func() error
	// InProcess says that Run allocates in this process, so that what it
	// allocates is counted.
	InProcess bool
}

// Measured is what a Run has found out itself. The zero value has it timed.
type Measured struct {
	// Elapsed is the time of one operation where the contestant knows it
	// better, as another process that it has asked does; 0: Run is timed.
	Elapsed time.Duration
	// Value is the figure of a case whose unit is not time.
	Value float64
}

// Unit is what a case measures.
type Unit string

const (
	Time  Unit = "ns"
	Bytes Unit = "bytes"
	Count Unit = "count" // allocations, goroutines
)

// Budget is a limit of the design. It is met if the least and the median meet it.
type Budget struct {
	// Kind says what is limited.
	Kind BudgetKind
	// Most is a factor for Ratio, else in the unit of the case.
	Most float64
	// Against names the other contestant of Ratio and Difference.
	Against string
	// Full: the design speaks of the full size, so a small run decides nothing.
	Full bool
}

// BudgetKind is what a budget limits.
type BudgetKind string

const (
	Absolute   BudgetKind = "absolute"   // fettle's figure
	Ratio      BudgetKind = "ratio"      // fettle's figure divided by another's
	Difference BudgetKind = "difference" // fettle's figure less another's
)

// Growth places a case in a plot of how a figure grows.
type Growth struct {
	Plot string  // key of a plot in plots.go
	Line string  // which line of it
	X    float64 // how many there are of what grows
}

// Absent is why a contestant, or all of a case, cannot take part here.
type Absent struct{ Reason string }

func (a *Absent) Error() string { return a.Reason }

// absent makes an [Absent] error.
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

// timed makes a Run that the framework times of a plain func.
func timed(f func(ctx context.Context) error) func(context.Context) (Measured, error) {
	return func(ctx context.Context) (Measured, error) { return Measured{}, f(ctx) }
}

// group returns the key of the Group that the case belongs to.
func (c *Case) group() string {
	key, _, _ := strings.Cut(c.ID, "/")
	return key
}
