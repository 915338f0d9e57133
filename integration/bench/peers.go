package main

// peerContestants returns, by the ID of a case, who else does its work. The IDs
// that can be joined:
//
//	read/1kb read/100kb read/1mb read/unchanged read/1000-files
//	patch/200-lines patch/5000-lines patch/50000-lines      (Change.Diffs, there and back)
//	edit/200-lines edit/5000-lines edit/50000-lines         (Change.Lines, there and back)
//	write/200-lines write/5000-lines write/50000-lines      (Change.Texts, there and back)
//	search/generated-rare search/generated-common search/generated-walk search/generated-glob
//	search/go-rare search/go-common search/go-expression search/go-alternatives search/go-walk search/go-glob
//	schema/validate registry/20 registry/1000 registry/10000
//	shell/true
//	start/version start/help start/tools                    (time)
//	size/version size/help size/tools                       (peak memory, bytes)
//	headless/turn headless/memory                           (one prompt against a local server)
//	sessions/time-N sessions/memory-N                       (N = 1, 100, 1000; with -full 10000)
func peerContestants() map[string][]Contestant { return nil }

// peerCases returns the cases that only peers give a reason for.
func peerCases() []Case { return nil }
