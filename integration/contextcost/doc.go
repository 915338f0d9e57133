// Package contextcost measures what editing files costs of a model's context, and
// keeps the tables of docs/context-cost.md.
package contextcost
