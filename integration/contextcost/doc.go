// Package contextcost measures the context that editing files uses, and maintains the
// tables of docs/context-cost.md.
package contextcost
